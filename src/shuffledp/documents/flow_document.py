"""The way of the data in words: answers read, answers removed, and reports released."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.sum_models import SumModel
from shuffledp.core.text import count_of, factor_in_digits, percent, plural, printable
from shuffledp.documents.blocks import DETAIL, PAGE, TERMINAL, Block, Medium, Role, Text, told
from shuffledp.documents.document import Document, Section
from shuffledp.documents.family_document import document_of
from shuffledp.documents.follow_up_document import asked_after
from shuffledp.documents.words import count, epsilon0_of, listed, moved_by_one, said_alone
from shuffledp.survey import DEMONSTRATION, ColumnOutcome, ColumnStage, DataFlow, Missing

_MISSING = {
    Missing.REFUSE: "Any missing answer would have stopped the run.",
    Missing.DROP: "",  # the drawn flow counts them
    Missing.CATEGORY: "Not having answered counts as an answer of its own.",
}
_REFUSED = {
    "duplicates": "copies counted once",
    "late": "too late",
    "malformed": "malformed",
    "undecryptable": "that the analyst's key does not open",
    "tests": "sealed as tests of the way and thrown away",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One box of the drawn flow: its name, count and note, and the number of left-out answers."""

    name: str
    count: str
    note: str
    secret: bool = False
    left_out: str | None = None
    why_left_out: str = "without an answer"


@dataclass(frozen=True, slots=True)
class Steps(Block):
    """The drawn flow of the data, as a row of steps."""

    steps: tuple[Step, ...]


def flow_section(outcome: ColumnOutcome) -> Section:
    """Section with the drawn flow of the data and explanations; in short on a terminal."""
    flow, model, randomizer = outcome.flow, outcome.model, outcome.column.randomizer
    lost = _MISSING[outcome.column.missing] if flow.collected is None else _in_and_out(flow, model)
    sentences = [
        _one_report(outcome),
        asked_after(outcome.column),
        lost,
        *_planned(flow, model),
        *document_of(randomizer.kind, randomizer).flow_sentences(outcome),
        model.shuffle.leaking_order,
    ]
    beside = " ".join(filter(None, [_beside(outcome), *_detached(flow)]))
    blocks = (
        *(Text(each, Role.DANGER, on=_where(each)) for each in outcome.how_answered),
        *told(*model.local.warnings, role=Role.DANGER),
        *told(said_alone(model.local)),
        Text(_in_and_out(flow, model), on=TERMINAL if _left_out(flow) or flow.released < model.num_senders else DETAIL),
        *told(beside, on=DETAIL if model.shuffle.trust else TERMINAL),
        Steps((_received(flow), *_steps(flow, model)), on=PAGE),
        *told(*sentences, on=PAGE),
        *moved_by_one(outcome.column, model.local, model.num_senders, on=PAGE),
        *told(_beside(outcome), *_detached(flow), on=PAGE),
    )
    return Section(anchor="flow", title="From answers to release", blocks=blocks)


def _where(danger: str) -> Medium:
    """Medium for a warning: terminal and page, or the terminal alone for a demonstration (a page has a banner)."""
    return TERMINAL if danger == DEMONSTRATION else Medium.BOTH


def stage_section(stage: str, outcome: ColumnStage, file: str) -> Section:
    """Section with the result of a single stage for one private column."""
    done = {"randomize": "randomized", "shuffle": "shuffled"}[stage]
    each = outcome.column.randomizer.randomizer().model.num_messages
    what = f"{outcome.num_reports:,} reports"
    if each > 1:
        what = f"{outcome.num_reports:,} messages of {outcome.num_reports // each:,} people"
    dropped = f"{outcome.flow.missing:,} people without an answer dropped." if outcome.flow.missing else ""
    seeded = "SEEDED: for experiments only; no privacy is promised." if outcome.seeded else ""
    notes = [f"{what} {done}: {file}.", dropped, *_detached(outcome.flow), seeded]
    return Section(anchor="stage", title=stage, blocks=told(" ".join(filter(None, notes)), role=Role.PATH))


def written_task(file: str, *, needs_table: bool) -> Document:
    """Document of the next steps with a new task file."""
    table = " --input PEOPLE.csv" if needs_table else ""
    said = f"Written: {file}. What it promises, and how far it errs: shuffledp plan {file}{table}"
    return Document(sections=(Section(anchor="task", title="", blocks=told(said, role=Role.PATH)),))


def categories_were_read(file: str) -> str:
    """Warning that a task shows which answers people gave."""
    return (
        f"the categories in {file} were read from the answers. That is a release of its own, which no guarantee "
        "covers: it tells that each of them was given. Name all possible answers by --categories, as they were before "
        "anybody answered."
    )


def put_into_bins(column: str) -> str:
    """Note that numbers were put into bins because no kind was named."""
    return (
        f"column {column!r} holds many different numbers, so the task puts them into bins from 0 to 100: set lower, "
        "upper and bins as they should be. --kind mean averages them, --kind survey takes each as a category."
    )


def lists_as_categories(column: str) -> str:
    """Note that lists of options were taken as they are, each as one answer."""
    return (
        f"column {column!r} holds lists, and each different list is one category of the task: --kind ticks takes them "
        "apart into options."
    )


def range_to_set(column: str) -> str:
    """Note that the range of numbers in a new task was not read from the table."""
    return (
        f"the range from 0 to 100 of column {column!r} is not read from the table: set lower and upper as they should "
        "be, before anybody is asked."
    )


