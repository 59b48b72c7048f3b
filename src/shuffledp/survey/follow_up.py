"""A question asked only after a certain earlier answer; all other people report "(not asked)"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.text import printable
from shuffledp.survey.questions.question import Question
from shuffledp.survey.questions.question_kinds import as_written, with_question
from shuffledp.survey.section import Section

if TYPE_CHECKING:
    from shuffledp.survey.columns import Column

_EXAMPLE = 'after must be "question = answer", such as "smokes = Yes"'


class Block(Protocol):
    """Question of a task as later questions see it: its column, condition and randomizer."""

    @property
    def column(self) -> str:
        """Name of the column."""

    @property
    def after(self) -> str | None:
        """Condition under which this question itself is asked; None where everybody is asked."""

    @property
    def randomizer(self) -> Question:
        """Question of the block, with its randomizer, as read from the task file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp(Section):
    """Condition on which a question is asked: a certain answer to an earlier question.

    Args:
        column: private column of the earlier question.
        answer: one of its categories, or an option that must be ticked.
        randomizer: the earlier question.

    Raises:
        InvalidParameterError: if the earlier question has no such answer.
    """

    title: ClassVar[str] = "after"
    column: str
    answer: str
    randomizer: Question

    def __post_init__(self) -> None:
        offered = self.randomizer.offered
        if not offered:
            raise InvalidParameterError(
                "after must name a question with answers to choose or to tick; got "
                f"{self.column!r}, whose answers are of kind {self.randomizer.answers!r}."
            )
        if self.answer not in offered:
            raise InvalidParameterError(
                f"after must name one of the answers {', '.join(map(printable, offered))} to {self.column!r}; got "
                f"{self.answer!r}."
            )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The condition written by ``to_dict``; a text is refused, as there is no earlier question."""
        if not isinstance(data, Mapping):
            raise InvalidParameterError(
                "after must stand in a [[value]] block, below that of an earlier question; in a task of one question "
                f"there is none. Got {data!r}."
            )
        return super(FollowUp, cls).from_dict(with_question(cls.title, data))

    def to_dict(self) -> dict[str, Any]:
        """Keys of the condition: those of the earlier question as in its block, and the required answer."""
        return as_written(super(FollowUp, self).to_dict(), self.randomizer)

    @classmethod
    def of(cls, text: str, earlier: Sequence[Block], later: Sequence[str]) -> Self:
        """Condition in the words of a task file: "question = answer".

        Args:
            text: the words.
            earlier: blocks above that of the question.
            later: columns of its own block and of those below.

        Raises:
            InvalidParameterError: for other words, a question that is not above, or one that is asked after another
                itself.
        """
        question, answer = _parts(text, earlier)
        if not (question and answer):
            raise InvalidParameterError(f"{_EXAMPLE}; got {text!r}.")
        found = next((block for block in earlier if block.column == question), None)
        if found is None:
            above = ", ".join(block.column for block in earlier) or "none"
            why = "which does not stand above it" if question in later else "which the task does not ask"
            raise InvalidParameterError(
                f"after must name a question above it ({above}), so that it is answered by then; got {question!r}, "
                f"{why}."
            )
        if found.after is not None:
            raise InvalidParameterError(
                "after must name a question that everybody is asked: there is no second level; got "
                f"{question!r}, which is asked after {found.after!r}."
            )
        return cls(column=question, answer=answer, randomizer=found.randomizer)

    @property
    def place(self) -> int:
        """Place of the condition's answer among the answers offered by the earlier question."""
        return self.randomizer.offered.index(self.answer)

    def is_met(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Mask of the people whose answer to the earlier question meets the condition."""
        return self.randomizer.gave(values, self.place)

    def check(self, column: "Column") -> None:
        """Refuse a column that cannot have a condition.

        A single column, dropped missing answers, and a shuffle that estimates by place or weight are refused.
        """
        if column.part_of is None:
            raise InvalidParameterError(
                "after must stand in a [[value]] block, below that of an earlier question; got one about "
                f"{self.column!r}."
            )
        if column.missing == "drop":
            raise InvalidParameterError(
                "missing must be 'refuse' or 'category' where a question has `after`: whoever is left out of its "
                "reports shows that they were asked; got missing='drop'."
            )
        if not (column.shuffler.is_uniform or column.shuffler.kind == "none"):
            raise InvalidParameterError(
                "[shuffler] must shuffle everybody uniformly, without by or weight, or be of kind 'none', where a "
                f"question has `after`; got kind={column.shuffler.kind!r}."
            )


def _parts(text: str, earlier: Sequence[Block]) -> tuple[str, str]:
    """Question and answer in a text such as "smokes = yes"; two empty texts without a "=".

    Question and answer may hold "=" themselves.
    """
    places = [place for place, letter in enumerate(text) if letter == "="]
    splits = [(text[:place].strip(), text[place + 1 :].strip()) for place in places]
    offered = {block.column: block.randomizer.offered for block in earlier}
    known = [each for each in splits if each[0] in offered]
    answered = [each for each in known if each[1] in offered[each[0]]]
    if len(answered) > 1:
        both = " and ".join(repr(question) for question, _ in answered)
        raise InvalidParameterError(f"after must name one question and answer; {text!r} fits {both}: rename a column.")
    return next(iter([*answered, *known, *splits]), ("", ""))
