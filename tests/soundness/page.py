"""The soundness matrix as a page.

Run ``PYTHONPATH=src:tests python -m soundness.page docs/soundness.md`` to write it anew: ten minutes on two cores.
"""

import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from shuffledp.accounting import SHARP_THEOREMS
from soundness import crowds, orders
from soundness.matrix import DELTA, EPSILON0, PAIRED, PEOPLE, Cell
from soundness.orders import OrderCell

# Held-out runs with each data set; half as many train.
STATISTICS, PLACES, WALKS, SHARES, ORDERS, CROWD = 500_000, 2_000, 1_000, 1_000, 1_000, 4_000_000


def claims_row(cell: Cell) -> str:
    """What is promised and what is exact: the part of a row that no chance enters."""
    best = cell.claims[0]
    lower = f"{cell.lower:.3f}" if cell.lower > 0 else ""
    exact = "" if cell.exact is None else f"{cell.exact:.3f}"
    return (
        f"| {cell.randomizer_name} | {cell.shuffler_name} | {_up(best.guarantee.epsilon)} | "
        f"`{best.basis.theorem}` | {len(cell.claims)} | {lower} | {exact} |"
    )


def _up(epsilon: float) -> str:
    return f"{math.ceil(epsilon * 1000 - 1e-9) / 1000:.3f}"


def _down(epsilon: float) -> str:
    return f"{math.floor(epsilon * 1000) / 1000:.3f}"


def _mode_and_runs(cell: Cell) -> tuple[str, int]:
    if cell.randomizer_name == "split-and-mix":
        return "pipeline", SHARES
    if cell.has_statistics:
        return "statistics", STATISTICS
    return "pipeline", WALKS if cell.shuffler_name.startswith("network") else PLACES


def _row(names: tuple[str, str]):
    """A row of the page, and (accountant, share of its claim that was shown, whether it was refuted) of each claim.

    None where nothing is promised.
    """
    cell = Cell(*names)
    if not cell.is_stated:
        return None
    mode, runs = _mode_and_runs(cell)
    report = cell.attacked(runs, mode=mode)
    finding = report.findings[0]
    shown, measured, attack = "", "", "not audited"
    if finding.evidence is not None:
        shown, measured = _down(finding.evidence.epsilon_lower), f"{finding.evidence.epsilon:.3f}"
        attack = f"`{finding.evidence.attack}`"
    refuted = sum(each.verdict == "refuted" for each in report.findings)
    row = f"{claims_row(cell)} {shown} | {measured} | {attack} | {runs:,}{' *' * (mode != 'pipeline')} | {refuted} |"
    sys.stderr.write(row + "\n")
    return row, [(each.statement.basis.theorem, *_closeness(each)) for each in report.findings]


def _closeness(finding) -> tuple[float, bool]:
    claimed = finding.statement.guarantee.epsilon
    ratio = finding.evidence.epsilon_lower / claimed if finding.evidence and claimed else 0.0
    return ratio, finding.verdict == "refuted"


def _order_rows(names: tuple[str, str]) -> list[str]:
    found = []
    for each in OrderCell(*names).attacked(ORDERS).findings:
        claim, theorem, seen = each.statement.guarantee, each.statement.basis.theorem, each.evidence
        shown = f"{_down(seen.epsilon_lower)} | {seen.epsilon:.3f} | `{seen.attack}`" if seen else "| |"
        found.append(
            f"| {' | '.join(names)} | {_up(claim.alpha)} | {claim.delta:g} | `{theorem}` | {shown} | {each.verdict} |"
        )
    sys.stderr.write("\n".join(found) + "\n")
    return found


def _crowd_rows() -> list[str]:
    found = []
    for each in crowds.attacked(crowds.claims(), CROWD).findings:
        basis, claimed = each.statement.basis, each.statement.guarantee.epsilon
        shown, measured = each.evidence.epsilon_lower, each.evidence.epsilon
        found.append(f"| `{basis.theorem}` | {claimed:.4f} | {shown:.4f} | {measured:.4f} | {each.verdict} |")
    return found


def by_accountant(shares) -> list[str]:
    """A row for each accountant: its pairs, the largest share of its claim that was shown, and its refutations."""
    found: dict[str, tuple[int, float, int]] = {}
    for name, ratio, refuted in shares:
        pairs, most, wrong = found.get(name, (0, 0.0, 0))
        found[name] = pairs + 1, max(most, ratio), wrong + refuted
    return [f"| `{name}` | {pairs} | {most:.2f} | {wrong} |" for name, (pairs, most, wrong) in sorted(found.items())]


def elsewhere(here: set[str]) -> list[str]:
    """Accountants that promise something and apply neither to a pair, as these do, nor to the crowd."""
    here = here | {claim.basis.theorem for claim in crowds.claims()}
    return [each.id for each in SHARP_THEOREMS if each.kind.promises and each.id not in here]


def page() -> str:
    """The whole page."""
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        crowd = workers.submit(_crowd_rows)
        played = list(zip(PAIRED, workers.map(_row, PAIRED), strict=True))
        ordered = workers.map(_order_rows, orders.PAIRED)
        order_rows = [row for rows in ordered for row in rows]
        crowd_rows = crowd.result()
    found = [row for _, row in played if row is not None]
    template = (Path(__file__).parent / "page.md").read_text(encoding="utf-8")
    return template.format(
        people=PEOPLE,
        delta=DELTA,
        epsilon0=EPSILON0,
        rows="\n".join(row for row, _ in found),
        theorems="\n".join(by_accountant(share for _, shares in found for share in shares)),
        orders="\n".join(order_rows),
        order_runs=f"{ORDERS:,}",
        crowd="\n".join(crowd_rows),
        crowd_runs=f"{CROWD:,}",
        crowd_people=f"{crowds.PEOPLE:,}",
        crowd_delta=crowds.DELTA,
        crowd_epsilon0=crowds.EPSILON0,
        crowd_exact=f"{crowds.exact():.4f}",
        elsewhere=", ".join(f"`{name}`" for name in elsewhere({name for _, shares in found for name, *_ in shares})),
        missing="; ".join(f"{one} through {other}" for (one, other), row in played if row is None),
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
