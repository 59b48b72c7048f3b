"""Plan of weekly surveys in words: joint loss of all weeks, and errors of a week, mean and change."""

from collections.abc import Iterable

from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import Block, Column, Role, Table, Text, told
from shuffledp.documents.document import Document, Section
from shuffledp.documents.statement_document import promise_of
from shuffledp.planning.detectable_differences import POWER, least_change
from shuffledp.survey import WeeklyErrors, WeeksPlan

_ONCE = "If answers stay as they are, ask once: a second week tells nothing new."
_ABOUT_AS_MUCH = "If answers stay as they are, asking once tells about as much as the mean of all weeks."
_ANEW = (
    "Where answers change, devices randomize each answer anew every week. A report that is kept and sent again does "
    "not protect a change: those who changed are all that differs between two weeks."
)
_BEFOREHAND = (
    "This holds for weeks that are planned beforehand, how many and what each may lose, with as many people in each. "
    "Whoever takes part in some of them loses no more."
)


def weeks_document(plan: WeeksPlan) -> Document:
    """Total loss of all weeks, then the errors of each private column, and the lines for the task."""
    people = f"{count_of(plan.num_users, 'person', 'people')}, the same for {plan.num_weeks} weeks"
    unshuffled = (
        f"If nothing were shuffled, what one person sends in all weeks would lose {in_digits(plan.sent, 'at most')}."
    )
    sections = [
        Section(anchor=f"column-{each.value}", title=each.value, blocks=tuple(_column(plan, each)))
        for each in plan.columns
    ]
    said = (
        *told(*_once(plan), _ANEW),
        *told(_BEFOREHAND, unshuffled, role=Role.NOTE),
        *(told(*_lines(plan), role=Role.PATH) if plan.target_epsilon is not None else ()),
    )
    sections.append(Section(anchor="weeks", title="Weeks", blocks=said))
    return Document(
        title=f"{plan.task.name}, {plan.num_weeks} weeks",
        digest=plan.task.sha256,
        promise=promise_of([plan.statement], people),
        sections=tuple(sections),
    )


def _once(plan: WeeksPlan) -> Iterable[str]:
    """Sentence that compares asking once with the mean of all weeks; none where errors are unknown."""
    shown = (each for each in plan.columns if not plan.warnings(each))
    beside = [(each.once, each.of_mean) for each in shown if each.once is not None]
    if beside:
        yield _ONCE if all(once <= mean for once, mean in beside) else _ABOUT_AS_MUCH


def _column(plan: WeeksPlan, errors: WeeklyErrors) -> Iterable[Block]:
    """The errors of one column: of a week, of the mean, of a change, and of asking once."""
    warnings = plan.warnings(errors)
    if warnings:
        yield Text(f"{errors.value}: {errors.kind} with epsilon0 = {_loss(errors)} every week.")
        yield from told(*warnings, role=Role.DANGER)
        return
    weeks = count_of(plan.num_weeks, "week")
    yield Text(
        f"{errors.value}: {errors.kind} with epsilon0 = {_loss(errors)} every week. Standard errors that "
        f"randomizing adds, for {errors.at}:"
    )
    rows = [
        ("one week", errors.of_week),
        ("change between two weeks", errors.of_change),
        (f"mean of {weeks}", errors.of_mean),
    ]
    if errors.once is not None and errors.once_epsilon0 is not None:
        rows.append((f"asked once, epsilon0 = {in_digits(errors.once_epsilon0, 'exactly')}", errors.once))
    heads = (Column("estimate", left=True), Column("error"))
    yield Table("", heads, tuple((name, f"{error:.3g}") for name, error in rows), own=frozenset({0}))
    yield Text(
        f"About a population that the people are a random sample of, a week errs by another "
        f"{errors.sampling_error:.3g}, and a mean by as much where answers stay the same.",
        Role.NOTE,
    )
    found = least_change(errors.of_change, level=plan.task.release.level)
    yield Text(
        f"A change of {found:.3g} between two weeks, among the same people, is found with a chance of {POWER:.0%}.",
        Role.NOTE,
    )


def _loss(errors: WeeklyErrors) -> str:
    """Local loss of one week in words; also the loss of one message, where people send several."""
    loss = in_digits(errors.epsilon0, "exactly")
    one = errors.of_message
    return loss if one is None else f"{loss} of all messages of a person, {in_digits(one, 'exactly')} of one,"


def _lines(plan: WeeksPlan) -> Iterable[str]:
    """The lines for the task file."""
    yield "For the task file:"
    table = "value.randomizer" if plan.task.in_blocks else "randomizer"
    yield f"  [{table}]  epsilon0 = {in_digits(plan.columns[0].key_epsilon0, 'exactly')}"
    if len(plan.columns) > 1:
        yield f"The same epsilon0 for each of the {len(plan.columns)} questions."
    for errors in plan.columns:
        loss = in_digits(errors.epsilon0, "at most")
        if errors.of_message is not None:
            yield f"{errors.value}: it is of one message; all messages of a week lose {loss} by themselves."
