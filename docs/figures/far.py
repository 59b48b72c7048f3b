"""Draw ``far.svg``: processor time and memory of one machine against the number of people.

Run it to write the picture anew: ``python docs/figures/far.py``. The numbers are the measured ones of
``benchmarks/far.json``, and the same numbers give the same bytes.
"""

import json
import math
from pathlib import Path

MEASURED = Path(__file__).parents[2] / "benchmarks" / "far.json"
KINDS = {"uniform": ("uniform", "#1f6fa8", ""), "mallows": ("near an order", "#b3261e", "8 3")}
# What a panel shows, its unit, the powers of ten that its axis spans, and a level worth a line.
PANELS = (
    ("seconds", "seconds of processor time", (0, 3), (300.0, "5 minutes")),
    ("mib", "peak memory, MiB", (2, 4), (4096.0, "4 GiB")),
)
PEOPLE = (6, 8)  # powers of ten
WIDTH, LEFT, RIGHT, TOP, HEIGHT, GAP = 640, 62, 110, 40, 180, 76


def across(people: float) -> float:
    """The place of a number of people on the horizontal axis."""
    return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(people) - PEOPLE[0]) / (PEOPLE[1] - PEOPLE[0])


def panel(number: int, runs: list[dict[str, float]]) -> list[str]:
    """One pair of axes with a line for each kind of shuffle."""
    key, title, powers, (level, named) = PANELS[number]
    top = TOP + number * (HEIGHT + GAP)

    def up(value: float) -> float:
        return top + HEIGHT * (powers[1] - math.log10(value)) / (powers[1] - powers[0])

    parts = [f'<text x="{LEFT}" y="{top - 14}" font-weight="600">{title}</text>']
    for power in range(powers[0], powers[1] + 1):
        y = up(10.0**power)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#d9dde1"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    for power in range(PEOPLE[0], PEOPLE[1] + 1):
        x = across(10**power)
        parts.append(f'<path d="M{x:.1f} {top}V{top + HEIGHT}" stroke="#eceef0"/>')
        parts.append(f'<text x="{x:.1f}" y="{top + HEIGHT + 18}" text-anchor="middle">{10**power:,}</text>')
    parts.append(f'<path d="M{LEFT} {up(level):.1f}H{WIDTH - RIGHT}" stroke="#5b6570" stroke-dasharray="2 3"/>')
    parts.append(f'<text x="{LEFT + 6}" y="{up(level) - 5:.1f}" fill="#5b6570">{named}</text>')
    for kind, (name, color, dash) in KINDS.items():
        places = [(across(run["people"]), up(run[key])) for run in runs if run["kind"] == kind]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        style = f'stroke="{color}" stroke-width="1.8"' + (f' stroke-dasharray="{dash}"' if dash else "")
        parts.append(f'<polyline points="{points}" fill="none" {style}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in places]
        parts.append(f'<text x="{places[-1][0] + 8:.1f}" y="{places[-1][1] + 4:.1f}" fill="{color}">{name}</text>')
    return parts


def picture() -> str:
    """The whole picture as SVG."""
    runs = json.loads(MEASURED.read_text(encoding="utf-8"))
    height = TOP + len(PANELS) * (HEIGHT + GAP) - 18
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="sans-serif" font-size="13" fill="#1b1f24">',
        "<title>Processor time and memory of one machine against the number of people</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number in range(len(PANELS)):
        parts += panel(number, runs)
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{height - 12}" text-anchor="middle">people</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
