"""A release in words: the promise first, then each private column, then its origin."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType

from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import count_of, printable
from shuffledp.documents import page
from shuffledp.documents.account_document import accounting_section
from shuffledp.documents.blocks import DETAIL, PAGE, TERMINAL, Block, Link, Medium, Role, Text, told
from shuffledp.documents.document import COMPARED, Document, Place, Section
from shuffledp.documents.estimate_document import (
    beside_section,
    clipping_of,
    drawn_estimates,
    errors_section,
    estimates_section,
    estimates_tables,
)
from shuffledp.documents.family_document import document_of
from shuffledp.documents.flow_document import flow_section
from shuffledp.documents.follow_up_document import among_on_page
from shuffledp.documents.leakage_document import leakage_section
from shuffledp.documents.provenance_document import model_section, provenance_section
from shuffledp.documents.result_document import quote_of, results_of
from shuffledp.documents.statement_document import promise_of
from shuffledp.documents.words import epsilon0_of, sent
from shuffledp.pipeline import Release
from shuffledp.survey import DEMONSTRATION, Column, ColumnOutcome, Outcome, Task

RELEASE_PAGE = "release.html"


def by_shuffle(outcome: ColumnOutcome) -> Iterable[Section | None]:
    """Sections that the family of the task's shuffler adds, for example estimates by place."""
    section = outcome.column.shuffler
    return document_of(section.kind, section).release_sections(outcome)


def on_page(outcome: ColumnOutcome) -> Iterator[Section | None]:
    """Sections that only a page shows: errors, comparisons with other methods, leakage, losses and origin."""
    yield errors_section(outcome.release)
    for make in (beside_section, leakage_section, accounting_section, provenance_section):
        yield make(outcome)


def compared(outcome: ColumnOutcome) -> Iterator[Section | None]:
    """Section on the comparisons of the task; none without comparisons."""
    if outcome.comparisons is not None:
        from shuffledp.documents.comparison_document import comparison_section

        yield comparison_section(outcome.comparisons)


# In this order. A new section is a function and one more line.
SECTIONS: tuple[Callable[[ColumnOutcome], Iterable[Section | None]], ...] = (
    lambda outcome: [flow_section(outcome), estimates_section(outcome)],
    compared,
    by_shuffle,
    on_page,
)


@dataclass(frozen=True, slots=True)
class Byline:
    """Day of a release in UTC, and the address announced to the people who answered; "" without one."""

    day: str
    address: str = ""

    @classmethod
    def today(cls, address: str | None = None) -> "Byline":
        """Byline with today's date in UTC, and an address if given.

        Nothing else on a page differs between runs of one task.
        """
        return cls(datetime.now(UTC).date().isoformat(), printable(address or ""))

    def text(self, done: str, contact: str | None) -> str:
        """Line below a title: what was ``done``, on which day, by whom, and the announced address."""
        by = "" if contact is None else f" by {contact}"
        told_of = f" People who answered were told that it would be at {self.address}." if self.address else ""
        return f"{done} on {self.day}{by}.{told_of}"

    def source(self, contact: str | None) -> str:
        """Publisher, day and address, as a source is quoted."""
        return ", ".join(filter(None, [contact, self.day, self.address]))


def column_document(outcome: ColumnOutcome, byline: Byline | None = None) -> Document:
    """The release of one private column; with a byline it also has a sentence to quote."""
    sections = [section for make in SECTIONS for section in make(outcome) if section is not None]
    counted = sent(outcome.model, outcome.flow.released)
    summary = f"{counted} about the private {'columns' if outcome.column.columns else 'column'}"
    return _document(outcome, outcome.column, sections, summary, counted=counted, byline=byline)


def release_top(release: Release) -> Document:
    """Promise and estimates of a release without a task, in a size for notebooks."""
    return _untitled(release, [_in_short(release)])


def outcome_top(outcome: Outcome) -> Document:
    """The release of a task, in a size for notebooks."""
    columns = outcome.columns.values()
    sections = [_in_short(each.release, each.column.label if len(columns) > 1 else "") for each in columns]
    return _document(outcome, outcome.task, sections, "About the private column:")


def _in_short(release: Release, column: str = "") -> Section:
    heading, place = told(column, role=Role.HEADING), Place.RESULTS
    return Section(anchor="estimates", title="Estimates", blocks=(*heading, *estimates_tables(release)), place=place)


