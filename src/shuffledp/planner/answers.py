"""Answers to the planner's questions, as JSON: numbers and words of plan, account and leakage.

`answer` does no I/O of its own: it may run in a process, or in the browser itself.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from shuffledp._version import __version__
from shuffledp.accounting import Examination, epsilon_of, examine, may_be_sharper
from shuffledp.core.described import encode
from shuffledp.core.errors import ShuffleDPError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits
from shuffledp.documents.account_document import bracket_of
from shuffledp.documents.blocks import Headline, Picture, Table, Text
from shuffledp.documents.charts.chart import Line, Name
from shuffledp.documents.document import Section
from shuffledp.documents.family_document import documents_of_families
from shuffledp.documents.leakage_document import ADVERSARIES, CORRELATED, ONE_RELEASE, bars_of
from shuffledp.documents.plans.plan_document import column_document
from shuffledp.documents.statement_document import promise_of
from shuffledp.documents.words import NOTHING, Loss, said_alone, small_sample
from shuffledp.planner.questions import LIMITS, MOST_OF, SUBJECTS, Question, as_toml, randomizers
from shuffledp.planning.guaranteed_leakage import compare_guaranteed
from shuffledp.shufflers.shuffler_kinds import KINDS
from shuffledp.survey import ColumnPlan, Task, column_plan, plan

Answer = dict[str, Any]
_LOSSES = {"randomizer": "Local loss epsilon0", "protocol": "Epsilon of the result"}
_QUICK = (
    "The release may state less: the planner leaves out bounds that take seconds, which `shuffledp plan` works out."
)


def answer(asked: Mapping[str, Any]) -> Answer:
    """Answer to a question (`Question`), as JSON can hold it (``planner_answer`` in docs/schema.json).

    Guarantees:
        1. Statements, the option and the comparison equal those of ``shuffledp plan``, ``account`` and ``leakage
           --compare --method quick`` for the task file in the answer, word for word and digit for digit; where bounds
           that take seconds may be lower, what is stated is above that of ``plan``, and a remark says so.
        2. A refusal is an answer too: ``refused`` gives the reason.
    """
    try:
        question = Question.from_dict(asked)
        return {"about": question.about, **_ABOUT[question.about](question)}
    except ShuffleDPError as error:
        return refusal(str(error))


def refusal(reason: str) -> Answer:
    """Answer that refuses a question, with the reason."""
    return {"refused": reason}


def too_late(asked: Mapping[str, Any], seconds: float) -> Answer:
    """Answer that a question took longer than ``seconds``, with its task and commands to run instead."""
    try:
        question = Question.from_dict(asked)
    except ShuffleDPError as error:
        return refusal(str(error))
    reason = f"Not answered within {seconds:g} s. On the command line it takes the time that it needs."
    found = refusal(reason) | {"too_late": True}
    return found | {"commands": list(question.commands), "task": as_toml(question.task())}


def _choices(_: Question) -> Answer:
    """Choices that the page offers: kinds, limits, and first values."""
    shufflers = [
        {"kind": kind, "best_for": each.best_for, "about": each.about, "most_people": MOST_OF[each.about]}
        for kind, each in KINDS.items()
    ]
    sections = randomizers()
    answers = [
        {"kind": kind, "answers": each.answers, "best_for": each.mechanism.best_for, "loss": _LOSSES[each.key]}
        for kind, each in sections.items()
    ]
    return {
        "shufflers": shufflers,
        "randomizers": answers,
        "limits": {name: list(each) for name, each in LIMITS.items()},
        "usual": Question().to_dict(),
        "library_version": __version__,
    }


def _promise(question: Question) -> Answer:
    """Statements of a task, costs, trusted parties, and the protection that is left without these parties."""
    column = question.column()
    column.require_people(question.people, planned=True)
    shuffler = question.shuffle(column)
    planned = column_plan(column, question.people, shuffler, alone=True, sharp=False)
    model = planned.model
    found = _examination(question, model, planned.statements)
    few, said = small_sample(column, question.people, planned.chosen.error), column_document(planned)
    local, messages = planned.statements[-1], column.shuffler.messages_of(shuffler, model.local.num_messages)
    return {
        "task": as_toml(question.task()),
        "commands": list(question.commands),
        "statements": [statement.to_dict() for statement in planned.statements],
        **_ends(found),
        "option": planned.chosen.to_dict(),
        "messages": messages,
        "cells": _cells(planned, found, messages),
        "dangers": [each.text for each in found.upper.trust if each.is_danger],
        "warnings": list(model.local.warnings),
        "promise": _headline(found.upper),
        "bracket": bracket_of(found),
        "expected": " ".join(
            filter(None, [said.what_to_expect(), few, said.beside_curator(), said_alone(model.local)])
        ),
        "trust": list(found.upper.needs),
        "left": _headline(local),
        "remarks": [*found.upper.all_remarks, *([_QUICK] if may_be_sharper(model, delta=question.delta) else [])],
    }


def _bracket(question: Question) -> Answer:
    """Bracket of epsilon: upper and lower bound."""
    column = question.column()
    model = column.model(question.people, question.shuffle(column))
    found = examine(model, delta=question.delta, releases=question.repetitions)
    lower = NOTHING if found.epsilon_lower is None else in_digits(found.epsilon_lower, "at least")
    return {"people": question.people, **_ends(found), "cells": [in_digits(found.epsilon_upper, "at most"), lower]}


def _guesses(question: Question) -> Answer:
    """Chances that the best guess about one person is right, before and after the release."""
    column = question.column()
    model = column.model(question.people, question.shuffle(column))
    found = compare_guaranteed(model, delta=question.delta, sampling=False, method="quick")
    bars = {known: [_bar(bar) for bar in bars_of(found, known)] for known in ADVERSARIES}
    shown = {known: {"who": f"Somebody {whom}", "bars": bars[known]} for known, whom in ADVERSARIES.items()}
    note = f"{CORRELATED} {ONE_RELEASE}" if question.repetitions > 1 else CORRELATED
    return {"leakage": found.to_dict(), "shown": shown, "note": note}


def _ways(question: Question) -> Answer:
    """Sections on all ways to estimate one mean or sum of numbers; empty for other questions."""
    planned = plan(Task.from_dict(question.task()), question.people, alone=True)
    found = [
        section for family in documents_of_families() for section in family.page_sections(planned, planned.columns[0])
    ]
    return {"sections": [_drawn_anew(section) for section in found if section is not None]}


def _drawn_anew(section: Section) -> Answer:
    """Texts, curves and table of a section, for a page that draws its own chart."""
    chart = next(block.chart for block in section.blocks if isinstance(block, Picture))
    table = next(block for block in section.blocks if isinstance(block, Table))
    marks = chart.panels[0].marks
    lines = [mark for mark in marks if isinstance(mark, Line)]
    names = [mark.text for mark in marks if isinstance(mark, Name)]
    return {
        "title": section.title,
        "texts": [block.text for block in section.blocks if isinstance(block, Text)],
        "caption": chart.caption,
        "curves": [
            {
                "name": name,
                "people": [float(x) for x in line.x],
                "values": [y if math.isfinite(y) else None for y in map(float, line.y)],
            }
            for name, line in zip(names, lines, strict=True)
        ],
        "heads": [column.head for column in table.columns],
        "rows": [[{"text": each.text, "note": each.note, "bold": each.bold} for each in row] for row in table.cells],
    }


def _page(question: Question) -> Answer:
    """Page that `shuffledp plan --output` writes, for one release of the task."""
    from shuffledp.documents.plans.plan_page import plan_page

    column = question.column()
    around: dict[str, Any] = {"graphs" if column.shuffler.needs_graph else "grouping": question.around(column)}
    planned = plan(Task.from_dict(question.task()), question.people, alone=True, **around)
    return {"page": plan_page(planned).decode()}


_ABOUT: dict[str, Callable[[Question], Answer]] = dict(
    zip(SUBJECTS, (_choices, _promise, _guesses, _bracket, _ways, _page), strict=True)
)


def warm_up() -> None:
    """Load and compile all code by answering a page's first questions once for each shuffler."""
    for kind in KINDS:
        for about in ("promise", "guesses"):
            answer({"about": about, "shuffler": kind})


