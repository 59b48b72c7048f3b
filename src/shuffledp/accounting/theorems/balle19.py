"""Balle, Bell, Gascon, Nissim 2019: "The Privacy Blanket of the Shuffle Model" (arXiv 1903.02837)."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.accounting.numerics import SMALLEST, rounded_up, smallest_below
from shuffledp.accounting.premises import not_adaptive, several_users, shuffled_pure_reports
from shuffledp.accounting.theorem import Theorem
from shuffledp.models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.statements import Hypothesis

__all__ = ["BennettBalle19", "HoeffdingBalle19"]

_SMALLEST_EPSILON0, _LARGEST_EPSILON0 = 1e-50, 100.0
_ROUND_DOWN = 1 - 1e-13
_LEAST_EPSILON = 1e-200  # of the curve: below, it says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    """What the paper calls the privacy amplification random variable L, whose mean is 1 - exp(epsilon).

    Args:
        blanket: the mass gamma of the blanket.
        most: the largest value of L.
        least: the smallest.
        variance: a bound on its variance.
    """

    blanket: float
    most: float
    least: float
    variance: float


class _BlanketBound(Theorem):
    """Epsilon is solved for on a curve of delta, an expectation over the number of messages of the blanket."""

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """One pure local randomizer for all that is not adaptive, a uniform shuffle, two users or more."""
        del delta
        epsilon0 = model.local.epsilon0
        return (
            *shuffled_pure_reports(model),
            not_adaptive(model),
            several_users(model),
            Hypothesis(
                name="float-range",
                requirement=f"{_SMALLEST_EPSILON0:g} <= epsilon0 <= {_LARGEST_EPSILON0:g}",
                value=f"epsilon0={epsilon0:.6g}",
                holds=_in_range(epsilon0),
            ),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The least epsilon at which the bound on delta is small enough, or epsilon0."""
        if not _in_range(model.local.epsilon0):
            return model.local.epsilon0
        return smallest_below(
            lambda epsilon: self._bound(model, epsilon), level=delta, limit=model.local.epsilon0, tolerance=1e-9
        )

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The bound on delta, where the theorem applies."""
        if not self.applies(model, delta=0.5):
            return 1.0
        return 0.0 if epsilon >= model.local.epsilon0 else self._bound(model, epsilon)

    def _bound(self, model: ProtocolModel, epsilon: float) -> float:
        if epsilon < _LEAST_EPSILON:
            return 1.0
        loss = _LOSSES.get(model.local.kind, _any_randomizer)(model.local, epsilon)
        factor, decay = self._of_each(loss, math.expm1(epsilon))
        # The expectation of exp(-decay M) over the number M of blanket messages.
        survive = math.exp(model.num_users * math.log1p(loss.blanket * math.expm1(-decay * _ROUND_DOWN)))
        return min(rounded_up(factor / (loss.blanket * model.num_users) * survive) + SMALLEST, 1.0)

    @abstractmethod
    def _of_each(self, loss: _Loss, drift: float) -> tuple[float, float]:
        """The c and d for which E[(L_1 + ... + L_m)_+] <= c exp(-d m); ``drift`` is minus the mean of L."""


def _in_range(epsilon0: float) -> bool:
    return _SMALLEST_EPSILON0 <= epsilon0 <= _LARGEST_EPSILON0


class HoeffdingBalle19(_BlanketBound):
    """With a = exp(epsilon) - 1 and b the width of L: E[(L_1 + ... + L_m)_+] <= b^2 / (4 a) exp(-2 m a^2 / b^2)."""

    id: ClassVar[str] = "balle19-hoeffding"
    citation: ClassVar[str] = "Balle, Bell, Gascon, Nissim 2019, privacy blanket, Hoeffding's bound (arXiv 1903.02837)"

    def _of_each(self, loss: _Loss, drift: float) -> tuple[float, float]:
        width = loss.most - loss.least
        return width * (width / (4 * drift)), 2 * (drift / width) ** 2


class BennettBalle19(_BlanketBound):
    """With a = exp(epsilon) - 1: E[(L_1 + ... + L_m)_+] <= b / log(1 + a b / c) exp(-m c / b^2 phi(a b / c)).

    Here b is the largest L - E[L], c the variance of L and phi(u) = (1 + u) log(1 + u) - u.
    """

    id: ClassVar[str] = "balle19-bennett"
    citation: ClassVar[str] = "Balle, Bell, Gascon, Nissim 2019, privacy blanket, Bennett's bound (arXiv 1903.02837)"

    def _of_each(self, loss: _Loss, drift: float) -> tuple[float, float]:
        top = loss.most + drift
        share = drift * top / loss.variance
        growth = math.log1p(share)
        phi = (1 + share) * growth - share
        if share < 0.01:  # where that would lose digits: its series, which is alternating, from below
            phi = share * share / 2 * (1 - share / 3 * (1 - share / 2 * (1 - share * 3 / 5)))
        return top / growth, loss.variance / (top * top) * phi


def _any_randomizer(local: LocalModel, epsilon: float) -> _Loss:
    """What holds for every randomizer of loss epsilon0.

    The blanket is at least exp(-epsilon0); only so much of it is counted. What is normalized by its whole mass, which
    may be anything up to 1, has likelihoods between 1/E and E. So L^2 is at most E (e^2 + 1) - 2 e / E^2 on average.
    """
    epsilon0, drift = local.epsilon0, math.expm1(epsilon)
    growth = math.expm1(epsilon0)
    return _Loss(
        blanket=math.exp(-epsilon0),
        most=growth - math.expm1(epsilon - epsilon0),
        least=math.expm1(-epsilon0) - math.expm1(epsilon + epsilon0),
        variance=growth * drift**2 + 2 * math.exp(epsilon) * (growth - math.expm1(-2 * epsilon0)),
    )


def _response(local: LocalModel, epsilon: float) -> _Loss:
    """k-ary randomized response, whose blanket is uniform."""
    size = local.domain_size if isinstance(local, FrequencyModel) else 2
    epsilon0, drift = local.epsilon0, math.expm1(epsilon)
    odds = math.exp(-epsilon0)
    unit = size / (1 + (size - 1) * odds)  # gamma E
    first = -unit * math.expm1(epsilon - epsilon0)
    second = unit * (math.expm1(-epsilon0) - drift)
    others = -unit * odds * drift
    square = (first**2 + second**2 + (size - 2) * others**2) / size
    return _Loss(blanket=unit * odds, most=first, least=second, variance=square - drift**2)


def _laplace(local: LocalModel, epsilon: float) -> _Loss:
    """The Laplace mechanism on an interval."""
    half, drift = local.epsilon0 / 2, math.expm1(epsilon)
    blanket, missing = math.exp(-half), -math.expm1(-half)
    square = (2 / blanket + blanket**2) / 3 * drift**2
    square += 4 / 3 * math.exp(epsilon) / blanket * missing**2 * (1 + 2 * blanket)
    return _Loss(
        blanket=blanket,
        most=math.expm1(half) - math.expm1(epsilon - half),
        least=math.expm1(-half) - math.expm1(epsilon + half),
        variance=square - drift**2,
    )


_LOSSES: dict[str, Callable[[LocalModel, float], _Loss]] = {"k-rr": _response, "laplace": _laplace}