def _untitled(release: Release, sections: list[Section], byline: Byline | None = None) -> Document:
    document = Document(
        title=f"Estimated {release.estimate.statistic}",
        kicker=_kicker(release),
        summary=f"From {sent(release.model, release.num_reports)}.",
        withdrawn=_withdrawn(release),
        promise=promise_of(release.statements),
        results=results_of([("", release)]),
        sections=tuple(sections),
    )
    return _released(document, byline, [("", release)], release.statements[0])


def write_memory_page(release: Release, folder: Path) -> None:
    """Write the page of a release without a task, and its picture."""
    estimate = release.estimate
    blocks = drawn_estimates(release, estimate.statistic)
    drawn = Section(anchor="estimates", title="Estimates", blocks=blocks, place=Place.RESULTS)
    sections = [drawn, *filter(None, [errors_section(release)]), model_section(release.model)]
    page.write_page(_untitled(release, sections, Byline.today()), folder, RELEASE_PAGE)


def write_release(
    outcome: Outcome, folder: Path, *, figures: bool = True, result: str | None = None
) -> tuple[Outcome, Document]:
    """Write a page for each private column and one for the task; returns the outcome and the last page.

    ``result`` is the address where a collection said that they will be.
    """
    columns, documents, write = {}, {}, partial(page.write_page, name=RELEASE_PAGE, figures=figures)
    byline = Byline.today(result)
    for name, column in outcome.columns.items():
        documents[name] = document = column_document(column, byline)
        columns[name] = column.with_files(folder / name, write(document, folder / name))
    outcome = replace(outcome, columns=columns)
    if not outcome.task.in_blocks:
        return outcome, document
    document = joint_document(outcome, documents, byline)
    return outcome.with_files(folder, write(document, folder)), document


def joint_document(outcome: Outcome, columns: Mapping[str, Document], byline: Byline | None = None) -> Document:
    """The release of several columns: the joint guarantee for one person, then each column in short."""
    sections = [_column_section(outcome.columns[folder], folder, document) for folder, document in columns.items()]
    summary = count_of(len(columns), "private column:", "private columns, answered by the same people:")
    counted = count_of(len(columns), "column")
    sections.append(provenance_section(outcome))
    return _document(outcome, outcome.task, sections, summary, counted=counted, byline=byline)


def _document(
    outcome: ColumnOutcome | Outcome,
    task: Column | Task,
    sections: list[Section],
    summary: str,
    *,
    counted: str = "",
    byline: Byline | None = None,
) -> Document:
    parts = list(outcome.columns.values()) if isinstance(outcome, Outcome) else [outcome]
    releases = [(part.column.value, part.release) for part in parts]
    questions = {part.column.value: part.column.question for part in parts}
    question = parts[0].column.question if len(parts) == 1 else None
    document = Document(
        title=question or task.name,
        digest=task.sha256,
        kicker=_kicker(outcome),
        summary=f"{task.name}: {summary}" if question else summary,
        values=tuple(name for name, _ in releases),
        withdrawn=_withdrawn(outcome),
        demonstration=DEMONSTRATION * outcome.demonstration,
        promise=promise_of(outcome.statements, counted),
        results=results_of(releases),
        sections=tuple(sections),
    )
    return _released(
        document, byline, releases, outcome.statements[0], questions=questions, contact=task.release.contact
    )


def _released(
    document: Document,
    byline: Byline | None,
    releases: list[tuple[str, Release]],
    statement: PrivacyStatement,
    *,
    questions: Mapping[str, str | None] = MappingProxyType({}),
    contact: str | None = None,
) -> Document:
    """The document with its byline and a sentence to quote; unchanged without a byline."""
    if byline is None:
        return document
    quote = quote_of(releases, statement, source=byline.source(contact), questions=questions)
    if quote and document.demonstration:
        quote = f"In a demonstration with made-up answers, which says nothing about real people: {quote}"
    done = "Made" if document.withdrawn or document.demonstration else "Released"
    return replace(document, byline=byline.text(done, contact), quote=quote)


def _kicker(outcome: ColumnOutcome | Outcome | Release) -> str:
    """Kind of release, in three words."""
    if _withdrawn(outcome):
        return "Trial run, not private"
    if not isinstance(outcome, Release) and outcome.demonstration:
        return "Demonstration, not a release"
    headline = outcome.statements[0].guarantee
    if headline.is_trivial:
        return "Not private"
    return "Weakly private release" if headline.weakness else "Private release"


