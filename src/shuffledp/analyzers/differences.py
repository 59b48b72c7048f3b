"""Differences between numbers of releases, with intervals that hold for all comparisons together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers.among_asked import AmongAsked
from shuffledp.analyzers.asked_contrasts import AskedContrast
from shuffledp.analyzers.contrasts import About, Contrast
from shuffledp.analyzers.largest_errors import level_of_each
from shuffledp.core import validate
from shuffledp.core.estimates import Estimate
from shuffledp.core.table import Floats
from shuffledp.core.validate import invalid

LESS = " - "  # between the two that are compared
DIFFERENCE = " (difference)"  # after the name of the statistic
MOST_COMPARISONS = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Differences(Estimate):
    """Differences between pairs of numbers, with intervals that hold for all comparisons together.

    Args:
        about: people that they are about.
        differs: for each, whether it is told from 0 by Holm's procedure over all comparisons, at ``level``.
        num_comparisons: comparisons that intervals and decisions hold for together, with probability ``level``; these
            rows are some of them, or all.
        others: as an `Estimate` has them; ``standard_error`` is about those asked, ``sampling_error`` the further error
            about a population, and intervals are for whom the differences are about.
    """

    about: About
    differs: tuple[bool, ...]
    num_comparisons: int

    def __str__(self) -> str:
        together = f"\n  (intervals that hold for all {self.num_comparisons} comparisons together)"
        return super(Differences, self).__str__() + together * (self.num_comparisons > 1)

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the differences as an estimate's rows, each also with ``about`` and ``differs``."""
        own = zip(super(Differences, self).rows(), self.differs, strict=True)
        return [row | {"about": self.about.value, "differs": told} for row, told in own]


def difference_of(
    estimate: Estimate, targets: Sequence[str], *, other: Estimate | None = None, same_people: bool = False
) -> Differences:
    """Differences within an estimate or between two estimates; see `Estimate.difference`."""
    if other is None and same_people:
        raise invalid("left out without another estimate", same_people=same_people)
    contrast = (
        within(estimate, targets) if other is None else between(estimate, other, targets, same_people=same_people)
    )
    return compared([contrast], level=estimate.level)[0][0]


def within(estimate: Estimate, targets: Sequence[str] = ()) -> Contrast:
    """Contrast of all pairs of given targets, or of all pairs of regions for each given target.

    Regions are compared where rows are about regions. If no targets are given, all that can be compared are taken.

    Raises:
        InvalidParameterError: for unknown targets, or fewer than two rows to compare.
    """
    if estimate.where is None:
        chosen = _known(estimate, targets or tuple(dict.fromkeys(estimate.target)))
        pairs = list(combinations([estimate.target.index(each) for each in chosen], 2))
        labels = [LESS.join((estimate.target[one], estimate.target[two])) for one, two in pairs]
    else:
        chosen = _known(estimate, targets or estimate.compared_targets)
        rows = [[place for place, each in enumerate(estimate.target) if each == name] for name in chosen]
        pairs = [pair for each in rows for pair in combinations(each, 2)]
        named = [", ".join(map(str, where.values())) for where in estimate.where]
        labels = [f"{estimate.target[one]}: {LESS.join((named[one], named[two]))}" for one, two in pairs]
    if not pairs:
        raise invalid("two or more that can be compared", targets=", ".join(chosen))
    _require_few(len(pairs))
    first, second = (np.array(each, dtype=np.intp) for each in zip(*pairs, strict=True))
    if isinstance(estimate, AmongAsked) and (law := AskedContrast.of(estimate, (first, second), tuple(labels))):
        return law
    randomizing, sampling = estimate.covariances(first, second)
    return Contrast(
        first=estimate,
        second=estimate,
        places=(first, second),
        target=tuple(labels),
        randomizing=randomizing,
        sampling=sampling,
    )


def between(first: Estimate, second: Estimate, targets: Sequence[str] = (), *, same_people: bool = False) -> Contrast:
    """Contrast of one release minus another release, for all targets in both.

    Errors of two releases are independent, given all answers: each randomized anew.

    Raises:
        InvalidParameterError: for estimates of different kinds, targets that are not in both, or the same people who
            are not as many in both.
    """
    validate.instance_of(Estimate, other=second)
    if first.statistic != second.statistic:
        raise invalid(f"of the same statistic, {first.statistic!r}", other=second.statistic)
    if same_people and first.num_reports != second.num_reports:
        raise invalid(
            f"of as many reports, {first.num_reports:,}, if the same people are in both",
            other=f"{second.num_reports:,}",
        )
    others = set(second.names)
    wanted = _known(first, targets or first.compared_targets)
    rows = [place for place, name in enumerate(first.names) if name in others and first.target[place] in wanted]
    left_out = sorted(set(targets) - {first.target[place] for place in rows})
    if not rows or left_out:
        raise invalid("in both", targets=", ".join(left_out or wanted))
    _require_few(len(rows))
    places = np.array(rows, dtype=np.intp), np.array([second.names.index(first.names[each]) for each in rows])
    apart = np.zeros(len(rows))
    return Contrast(
        first=first,
        second=second,
        places=places,
        target=tuple(first.names[each] for each in rows),
        randomizing=apart,
        sampling=None if same_people else apart,
    )


