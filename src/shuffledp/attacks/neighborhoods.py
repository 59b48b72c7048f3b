"""The Bayes-optimal neighborhood attack: the posterior of an answer, from the known randomizer and a prior of laws."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp.attacks.side_information import SideInformation, needed, reports_by_slot, spread
from shuffledp.errors import InvalidParameterError
from shuffledp.flow import View

__all__ = ["NeighborhoodBayes", "NeighborhoodPrior"]

Floats = NDArray[np.float64]

_FITTED_LAWS = 64
_ROUNDS = 30
_FITTED_PEOPLE = 4000
_AT_A_TIME = 4_000_000  # numbers


@dataclass(frozen=True, slots=True, eq=False)
class NeighborhoodPrior:
    """From which laws the answers of a neighborhood may be drawn, and how likely each law is.

    Args:
        laws: shape (laws, values), rows sum to 1.
        weights: shape (laws,), 0 or more, with sum 1.

    Raises:
        InvalidParameterError: if they are no such numbers.
    """

    laws: Floats
    weights: Floats

    def __post_init__(self) -> None:
        laws, weights = np.asarray(self.laws, dtype=np.float64), np.asarray(self.weights, dtype=np.float64)
        if laws.ndim != 2 or weights.shape != laws.shape[:1] or not (laws >= 0).all() or not (weights >= 0).all():
            raise InvalidParameterError("laws must be rows of probabilities, and weights one probability per row.")
        if not (np.allclose(laws.sum(axis=1), 1) and np.isclose(weights.sum(), 1)):
            raise InvalidParameterError("each of the laws, and weights, must sum to 1.")
        object.__setattr__(self, "laws", laws)
        object.__setattr__(self, "weights", weights)


class _Seen(NamedTuple):
    """For each person, the reports in the slots that are looked at.

    Attributes:
        counts: how many say each value, shape (people, values).
        own: how likely it is that the person's own report is one of them that says so, of the same shape.
    """

    counts: Floats
    own: Floats


class NeighborhoodBayes:
    """Guesses the likeliest answer, if the answers of a person and of the people looked at are draws from one law.

    That law is itself drawn from the prior. At most one of the reports looked at is the person's own, and
    ``placement`` says how likely it is each of them; the others are of other people with the same law.

    Guarantees:
        1. Where answers are drawn so, and ``prior`` is the law that they are drawn from, no attack on the same reports
           is right more often on average, the majority vote included. With a fitted prior it may do a little worse.

    Args:
        prior: None fits the weights of a grid of laws to the reports around everybody (empirical Bayes).
        seed: of the grid, for more than two values.
    """

    def __init__(self, prior: NeighborhoodPrior | None = None, *, seed: int = 0) -> None:
        if prior is not None:
            _validate.instance_of(NeighborhoodPrior, prior=prior)
        self.prior, self._seed = prior, seed

    def infer(self, view: View, side_information: SideInformation) -> NDArray[np.int64]:
        """One answer per person: the likeliest, and the smallest of equally likely ones.

        Args:
            view: of randomized response, with or without slots.
            side_information: with ``neighbors``; without ``placement`` no report is the person's own.

        Raises:
            InvalidParameterError: if ``neighbors`` is not known, the prior is of other values, or there is not one
                report per person.
            UnsupportedModelError: if reports are no values, or labels are not slots.
        """
        found: NDArray[np.int64] = self.posterior(view, side_information).argmax(axis=1)
        return found

    def posterior(self, view: View, side_information: SideInformation) -> Floats:
        """How likely each answer is for each person, shape (people, values). Arguments as in `infer`."""
        neighbors = needed(side_information, "neighbors")
        channel = _matrix(view, len(neighbors))
        said = np.eye(channel.shape[1])[reports_by_slot(view, len(neighbors))]
        counts = spread(neighbors) @ said
        near = side_information.placement
        own = np.zeros_like(counts) if near is None else spread(neighbors, near) @ said
        prior = self.prior or _fitted(counts, channel, self._seed)
        if prior.laws.shape[1] != len(channel):
            raise _validate.invalid(f"of {len(channel)} values", values_of_prior=prior.laws.shape[1])
        step = max(1, _AT_A_TIME // prior.laws.size)
        parts = range(0, len(counts), step)
        each = (_Seen(counts[start : start + step], own[start : start + step]) for start in parts)
        return np.concatenate([_posterior(seen, channel, prior) for seen in each])


def _matrix(view: View, num_slots: int) -> Floats:
    """Pr[report | answer]; the view is checked to be of such reports."""
    reports_by_slot(view, num_slots)
    channel = view.reports.model.channel()
    return np.asarray(channel.matrix if channel else None, dtype=np.float64)


def _posterior(seen: _Seen, channel: Floats, prior: NeighborhoodPrior) -> Floats:
    """Sum over laws of Pr[law | reports] Pr[answer | law, reports], up to a factor per person.

    Given the law, the reports are independent draws from law @ channel; where slot s is the person's own, with
    probability a_s, its factor is channel[answer, y_s] instead.
    """
    marginal = prior.laws @ channel
    logs = seen.counts @ np.log(marginal).T + np.log(np.maximum(prior.weights, np.finfo(float).tiny))
    laws = np.exp(logs - logs.max(axis=1, keepdims=True))
    ratios = channel[None] / marginal[:, None]  # of law, answer, report
    own = np.tensordot(seen.own, ratios, axes=([1], [2]))
    own += (1 - np.minimum(seen.own.sum(axis=1), 1))[:, None, None]
    found: Floats = np.einsum("pg,gv,pgv->pv", laws, prior.laws, own, optimize=True)
    total: Floats = found / found.sum(axis=1, keepdims=True)
    return total


def _fitted(counts: Floats, channel: Floats, seed: int) -> NeighborhoodPrior:
    """Weights of a grid of laws by expectation and maximization; neighborhoods are taken as if they did not overlap."""
    laws = _grid(len(channel), seed)
    some = counts[:: max(1, len(counts) // _FITTED_PEOPLE)]
    logs = some @ np.log(laws @ channel).T
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(len(laws), 1 / len(laws))
    for _ in range(_ROUNDS):
        shares = likely * weights
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    return NeighborhoodPrior(laws, weights)


def _grid(values: int, seed: int) -> Floats:
    """Laws of two values evenly; of more, draws that are uniform on the simplex, its corners and its middle."""
    if values == 2:
        first = (np.arange(_FITTED_LAWS) + 0.5) / _FITTED_LAWS
        return np.column_stack([first, 1 - first])
    draws: ArrayLike = np.random.default_rng(seed).dirichlet(np.ones(values), _FITTED_LAWS * 4)
    corners = 0.9 * np.eye(values) + 0.1 / values
    return np.concatenate([draws, corners, np.full((1, values), 1 / values)])
