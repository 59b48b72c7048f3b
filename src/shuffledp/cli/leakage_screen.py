"""What can be guessed about one person, on the terminal: a sentence, the numbers, best guesses, and the comparison."""

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.cli.screen import print_json
from shuffledp.leakage import Comparison, TargetExamination, Vulnerability, wording

__all__ = ["show_leakage"]

_DIGITS = 6


def show_leakage(found: TargetExamination, answers: tuple[str, ...], *, as_json: bool) -> None:
    """Everything that was found; ``answers`` are the names of the values."""
    if as_json:
        print_json(found.to_dict())
        return
    console = Console(highlight=False)
    seen = wording.seen_in(found.model)
    console.print(Text(wording.after_seeing(found.found, seen, counts_right=found.counts_right), style="bold"))
    console.print(_numbers(found))
    for sentence in (found.found.reasons, wording.CORRELATED if found.adversary == "uninformed" else ""):
        if sentence:
            console.print(Text(sentence))
    _show_guesses(console, found, answers)
    if found.comparison is not None:
        _show_comparison(console, found.comparison, counts_right=found.counts_right)


def _numbers(found: TargetExamination) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    each, kind = found.found, str(found.found.kind)
    relation = each.kind.relation
    between = f", from {each.lower:.{_DIGITS}g} to {each.upper:.{_DIGITS}g}" if each.lower < each.upper else ""
    table.add_row("prior vulnerability", _number(each.prior), "")
    table.add_row("posterior vulnerability", _number(each.value, relation), f"{kind} ({each.method}){between}")
    table.add_row("additive leakage", _number(each.additive_leakage, relation), kind)
    table.add_row("multiplicative leakage", _number(each.multiplicative_leakage, relation), kind)
    if found.capacity is None:
        table.add_row("capacity", "-", "not known")
    else:
        about = f"{found.capacity.kind}: no belief about the person, and no aim, makes more of it"
        table.add_row("capacity", _number(found.capacity.value, found.capacity.kind.relation), about)
    return table


def _number(value: float, relation: str = "") -> str:
    return "inf" if math.isinf(value) else in_digits(value, relation, digits=_DIGITS)


def _show_guesses(console: Console, found: TargetExamination, answers: tuple[str, ...]) -> None:
    if found.guesses is None:
        if found.adversary == "uninformed":
            listed = found.model.shuffle.is_uniform
            why = "too many histograms can be seen to list them" if listed else "not listed where the order matters too"
            console.print(Text(f"Best guesses: {why}."))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("reports seen, of each kind")
    for name in ("probability", "best guess", "right" if found.counts_right else "worth"):
        table.add_column(name, justify="right")
    for guess in found.guesses:
        named = guess.guess < len(answers) and found.counts_right
        table.add_row(
            Text(", ".join(map(str, guess.seen))),
            f"{guess.probability:.4g}",
            Text(answers[guess.guess] if named else str(guess.guess)),
            wording.as_share(guess.worth) if found.counts_right else f"{guess.worth:.4g}",
        )
    console.print(table)


def _show_comparison(console: Console, found: Comparison, *, counts_right: bool) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("way", "people", "error", "uninformed", "strong"):
        table.add_column(name, justify="left" if name == "way" else "right", no_wrap=name != "way")
    before = _cell(found.prior, "", counts_right=counts_right)
    table.add_row("Nothing seen", "", "", before, before)
    for way in found.ways:
        error = "-" if way.error is None else f"{way.error:.4g}"
        cells = (_vulnerability(each, counts_right=counts_right) for each in (way.uninformed, way.strong))
        table.add_row(wording.NAMES[way.name], f"{way.people:,}", error, *cells)
    console.print(table)
    for sentence in wording.answer(found, counts_right=counts_right):
        console.print(Text(sentence))
    for reason in found.left_out:
        console.print(Text(f"Left out: {reason}"))


def _vulnerability(found: Vulnerability | None, *, counts_right: bool) -> str:
    if found is None:
        return "-"
    sign = {"at most": "<= ", "at least": ">= ", "about": "~ "}.get(found.kind.relation, "")
    return sign + _cell(found.value, found.kind.relation, counts_right=counts_right)


def _cell(value: float, relation: str, *, counts_right: bool) -> str:
    return wording.as_share(value, relation, decimals=2) if counts_right else in_digits(value, relation)
