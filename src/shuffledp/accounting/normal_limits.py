"""Normal limit of the central epsilon for many people.

The view of n people tends to a Gaussian mechanism with parameter mu = s / sqrt(n) (Dong, Roth, Su 2022), where s^2 is
the chi-squared information that the victim's report has among the others'. These are limits, not bounds at any n: plain
numbers for comparison, never in a statement.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from shuffledp.accounting.numerics import exp, expm1, smallest_below
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.accounting.theorems.blanket_laws import LawTheorem
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.validate import instance_of, open_probability

_MOST_INPUTS = 32  # most inputs of a channel whose triples are all compared
_LARGEST_EPSILON = 700.0
Information = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Normal limit of a protocol, evaluated at its number of people.

    Args:
        mu_lower: parameter of the limit of the worst data set where all others agree; 0 where it is not known.
        mu_upper: parameter of the limit of the best blanket bound.
        lower: epsilon of the limit with ``mu_lower``, at the delta asked for.
        upper: epsilon of the limit with ``mu_upper``.
    """

    mu_lower: float
    mu_upper: float
    lower: float
    upper: float


def limit(model: ProtocolModel, *, delta: float) -> Limit | None:
    """Normal limit of a uniformly shuffled protocol with one message per person; None if unknown.

    Args:
        model: the protocol's public description.
        delta: the remainder, strictly between 0 and 1.

    Raises:
        InvalidParameterError: if ``delta`` is out of range or ``model`` is not a protocol's.

    Example:
        >>> from shuffledp.accounting.account import protocol_of
        >>> found = limit(protocol_of(None, epsilon0=1.0, num_users=10**6), delta=1e-6)
        >>> round(found.lower, 5), round(found.upper, 5)
        (0.00308, 0.00351)
    """
    instance_of(ProtocolModel, model=model)
    open_probability(delta=delta)
    found = _information(model)
    if found is None:
        return None
    mu_lower, mu_upper = (math.sqrt(value / model.num_users) for value in found)
    return Limit(mu_lower=mu_lower, mu_upper=mu_upper, lower=_epsilon(mu_lower, delta), upper=_epsilon(mu_upper, delta))


def _information(model: ProtocolModel) -> Information | None:
    """Chi-squared information s^2 for the lower and the upper limit; None if unknown.

    That of the worst data set in which all others agree, and that of the best blanket.
    """
    local = model.local
    if not (model.shuffle.is_uniform and local.num_messages == 1 and local.is_common):
        return None
    if local.guarantee.delta > 0 or not 0 < local.epsilon0 < _LARGEST_EPSILON / 2:
        return None
    if local.kind in INFORMATION:
        return INFORMATION[local.kind](local)
    large = isinstance(local, FrequencyModel) and local.domain_size > _MOST_INPUTS
    channel = None if large else local.channel()
    if channel is None or channel.matrix.shape[0] > _MOST_INPUTS:
        return _of_law(model) or (0.0, _of_any(local)[1])
    matrix = channel.matrix[:, channel.matrix.max(axis=0) > 0].astype(np.float64)
    squares = [(first - second) ** 2 for first, second in permutations(matrix, 2)]
    if not squares:
        return None
    same = max(float((square / others).sum()) for square in squares for others in matrix)
    return same, max(float((square / matrix.min(axis=0)).sum()) for square in squares)


def _of_law(model: ProtocolModel) -> Information | None:
    """Chi-squared information of a randomizer from a theorem's report law; None if no theorem has a law."""
    laws = [each for each in THEOREMS if isinstance(each, LawTheorem) and each.applies(model, delta=0.5)]
    found = [(each.kind.promises, each.limit_mu(model) ** 2 * model.num_users) for each in laws]
    upper, lower = ([square for promises, square in found if promises is side] for side in (True, False))
    return (max(lower, default=0.0), min(upper)) if upper else None


def _of_any(local: LocalModel) -> Information:
    """Chi-squared information over all randomizers of loss epsilon0: a known value, and an upper bound.

    The known value is the larger of two.
    """
    ratio, growth = exp(local.epsilon0), expm1(local.epsilon0)
    return max(growth**2 / ratio, 2 * growth**2 / (ratio + 2)), 2 * growth**2 / (ratio + 1)


def _of_response(local: LocalModel) -> Information:
    """Chi-squared information of k-ary response, in the worst data set and in the blanket.

    Both are equal for k > 2, where all others hold a third value.
    """
    ratio, growth = exp(local.epsilon0), expm1(local.epsilon0)
    size = local.domain_size if isinstance(local, FrequencyModel) else 2
    blanket = 2 * growth**2 / (ratio + size - 1)
    return (growth**2 / ratio if size == 2 else blanket), blanket


INFORMATION: dict[str, Callable[[LocalModel], Information]] = {"ldp": _of_any, "k-rr": _of_response}


def _epsilon(mu: float, delta: float) -> float:
    """Epsilon of the Gaussian mechanism with parameter mu, at a delta."""

    def gaussian_delta(epsilon: float) -> float:
        """Delta of the Gaussian mechanism: Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)."""
        above, below = ((epsilon / mu - side) / math.sqrt(2) for side in (mu / 2, -mu / 2))
        return max((math.erfc(above) - exp(epsilon) * math.erfc(below)) / 2, 0.0)

    return smallest_below(gaussian_delta, level=delta, limit=_LARGEST_EPSILON) if mu else 0.0
