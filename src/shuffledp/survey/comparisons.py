"""Comparisons of released numbers, fixed by a task beforehand or asked of one or two releases.

All is made from numbers that are released, and so costs no privacy. How many comparisons there are is counted here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from shuffledp.analyzers import (
    Contrast,
    CrossTable,
    Differences,
    Independence,
    between,
    compared,
    independence,
    within,
)
from shuffledp.core.local_models import FrequencyModel
from shuffledp.core.validate import invalid
from shuffledp.survey.columns import Compared
from shuffledp.survey.released_numbers import ReleasedNumbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnComparisons:
    """Comparisons of one private column.

    Args:
        value: name of the column.
        differences: of options, of regions, or between two releases.
        tests: tests of independence, at most one; and what kept one from being made is in ``untested``.
        untested: why there is no test of independence though one was asked for; "" otherwise.
        num_comparisons: comparisons of all columns, for which intervals and decisions hold together.
        of_everybody: whether shares of all people are compared though only some were asked, too few to show.
    """

    value: str
    differences: tuple[Differences, ...]
    tests: tuple[Independence, ...] = ()
    untested: str = ""
    num_comparisons: int
    of_everybody: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Comparisons of the column, as a dictionary for JSON."""
        return {
            "value": self.value,
            "num_comparisons": self.num_comparisons,
            "differences": [row for each in self.differences for row in each.rows()],
            "independence": [each.to_dict() for each in self.tests],
        }


def inside(
    columns: Sequence[ReleasedNumbers], kinds: Iterable[Compared], *, level: float, targets: Sequence[str] = ()
) -> tuple[ColumnComparisons, ...]:
    """Comparisons inside a release, of all given kinds that fit a column; one entry for each column.

    Args:
        columns: released numbers of each private column.
        kinds: what is compared.
        level: with which all intervals hold together.
        targets: which options are compared; all, if none is given.
    """
    wanted = list(dict.fromkeys(kinds))
    contrasts, tests = [], []
    for each in columns:
        chosen = [kind for kind in wanted if kind in each.column.comparable]
        contrasts.append([_contrast(each, kind, targets) for kind in chosen if kind is not Compared.INDEPENDENCE])
        asked = Compared.INDEPENDENCE in chosen and each.is_table
        tests.append([_tested(each)] if asked else [])
    return _together(columns, [[one for one in each if one is not None] for each in contrasts], tests, level)


def apart(
    first: Sequence[ReleasedNumbers],
    second: Sequence[ReleasedNumbers],
    *,
    level: float,
    targets: Sequence[str] = (),
    same_people: bool = False,
) -> tuple[ColumnComparisons, ...]:
    """Differences between two releases, first minus second, for columns with the same name in both.

    Raises:
        InvalidParameterError: if no column is in both, or one of another kind.
    """
    others = {each.column.value: each for each in second}
    both, contrasts = [], []
    for each in first:
        other = others.get(each.column.value)
        if other is None:
            continue
        mine, theirs = (each.among, other.among) if each.among and other.among else (each.estimate, other.estimate)
        shared = [one for one in targets or each.targets if targets or one in theirs.target]
        if shared:  # of open answers other words may have been found
            both.append(replace(each, among=each.among if mine is each.among else None))
            contrasts.append([between(mine, theirs, shared, same_people=same_people)])
    if not both:
        raise invalid("in both releases", value=", ".join(each.column.value for each in first))
    return _together(both, contrasts, [[] for _ in both], level)


def _contrast(numbers: ReleasedNumbers, kind: Compared, targets: Sequence[str]) -> Contrast | None:
    """Pairs to compare for one kind of comparison; None for regions if there are fewer than two."""
    if kind is Compared.OPTIONS:
        return within(numbers.among or numbers.estimate, targets or numbers.column.randomizer.offered)
    places = numbers.places
    if places is None or places.where is None or len({tuple(each.items()) for each in places.where}) < 2:
        return None
    return within(places, targets or numbers.targets)


def _tested(numbers: ReleasedNumbers) -> Independence | None:
    return independence(cast(CrossTable, numbers.estimate), cast(FrequencyModel, numbers.model.local))


def _together(
    columns: Sequence[ReleasedNumbers],
    contrasts: Sequence[Sequence[Contrast]],
    tests: Sequence[Sequence[Independence | None]],
    level: float,
) -> tuple[ColumnComparisons, ...]:
    """Comparisons of all columns, with intervals and decisions that hold for all of them together."""
    made = [each for some in tests for each in some if each is not None]
    flat = [each for some in contrasts for each in some]
    differences, told = compared(flat, level=level, p_values=[each.p_value for each in made])
    found, decided = iter(differences), iter(told)
    total = sum(len(each.target) for each in flat) + len(made)
    return tuple(
        ColumnComparisons(
            value=each.column.value,
            differences=tuple(next(found) for _ in pairs),
            tests=tuple(replace(test, differs=next(decided)) for test in some if test is not None),
            untested="too few categories are common enough" * any(test is None for test in some),
            num_comparisons=total,
            of_everybody=each.column.after is not None and each.among is None,
        )
        for each, pairs, some in zip(columns, contrasts, tests, strict=True)
    )
