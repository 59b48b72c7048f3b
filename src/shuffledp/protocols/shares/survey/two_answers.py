"""Sums of one of two named answers, such as Yes and No: the second answer counts as 1.

The mean is the share of the second answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp.core.text import names_of, printable
from shuffledp.core.validate import invalid
from shuffledp.randomizers.inputs import Category, check_named
from shuffledp.survey.questions.question import AnswerColumns, RangeKeys, Read
from shuffledp.survey.questions.single_choice import fields_of_choices

_ENDS = {"lower": 0.0, "upper": 1.0}


def with_ends(table: Any) -> Any:
    """Table of a protocol, with the range from 0 to 1 added for two named answers.

    Other tables are returned unchanged.
    """
    return {**_ENDS, **table} if isinstance(table, Mapping) and table.get("categories") is not None else table


class RangeOrTwoAnswers(RangeKeys):
    """Keys on the numbers to add up: a range, or two ``categories`` that count as 0 and 1."""

    __slots__ = ()
    categories: tuple[Category, ...] | None

    def check_two(self) -> None:
        """Refuse a number of categories other than two, and a range other than 0 to 1 beside categories."""
        if self.categories is None:
            return
        if len(self.categories) != 2:
            raise invalid("two, which count as 0 and 1", categories=list(self.categories))
        check_named(self.categories, names_of(self.categories))
        for name, end in _ENDS.items():
            if getattr(self, name) != end:
                raise invalid("left out with two categories, which count as 0 and 1", **{name: getattr(self, name)})

    def without_ends(self, table: dict[str, Any]) -> dict[str, Any]:
        """Keys of the table, without the range of two named answers, or without missing categories."""
        absent = ("categories",) if self.categories is None else (*_ENDS, "integer")
        return {key: value for key, value in table.items() if key not in absent}

    def read_number(self, answers: AnswerColumns, *, whole: bool, title: str) -> Read:
        """Column of numbers in the range, or of the numbers for the two answers."""
        if self.categories is not None:
            return answers.categories(0, self.categories)
        return answers.in_range(0, self.ends, clip=self.clips, whole=whole, title=title)

    @property
    def categories_of_answers(self) -> tuple[tuple[Category, ...], ...]:
        """The two answers of the private column; empty for numbers."""
        return () if self.categories is None else (self.categories,)

    def targets_of(self, column: str) -> tuple[str, ...]:
        """Name of the estimate's only row: the column, and the counted one of two answers."""
        return (column,) if self.categories is None else (f"{column} = {printable(names_of(self.categories)[1])}",)

    def page_fields(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Form field for a number in the range, or for a choice of the two answers.

        The number must be a whole one where nothing is rounded.
        """
        if self.categories is not None:
            return fields_of_choices(columns, (self.categories,))
        (field,) = super().page_fields(columns)
        return [{**field, "whole": True} if getattr(self, "integer", False) else field]

    @property
    def expected_values(self) -> str:
        """Assumption behind expected errors, in words: evenly spread numbers, or equally many of both answers."""
        if self.categories is not None:
            return "half of the people giving each answer"
        lower, upper = self.ends
        return f"values spread evenly from {lower:g} to {upper:g}"

    @property
    def expected_spread(self) -> float:
        """Variance of the uniform law on the range, or on the two answers."""
        lower, upper = self.ends
        return 0.25 if self.categories is not None else (upper - lower) ** 2 / 12
