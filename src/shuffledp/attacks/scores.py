"""How an attacker reads a view: a score is a number, larger the more the view looks like the first data set's.

A score may use all that a `shuffledp.View` shows and the public models, and nothing else. An audit only counts how
often a threshold is passed, so that it is valid whatever the score; a better score shows more. A later attack is one
more function in ``SCORES``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.errors import UnsupportedModelError
from shuffledp.flow import View
from shuffledp.models import LocalModel

__all__ = [
    "DIGITS",
    "ORDER_SCORES",
    "SCORES",
    "Seen",
    "labels_of",
    "log_likelihood_of",
    "order_scores",
    "report_scores",
    "seen_in",
    "sum_per_view",
    "view_scores",
]

_Holders = tuple[tuple[int, ...], ...]

DIGITS = 9  # a sum over the same multiset in another order differs far behind these


@dataclass(frozen=True, slots=True)
class Seen:
    """Several views, one after the other, none empty.

    Args:
        columns: those of all reports.
        labels: of all reports; the numbers of the rows where views have none.
        first: log-likelihood of each report under the first person's answer in the first data set.
        second: the same for the second data set.
        others: the same under everybody else's answer.
        starts: the row in which each view begins.
        own: whether the view betrays the report as the first person's.
    """

    columns: Mapping[str, NDArray[Any]]
    labels: NDArray[np.int64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    others: NDArray[np.float64]
    starts: NDArray[np.int64]
    own: NDArray[np.bool_]


def _histogram(seen: Seen) -> NDArray[np.float64]:
    """The exact log-likelihood ratio of the multiset of all reports, if the view is a uniform shuffle.

    Let R be the randomizer and z everybody else's answer. Any report may be the first person's, so the chances of the
    multiset with n_y reports y are in the ratio of sum_y n_y R(y|x) / R(y|z) to sum_y n_y R(y|x') / R(y|z).
    """
    first, second = seen.first - seen.others, seen.second - seen.others
    return sum_per_view(first, seen.starts) - sum_per_view(second, seen.starts)


def _own_report(seen: Seen) -> NDArray[np.float64]:
    """The log-likelihood ratio of what the view betrays as the first person's.

    That is what lies under the first label; without labels, what stands in the first row, which is the first person's
    if reports are released in the order of arrival.
    """
    return np.add.reduceat(np.where(seen.own, seen.first - seen.second, 0.0), seen.starts)


def _own_slots(evidence: NDArray[np.float64], rank: NDArray[np.int64], holders: _Holders) -> float:  # noqa: ARG001
    """What lies in the holders' own slots."""
    return float(evidence[list(holders[0])].sum() - evidence[list(holders[1])].sum())


def _along_the_order(evidence: NDArray[np.float64], rank: NDArray[np.int64], holders: _Holders) -> float:  # noqa: ARG001
    """How far up the reference order the two answers lie, against each other."""
    return -float(evidence @ (rank - (len(rank) - 1) / 2)) / len(rank)


def _along_the_numbers(evidence: NDArray[np.float64], rank: NDArray[np.int64], holders: _Holders) -> float:  # noqa: ARG001
    """The same along the people's numbers: what a shuffle betrays that lost the reference order on its way."""
    places = np.arange(len(evidence))
    side = 1.0 if np.mean(holders[0]) < np.mean(holders[1]) else -1.0
    return -side * float(evidence @ (places - (len(places) - 1) / 2)) / len(places)


# Of views whose labels are slots, about which of two orders members of a group hold their answers in.
ORDER_SCORES: Mapping[str, Callable[[NDArray[np.float64], NDArray[np.int64], _Holders], float]] = {
    "own-slots": _own_slots,
    "along-the-order": _along_the_order,
    "along-the-numbers": _along_the_numbers,
}


def order_scores(view: View, model: LocalModel, inputs: NeighboringInputs, rank: NDArray[np.int64]) -> list[float]:
    """Every score of ``ORDER_SCORES`` of one view with a report in every slot.

    A report's evidence is the log-likelihood ratio of the two answers.

    Args:
        view: its labels are slots.
        model: the randomizer's.
        inputs: with holders.
        rank: of each person in the reference order.
    """
    evidence = np.zeros(len(rank))
    evidence[view.labels] = report_scores(view.reports.columns, model, inputs)
    return [round(score(evidence, rank, inputs.holders), DIGITS) for score in ORDER_SCORES.values()]


SCORES: Mapping[str, Callable[[Seen], NDArray[np.float64]]] = {"histogram": _histogram, "own-report": _own_report}


def view_scores(views: Sequence[View], model: LocalModel, inputs: NeighboringInputs) -> NDArray[np.float64]:
    """Every score of every view, in the order of ``SCORES``; shape (views, scores). An empty view tells nothing."""
    found = np.zeros((len(views), len(SCORES)))
    filled, seen = seen_in(views, model, inputs)
    if seen is not None:
        found[filled] = np.column_stack([score(seen) for score in SCORES.values()])
    return np.round(found, DIGITS)


def seen_in(views: Sequence[View], model: LocalModel, inputs: NeighboringInputs) -> tuple[list[int], Seen | None]:
    """Which views hold a report, and what is seen in those, with the likelihoods of all reports; None if none does."""
    filled = [place for place, view in enumerate(views) if len(view)]
    if not filled:
        return [], None
    tables = [views[place].reports.columns for place in filled]
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    first, second, others = (
        log_likelihood_of(model, columns, answer) for answer in (inputs.first, inputs.second, inputs.others)
    )
    labels = np.concatenate([labels_of(views[place]) for place in filled])
    starts = np.cumsum([0, *(len(views[place]) for place in filled[:-1])])
    return filled, Seen(columns, labels, first, second, others, starts, labels == inputs.person)


def labels_of(view: View) -> NDArray[np.int64]:
    """The label of each report; without labels the row."""
    return np.arange(len(view)) if view.labels is None else view.labels.astype(np.int64)


def report_scores(
    columns: Mapping[str, NDArray[Any]], model: LocalModel, inputs: NeighboringInputs
) -> NDArray[np.float64]:
    """The log-likelihood ratio of each report by itself; shape (reports,)."""
    first, second = (log_likelihood_of(model, columns, answer) for answer in (inputs.first, inputs.second))
    return np.round(first - second, DIGITS)


def log_likelihood_of(model: LocalModel, columns: Mapping[str, NDArray[Any]], answer: Any) -> NDArray[np.float64]:
    """How likely each report is if this is the answer; shape (reports,).

    Raises:
        UnsupportedModelError: if the model does not say.
    """
    found = model.log_likelihood(columns, answer)
    if found is None:
        raise UnsupportedModelError(f"no attack is known for {model.kind!r} reports: their law is not written out.")
    return found


def sum_per_view(terms: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log of the sum of exponentials from each start to the next one."""
    largest = np.maximum.reduceat(terms, starts)
    lengths = np.diff(starts, append=len(terms))
    total: NDArray[np.float64] = largest + np.log(np.add.reduceat(np.exp(terms - np.repeat(largest, lengths)), starts))
    return total
