"""Renyi divergences of everything released, from a theorem's whole curve of delta."""

from collections.abc import Iterable, Sequence

import numpy as np

from shuffledp.accounting.account import counting_honest, nothing_known
from shuffledp.accounting.compose import with_curves
from shuffledp.accounting.numerics import ROUND_UP
from shuffledp.accounting.privacy_losses import LARGEST_LOSS, Profile, profile_at
from shuffledp.accounting.theorem import Theorem
from shuffledp.core.guarantees import RenyiDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Floats
from shuffledp.core.validate import instance_of, invalid

_NEAR, _FAR = 400, 300  # losses on a linear scale, in the likely range, and on a logarithmic one beyond
_LIKELY = 25.0  # in units of the total variation distance, which is 0.4 standard deviations of the loss
_ANY_DELTA = 0.5  # theorems with a curve ask nothing of delta


def renyi(
    model: ProtocolModel,
    *,
    orders: Sequence[float],
    honest_fraction: float = 1.0,
    published_only: bool = False,
) -> PrivacyStatement:
    """Upper bound on the Renyi divergence of everything released, at each order a, as a statement.

    With H(g) = delta(log g) and E = exp(epsilon0), in both directions,

        E_Q[(P/Q)^a] <= 1 + a (a - 1) int_1^E (g^(a-2) + g^(-a-1)) H(g) dg,

    in which chords of the convex H are integrated in closed form. Accurate to about a part in a thousand.

    Args:
        model: the protocol's public description, with a pure local guarantee: a remainder can make every order
        infinite.
        orders: each above 1 and finite, ascending.
        honest_fraction: as for `shuffledp.account`.
        published_only: as for `shuffledp.account`.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if the local guarantee is not pure, or no theorem with a curve of delta applies.

    Example:
        >>> from shuffledp.randomizers import LdpModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=1000))
        >>> statement = renyi(model, orders=[2, 64])
        >>> [round(epsilon, 4) for epsilon in statement.guarantee.epsilons]
        [0.0016, 0.0509]
    """
    instance_of(ProtocolModel, model=model)
    if not isinstance(orders, Iterable):
        raise invalid("a sequence of numbers, such as [2, 8]", orders=orders)
    orders = tuple(float(order) for order in orders)
    RenyiDP(orders=orders, epsilons=(0.0,) * len(orders))  # checks them
    counted = counting_honest(model, honest_fraction)
    local = counted.local.guarantee
    if local.delta > 0 or local.is_trivial:
        raise nothing_known(counted, f"orders={list(orders)}", delta=_ANY_DELTA)
    theorems = with_curves(counted, _ANY_DELTA, published_only)
    found = {theorem: _divergences(theorem, counted, orders) for theorem in theorems}
    best = min(found, key=lambda theorem: sum(found[theorem]))
    guarantee = RenyiDP(orders=orders, epsilons=found[best], neighbors=local.neighbors)
    return best.stating(counted, guarantee, delta=_ANY_DELTA)


def _divergences(theorem: Theorem, model: ProtocolModel, orders: Sequence[float]) -> tuple[float, ...]:
    """Renyi divergence at each order, at most epsilon0.

    Epsilon0 bounds the loss itself.
    """
    epsilon0 = model.local.epsilon0
    if epsilon0 == 0 or epsilon0 > LARGEST_LOSS:
        return (epsilon0,) * len(orders)
    pair = profile_at(theorem, model, losses=_losses(theorem, model))
    return tuple(min(_divergence(pair, order), epsilon0) for order in orders)


def _losses(theorem: Theorem, model: ProtocolModel) -> Floats:
    """Losses at which the curve is evaluated, from near 0 to epsilon0 inclusive."""
    epsilon0 = model.local.epsilon0
    likely = min(_LIKELY * theorem.delta_at(model, epsilon=0.0), epsilon0)
    near = np.linspace(0, likely, _NEAR + 1)[1:]
    far = np.geomspace(likely, epsilon0, _FAR + 1)[1:] if likely < epsilon0 else np.empty(0)
    losses = np.concatenate([near, far])
    losses[-1] = epsilon0  # where the curve ends, not a rounding error before it
    return losses


def _divergence(pair: Profile, order: float) -> float:
    """Renyi divergence of order a of a pair of laws.

    Summed over ratios g and 1/g together. log(1 + sum of Q(g) (g^(a-1) - 1) (g - g^(1-a))) / (a - 1).
    """
    power = (order - 1) * pair.losses
    with np.errstate(divide="ignore"):
        logs = np.log(pair.masses) + _log_expm1(power) + _log_expm1(power + pair.losses) - power
    top = float(logs.max(initial=-np.inf))
    if top == -np.inf:
        return 0.0
    total = top + float(np.log(np.exp(logs - top).sum()))
    return float(np.logaddexp(0.0, total) if total > -30 else np.exp(total)) / (order - 1) * ROUND_UP


def _log_expm1(power: Floats) -> Floats:
    return np.asarray(power + np.log(-np.expm1(-power)))
