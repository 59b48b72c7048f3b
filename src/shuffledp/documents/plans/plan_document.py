"""A plan in words: future statements, expected results of each column, and people needed for an error."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from shuffledp.core.sum_models import BitSumModel
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import DETAIL, Column, Role, Table, Text, told
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.family_document import document_of
from shuffledp.documents.follow_up_document import asked_in_plan
from shuffledp.documents.open_answers_document import OpenAnswerPlan
from shuffledp.documents.plans.blanket_plan_document import BlanketPlanDocument
from shuffledp.documents.plans.column_plan_document import ColumnPlanDocument
from shuffledp.documents.plans.tick_plan_document import TickPlanDocument
from shuffledp.documents.statement_document import promise_of
from shuffledp.documents.words import (
    NO_CURATOR,
    all_or_nothing,
    little_shuffled,
    moved_by_one,
    said_alone,
    small_sample,
)
from shuffledp.planning.blanket_plan import BlanketPlan
from shuffledp.planning.tick_comparison import TickWays
from shuffledp.planning.word_plan import WordPlan
from shuffledp.survey import Column as PrivateColumn
from shuffledp.survey import ColumnPlan, Plan

if TYPE_CHECKING:
    from shuffledp.planning.people_needed import PeoplePlan


def plan_document(plan: Plan, *, table: bool = False) -> Document:
    """Document of a plan: statements first, then expected results; with ``table`` all rounds and graph parts."""
    people = count_of(plan.num_users, "person", "people")
    promise, sections = promise_of(plan.statements, people), list[Section]()
    shuffler = document_of(plan.task.shuffler.kind, plan.task.shuffler)
    sections.extend(shuffler.plan_sections(plan))
    sections.append(Section(anchor="dangers", title="", blocks=told(*plan.warnings, role=Role.DANGER)))
    for column in plan.columns:
        own = next(each for each in plan.task.columns if each.value == column.value)
        small = small_sample(own, plan.num_users, column.chosen.error)
        alone = said_alone(own.randomizer.randomizer().model)
        weighted = NO_CURATOR * own.shuffler.is_weighted
        said = column_document(column).blocks(" ".join(filter(None, [small, alone])), weighted)
        asked = asked_in_plan(own, column.chosen.error.standard_error)
        local = own.randomizer.randomizer().model
        says_itself = isinstance(local, BitSumModel)  # of as few people as may come
        told_of = () if says_itself else moved_by_one(own, local, plan.num_users, on=DETAIL)
        blocks = (*shuffler.plan_blocks(plan, column, table=table), *said, *told_of, *asked, *_not_compared(own))
        sections.append(Section(anchor=f"column-{column.value}", title=column.value, blocks=blocks))
    return Document(
        title=plan.task.name,
        digest=plan.task.sha256,
        promise=replace(
            promise,
            headline=(*told(*_people(plan, shuffler.stratum(plan))), *promise.headline),
            meaning=(*promise.meaning, *told(*_few(plan))),
        ),
        sections=tuple(sections),
    )


def _few(plan: Plan) -> Iterable[str]:
    """A warning if the shuffle hardly lowers the local loss, so that randomizing alone protects."""
    if plan.task.shuffler.kind == "none":
        return
    for column in plan.columns:
        said = little_shuffled(column.statements, plan.num_users)
        yield f"{column.value}: {said}" if said and len(plan.columns) > 1 else said


def column_document(column: ColumnPlan) -> ColumnPlanDocument:
    """Document of the plan of a column, by its question or the family of its randomizer."""
    if isinstance(column.of_question, WordPlan):
        return OpenAnswerPlan(column)
    if isinstance(column.of_question, BlanketPlan):
        return BlanketPlanDocument(column)
    if isinstance(column.of_question, TickWays):
        return TickPlanDocument(column)
    return document_of(column.chosen.kind).column_plan(column)


def _not_compared(column: PrivateColumn) -> Iterable[Text]:
    """Texts on comparisons that the task requests but this column does not have."""
    kinds = [kind for kind in column.release.compare if kind not in column.comparable]
    return told(*(f"Not compared by {kind.value}, which needs {kind.needed}." for kind in kinds))


def _people(plan: Plan, stratum: str) -> Iterable[str]:
    """Sentences on limits to the number of people: of a column's randomizer, else of the smallest batch."""
    expected = plan.task.people.expected or plan.num_users
    limits = [column_document(column).limits(expected) for column in plan.columns]
    return filter(None, limits if any(limits) else [all_or_nothing(plan.task.release.minimum_batch, expected, stratum)])


def people_document(plan: "PeoplePlan") -> Document:
    """Document with the number of people first, then alternatives, and the lines for the task."""
    best, target = plan.options[0], plan.target_epsilon
    wanted = f"+-{plan.half_width:g} at {best.level:.0%}"
    loss = "" if target is None else f" and epsilon at most {target:g} (delta {best.delta:g})"
    headline = Text(
        f"{best.num_users:,} people for {wanted}{loss}: {best.kind} with epsilon0 = {best.epsilon0:.3g}, and then "
        f"epsilon <= {in_digits(best.epsilon, 'at most')} for everything released.",
        Role.LEAD,
    )
    about = (
        f"Intervals are for {best.at}, about these people themselves; about a population that they are a random sample "
        f"of, it takes {best.num_sampled:,}."
    )
    rows = tuple(
        (
            each.kind,
            f"{each.num_users:,}",
            f"{each.num_sampled:,}",
            f"{each.epsilon0:.3g}",
            in_digits(each.epsilon, "at most"),
            "varies" if each.report_bits is None else f"{each.report_bits:,}",
        )
        for each in plan.options
    )
    heads = (Column("randomizer", left=True), *map(Column, ("people", "of a sample", "epsilon0", "epsilon", "bits")))
    table = (Table("", heads, rows, own=frozenset({0})),) if len(rows) > 1 else ()
    lines = told(
        "For the task file:",
        f"  [people]      expected = {best.num_users}",
        f'  [randomizer]  kind = "{best.kind}", epsilon0 = {best.epsilon0:.3g}',
        role=Role.PATH,
    )
    blocks = (*told(about), *table, *(lines if target is not None else ()))
    promise = Promise(title="People needed", headline=(headline,))
    return Document(promise=promise, sections=(Section(anchor="people", title="People", blocks=blocks),))
