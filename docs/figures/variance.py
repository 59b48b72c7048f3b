"""Draw ``variance.svg``: the variance of each randomizer of categories against how many categories there are.

Run it to write the picture anew: ``python docs/figures/variance.py``. All numbers come from the models, and the same
library gives the same bytes.
"""

import math
from collections.abc import Callable
from pathlib import Path

import shuffledp as sdp

KINDS = {
    sdp.KaryRandomizedResponse: ("k-rr", "#b3261e", ""),
    sdp.HadamardResponse: ("hadamard", "#7b4fa3", "8 3"),
    sdp.SymmetricUnaryEncoding: ("sue", "#8a6100", "2 3"),
    sdp.OptimizedLocalHashing: ("olh", "#1f6fa8", "10 4 2 4"),
    sdp.OptimizedUnaryEncoding: ("oue", "#2b7a4b", "4 4"),
    sdp.SubsetSelection: ("subset", "#1b1f24", ""),
}
DOMAINS = sorted({round(10 ** (step / 12)) for step in range(4, 49)})  # 2 to 10,000
PANELS = ((1.0, (0, 2)), (4.0, (-2, 1)))  # the local loss, and the powers of ten that the axis spans
WIDTH, LEFT, RIGHT, TOP, HEIGHT, GAP = 640, 58, 92, 40, 220, 76
LABEL_HEIGHT = 15


def across(domain_size: float) -> float:
    """The place of a domain size on the horizontal axis."""
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log10(domain_size) / 4


def panel(epsilon0: float, powers: tuple[int, int], top: int) -> list[str]:
    """One pair of axes with a line for each randomizer."""

    def up(variance: float) -> float:
        return top + HEIGHT * (powers[1] - math.log10(variance)) / (powers[1] - powers[0])

    parts = [f'<text x="{LEFT}" y="{top - 14}" font-weight="600">epsilon0 = {epsilon0:g}</text>']
    for power in range(powers[0], powers[1] + 1):
        y = up(10.0**power)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#d9dde1"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for power in range(5):
        x = across(10**power)
        parts.append(f'<path d="M{x:.1f} {top}V{top + HEIGHT}" stroke="#eceef0"/>')
        parts.append(f'<text x="{x:.1f}" y="{top + HEIGHT + 18}" text-anchor="middle">{10**power:,}</text>')
    return parts + lines(epsilon0, up, top)


def lines(epsilon0: float, up: Callable[[float], float], top: int) -> list[str]:
    """The lines, and their names where they end, moved apart where they would overlap."""
    parts, ends = [], []
    for randomizer, (kind, color, dash) in KINDS.items():
        places = []
        for domain_size in DOMAINS:
            y = up(randomizer(epsilon0=epsilon0, domain_size=domain_size).model.variance_per_report)
            if y < top:  # it leaves the picture
                break
            places.append((across(domain_size), y))
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        style = f'stroke="{color}" stroke-width="1.8"' + (f' stroke-dasharray="{dash}"' if dash else "")
        parts.append(f'<polyline points="{points}" fill="none" {style}/>')
        ends.append((places[-1][1], places[-1][0], kind, color))
    inside = [end for end in ends if end[1] < WIDTH - RIGHT - 1]
    parts += [f'<text x="{x + 6:.1f}" y="{y + 12:.1f}" fill="{color}">{kind}</text>' for y, x, kind, color in inside]
    beside = sorted(end for end in ends if end not in inside)
    for (y, x, kind, color), label in zip(beside, spread([end[0] for end in beside]), strict=True):
        parts.append(f'<path d="M{x:.1f} {y:.1f}L{x + 14:.1f} {label:.1f}" stroke="{color}" fill="none"/>')
        parts.append(f'<text x="{x + 18:.1f}" y="{label + 4:.1f}" fill="{color}">{kind}</text>')
    return parts


def spread(wanted: list[float]) -> list[float]:
    """Heights of labels near the wanted ones, which are sorted, and none on top of another."""
    groups: list[list[float]] = []
    for height in wanted:
        groups.append([height])
        while len(groups) > 1 and _first(groups[-1]) < _first(groups[-2]) + LABEL_HEIGHT * len(groups[-2]):
            last = groups.pop()
            groups[-1] += last
    return [_first(group) + LABEL_HEIGHT * place for group in groups for place in range(len(group))]


def _first(group: list[float]) -> float:
    return sum(group) / len(group) - LABEL_HEIGHT * (len(group) - 1) / 2


def picture() -> str:
    """The whole picture as SVG."""
    height = TOP + len(PANELS) * (HEIGHT + GAP) - 18
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="sans-serif" font-size="13" fill="#1b1f24">',
        "<title>Variance of a rare category, times the number of reports, against the number of categories</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (epsilon0, powers) in enumerate(PANELS):
        parts += panel(epsilon0, powers, TOP + number * (HEIGHT + GAP))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{height - 12}" text-anchor="middle">number of categories</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
