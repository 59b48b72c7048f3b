"""Neighboring data sets, and scores of views: larger if the first data set is likelier.

The scores are likelihood ratios. A score may use all that a `shuffledp.View` shows and the public models, and nothing
else. An audit only counts how often a threshold is passed, so that it is valid whatever the score; a better score shows
more. A later attack is one more function in ``SCORES``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.described import Described
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.flow import View
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel
from shuffledp.core.prefix_models import PrefixModel
from shuffledp.core.validate import integer_at_least, invalid

DIGITS = 9  # sums of one multiset in another order agree to many more digits


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboringInputs(Described):
    """Neighboring data sets, which differ in one person's answer.

    All answers are invented; none is a person's.

    Args:
        first: that person's answer in the first data set, as the randomizer takes it.
        second: that answer in the second data set; another one.
        others: what everybody else answers, in both.
        holders: for two orders of the same answers: who hold the first answer, and who the second, in the first data
            set; the other way round in the second. An audit of such claims fills it in; none for one person's answer.
        person: whose answer it is, where people are not all alike; the first one's if nothing is said.

    Raises:
        InvalidParameterError: if the two answers are equal, or there is no such person.
    """

    first: Any
    second: Any
    others: Any
    holders: tuple[tuple[int, ...], ...] = ()
    person: int = 0

    def __post_init__(self) -> None:
        integer_at_least(0, person=self.person)
        if np.array_equal(self.first, self.second):
            raise invalid("different from first", second=self.second)

    def answers(self, which: str, num_users: int) -> NDArray[Any]:
        """Answers of one data set as a column, one row per person; ``which`` is "first" or "second"."""
        common = np.result_type(*(np.asarray(answer) for answer in (self.first, self.second, self.others)))
        column = np.array([self.others] * num_users, dtype=common)  # integer ``others`` would cut off digits
        if not self.holders:
            column[self.person] = getattr(self, which)
            return column
        here, there = self.holders if which == "first" else self.holders[::-1]
        column[list(here)], column[list(there)] = self.first, self.second
        return column


def worst_inputs(model: LocalModel) -> tuple[NeighboringInputs, ...]:
    """Worst neighboring data sets known for a family of randomizers; empty if none are known.

    The audit tries both roles of the two answers, so that "others = second" would repeat "others = first".
    """
    if isinstance(model, FrequencyModel):
        rest = [2] if model.domain_size > 2 else []
        return tuple(NeighboringInputs(first=0, second=1, others=others) for others in (*rest, 0))
    if isinstance(model, PrefixModel):  # codes in chunks that differ from the first one on
        first, second, third = ((chunk, *[0] * (model.num_levels - 1)) for chunk in range(3))
        crowds = (third, first) if model.hash_range > 2 else (first,)
        return tuple(NeighboringInputs(first=first, second=second, others=others) for others in crowds)
    if isinstance(model, MeanModel) and model.dimension == 1:
        lower, upper = model.lower, model.upper
        middle = lower + (upper - lower) / 2
        return tuple(NeighboringInputs(first=lower, second=upper, others=others) for others in (middle, lower))
    if isinstance(model, MeanModel):
        axis = np.eye(2, model.dimension)
        north, east = (tuple(row.tolist()) for row in axis)
        south = tuple((-axis[0]).tolist())
        return tuple(NeighboringInputs(first=north, second=south, others=others) for others in (east, north))
    return ()


@dataclass(frozen=True, slots=True)
class ScoredViews:
    """Reports of several nonempty views, in sequence."""

    columns: Mapping[str, NDArray[Any]]
    labels: NDArray[np.int64]  # the numbers of the rows where views have none
    first: NDArray[np.float64]  # log-likelihood of each report under the first person's answer in the first data set
    second: NDArray[np.float64]  # in the second one
    others: NDArray[np.float64]  # under the answer of all others
    starts: NDArray[np.int64]  # the row in which each view begins
    own: NDArray[np.bool_]  # whether the view betrays the report as the first person's


def _histogram(seen: ScoredViews) -> NDArray[np.float64]:
    """Exact log-likelihood ratio of the multiset of all reports, after a uniform shuffle.

    Let R be the randomizer and z everybody else's answer. Any report may be the first person's, so the chances of the
    multiset with n_y reports y are in the ratio of sum_y n_y R(y|x) / R(y|z) to sum_y n_y R(y|x') / R(y|z).
    """
    first, second = seen.first - seen.others, seen.second - seen.others
    return log_sum_per_view(first, seen.starts) - log_sum_per_view(second, seen.starts)


def _own_report(seen: ScoredViews) -> NDArray[np.float64]:
    """Log-likelihood ratio of the first person's report, in views that identify this report.

    That is what lies under the first label; without labels, what stands in the first row, which is the first person's
    if reports are released in the order of arrival.
    """
    return np.add.reduceat(np.where(seen.own, seen.first - seen.second, 0.0), seen.starts)


SCORES: Mapping[str, Callable[[ScoredViews], NDArray[np.float64]]] = {
    "histogram": _histogram,
    "own-report": _own_report,
}


def view_scores(views: Sequence[View], model: LocalModel, inputs: NeighboringInputs) -> NDArray[np.float64]:
    """Scores of every view in the order of ``SCORES``, 0 for an empty view; shape (views, scores)."""
    found = np.zeros((len(views), len(SCORES)))
    filled, seen = seen_in(views, model, inputs)
    if seen is not None:
        found[filled] = np.column_stack([score(seen) for score in SCORES.values()])
    return np.round(found, DIGITS)


def seen_in(
    views: Sequence[View], model: LocalModel, inputs: NeighboringInputs
) -> tuple[list[int], ScoredViews | None]:
    """Indices of nonempty views, and their reports with likelihoods; None if all views are empty."""
    filled, columns, labels, starts = stacked(views)
    if not filled:
        return [], None
    first, second, others = (
        log_likelihood_of(model, columns, answer) for answer in (inputs.first, inputs.second, inputs.others)
    )
    return filled, ScoredViews(columns, labels, first, second, others, starts, labels == inputs.person)


def stacked(views: Sequence[View]) -> tuple[list[int], dict[str, NDArray[Any]], NDArray[np.int64], NDArray[np.int64]]:
    """Indices of nonempty views, their stacked columns and labels, and the first row of each view."""
    filled = [place for place, view in enumerate(views) if len(view)]
    tables = [views[place].reports.columns for place in filled]
    columns = {name: np.concatenate([table[name] for table in tables]) for name in (tables[0] if tables else ())}
    labels = np.concatenate([np.empty(0, dtype=np.int64), *(labels_of(views[place]) for place in filled)])
    return filled, columns, labels, np.cumsum([0, *(len(views[place]) for place in filled[:-1])])


def labels_of(view: View) -> NDArray[np.int64]:
    """Label of each report; the row number in a view without labels."""
    return np.arange(len(view)) if view.labels is None else view.labels.astype(np.int64)


def report_scores(
    columns: Mapping[str, NDArray[Any]], model: LocalModel, inputs: NeighboringInputs
) -> NDArray[np.float64]:
    """Log-likelihood ratio of each report alone; shape (reports,)."""
    first, second = (log_likelihood_of(model, columns, answer) for answer in (inputs.first, inputs.second))
    return np.round(first - second, DIGITS)


def log_likelihood_of(model: LocalModel, columns: Mapping[str, NDArray[Any]], answer: Any) -> NDArray[np.float64]:
    """Log-likelihood of each report given this answer, shape (reports,).

    Models without a written law are refused.
    """
    found = model.log_likelihood(columns, answer)
    if found is None:
        raise UnsupportedModelError(f"no attack is known for {model.kind!r} reports: their law is not written out.")
    return found


def log_sum_per_view(terms: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logarithm of each view's sum of exponentials of the terms."""
    largest = np.maximum.reduceat(terms, starts)
    lengths = np.diff(starts, append=len(terms))
    total: NDArray[np.float64] = largest + np.log(np.add.reduceat(np.exp(terms - np.repeat(largest, lengths)), starts))
    return total
