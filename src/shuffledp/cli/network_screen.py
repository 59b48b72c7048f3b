"""What walks along a graph do for a task, on the terminal."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shuffledp._numerals import in_digits
from shuffledp.tasks import NetworkPlan, PrintedFormula

__all__ = ["network_sentences", "show_network"]

_LACKING = {
    "all": "In the end {} people are expected to hold no report, and hand in nothing.",
    "single": "In the end {} people are expected to hold no report, and hand in a dummy; of several, one is handed in.",
    "padded": "In the end {} reports are expected to be lacking, and dummies take their places.",
}


def show_network(console: Console, plan: NetworkPlan, delta: float, bits: int | None, *, table: bool) -> None:
    """The guarantee, its cost and how fast walks mix; with ``table`` also each number of rounds and each part.

    Args:
        console: where to.
        plan: what to show.
        delta: of the guarantees.
        bits: of one report; None where that differs from person to person.
        table: whether to show all.
    """
    for sentence in network_sentences(plan, delta, bits):
        console.print(Text(sentence))
    if table:
        console.print(_table(plan))
        if len(plan.parts) > 1:
            console.print(_parts(plan))
        for each in plan.printed:
            console.print(
                Text(
                    f"To compare with, not to rely on: Theorem {each.theorem} of Liew et al.{_version(each)} prints "
                    f"epsilon = {each.epsilon:.4g} here, with delta = {each.delta:g}. It is {each.flag}.",
                    style="dim",
                )
            )


def _version(each: PrintedFormula) -> str:
    """Which version, if it is that for randomizers with a local delta."""
    if not each.local_delta:
        return ""
    return f" for reports that are (epsilon0, delta0)-private with delta0 up to {each.local_delta:.3g}"


def network_sentences(plan: NetworkPlan, delta: float, bits: int | None) -> list[str]:
    """What there is to know, in words."""
    own = plan.own
    traffic = "" if bits is None else f" ({math.ceil(own.messages * bits):,} bits)"
    graphs = f"{plan.num_graphs} graphs in turn, the first with" if plan.num_graphs > 1 else "A graph of"
    merged = (
        f" (merged {plan.merged_edges:,} repeated edges, dropped {plan.dropped_loops:,} loops)"
        if plan.merged_edges or plan.dropped_loops
        else ""
    )
    return [
        f"{graphs} {plan.num_users:,} people and {plan.num_edges:,} edges, taken in both directions{merged}; "
        f"irregularity {plan.irregularity:.4g}.",
        f"After {_rounds(plan.rounds)} epsilon = {in_digits(plan.epsilon, 'at most')} at delta = {delta:g}; a uniform "
        f"shuffle of as many people would have {in_digits(plan.uniform, 'at most')}. {_fewest(plan)}",
        *_better(plan),
        f"Each person passes on {own.messages:,.1f} reports on average{traffic}, the busiest {own.messages_most:,.0f}. "
        f"{_LACKING[plan.protocol].format(f'{own.lacking:,.1f}')}",
        *_mixing(plan),
        *_failing(plan),
    ]


def _better(plan: NetworkPlan) -> list[str]:
    """What another protocol would do, if it is better in all respects."""
    if not plan.all_is_better or plan.epsilon_of_all is None:
        return []
    return [
        f'With protocol = "all" epsilon = {in_digits(plan.epsilon_of_all, "at most")} would hold after as many rounds, '
        "and estimates would err less: no report is left out, and there are no dummies."
    ]


def _fewest(plan: NetworkPlan) -> str:
    that = "that" if plan.num_parts == 1 else "a uniform shuffle of each part"
    if plan.why_not_searched:
        return f"The fewest rounds that come within 5 % of {that} are not known: {plan.why_not_searched}."
    if plan.fewest_rounds is None:
        return f"No number of rounds was found that comes within 5 % of {that}."
    return f"The fewest rounds that come within 5 % of {that}: {plan.fewest_rounds:,}."


def _mixing(plan: NetworkPlan) -> list[str]:
    """The two mixing times, by their names."""
    if plan.mixing_time is None:
        too_many = plan.num_parts > 1 and not plan.parts
        return ["Mixing times are not worked out for more than 64 parts."] if too_many else []
    slowest = ", of the slowest part" if plan.num_parts > 1 else ""
    never = math.isinf(plan.mixing_time)
    customary = _mixing_time(plan.mixing_time) + ("" if never else " rounds")
    found = f"Mixing time by the gap, log(n) / gap{slowest}: {customary}."
    if plan.distance_rounds is None:
        return [f"{found} Positions{' in it' if slowest else ''} never come near one law."]
    least, most = plan.distance_rounds
    after = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return [f"{found} Mixing time by distance, until all laws are within 0.01 of the stationary one: {after} rounds."]


def _failing(plan: NetworkPlan) -> list[str]:
    """What remains if trust fails: never a promise."""
    if not plan.risks:
        return []
    one = plan.risks[0]
    return [
        f"If {100 * one.share:.3g}% of the people collude, a report is ever in their hands with a chance of at most "
        f"{math.ceil(1000 * one.exposure) / 10:.1f}% on average; whoever has a colluding neighbor has no guarantee but "
        "that of the own device."
    ]


def _table(plan: NetworkPlan) -> Table:
    nothing = "hold\nnone" if plan.protocol == "all" else "dummies"
    table = _empty_table("rounds", "epsilon", "messages\neach", "busiest", nothing, "theorem")
    table.columns[-1].justify = "left"
    for place in (0, -1):  # words, which are folded before any number is
        table.columns[place].no_wrap = False
    table.columns[0].min_width = len("(within")
    for row in plan.by_rounds:
        marks = ", ".join([*(["yours"] if row.rounds == plan.rounds else []), *_first(plan, row.rounds)])
        table.add_row(
            f"{row.rounds:,} ({marks})" if marks else f"{row.rounds:,}",
            f"<= {in_digits(row.epsilon, 'at most')}",
            f"{row.messages:,.1f}",
            f"{row.messages_most:,.1f}",
            f"{row.lacking:,.1f}",
            row.theorem,
            style="bold" if row.rounds == plan.rounds else "",
        )
    return table


def _first(plan: NetworkPlan, rounds: int) -> Sequence[str]:
    return ["within 5 %"] if rounds == plan.fewest_rounds else []


def _parts(plan: NetworkPlan) -> Table:
    table = _empty_table("people", "edges", "log(n)\n/ gap", "epsilon", "uniform", "rounds\nto 5 %")
    table.title, table.title_justify = "Parts", "left"
    for part in plan.parts:
        table.add_row(
            f"{part.people:,}",
            f"{part.edges:,}",
            _mixing_time(part.mixing_time),
            f"<= {in_digits(part.epsilon, 'at most')}",
            in_digits(part.uniform, "at most"),
            "-" if part.fewest_rounds is None else f"{part.fewest_rounds:,}",
        )
    return table


def _empty_table(*names: str) -> Table:
    """What does not fit is folded: a number that is cut says nothing."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True, overflow="fold")
    return table


def _mixing_time(rounds: float | None) -> str:
    if rounds is None:
        return "-"
    return "never" if math.isinf(rounds) else f"{rounds:,.1f}"


def _rounds(number: int) -> str:
    return f"{number:,} round{'' if number == 1 else 's'}"