def _examination(question: Question, model: ProtocolModel, stated: tuple[PrivacyStatement, ...]) -> Examination:
    """Bounds on the loss of all releases of the question together.

    For one release they are taken from the statements.
    """
    if question.repetitions > 1:
        return examine(model, delta=question.delta, releases=question.repetitions)
    lower = next((each for each in stated if each.kind is Kind.LOWER_BOUND and epsilon_of(each.guarantee) > 0), None)
    return Examination(model=model, counted=model, delta=question.delta, upper=stated[0], lower=lower)


def _ends(found: Examination) -> Answer:
    return {"epsilon_upper": encode(found.epsilon_upper), "epsilon_lower": encode(found.epsilon_lower)}


def _cells(plan: ColumnPlan, found: Examination, messages: float) -> dict[str, str]:
    """Numbers as text in a table, rounded as in `shuffledp plan`."""
    chosen, loss = plan.chosen, Loss.of(found.upper.guarantee, found.upper.kind.relation)
    return {
        "epsilon": NOTHING if loss is None else loss.epsilon,
        "error": f"{chosen.error.standard_error:.3g}",
        "curator": NOTHING if plan.curator is None else f"{plan.curator.standard_error:.3g}",
        "sampling": f"{chosen.error.sampling_error:.3g}",
        "bits": "varies" if chosen.report_bits is None else f"{chosen.report_bits:,}",
        "messages": f"{messages:,.{0 if messages == round(messages) else 1}f}",
    }


def _headline(stated: PrivacyStatement) -> Answer:
    """Numbers, sentence and weakness of a promise."""
    found = next(block for block in promise_of((stated,)).headline if isinstance(block, Headline))
    return {"numbers": [list(pair) for pair in found.numbers], "sentence": found.sentence, "weakness": found.weakness}


def _bar(bar: Any) -> Answer:
    """Bar of a chart as JSON."""
    return {name: getattr(bar, name) for name in ("name", "value", "note", "before", "length", "style")}
