"""How an attacker reads a view: each score is a number, larger the more the view looks like the first data set's.

A score may use all that a `shuffledp.View` shows and the public models, and nothing else. An audit only counts how
often a threshold is passed, so that it is valid whatever the score; a better score shows more. A later attack is one
more function in ``SCORES``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.inputs import NeighboringInputs
from shuffledp.errors import UnsupportedModelError
from shuffledp.flow import View
from shuffledp.models import LocalModel

__all__ = ["SCORES", "read_view", "report_scores"]

_DIGITS = 9  # a sum over the same multiset in another order differs far behind these


@dataclass(frozen=True, slots=True)
class _Likelihoods:
    """For each report of a view, its log-likelihood under the three answers that occur in the game."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    others: NDArray[np.float64]


_Labels = NDArray[np.int64] | None


def _histogram(seen: _Likelihoods, labels: _Labels) -> float:  # noqa: ARG001
    """The exact log-likelihood ratio of the multiset of all reports, if the view is a uniform shuffle.

    Let R be the randomizer and z everybody else's answer. Any report may be the first person's, so the chances of the
    multiset with n_y reports y are in the ratio of sum_y n_y R(y|x) / R(y|z) to sum_y n_y R(y|x') / R(y|z).
    """
    return _log_sum_exp(seen.first - seen.others) - _log_sum_exp(seen.second - seen.others)


def _own_report(seen: _Likelihoods, labels: _Labels) -> float:
    """The log-likelihood ratio of what the view betrays as the first person's.

    That is what lies under the first label; without labels, what stands in the first row, which is the first person's
    if reports are released in the order of arrival.
    """
    rows: Any = slice(0, 1) if labels is None else labels == 0
    return float((seen.first - seen.second)[rows].sum())


SCORES: Mapping[str, Callable[[_Likelihoods, _Labels], float]] = {"histogram": _histogram, "own-report": _own_report}


def read_view(view: View, model: LocalModel, inputs: NeighboringInputs) -> list[float]:
    """Every score of one view, in the order of ``SCORES``; an empty view tells nothing."""
    if not len(view):
        return [0.0] * len(SCORES)
    answers = (inputs.first, inputs.second, inputs.others)
    seen = _Likelihoods(*(_log_likelihood(model, view.reports.columns, answer) for answer in answers))
    return [round(score(seen, view.labels), _DIGITS) for score in SCORES.values()]


def report_scores(
    columns: Mapping[str, NDArray[Any]], model: LocalModel, inputs: NeighboringInputs
) -> NDArray[np.float64]:
    """The log-likelihood ratio of each report by itself; shape (reports,)."""
    first, second = (_log_likelihood(model, columns, answer) for answer in (inputs.first, inputs.second))
    return np.round(first - second, _DIGITS)


def _log_likelihood(model: LocalModel, columns: Mapping[str, NDArray[Any]], answer: Any) -> NDArray[np.float64]:
    found = model.log_likelihood(columns, answer)
    if found is None:
        raise UnsupportedModelError(f"no attack is known for {model.kind!r} reports: their law is not written out.")
    return found


def _log_sum_exp(terms: NDArray[np.float64]) -> float:
    largest = terms.max()
    return float(largest + np.log(np.exp(terms - largest).sum()))
