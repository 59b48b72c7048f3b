"""The way of the data: how many answers came in, how many reports went out, and what was taken off on the way."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp._numerals import factor_in_digits, in_digits
from shuffledp.calibrate import split_and_mix_certificate
from shuffledp.models import LabelMeaning, ProtocolModel, ShuffleModel
from shuffledp.randomizers import SplitAndMixModel
from shuffledp.report.parts import Section
from shuffledp.report.words import count, count_of, listed
from shuffledp.shufflers import ParallelShuffleModel
from shuffledp.tasks import DataFlow, Missing, Outcome

__all__ = ["flow_section"]

_ORDER = {
    LabelMeaning.NONE: "in an order that tells nothing",
    LabelMeaning.SLOT: "each beside its place",
    LabelMeaning.SUBMITTER: "each beside whoever handed it in",
    LabelMeaning.ROUND: "each marked with its round",
    LabelMeaning.POSITION: "in the order in which the shuffler put them out",
}
_MISSING = {
    Missing.REFUSE: "Any missing answer would have stopped the run.",
    Missing.DROP: "Missing answers are left out and counted.",
    Missing.CATEGORY: "Not having answered counts as an answer of its own.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One box of the drawn flow.

    Args:
        name: what happened.
        count: to how many.
        note: what there is to know about it.
        secret: whether what is in the box are raw answers.
    """

    name: str
    count: str
    note: str
    secret: bool = False


def flow_section(outcome: Outcome) -> Section:
    """The drawn flow, with sentences about what a reader may stumble over."""
    flow, model = outcome.flow, outcome.model
    context = {
        "received": _received(flow),
        "left_out": count(flow.missing) if flow.received is not None else None,
        "steps": _steps(flow, model),
        "sentences": [
            _MISSING[outcome.task.missing],
            *_planned(flow, model),
            *_attached(outcome),
            *_certificate(outcome),
            *_imperfect(model),
            *_detached(flow),
        ],
    }
    return Section(name="flow", title="From answers to release", context=context)


def _received(flow: DataFlow) -> Step:
    if flow.received is None:
        return Step(name="Received", count="not seen", note="raw answers never came to this stage", secret=True)
    return Step(name="Received", count=count(flow.received), note="rows in the input", secret=True)


def _steps(flow: DataFlow, model: ProtocolModel) -> tuple[Step, ...]:
    users, messages = model.num_users, model.local.num_messages
    loss = f"with epsilon0\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{model.local.epsilon0:.4g}"
    if model.local.guarantee.is_trivial:
        loss = "which hides nothing before the shuffle"
    randomized = f"by {model.local.kind}{',' * model.local.guarantee.is_trivial} {loss}"
    if messages > 1:
        randomized += f"; {messages} messages each"
    released = "reports" if messages == 1 else "messages"
    if model.shuffle.kind == "none":
        shuffled = Step(name="Not shuffled", count=count(users * messages), note="reports stay with their senders")
    elif model.shuffle.labels is LabelMeaning.SUBMITTER:
        shuffled = Step(name="Passed on", count=count(users * messages), note="from hand to hand, by random walks")
    else:
        product = f"{messages} for each of {count_of(users, 'person', 'people')}, " if messages > 1 else ""
        note = f"{product}by {_shuffle(model.shuffle)}"
        shuffled = Step(name="Shuffled", count=count(users * messages), note=note)
    dummies = ", dummies among them" if model.shuffle.dummies else ""
    return (
        Step(name="Randomized", count=count(users), note=randomized),
        shuffled,
        Step(
            name="Released",
            count=count(flow.released),
            note=f"{released}{dummies}, {_ORDER[model.shuffle.labels]}",
        ),
    )


def _shuffle(shuffle: ShuffleModel) -> str:
    if isinstance(shuffle, ParallelShuffleModel):
        return f"{shuffle.num_rounds} separate {shuffle.round.kind} shuffles"
    article = "an" if shuffle.kind[0] in "aeiou" else "a"
    return f"{article} {shuffle.kind} shuffle"


def _certificate(outcome: Outcome) -> tuple[str, ...]:
    """What one person sent, and what is certified about the shuffles of additive shares, unless it is withdrawn."""
    local, shuffle = outcome.model.local, outcome.model.shuffle
    if not isinstance(local, SplitAndMixModel):
        return ()
    found = split_and_mix_certificate(local, shuffle)
    sent = f"Each person sent {found.num_messages:,} messages, {found.bits_per_user:,} bits in all."
    if outcome.seeded:
        return (sent,)
    bits = f"{math.floor(10 * found.security_bits) / 10:.1f}"
    return (
        f"{sent} The shuffled messages are certified to be within 2^\N{MINUS SIGN}{bits} of telling nothing but the "
        f"noisy sum ({bits} bits of security), so that epsilon = {in_digits(found.epsilon, 'at most')} holds with "
        f"delta = {in_digits(found.delta, 'at most')}.",
    )


def _imperfect(model: ProtocolModel) -> tuple[str, ...]:
    """What the order of the released reports tells, if it tells something by itself."""
    gamma = model.shuffle.imperfection
    if model.shuffle.labels is not LabelMeaning.POSITION or not gamma:
        return ()
    return (
        "The order of the released reports is not quite uniform: exchanging two people\N{RIGHT SINGLE QUOTATION MARK}s "
        f"reports changes the probability of an order by a factor of at most {factor_in_digits(gamma, 'at most')} "
        f"(gamma = {in_digits(gamma, 'at most')}). That is assumed of the shuffler, and not measured.",
    )


def _planned(flow: DataFlow, model: ProtocolModel) -> tuple[str, ...]:
    if flow.expected is None:
        return ()
    difference = model.num_users - flow.expected
    beside = f"{count(abs(difference))} {'more' if difference > 0 else 'fewer'}" if difference else "exactly as planned"
    people = count_of(flow.expected, "person was planned for", "people were planned for")
    return (f"{people}; {count(model.num_users)} took part ({beside}). All numbers here are for those who took part.",)


def _attached(outcome: Outcome) -> tuple[str, ...]:
    if outcome.model.shuffle.kind != "none":
        return ()
    public = outcome.task.public
    beside = f" and the public column{'s' if len(public) > 1 else ''} {_quoted(public)}" if public else ""
    return (f"Nothing is shuffled: each report is released beside its sender's row number{beside}.",)


def _quoted(names: Sequence[str]) -> str:
    return listed([f"\N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}" for name in names])


def _detached(flow: DataFlow) -> tuple[str, ...]:
    if not flow.detached:
        return ()
    columns = _quoted(flow.detached)
    many = len(flow.detached) > 1
    return (
        f"The public column{'s' if many else ''} {columns} {'were' if many else 'was'} taken off: beside a report "
        f"{'they' if many else 'it'} could tell whose it is.",
    )
