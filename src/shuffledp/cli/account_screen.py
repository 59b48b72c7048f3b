"""What is known about a protocol, on the terminal: the promise, how far it is from the best possible, every theorem."""

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.accounting import Examination, Finding
from shuffledp.calibrate import Calibration
from shuffledp.cli.screen import print_json
from shuffledp.guarantees import DifferentialPrivacy
from shuffledp.report import Guess
from shuffledp.statements import Status

__all__ = ["show_calibration", "show_examination"]

_SOLVED = {
    "epsilon0": "The largest local loss that leads there is epsilon0 = {}.",
    "num_users": "The fewest people that lead there are {}.",
}


def show_examination(found: Examination, *, as_json: bool) -> None:
    """The statement, the bracket, and the table of theorems if it was asked for."""
    if as_json:
        print_json(found.to_dict())
        return
    console = Console(highlight=False)
    console.print(Text(str(found.upper)))
    _show_bracket(console, found)
    if found.theorems:
        if found.releases > 1:
            console.print("For one release each:")
        console.print(_table(found))
        _show_limit(console, found)


def show_calibration(solved: Calibration, *, as_json: bool) -> None:
    """The solved parameter first, then what holds with it."""
    if as_json:
        print_json(solved.to_dict())
        return
    console = Console(highlight=False)
    value = f"{solved.value:,}" if solved.solved == "num_users" else in_digits(solved.value, "at least", digits=6)
    console.print(f"Wanted: epsilon = {solved.target_epsilon:g}. {_SOLVED[solved.solved].format(value)}")
    console.print(Text(str(solved.statement)))
    _show_bracket(console, solved.found)


def _show_bracket(console: Console, found: Examination) -> None:
    upper = in_digits(found.epsilon_upper, "at most")
    if isinstance(found.upper.guarantee, DifferentialPrivacy) and not found.upper.guarantee.is_trivial:
        console.print(
            "Whoever knows all else, and guesses which of two answers a person gave, with even chances before, is "
            f"right at most {Guess.under(found.upper.guarantee).text} of the time."
        )
    if found.epsilon_lower is None or found.slack is None:
        console.print(f"Epsilon is at most {upper}; how much smaller the best possible one is, no theorem says.")
    else:
        lower = in_digits(found.epsilon_lower, "at least")
        console.print(
            f"The best possible epsilon is between {lower} and {upper}: what is stated is at most "
            f"{in_digits(found.slack, 'at most')} times the best possible."
        )
    if found.releases == 1 and 1 < found.amplification < math.inf:
        local, factor = in_digits(found.model.local.epsilon0, ""), in_digits(found.amplification, "at least", digits=3)
        console.print(
            f"One report by itself has epsilon0 = {local}; shuffling {found.counted.num_users:,} of them divides that "
            f"by {factor}."
        )
    if math.isinf(found.model.local.epsilon0):
        console.print("One report by itself is not locally private (epsilon0 is infinite): only the shuffle protects.")
    if found.renyi is not None:
        console.print(Text(str(found.renyi)))


def _show_limit(console: Console, found: Examination) -> None:
    """How far from the best possible, here and in the limit of many people."""
    if found.slack is not None:
        console.print(f"upper / lower = {in_digits(found.slack, 'at most', digits=7)}")
    if found.limit is not None:
        mu = _from_to(found.limit.mu_lower, found.limit.mu_upper)
        epsilon = _from_to(found.limit.lower, found.limit.upper)
        start = "For one release, the" if found.releases > 1 else "The"
        console.print(
            f"{start} limit of many people is a Gaussian mechanism; for {found.counted.num_users:,} it would have "
            f"mu {mu}, so epsilon {epsilon}. (To compare with, not a bound.)"
        )


def _from_to(lower: float, upper: float) -> str:
    if lower == 0:
        return f"of at most about {upper:.4g}"
    if math.isclose(lower, upper, rel_tol=1e-4):
        return f"of about {upper:.4g}"
    return f"of about {lower:.4g} to {upper:.4g}"


def _table(found: Examination) -> Table:
    """Every theorem with what it gives, or why it does not apply."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("theorem", no_wrap=True)
    table.add_column("epsilon", justify="right", no_wrap=True)
    table.add_column("")
    for each in found.theorems:
        stated = each.theorem in {statement.basis.theorem for statement in found.statements}
        table.add_row(each.theorem, _epsilon(each), _what(each), style="bold" if stated else "")
    return table


def _epsilon(finding: Finding) -> str:
    if finding.epsilon is None:
        return "-"
    sign = {"at most": "<=", "at least": ">="}.get(finding.kind.relation, "")
    return f"{sign} {in_digits(finding.epsilon, finding.kind.relation)}"


def _what(finding: Finding) -> str:
    if finding.reasons:
        return finding.reasons[0]
    return f"{finding.citation}{'; proven in this project' if finding.status is Status.OWN_PROOF else ''}"
