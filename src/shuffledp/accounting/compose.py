"""Composition: the privacy loss of several releases together, from curves of delta.

A curve of delta that holds at every epsilon is the profile of a dominating pair of laws, and dominating pairs may be
composed, also if later releases are chosen by what earlier ones showed (Zhu, Dong, Wang 2022, Theorem 10). The privacy
loss of the pair is put on a grid, where it can only grow (`shuffledp.accounting.privacy_losses`), and added up by FFT.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shuffledp.accounting.account import account, counting_honest, epsilon_of, nothing_known, upper_bounds
from shuffledp.accounting.evaluators.binomial import binomial_error, log_probability
from shuffledp.accounting.numerics import ROUND_UP, SMALLEST, smallest_below
from shuffledp.accounting.privacy_losses import LARGEST_LOSS, loss_law, loss_laws, loss_reach, loss_sum
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.separate_messages import apart
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statements import Part, PrivacyStatement, combined
from shuffledp.core.table import Floats
from shuffledp.core.validate import instance_of, integer_at_least, invalid, nonnegative, open_probability, positive

_LEFT_OUT = 1e-4  # share of delta: the probability of losses that are taken for infinite
_ADDING_LOSSES = (
    "adding-losses",
    "dominating pairs; Zhu, Dong, Wang 2022, Theorem 10, and Doroshenko et al. 2022 for the grid",
)
_ADDING_EPSILONS = ("basic-composition", "basic composition; Dwork and Roth 2014, Theorem 3.16")
_ANY_DELTA = 0.5  # theorems with a curve ask nothing of delta
_MOST_TOTALS = 100_000  # sums of pure losses; with more of them, each loss is replaced by the largest


def compose_releases(
    models: ProtocolModel | Sequence[ProtocolModel],
    *,
    delta: float,
    num_releases: int = 1,
    honest_fraction: float = 1.0,
    published_only: bool = False,
    sharp: bool = False,
) -> PrivacyStatement:
    """Statement with an upper bound on the privacy loss of several releases about the same people.

    Each release is a protocol run anew, with fresh randomness and a fresh shuffle; several analyses of one shuffled
    batch are one release. The best of three ways is taken: adding up privacy losses (from the theorem that is tightest
    for each release), or those of pure guarantees (`compose_pure`), or epsilons and deltas.

    Args:
        models: the protocol of each release, or one.
        delta: the remainder of all together, strictly between 0 and 1.
        num_releases: how often each of them is run, 1 or more.
        honest_fraction: as for `shuffledp.account`.
        published_only: as for `shuffledp.account`.
        sharp: as for `shuffledp.account`; the swap bound of a channel is worked out at one delta alone, and so adds
            nothing to losses that are added up.

    Raises:
        InvalidParameterError: if a parameter is out of range, or there is no model.
        UnsupportedModelError: if no theorem at all applies: nothing is known.

    Example:
        >>> from shuffledp.randomizers import LdpModel
        >>> from shuffledp.shufflers import UniformShuffleModel
        >>> model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=10_000))
        >>> round(compose_releases(model, delta=1e-6, num_releases=100).guarantee.epsilon, 3)
        0.508
    """
    releases = [models] if isinstance(models, ProtocolModel) else list(models)
    if not releases:
        raise invalid("one model or more", num_models=0)
    for model in releases:
        instance_of(ProtocolModel, models=model)
    open_probability(delta=delta)
    integer_at_least(1, num_releases=num_releases)
    counted = [counting_honest(model, honest_fraction) for model in releases]
    count = len(counted) * num_releases
    firsts = [counted.index(model) for model in counted]  # equal releases are worked out once
    known = {
        place: account(counted[place], delta=delta / count, published_only=published_only, sharp=sharp)
        for place in set(firsts)
    }
    each = [known[place] for place in firsts]
    if count == 1:
        return each[0]
    basic = math.nextafter(num_releases * math.fsum(epsilon_of(statement.guarantee) for statement in each), math.inf)
    single = [message for model in counted for message in _messages(model)]
    sharp_ones = {single.index(counted[place]) for place in known if known[place].basis.theorem == "swap-bound"}
    profiles = _profiles({place: single[place] for place in sharp_ones})
    options: dict[str, Any] = {"profiles": profiles, "published_only": published_only}
    adding = _by_losses(single, delta=delta, num_releases=num_releases, limit=basic, **options)
    guarantees = [statement.guarantee for statement in each]
    if all(isinstance(pure, CentralDP) and pure.delta == 0 for pure in guarantees):
        adding = min(adding, compose_pure([epsilon_of(pure) for pure in guarantees] * num_releases, delta=delta))
    guarantee = CentralDP(epsilon=min(basic, adding), delta=delta)
    return _combined(each, guarantee, num_releases, adding_losses=adding < basic)


def compose_pure(losses: Sequence[float], *, delta: float) -> float:
    """Privacy loss of several pure releases together at a delta.

    It is epsilon, or alpha for the order inside groups. Whatever is pure of loss a is post-processing of binary
    randomized response of that loss (Kairouz, Oh, Viswanath 2015), so the answer is exact for responses. With q_i the
    chance that i of T of one loss a are true, q ~ Bin(T, e^a / (e^a + 1)), it is the least x at which sum_i q_i (1 -
    exp(x - (2i - T) a))_+ <= delta.

    Args:
        losses: of each release, in nats, 0 or more; in any order.
        delta: the remainder of all together, strictly between 0 and 1.

    Returns:
        The loss of all together, from above: at most the sum of all.

    Raises:
        InvalidParameterError: if a parameter is out of range.

    Example:
        >>> round(compose_pure([0.1] * 52, delta=1e-6), 3)
        3.241
    """
    open_probability(delta=delta)
    for loss in losses:
        nonnegative(losses=loss)
    limit = math.nextafter(math.fsum(losses), math.inf) if any(losses) else 0.0
    if math.isinf(limit) or limit == 0:
        return limit
    counts = Counter(float(loss) for loss in losses if loss > 0)
    if math.prod(count + 1 for count in counts.values()) > _MOST_TOTALS:
        counts = Counter({max(counts): counts.total()})
    totals, chances = np.zeros(1), np.ones(1)
    for loss, count in counts.items():
        lies = np.arange(count + 1, dtype=np.float64)
        chance = max(math.exp(-loss) / (1 + math.exp(-loss)), SMALLEST)
        masses = np.exp(log_probability(lies, float(count), chance)) * (1 + binomial_error(count))
        totals = np.add.outer(totals, (count - 2 * lies) * loss).ravel()
        chances = np.multiply.outer(chances, masses).ravel()

    def remainder(epsilon: float) -> float:
        return float(chances @ -np.expm1(np.minimum(epsilon - totals, 0.0)))

    return smallest_below(remainder, level=delta, limit=limit)


def _messages(model: ProtocolModel) -> list[ProtocolModel]:
    """Models of the messages that may differ between two answers, each counted as one release.

    The protocol itself where people send one message.
    """
    found = apart(model)
    return [model] if found is None else [found[0]] * found[1]


def _profiles(models: Mapping[int, ProtocolModel]) -> dict[int, Theorem | None]:
    """Swap-bound curves for the models whose tightest theorem is the swap bound.

    They take seconds.
    """
    if not models:
        return {}
    from shuffledp.accounting.theorems.swap_profiles import swap_profile

    return {place: swap_profile(model) for place, model in models.items()}


def _by_losses(
    models: Sequence[ProtocolModel],
    *,
    delta: float,
    num_releases: int,
    limit: float,
    profiles: Mapping[int, Theorem | None],
    published_only: bool,
) -> float:
    """Epsilon of all releases together from the sum of their privacy losses; at most ``limit``."""
    if limit == 0:
        return 0.0
    left_out = max(_LEFT_OUT * delta / (len(models) * num_releases), SMALLEST)
    firsts = [models.index(model) for model in models]
    distinct = [models[place] for place in dict.fromkeys(firsts)]
    try:
        theorems = [_best_curve(model, left_out, published_only) for model in distinct]
    except UnsupportedModelError:
        return limit  # no theorem covers some release at this small delta
    places = [distinct.index(models[first]) for first in firsts]
    options: dict[str, Any] = {"places": places, "delta": delta, "num_releases": num_releases, "left_out": left_out}
    found = min(limit, _total(theorems, distinct, limit=limit, **options))
    if profiles:  # which total is less depends on the number of releases
        mixed = [profiles.get(first) or own for first, own in zip(dict.fromkeys(firsts), theorems, strict=True)]
        found = min(found, _total(mixed, distinct, limit=limit, **options))
    return found


def _total(
    theorems: Sequence[Theorem],
    models: Sequence[ProtocolModel],
    *,
    places: Sequence[int],
    delta: float,
    num_releases: int,
    left_out: float,
    limit: float,
) -> float:
    """Epsilon of all releases together, with one theorem for each model; at most ``limit``."""
    found = loss_laws(theorems, models, left_out)
    if found is None:
        return limit
    known, step = found
    laws = [known[place] for place in places]
    return loss_sum(laws, step=step, repeats=num_releases, delta=delta).epsilon(delta, limit=limit)


def to_privacy_loss_distribution(
    model: ProtocolModel,
    *,
    discretization: float = 1e-4,
    left_out: float = 1e-15,
    honest_fraction: float = 1.0,
    published_only: bool = False,
) -> Any:
    """Dominating pair of the protocol as a ``PrivacyLossDistribution`` of Google's ``dp_accounting``.

    It is a pessimistic estimate. It can be composed there with other mechanisms, self-composed, and asked for epsilon
    and delta (replace-one).

    Args:
        model: the protocol's public description.
        discretization: distance of the losses in nats, above 0.
        left_out: probability of larger losses that may be taken for infinite ones, strictly between 0 and 1.
        honest_fraction: as for `shuffledp.account`.
        published_only: as for `shuffledp.account`.

    Raises:
        ImportError: if ``dp_accounting`` is not installed.
        InvalidParameterError: if a parameter is out of range.
        UnsupportedModelError: if no theorem with a curve of delta applies.
    """
    instance_of(ProtocolModel, model=model)
    positive(discretization=discretization)
    open_probability(left_out=left_out)
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise ImportError("to_privacy_loss_distribution needs dp_accounting: pip install dp-accounting.") from None
    counted = counting_honest(model, honest_fraction)
    theorem = _best_curve(counted, left_out, published_only)
    reach = loss_reach(theorem, counted, left_out)
    if reach > LARGEST_LOSS:
        raise nothing_known(counted, f"delta={left_out:g} up to a loss of {LARGEST_LOSS:g}", delta=left_out)
    law = loss_law(theorem, counted, discretization, reach)
    masses = {int(place): float(mass) for place, mass in zip(law.places, law.masses, strict=True) if mass > 0}
    pmf = pld_pmf.create_pmf(masses, discretization, law.infinite, pessimistic_estimate=True)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def privacy_curve(model: ProtocolModel, *, delta: float, honest_fraction: float = 1.0) -> Callable[[Floats], Floats]:
    """Function from epsilon to an upper bound on delta, for both directions of every pair of neighbors.

    It is the minimum of the curve of the theorem that leaves least between the two laws themselves, and of what the
    statement at ``delta`` implies at every epsilon: a dominating pair is revealed with probability delta, and otherwise
    randomized response of that loss (Kairouz, Oh, Viswanath 2015).

    Args:
        model: the protocol's public description.
        delta: where the curve is as low as what `shuffledp.account` states.
        honest_fraction: as for `shuffledp.account`.

    Returns:
        A function of epsilons, 0 or more, shape (m,); its values are from 0 to 1.

    Raises:
        InvalidParameterError: if a parameter is out of range, or ``model`` is not a protocol's.
        UnsupportedModelError: if no theorem at all applies: nothing is known.
    """
    stated = account(model, delta=delta, honest_fraction=honest_fraction).guarantee
    counted = counting_honest(model, honest_fraction)
    most, remainder = epsilon_of(stated), getattr(stated, "delta", 0.0)
    theorems = with_curves(counted, _ANY_DELTA)
    theorem = _tightest(theorems, counted) if theorems else None

    def curve(epsilons: Floats) -> Floats:
        lying = -np.expm1(np.minimum(epsilons - most, 0.0)) / (1 + math.exp(-most))  # (E - e^epsilon) / (E + 1)
        implied = remainder + (1 - remainder) * lying
        found = implied if theorem is None else np.minimum(implied, theorem.curve(counted, epsilons=epsilons))
        return np.clip(found * ROUND_UP, 0.0, 1.0)

    return curve


def _best_curve(model: ProtocolModel, delta: float, published_only: bool) -> Theorem:
    """Theorem with the smallest delta at epsilon 0, among theorems with a fast curve."""
    theorems = with_curves(model, delta, published_only)
    if not theorems:
        raise nothing_known(model, f"delta={delta:g} by a theorem with a curve of delta", delta=delta)
    return _tightest(theorems, model)


def with_curves(model: ProtocolModel, delta: float, published_only: bool = False) -> list[Theorem]:
    """Theorems that apply and have a fast curve of delta."""
    return [each for each in upper_bounds(model, delta, published_only) if each.is_vectorized]


def _tightest(theorems: Sequence[Theorem], model: ProtocolModel) -> Theorem:
    """Theorem with the smallest delta at epsilon 0, from a list of one theorem or more."""
    if len(theorems) == 1:
        return theorems[0]
    return min(theorems, key=lambda theorem: theorem.delta_at(model, epsilon=0.0))


def _combined(
    statements: Sequence[PrivacyStatement], guarantee: CentralDP, num_releases: int, *, adding_losses: bool
) -> PrivacyStatement:
    """Statement for all releases together, with the trust assumptions of each release."""
    name, citation = _ADDING_LOSSES if adding_losses else _ADDING_EPSILONS
    each = "" if num_releases == 1 else f", {num_releases} times"
    parts = tuple(
        Part(label=f"release {place}{each}", statement=statement) for place, statement in enumerate(statements, 1)
    )
    return combined(parts, guarantee, theorem=name, citation=citation).remarking(
        f"It is about {len(statements) * num_releases} releases together, each randomized and shuffled afresh."
    )
