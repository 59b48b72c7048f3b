"""What can be guessed about one person, on the terminal: a sentence, the numbers, best guesses, and the comparison."""

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.cli.screen import print_json
from shuffledp.leakage import BestGuess, Comparison, TargetExamination, Vulnerability, wording
from shuffledp.leakage.guessing import MOST_LISTED
from shuffledp.statements import Kind

__all__ = ["show_leakage"]

_DIGITS = 6
_MOST_NAMES = 8
_MOST_TIED = 3
_CAPACITIES = {
    "exactly": "no belief about the person, and no aim without losses, makes more of it",
    "at most": "no belief about the person, and no aim without losses, makes more of it",
    "at least": "some belief about the person makes as much of it; others may make more",
    "about": "of the most that any belief, with an aim without losses, makes of it",
}


def show_leakage(
    found: TargetExamination | Comparison, answers: tuple[str, ...], *, counts_right: bool, as_json: bool
) -> None:
    """Everything that was found; ``answers`` are the names of the values."""
    if as_json:
        print_json(found.to_dict())
        return
    console = Console(highlight=False)
    if isinstance(found, Comparison):
        console.print(
            Text("The protocol's own number is not known; it is at most that of randomizing only.", style="bold")
        )
        _show_comparison(console, found, counts_right=counts_right)
        return
    seen = wording.seen_in(found.model)
    console.print(_sentence(wording.after_seeing(found.found, seen, counts_right=counts_right), style="bold"))
    console.print(_numbers(found))
    for sentence in (found.found.reasons, wording.CORRELATED if found.adversary == "uninformed" else ""):
        if sentence:
            console.print(_sentence(sentence))
    _show_guesses(console, found, answers)
    if found.comparison is not None:
        _show_comparison(console, found.comparison, counts_right=counts_right)


def _sentence(text: str, style: str = "") -> Text:
    """With percentages that no line breaks apart."""
    return Text(_joined(text), style=style)


def _joined(text: str) -> str:
    return text.replace(" %", "%")


def _numbers(found: TargetExamination) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    each, kind = found.found, str(found.found.kind)
    relation = each.kind.relation
    ends = _number(each.lower, "at least"), _number(each.upper, "at most")
    between = f", from {ends[0]} to {ends[1]}" if each.lower < each.upper and ends[0] != ends[1] else ""
    table.add_row("prior vulnerability", _number(each.prior), "")
    table.add_row("posterior vulnerability", _number(each.value, relation), f"{kind} ({each.method}){between}")
    table.add_row("additive leakage", _number(each.additive_leakage, relation), kind)
    table.add_row("multiplicative leakage", _number(each.multiplicative_leakage, relation), kind)
    if found.worst is not None:
        worst = found.worst
        about = f"{worst.kind}: any shuffle that is as imperfect"
        table.add_row("worst posterior", _number(worst.value, worst.kind.relation), about)
    if found.capacity is None:
        table.add_row("capacity", "-", "not known")
    else:
        about = f"{found.capacity.kind}: {_CAPACITIES[found.capacity.kind.relation]}"
        table.add_row("capacity", _number(found.capacity.value, found.capacity.kind.relation), about)
    return table


def _number(value: float, relation: str = "") -> str:
    return "inf" if math.isinf(value) else in_digits(value, relation, digits=_DIGITS)


def _show_guesses(console: Console, found: TargetExamination, answers: tuple[str, ...]) -> None:
    if found.guesses is None:
        if found.adversary == "uninformed":
            listed = found.model.shuffle.is_uniform
            why = (
                f"more than the {MOST_LISTED} histograms that are listed can be seen"
                if listed
                else "not listed where the order matters too"
            )
            console.print(Text(f"Best guesses: {why}."))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"reports seen of {_kinds(found, answers)}")
    for name in ("probability", "best guess", "right" if found.counts_right else "worth"):
        table.add_column(name, justify="right")
    for guess in found.guesses:
        table.add_row(
            Text(", ".join(map(str, guess.seen))),
            f"{guess.probability:.4g}",
            Text(_guessed(guess, answers if found.counts_right else ())),
            _joined(wording.as_share(guess.worth)) if found.counts_right else f"{guess.worth:.4g}",
        )
    console.print(table)
    if any(guess.tied for guess in found.guesses):
        console.print(Text("Guesses with an 'or' between them are equally good."))


def _guessed(guess: BestGuess, answers: tuple[str, ...]) -> str:
    """The best guess, and all that are as good, or how many."""
    every = (guess.guess, *guess.tied)
    names = [answers[number] if number < len(answers) else str(number) for number in every]
    return " or ".join(names) if len(names) <= _MOST_TIED else f"{names[0]} or {len(names) - 1} others"


def _kinds(found: TargetExamination, answers: tuple[str, ...]) -> str:
    """Whose numbers are listed: answers, where reports are answers, and else the randomizer's outputs by number."""
    size = len(found.guesses[0].seen) if found.guesses else 0
    if found.model.local.kind != "k-rr":
        return f"kinds 0 to {size - 1}"
    names = answers if len(answers) == size else tuple(map(str, range(size)))
    return ", ".join(names) if size <= _MOST_NAMES else f"{names[0]} to {names[-1]}"


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
        console.print(_sentence(sentence))
    if not any(way.name == "both" for way in found.ways):
        console.print(Text("Nothing is shuffled: randomizing is all there is."))
    for reason in found.left_out:
        console.print(Text(f"Left out: {reason}"))


def _vulnerability(found: Vulnerability | None, *, counts_right: bool) -> str:
    if found is None:
        return "-"
    if counts_right and found.kind is Kind.LOWER_BOUND:
        return _joined(wording.between(found, decimals=2))
    sign = {"at most": "<= ", "at least": ">= ", "about": "~ "}.get(found.kind.relation, "")
    return sign + _cell(found.value, found.kind.relation, counts_right=counts_right)


def _cell(value: float, relation: str, *, counts_right: bool) -> str:
    return _joined(wording.as_share(value, relation, decimals=2)) if counts_right else in_digits(value, relation)
