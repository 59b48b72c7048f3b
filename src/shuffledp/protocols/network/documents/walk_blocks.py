"""Texts about walks on graphs and overlays: the hand-in, and the guarantee if trust fails."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shuffledp.core.text import as_share, count_of, in_digits, percent
from shuffledp.documents.blocks import PAGE, Bar, Bars, Block, Column, Role, Table, Text, told
from shuffledp.documents.document import Section
from shuffledp.documents.words import count, number

if TYPE_CHECKING:
    from shuffledp.protocols.network.planning.constant_links import LinksPlan
    from shuffledp.protocols.network.planning.overlay_plan import WalksPlan
    from shuffledp.protocols.network.planning.planned_churn import PlannedChurn
    from shuffledp.protocols.network.survey.network_section import WalkResult

_HANDED_IN = {
    "all": "Everybody hands in all reports that they hold in the end.",
    "single": "Everybody hands in one of the reports that they hold in the end, chosen by lot, or a dummy.",
    "padded": "Everybody hands in equally many reports, with dummies for those that are lacking.",
}
LACKING = {
    "all": "In the end {} people are expected to hold no report, and hand in nothing.",
    "single": "In the end {} people are expected to hold no report, and hand in a dummy; of several, one is handed in.",
    "padded": "In the end {} reports are expected to be lacking, and dummies take their places.",
}
MESSAGE_BYTES = 96  # size of an encrypted report with its key, tag and round
_MOST_BARS = 8


def chance_of(exposure: float) -> str:
    """Chance in percent, rounded up, but never to certainty."""
    return "above 99.9%" if 0.999 < exposure < 1 else as_share(exposure, "at most")


def churn_sentence(churn: "PlannedChurn | None", rounds: int) -> str:
    """Sentence on the gate and the recorded attendance; "" where all are online, or attendance is unknown."""
    if churn is None or churn.is_unknown:
        return ""
    recorded = churn.recorded
    if churn.gate is None:
        return f"Who was online is recorded, and this holds given that: {_absences(churn)}"
    asked = number(churn.gate.epsilon, "at most")
    if recorded is not None:
        return f"The gate at {asked} opened after {count_of(rounds, 'round')}; {_absences(churn)}"
    return (
        f"Reports walk until who is online has mixed them enough for {asked}, and are handed in then, or after "
        f"{count_of(rounds, 'round')} not at all. {_how_long(churn.opened)}"
    ).rstrip()


def rounds_walked(churn: "PlannedChurn | None", rounds: int) -> str:
    """Words for the number of rounds, or for their maximum if a gate may open earlier."""
    most = "at most " * (churn is not None and churn.is_open_ended)
    return f"{most}{count_of(rounds, 'round')}"


def passed_sentence(plan: "WalksPlan", bits: int | None, *, most: str) -> str:
    """Sentence on the number and size of reports that a person passes on, and on missing reports.

    ``most`` is what the busiest passes on. Where a gate may open before all rounds are walked, all are at most so many.
    """
    own, at_most = plan.own, "at most " * (plan.churn is not None and plan.churn.is_open_ended)
    traffic = "" if bits is None else f" ({math.ceil(own.messages * bits):,} bits)"
    return (
        f"Each person passes on {at_most}{own.messages:,.1f} reports on average{traffic}, the busiest {most}. "
        f"{LACKING[plan.protocol].format(f'{own.lacking:,.1f}')}"
    )


def better_sentence(plan: "WalksPlan") -> str:
    """Sentence on the promise if all reports were handed in; "" unless it is better in every respect."""
    if not plan.all_is_better or plan.epsilon_of_all is None:
        return ""
    return (
        f'With protocol = "all" epsilon = {in_digits(plan.epsilon_of_all, "at most")} would hold after as many rounds, '
        "and estimates would err less: no report is left out, and there are no dummies."
    )


def _absences(churn: "PlannedChurn") -> str:
    """Sentence on people offline in a run: how often, how many, and how many at the end."""
    found = f"somebody was offline {_times(churn.recorded or 0)}"
    if churn.away:
        found += f", {count_of(churn.away, 'person', 'people')} in all"
    if churn.left_out:
        found += f", {count(churn.left_out)} of them at the end, who handed in nothing"
    return f"{found}."


def _times(number_of: int) -> str:
    return "once" if number_of == 1 else f"{count(number_of)} times"


def _how_long(opened: tuple[int, ...]) -> str:
    """Sentence on the rounds until the gate opened in simulations; "" without simulations."""
    if not opened:
        return ""
    rounds, shut = sorted(each for each in opened if each), opened.count(0)
    many = count_of(len(opened), "simulated schedule")
    if not rounds:
        return f"In {many} it stayed shut (an estimate): more rounds are needed, or a gate with a larger epsilon."
    span = f"{rounds[0]}" if rounds[0] == rounds[-1] else f"{rounds[0]} to {rounds[-1]}"
    stayed = f", and stayed shut in {shut}" if shut else ""
    return f"In {many} that took {span} rounds{stayed} (an estimate, and no promise)."


def links_text(links: "LinksPlan | None", *, onion: bool = False) -> str:
    """Text on links with slots: their cost, and the part of delta for overfull links; "" without slots."""
    if links is None or not links.slots_per_link:
        return ""
    waits = "the rest wait for the next round" if links.surplus == "waits" else "nothing is released then"
    mean = "" if round(links.slots_mean) == links.slots else f", {links.slots_mean:,.0f} on average"
    sent = count_of(links.slots, "slot")
    rare = "No link ever has more reports to carry."
    if links.overflow:
        rare = (
            f"Some link has more reports to carry with a chance of at most {in_digits(links.overflow, 'at most')}; "
            f"{waits}. Delta counts {in_digits(links.charge, 'at most')} for that."
        )
    return (
        "Whoever watches all messages learns nothing: in each round everybody sends one envelope on every link, of "
        f"{_slots_in_words(links.slots_per_link)}, whatever there is to send. That is {sent} a person in all{mean} "
        f"({count(links.slots * MESSAGE_BYTES)} bytes at {MESSAGE_BYTES} a slot{', layers not counted' * onion}). "
        f"{rare}"
    )


def _slots_in_words(slots: Sequence[int]) -> str:
    """Words for the number of slots, in the first and in later rounds."""
    first, others = slots[0], sorted(set(slots[1:]))
    if not others:
        return count_of(first, "slot")
    more = f"{others[0]}" if len(others) == 1 else f"{others[0]} to {others[-1]}"
    where = "each of the others" if len(slots) > 2 else "the other"
    return f"{count_of(first, 'slot')} in the first round and {more} in {where}"


def held_bars(walked: "WalkResult") -> Iterable[Block]:
    """Bars of the people who handed in no report, one report, and so on.

    The last bar counts all larger numbers.
    """
    people, shown, rest = sum(walked.held), list(walked.held[:_MOST_BARS]), sum(walked.held[_MOST_BARS:])
    names = [count(number_of) for number_of in range(len(shown))]
    if rest:
        shown.append(rest)
        names.append(f"{_MOST_BARS} or more")
    longest = max(shown)
    bars = tuple(
        Bar(name=name, value=f"{count(many)} ({percent(many / people)})", length=100 * many / longest)
        for name, many in zip(names, shown, strict=True)
    )
    lacking = number(walked.plan.own.lacking)
    caption = f"People by the number of reports that they handed in; {lacking} were expected to hand in none"
    return (
        Text("Who handed in how many", Role.HEADING, on=PAGE),
        Bars(caption, ("Reports", "People", "Drawn"), bars, "counts", on=PAGE),
    )


def walk_section(plan: "WalksPlan", passed: str, lead: str, *further: Block) -> Section:
    """Section on walks: the way of the reports, the guarantee as its ``lead``, and ``further`` blocks."""
    passed = f"There is no shuffler: reports went from hand to hand {passed} {_HANDED_IN[plan.protocol]}"
    blocks = (
        *told(*plan.warnings, role=Role.DANGER),
        Text(passed, on=PAGE),
        Text(lead, Role.LEAD, bold=(f"epsilon = {in_digits(plan.epsilon, 'at most')}",), on=PAGE),
        *told(churn_sentence(plan.churn, plan.own.rounds), on=PAGE),
        *further,
    )
    return Section(anchor="network", title="From hand to hand", blocks=blocks)


def trust_blocks(plan: "WalksPlan", epsilon0: float, *, onion: bool = False) -> Iterable[Block]:
    """Text on the guarantee if people collude or messages are watched.

    For onions: if more people collude than are counted.
    """
    yield Text("If trust fails", Role.HEADING, on=PAGE)
    who = "more people than are counted who tell" if onion else "a neighbor who tells"
    watcher = "" if plan.links else ", and against somebody who watches all messages,"
    yield Text(
        f"Against {who} the analyst what came from whom{watcher} only epsilon0 = {number(epsilon0, 'exactly')} is "
        "left.",
        on=PAGE,
    )
    if text := links_text(plan.links, onion=onion):
        yield Text(text, on=PAGE)
    if not plan.risks:
        return
    heads = tuple(map(Column, ("Share who collude", "Chance that they ever hold a report", "Delta, at least")))
    rows = tuple(
        (f"{100 * each.share:.3g}%", chance_of(each.exposure), number(each.delta_at_least, "at least"))
        for each in plan.risks
    )
    caption = "If a share of the people collude with the analyst; numbers to weigh, and no promise"
    yield Table(caption, heads, rows, label="What collusion costs", on=PAGE)
    yield Text(
        "The chance is an average over who colludes, and an upper bound. The last column is for somebody of whose "
        f"neighbors that share colludes: at epsilon = {number(epsilon0 / 2)}, half of epsilon0, no smaller delta holds "
        "for the worst randomizer of this epsilon0.",
        Role.NOTE,
        on=PAGE,
    )