def compared(
    contrasts: Sequence[Contrast], *, level: float, p_values: Sequence[float] = ()
) -> tuple[tuple[Differences, ...], tuple[bool, ...]]:
    """Differences of these contrasts; intervals and decisions hold together with probability ``level``.

    Guarantees:
        1. Where the errors of a contrast are normal and it is known how they go together, its intervals are those of
           its largest error (``max |t|``), with probability 1 - (1 - ``level``) K_c / K for its K_c of all K
           comparisons, the ``p_values`` of other tests counted. All others have coverage 1 - (1 - ``level``) / K each
           (Bonferroni).
        2. Of the pairs that do not differ, one is said to with chance 1 - ``level`` at most: step by step, those are
           told apart whose interval holds no 0 where intervals are made for what is not decided so yet (Holm; of
           contrasts that are decided, the others take the share).

    Returns:
        The differences of each contrast, and for each p-value whether it is among what is told apart.

    References:
        Newcombe 1998, Zou and Donner 2008 (intervals of differences from those of both); Hothorn, Bretz, Westfall 2008
        (``max |t|``); Holm 1979; Goeman and Solari 2010 (step by step).
    """
    validate.open_probability(level=level)
    total = sum(len(each.target) for each in contrasts) + len(p_values)
    _require_few(total)
    families = _families(contrasts, len(p_values))
    left = [np.ones(len(each.target), dtype=np.bool_) for each in contrasts]
    untested = np.ones(len(p_values), dtype=np.bool_)
    levels = first = _levels(contrasts, families, left, untested, level)
    before = total + 1
    while (now := int(untested.sum()) + sum(int(each.sum()) for each in left)) < before:
        ends = [each.intervals(own) for each, own in zip(contrasts, levels[:-1], strict=True)]
        left = [one & ~_apart(each) for one, each in zip(left, ends, strict=True)]
        untested = untested & (np.array(p_values) > 1 - levels[-1])
        before, levels = now, _levels(contrasts, families, left, untested, level)
    made = tuple(
        _differences(each, each.intervals(own), ~one, total, level)
        for each, own, one in zip(contrasts, first[:-1], left, strict=True)
    )
    return made, tuple((~untested).tolist())


def _families(contrasts: Sequence[Contrast], tests: int) -> list[list[int]]:
    """Families of contrasts: one for each contrast with known covariances, and one for all others.

    The last family also has the tests.
    """
    known = [place for place, each in enumerate(contrasts) if each.joint(np.arange(len(each.target))) is not None]
    others = [place for place in range(len(contrasts)) if place not in known]
    return [*([place] for place in known), [*others, *[len(contrasts)] * (tests > 0)]]


def _levels(
    contrasts: Sequence[Contrast],
    families: Sequence[Sequence[int]],
    left: Sequence[NDArray[np.bool_]],
    untested: NDArray[np.bool_],
    level: float,
) -> list[float]:
    """Levels of the intervals of all contrasts and of the tests.

    All undecided comparisons hold together. The chance of a miss is shared by the sizes of the families of which some
    comparison is left: so a share only grows, and no interval becomes longer, as more is decided.
    """
    sizes, open_ones = [*map(len, left), len(untested)], [*(int(each.sum()) for each in left), int(untested.sum())]
    levels, miss = [level] * len(sizes), 1 - level
    shares = [sum(sizes[place] for place in each) * any(open_ones[place] for place in each) for each in families]
    for places, share in zip(families, shares, strict=True):
        if not share:
            continue
        together = 1 - miss * share / sum(shares)
        undecided = sum(open_ones[place] for place in places)
        each_one = 1 - (1 - together) / undecided
        if len(places) == 1 and places[0] < len(contrasts):
            errors = contrasts[places[0]].joint(np.flatnonzero(left[places[0]]))
            each_one = each_one if errors is None else level_of_each(errors, together)
        for place in places:
            levels[place] = each_one
    return levels


def _apart(ends: Floats) -> NDArray[np.bool_]:
    """Mask of the intervals that do not contain 0."""
    return np.asarray((ends[:, 0] > 0) | (ends[:, 1] < 0))


def _differences(contrast: Contrast, ends: Floats, differs: NDArray[np.bool_], total: int, level: float) -> Differences:
    first, second = contrast.first, contrast.second
    asked, drawn = contrast.variances()
    possible = None
    if first.possible is not None and second.possible is not None:
        possible = first.possible[0] - second.possible[1], first.possible[1] - second.possible[0]
    return Differences(
        statistic=f"{first.statistic}{DIFFERENCE}",
        target=contrast.target,
        estimate=contrast.apart,
        standard_error=np.sqrt(asked),
        sampling_error=None if drawn is None else np.sqrt(drawn),
        interval=ends,
        possible=possible,
        level=level,
        num_reports=contrast.num_reports,
        about=contrast.about,
        differs=tuple(differs.tolist()),
        num_comparisons=total,
    )


def _known(estimate: Estimate, targets: Sequence[str]) -> tuple[str, ...]:
    """Targets to compare, without duplicates; refused if the estimate lacks a target."""
    unknown = [each for each in targets if each not in estimate.target]
    if unknown:
        raise invalid("targets of the estimate", targets=", ".join(unknown))
    return tuple(dict.fromkeys(targets))


def _require_few(comparisons: int) -> None:
    if comparisons > MOST_COMPARISONS:
        raise invalid(
            f"at most {MOST_COMPARISONS:,}, so that intervals that hold together tell something",
            comparisons=comparisons,
        )
