"""Registry of questions: one line for each type, under the type's name in the library.

A module is imported when a task asks its question, so that a command loads no other. A table ``[randomizer]`` is that
of the question that the task names beside it (``kind = "..."`` of the private column); else of the first line whose
keys it has; else of the question with the name of what its randomizer takes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import one_of
from shuffledp.protocols.family import families
from shuffledp.randomizers.randomizer_kinds import mechanisms

if TYPE_CHECKING:
    from shuffledp.survey.questions.question import Question

Table = Mapping[str, Any]

# The tables that families of protocols have in place of [randomizer].
TABLES = {key: find for family in families() for key, find in family.task.tables.items()}


def _never(_: Table) -> bool:
    return False


def _has(*keys: str) -> Callable[[Table], bool]:
    """Test whether a table has one of these keys."""
    return lambda table: any(key in table for key in keys)


def _has_lists(key: str) -> Callable[[Table], bool]:
    """Test whether a key of a table holds lists."""
    lists = (list, tuple)
    return lambda table: isinstance(table.get(key), lists) and any(isinstance(each, lists) for each in table[key])


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """Line of the registry: a question's class, and a test that recognizes its table ``[randomizer]``."""

    place: str
    is_meant: Callable[[Table], bool] = _never


QUESTIONS: dict[str, QuestionKind] = {
    "category": QuestionKind("shuffledp.survey.questions.single_choice.SingleChoice"),
    "bin": QuestionKind("shuffledp.survey.questions.bins.NumberInBins", _has("bins", "edges")),
    "blanketed": QuestionKind("shuffledp.survey.questions.blanketed_choice.BlanketedChoice", _has("blanket")),
    "pair": QuestionKind("shuffledp.survey.questions.pairs.PairOfChoices", _has_lists("categories")),
    "number": QuestionKind("shuffledp.survey.questions.number.NumberInRange"),
    "vector": QuestionKind("shuffledp.survey.questions.vector.UnitVector"),
    "open": QuestionKind("shuffledp.survey.questions.open_answer.OpenAnswer"),
    "multi-select": QuestionKind("shuffledp.survey.questions.multi_select.MultiSelect"),
}


def question_type(name: str) -> "type[Question]":
    """The class of a question by its name in the registry."""
    module, _, found = QUESTIONS[name].place.rpartition(".")
    question: type[Question] = getattr(import_module(module), found)
    return question


def read_question(title: str, block: Table, table: Table, otherwise: Any) -> "tuple[Table, Question]":
    """Block of a private column without the keys of its question, and the question read from ``table``.

    ``otherwise`` is the base of all, by which a table is refused that is of none.
    """
    if "kind" in block:
        try:
            one_of(QUESTIONS, kind=block["kind"])
        except InvalidParameterError as error:
            message = str(error)
        else:
            asked = question_type(block["kind"])
            own = {key: block[key] for key in asked.beside or () if key in block}
            rest = {key: value for key, value in block.items() if key != "kind" and key not in own}
            return rest, asked.from_dict({**table, **own} if isinstance(table, Mapping) else table)
        raise InvalidParameterError(f"{title} {message}")
    if not isinstance(table, Mapping):
        return block, otherwise.from_dict(table)
    meant = next((name for name, each in QUESTIONS.items() if each.is_meant(table)), None)
    kind = table.get("kind")
    mechanism = mechanisms().get(kind) if isinstance(kind, str) else None
    if meant is None and mechanism is not None:
        meant = mechanism.answers
    return block, (otherwise if meant is None else question_type(meant)).from_dict(table)


def with_question(title: str, data: Table) -> Table:
    """Table with its question read: a `Question` under ``randomizer``, in place of the question's table.

    The question's table is ``[randomizer]`` or one that replaces it; both together are refused.
    """
    from shuffledp.survey.questions.question import Question

    if not isinstance(data, Mapping):
        return data
    for key, find in TABLES.items():
        if key not in data:
            continue
        if Question.key in data:
            raise InvalidParameterError(f"{title} must have a table [{Question.key}] or [{key}]; got both.")
        rest = {name: value for name, value in data.items() if name != key}
        return {**rest, Question.key: find().from_dict(data[key])}
    if Question.key not in data:
        return data
    others, question = read_question(title, data, data[Question.key], Question)
    return {**others, Question.key: question}


def as_written(table: Table, section: "Question | type[Question]") -> dict[str, Any]:
    """Table as a task file has it, with the question's keys where the question's type has them.

    The inverse of `with_question`.
    """
    found = {section.key if key == "randomizer" else key: value for key, value in table.items()}
    if section.beside is None:
        return found
    own = found[section.key]
    beside = {key: own[key] for key in section.beside if key in own}
    return {**found, "kind": section.answers, **beside, section.key: {k: own[k] for k in own if k not in beside}}
