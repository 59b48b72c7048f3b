"""Page of a plan, to share beforehand: like a release's page, with errors in place of estimates."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shuffledp.core.guarantees import DifferentialPrivacy
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import DETAIL, PAGE
from shuffledp.documents.document import Section
from shuffledp.documents.family_document import documents_of_families
from shuffledp.documents.page import page_of
from shuffledp.documents.plans.false_reports_document import false_reports_section
from shuffledp.documents.plans.plan_document import plan_document
from shuffledp.documents.words import listed
from shuffledp.survey import Plan

PLAN_PAGE = "plan.html"
_TITLE = "A plan, before anybody is asked"


def plan_page(plan: Plan, *, table: bool = False) -> bytes:
    """HTML page of a plan in UTF-8: like the page of a release, with errors instead of estimates."""
    document = plan_document(plan, table=table)
    people = count_of(plan.num_users, "person", "people")
    return page_of(
        replace(
            document,
            kicker=_TITLE,
            summary=f"What will be stated if {people} take part, and what to expect",
            values=tuple(column.label for column in plan.task.columns),
            quote=_quote(plan, people),
            sections=(*map(_in_full, document.sections), *_pictures(plan)),
        )
    )


def _pictures(plan: Plan) -> Iterator[Section]:
    """Sections with pictures over numbers of people, for each column."""
    for number, column in enumerate(plan.columns):
        own = next(each for each in plan.task.columns if each.value == column.value)
        found = [each for family in documents_of_families() for each in family.page_sections(plan, column)]
        yield from filter(None, (*found, false_reports_section(own, column.statements[0], plan.num_users, number)))


def is_plan(folder: Path) -> bool:
    """Whether a folder holds only the page of a plan."""
    entries = list(folder.iterdir())
    return [each.name for each in entries] == [PLAN_PAGE] and _TITLE.encode() in entries[0].read_bytes()


def _in_full(section: Section) -> Section:
    """The section with all blocks that a terminal shows with --verbose."""
    blocks = (replace(block, on=block.on | PAGE) if DETAIL in block.on else block for block in section.blocks)
    return replace(section, title=section.title or "Before it is collected", blocks=tuple(blocks))


def _quote(plan: Plan, people: str) -> str:
    """A sentence to quote about the planned collection; "" where no loss is promised."""
    first = plan.statements[0]
    guarantee = first.guarantee
    if guarantee.is_trivial or not isinstance(guarantee, DifferentialPrivacy):
        return ""
    epsilon, delta = (in_digits(each, first.kind.relation) for each in (guarantee.epsilon, guarantee.delta))
    ways = dict.fromkeys([*(column.chosen.kind for column in plan.columns), plan.task.shuffler.in_words])
    asked = listed([column.label for column in plan.task.columns])
    return (
        f"If {people} answer, what is released about {asked} is protected by {listed(list(ways))} with differential "
        f"privacy of epsilon {epsilon} and delta {delta} under the stated conditions."
    )
