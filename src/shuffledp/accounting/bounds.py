"""Central loss from both sides: the bracket that theorems leave at n people, and the normal limit for many.

The view of n people tends to a Gaussian mechanism with parameter mu = s / sqrt(n) (Dong, Roth, Su 2022), where s^2 is
the chi-squared information that the victim's report has among the others'. These are limits, not bounds at any n: plain
numbers for comparison, never in a statement.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from shuffledp.accounting.account import account, best_lower_bound, counting_honest, epsilon_of
from shuffledp.accounting.numerics import exp, expm1, smallest_below
from shuffledp.accounting.theorems import THEOREMS
from shuffledp.accounting.theorems.blanket_laws import LawTheorem
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Basis
from shuffledp.core.text import in_digits
from shuffledp.core.validate import instance_of, open_probability

_MOST_INPUTS = 32  # for the comparison of all triples of inputs of a channel
_LARGEST_EPSILON = 700.0
Information = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Bracket of the central epsilon at one delta.

    Args:
        lower: what the loss is at least, in nats; 0 where nothing is known.
        upper: what it is at most: the promise.
        lower_basis: why the lower one holds; None where nothing is known.
        upper_basis: why the upper one holds.
    """

    lower: float
    upper: float
    lower_basis: Basis | None
    upper_basis: Basis

    def __str__(self) -> str:
        below = f" ({self.lower_basis.theorem})" if self.lower_basis else ""
        return (
            f"epsilon lies between {in_digits(self.lower, 'at least')}{below} and "
            f"{in_digits(self.upper, 'at most')} ({self.upper_basis.theorem})"
        )


def bracket(
    model: ProtocolModel, *, delta: float, honest_fraction: float = 1.0, published_only: bool = False
) -> Bracket:
    """The tightest upper bound on the central epsilon and the largest lower bound, each with its basis.

    For `shuffledp.randomizers.LdpModel`, a class of randomizers, the lower bound is what the worst of them loses at
    least: no theorem about the whole class can promise less.

    Args:
        model: the protocol's public description.
        delta: the remainder, strictly between 0 and 1.
        honest_fraction: as for `shuffledp.account`.
        published_only: as for `shuffledp.account`.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.

    Example:
        >>> from shuffledp.randomizers import LdpModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> model = ProtocolModel(local=LdpModel(epsilon0=0.5), shuffle=UniformShuffleModel(num_users=10_000))
        >>> found = bracket(model, delta=1e-6)
        >>> round(found.lower, 5), round(found.upper, 5)
        (0.01618, 0.01812)
        >>> print(found)
        epsilon lies between 0.01618 (ldp-witness) and 0.01812 (strong-pair)
    """
    instance_of(ProtocolModel, model=model)
    open_probability(delta=delta)
    counted = counting_honest(model, honest_fraction)
    upper = account(counted, delta=delta, published_only=published_only)
    lower = best_lower_bound(counted, delta)
    epsilons = [epsilon_of(statement.guarantee) for statement in (lower, upper) if statement]
    if lower is None or epsilons[0] == 0:
        return Bracket(lower=0.0, upper=epsilons[-1], lower_basis=None, upper_basis=upper.basis)
    return Bracket(lower=epsilons[0], upper=epsilons[1], lower_basis=lower.basis, upper_basis=upper.basis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The normal limit of a protocol, at its number of people.

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
    """The normal limit of a uniformly shuffled protocol with one message each; None where it is not known.

    Args:
        model: the protocol's public description.
        delta: the remainder, strictly between 0 and 1.

    Raises:
        InvalidParameterError: if ``delta`` is out of range or ``model`` is not a protocol's.

    Example:
        >>> from shuffledp.randomizers import LdpModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=10**6))
        >>> found = limit(model, delta=1e-6)
        >>> round(found.lower, 5), round(found.upper, 5)
        (0.00308, 0.00351)
    """
    instance_of(ProtocolModel, model=model)
    open_probability(delta=delta)
    found = _information(model) if model.shuffle.is_uniform and model.local.num_messages == 1 else None
    if found is None:
        return None
    mu_lower, mu_upper = (math.sqrt(value / model.num_users) for value in found)
    return Limit(mu_lower=mu_lower, mu_upper=mu_upper, lower=_epsilon(mu_lower, delta), upper=_epsilon(mu_upper, delta))


def _information(model: ProtocolModel) -> Information | None:
    """The s^2 of the worst data set where all others agree, and that of the best blanket."""
    local = model.local
    if local.guarantee.delta > 0 or not 0 < local.epsilon0 < _LARGEST_EPSILON / 2 or not local.is_common:
        return None
    if local.kind in INFORMATION:
        return INFORMATION[local.kind](local)
    large = isinstance(local, FrequencyModel) and local.domain_size > _MOST_INPUTS
    channel = None if large else local.channel()
    if channel is None or channel.matrix.shape[0] > _MOST_INPUTS:
        return _of_law(model) or (0.0, _of_any(local)[1])
    matrix = channel.matrix.astype(np.float64)
    matrix = matrix[:, matrix.max(axis=0) > 0]
    pairs = [(first - second) ** 2 for first, second in permutations(matrix, 2)]
    if not pairs:
        return None
    same = max(float((square / others).sum()) for square in pairs for others in matrix)
    return same, max(float((square / matrix.min(axis=0)).sum()) for square in pairs)


def _of_law(model: ProtocolModel) -> Information | None:
    """Information of a randomizer whose own law is evaluated; None if none is."""
    laws = [each for each in THEOREMS if isinstance(each, LawTheorem) and each.applies(model, delta=0.5)]
    found = {
        promises: [each.limit_mu(model) ** 2 * model.num_users for each in laws if each.kind.promises is promises]
        for promises in (True, False)
    }
    return (max(found[False], default=0.0), min(found[True])) if found[True] else None


def _of_any(local: LocalModel) -> Information:
    """Information of all randomizers of loss epsilon0: that of the worse of two known ones, and what none exceeds."""
    ratio, growth = exp(local.epsilon0), expm1(local.epsilon0)
    return max(growth**2 / ratio, 2 * growth**2 / (ratio + 2)), 2 * growth**2 / (ratio + 1)


def _of_response(local: LocalModel) -> Information:
    """Information of k-ary response: the blanket is as good as the data set where all others hold a third value."""
    ratio, growth = exp(local.epsilon0), expm1(local.epsilon0)
    size = local.domain_size if isinstance(local, FrequencyModel) else 2
    blanket = 2 * growth**2 / (ratio + size - 1)
    return (growth**2 / ratio if size == 2 else blanket), blanket


INFORMATION: dict[str, Callable[[LocalModel], Information]] = {"ldp": _of_any, "k-rr": _of_response}


def _epsilon(mu: float, delta: float) -> float:
    """The epsilon of the Gaussian mechanism with this parameter."""
    if mu == 0:
        return 0.0
    return smallest_below(
        lambda epsilon: _gaussian_delta(mu, epsilon), level=delta, limit=_LARGEST_EPSILON, tolerance=1e-9
    )


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)."""
    above, below = ((epsilon / mu - side) / math.sqrt(2) for side in (mu / 2, -mu / 2))
    return max((math.erfc(above) - exp(epsilon) * math.erfc(below)) / 2, 0.0)