def norm_to_set(column: str) -> str:
    """Note that the largest length of lists in a new task was not read from the table."""
    return (
        f"the largest length 1 of lists in column {column!r} is not read from the table: set largest_norm as it should "
        "be, before anybody is asked."
    )


def looked_alike(answers: Sequence[str]) -> str:
    """Note on categories that differ only in letter case."""
    names = printable(", ".join(map(repr, answers)))
    return f"the answers {names} differ by case alone, and count as different ones: make them one in the table."


def secret_file(file: str) -> str:
    """Warning about a file that reveals answers."""
    return (
        f"{file} gives every answer away: whoever reads it adds up each person's messages. Nothing hides them before "
        "the shuffle: hand it to nobody but a shuffler whom people trust with their answers, and delete it after "
        "shuffling. Only its owner may read it. A shuffle that is killed may leave the messages in a folder .buckets.* "
        "beside its output: delete that too."
    )


def _in_and_out(flow: DataFlow, model: ProtocolModel) -> str:
    """Sentence on the numbers of received, left-out and released answers."""
    rows = "rows" if flow.collected is None else "reports"
    received = "" if flow.received is None else f"{flow.received:,} {rows} received, "
    left_out = "".join(f"{count:,} {why}, " for why, count in _left_out(flow).items())
    return f"{received}{left_out}{model.shuffle.released_in_words(flow.released, model.num_senders)}"


def _left_out(flow: DataFlow) -> dict[str, int]:
    """Counts of answers that are not in the view, by reason."""
    refused = {} if flow.collected is None else flow.collected.refused
    counts = {_REFUSED[reason]: number for reason, number in refused.items()}
    return {why: number for why, number in {"without an answer dropped": flow.missing, **counts}.items() if number}


def _one_report(outcome: ColumnOutcome) -> str:
    """Guarantee of a report by itself, in words; "" for a withdrawn or seeded run."""
    local = outcome.model.local
    if outcome.release.seeded or any(statement.withdrawn for statement in outcome.release.statements):
        return ""
    if isinstance(local, FrequencyModel):
        return (
            f"A report supports its sender's true answer with probability {percent(local.p)}, and any other given "
            f"answer with {percent(local.q)}."
        )
    if isinstance(local, SumModel):
        return local.alone
    if local.guarantee.is_trivial:
        return "Nothing limits what a report tells about its sender."
    what = "a report" if local.num_messages == 1 else "all that one person sends"
    return (
        f"Any content of {what} is at most {factor_in_digits(local.epsilon0, 'at most')} times as probable after one "
        "answer as after any other."
    )


def _received(flow: DataFlow) -> Step:
    if flow.received is None:
        return Step(name="Received", count="not seen", note="raw answers never came to this stage", secret=True)
    received, lost = count(flow.received), sum(_left_out(flow).values())
    left_out = count(lost) if lost else None
    if flow.collected is not None:
        return Step(
            name="Received",
            count=received,
            note="encrypted reports",
            left_out=left_out,
            why_left_out="as said below",
        )
    return Step(name="Received", count=received, note="rows in the input", secret=True, left_out=left_out)


def _steps(flow: DataFlow, model: ProtocolModel) -> Iterable[Step]:
    users, messages = model.num_senders, model.local.num_messages
    randomized = f"by {model.local.kind} with {epsilon0_of(model.local)}"
    if model.local.guarantee.is_trivial:
        randomized = f"by {model.local.kind}, which hides nothing before the shuffle"
    if messages > 1:
        randomized += f"; {messages} messages each"
    yield Step(name="Randomized", count=count(users), note=randomized)
    name, note = model.shuffle.step
    product = f"{messages} for each of {count_of(users, 'person', 'people')}, " if messages > 1 else ""
    yield Step(name=name, count=count(users * messages), note=f"{product}{note}")
    what = "reports" if messages == 1 else "messages"
    dummies = ", dummies among them" if model.shuffle.dummies else ""
    note = f"{what}{dummies}, {model.shuffle.labels.order_of_reports}"
    yield Step(name="Released", count=count(flow.released), note=note)


def _planned(flow: DataFlow, model: ProtocolModel) -> tuple[str, ...]:
    if flow.expected is None:
        return ()
    difference = model.num_senders - flow.expected
    beside = f"{count(abs(difference))} {'more' if difference > 0 else 'fewer'}" if difference else "exactly as planned"
    people = count_of(flow.expected, "person was planned for", "people were planned for")
    came = f"{count(model.num_senders)} took part ({beside})"
    return (f"{people}; {came}. All numbers here are for those who took part.",)


def _beside(outcome: ColumnOutcome) -> str:
    """Public data released beside each report, in words; "" if there is none."""
    column = outcome.column
    if column.labeled and not column.shuffler.keeps_public:
        return outcome.model.shuffle.beside_reports(_quoted(column.labeled))
    public = column.public if column.shuffler.keeps_public else ()
    named = f"the public {plural(len(public), 'column')} {_quoted(public)}" if public else ""
    return outcome.model.shuffle.beside_reports(named)


def _quoted(names: Sequence[str]) -> str:
    return listed([f'"{printable(each)}"' for each in names])


def _detached(flow: DataFlow) -> tuple[str, ...]:
    if not flow.detached:
        return ()
    columns, why = _quoted(flow.detached), "taken off, and not released: beside a report"
    if len(flow.detached) == 1:
        return (f"The public column {columns} was {why} it could tell whose it is.",)
    return (f"The public columns {columns} were {why} they could tell whose it is.",)