def _withdrawn(outcome: ColumnOutcome | Outcome | Release) -> str | None:
    """The reason why nothing is promised, in words; None if there is a promise."""
    reasons = [statement.withdrawn.text for statement in outcome.statements if statement.withdrawn]
    if not reasons and outcome.seeded:
        return "the randomness can be replayed"
    return reasons[0] if reasons else None


def _column_section(outcome: ColumnOutcome, folder: str, document: Document) -> Section:
    """One private column of several: its estimates, and a link to its own page in ``folder``."""
    local, missing = outcome.model.local, outcome.flow.missing
    counted = sent(outcome.model, outcome.release.estimate.num_reports)
    how = f"{counted}, randomized by {local.kind} with {epsilon0_of(local)}."
    without = f"{count_of(missing, 'person', 'people')} without an answer left out." if missing else ""
    name, value = f"estimates-{folder}", outcome.column.label
    drawn = drawn_estimates(outcome.release, outcome.column.value, name=name, alone=False, whose=f" of {value}")
    onward = ": its own share of the loss, what can be guessed about one person, its errors and its files."
    # Estimates come first: on a terminal their table has the title.
    estimates_first = sorted(document.sections, key=lambda section: section.anchor != "estimates")
    blocks = (
        *(block for section in estimates_first for block in section.blocks if block.on & (TERMINAL | DETAIL)),
        *told(" ".join(filter(None, [how, without, clipping_of(outcome)])), on=PAGE),
        *drawn,
        *among_on_page(outcome, name=f"among-asked-{folder}"),
        *(each for part in document.sections if part.anchor == COMPARED for each in part.blocks if each.on is PAGE),
        *_beside(document),
        Link(f"{folder}/{RELEASE_PAGE}", "The page of this column", onward, on=PAGE),
    )
    return Section(
        anchor=f"column-{folder}", title=outcome.column.asked, blocks=blocks, titled=Medium.BOTH, place=Place.RESULTS
    )


def _beside(document: Document) -> tuple[Block, ...]:
    """Texts of a column's page on its error beside a trusted curator's; none without a curator."""
    beside = [section for section in document.sections if section.anchor == "beside"]
    texts = (block for section in beside for block in section.blocks[:1] if isinstance(block, Text))
    return tuple(replace(text, role=Role.PLAIN) for text in texts)


def with_places(document: Document, outcome: Outcome, folder: Path) -> Document:
    """Document of a release, with remarks on other releases and with the paths of page and files."""
    document = replace(document, sections=(*document.sections, *_alone(outcome)))
    if not outcome.task.in_blocks:
        return document.followed_by(Section(anchor="files", title="Files", blocks=_places(outcome.column, folder)))
    columns = {
        f"column-{name}": _places(column, folder / name, page=DETAIL) for name, column in outcome.columns.items()
    }
    sections = [
        replace(section, blocks=(*section.blocks, *columns.get(section.anchor, ()))) for section in document.sections
    ]
    page = told(f"Page about all columns: {folder / RELEASE_PAGE}", on=TERMINAL, role=Role.PATH)
    statement = f"Statement about one person, over all columns: {folder / 'statement.json'}"
    together = (*page, *told(statement, on=DETAIL, role=Role.PATH))
    return replace(document, sections=(*sections, Section(anchor="files", title="Files", blocks=together)))


def _alone(outcome: Outcome) -> tuple[Section, ...]:
    """Note on other releases about the same people: a ledger's cap, or the option that counts them."""
    if outcome.ledger is not None:
        return (Section(anchor="alone", title="", blocks=told(outcome.ledger.remark, on=TERMINAL)),)
    if outcome.earlier or _withdrawn(outcome) or outcome.statements[0].guarantee.is_trivial:
        return ()
    about = f"This is about {outcome.promised_for}; --earlier counts others about the same people."
    said = told(about, on=TERMINAL)
    return (Section(anchor="alone", title="", blocks=said),)


def _places(outcome: ColumnOutcome, folder: Path, *, page: Medium = TERMINAL) -> tuple[Block, ...]:
    """Paths of a column's page and files."""
    return (
        *told(f"Page: {folder / RELEASE_PAGE}", on=page, role=Role.PATH),
        *told(f"Files: {', '.join(outcome.files)}", on=DETAIL, role=Role.PATH),
    )
