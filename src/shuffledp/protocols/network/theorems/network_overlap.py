"""Random walks reduced to uniform shuffles of the people whose report may have ended at the victim's place.

With Q a law for which (1 - s) Q is at most P_v, the victim's law of the place, and P_j = a_j Q + (1 - a_j) R_j that of
others, a_j = min over i of P_j(i) / Q(i), at most 1: reveal, with owner, place and report, whoever's place is drawn
from R_j. The places of the rest are drawn from one law: given the places, who is at which is a uniform permutation. So
with D(m) any bound for the delta of a uniform shuffle of m people, and M a sum of independent indicators of chance a_j,

    delta_v <= s delta_local + (1 - s) E[D(1 + M)].

Two laws Q are tried: P_v itself, where s = 0 and the mean of the a_j says enough, as E[D(1 + M)] is at most that of
min(T, F) with T ~ Bin(n - 1, mean) and F the integer part of its mean (Hoeffding 1956: Pr[M <= k] <= Pr[T <= k] for
k <= (n - 1) mean - 1); and what all laws have in common, where a_j = 1 - s. The proofs are in docs/theorems.md.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.accounting.evaluators.binomial import binomial_blocks
from shuffledp.accounting.numerics import smallest_below
from shuffledp.accounting.theorem import LocalOnly, common_reports, several_users
from shuffledp.accounting.theorems.clone_pairs import ApproximateStrongPair
from shuffledp.accounting.theorems.reductions import raised, uniform_curve, uniform_model, uniform_theorems
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats
from shuffledp.protocols.network.theorems.network_walks import (
    WalkTheorem,
    dummies_by_themselves,
    independent_walks,
    known_walks,
    likeness_text,
    nobody_colludes,
    walks_of,
)

if TYPE_CHECKING:
    from shuffledp.protocols.network.laws.walk import WalkFacts

_OUTSIDE = (1e-10, 1e-20, 1e-40, 1e-80, 1e-160, 1e-300)  # chances of the numbers of people that are left out
_UNLIKELY = 1e-4  # of delta: the largest such chance
# The most blocks of the number of people to hide among: in the end, at first, and for a curve.
_BLOCKS, _FEWER, _COARSE = 64, 16, 4
_CLOSE = 0.01  # relative step between the numbers of neighboring blocks
_LITTLE = 1e-3  # of delta: spent on the first bound of their likely number
_NEGLIGIBLE = 1e-3  # of delta: larger numbers of people that add less are not worked out
NO_GAIN = 0.999  # of epsilon0: a bound above this is not refined
_ANY_DELTA = 0.5
TOLERANCE, _ROUGHLY = 1e-4, 1e-3  # relative, of epsilon
_ROUND_UP = 1 + 1e-12
_PAIR = ApproximateStrongPair()

Curve = Callable[[Floats], Floats]
_DeltaOfSize = Callable[[ProtocolModel, int], Curve]


@dataclass(frozen=True, slots=True)
class HidingChances:
    """Hiding of the victim by a law Q: the chance to be alone, and each other person's chance to hide the victim.

    ``most`` is the largest number of them that counts.
    """

    exposed: float
    chance: float
    most: int


@dataclass(frozen=True, slots=True)
class Precision:
    """Precision of the law of the number of people who hide the victim."""

    outside: float
    num_blocks: int


class ReducedToUniform(WalkTheorem):
    """Base of theorems with a curve that is a mean over the number of people who hide the victim.

    Rare numbers of people are left out, and their chance is charged.
    """

    status = Status.OWN_PROOF
    is_vectorized = True

    @abstractmethod
    def at_precision(self, model: ProtocolModel, walks: "WalkFacts", precision: Precision) -> Curve:
        """Curve of delta: at each epsilon the smallest of the theorem's bounds and the local bound."""

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta at this epsilon: the smallest of the theorem's bounds and the local delta."""
        walks = walks_of(model)
        if walks is None or not self.applies(model, delta=_ANY_DELTA):
            return 1.0
        least, asked = 1.0, np.array([min(epsilon, turn_of(model, walks.num_users))])
        for outside in _OUTSIDE:
            least = min(least, float(self.at_precision(model, walks, Precision(outside, _BLOCKS))(asked)[0]))
            if outside <= _UNLIKELY * least:
                break
        return least

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at each of many epsilons, a little less tight than `delta`."""
        walks = walks_of(model)
        if walks is None or not self.applies(model, delta=_ANY_DELTA):
            return np.ones(len(epsilons))
        curve = self.at_precision(model, walks, Precision(_OUTSIDE[2], _COARSE))
        return curve(np.minimum(epsilons, turn_of(model, walks.num_users)))


def finest(delta: float) -> Precision:
    """Precision at which the left-out chance is small beside this delta."""
    return Precision(next((each for each in _OUTSIDE if each <= _UNLIKELY * delta), _OUTSIDE[-1]), _BLOCKS)


class NetworkOverlap(ReducedToUniform):
    """Bound by a uniform shuffle of the people whose positions overlap with the victim's, for any protocol.

    It holds after any number of rounds.

    The least of three bounds: the two of the module docstring, and with gamma the largest
    log[P_j(a) P_k(b) / (P_j(b) P_k(a))] the third, (epsilon_uniform(n) + gamma, delta), as for windows, which is less
    where even a uniform shuffle of all hides hardly anybody. Lost reports hide nobody, and are not seen: each bound is
    multiplied by the victim's chance to arrive. A remainder of the local guarantee is charged as in
    `approximate-strong-pair`, for all n.
    """

    id = "network-overlap"
    citation = "uniform shuffling of the reports that may have ended wherever the victim's may"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: independent walks, overlapping laws, no colluders, a bound for a uniform shuffle of reports."""
        walks = walks_of(model)
        overlap = Hypothesis(
            name="overlapping-positions",
            requirement="others whose reports may end wherever anybody's may: a mean overlap above 0, or finite "
            f"near-uniformity, or separation below delta={delta:g}",
            value="no walks" if walks is None else likeness_text(walks),
            holds=walks is not None
            and (walks.mean_overlap > 0 or math.isfinite(walks.near_uniformity) or walks.separation < delta),
        )
        walk = (known_walks(model), *dummies_by_themselves(model), *independent_walks(model), nobody_colludes(model))
        reports = (*common_reports(model), several_users(model), uniform_bound(model, walks, delta))
        return (*walk, overlap, *reports)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon from the curve, or of the uniform shuffle where all positions have one law; at most epsilon0."""
        walks, local = walks_of(model), model.local.guarantee
        limit = local.epsilon if local.delta <= delta else math.inf
        if walks is None:
            return limit
        if _have_one_law(walks):
            return min(limit, epsilon_of_one_law(model, walks.num_users, delta))
        sure, guess = _likely(model, walks, delta)
        highest = min(limit, sure, turn_of(model, walks.num_users))
        if math.isinf(highest):
            return highest
        all_of_them = finest(delta)
        looks = [(all_of_them, TOLERANCE)]
        if _num_blocks(walks.num_users - 1, next(_hidings(walks)), all_of_them) > _FEWER:
            looks.insert(0, (replace(all_of_them, num_blocks=_FEWER), _ROUGHLY))
        for precision, tolerance in looks:
            curve = self.at_precision(model, walks, precision)

            def at(epsilon: float, curve: Curve = curve) -> float:
                return float(curve(np.array([epsilon]))[0])

            if highest < sure and at(NO_GAIN * highest) > delta:
                return limit
            guess = smallest_below(at, level=delta, limit=highest, guess=guess, tolerance=tolerance)
        return guess

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta at this epsilon: the smallest of the theorem's bounds and the local delta."""
        walks = walks_of(model)
        if walks is not None and _have_one_law(walks) and self.applies(model, delta=_ANY_DELTA):
            theorems = uniform_theorems(model, walks.num_users, _ANY_DELTA) or [_PAIR]  # as tight as in `epsilon`
            return min(each.delta_at(uniform_model(model, walks.num_users), epsilon=epsilon) for each in theorems)
        return super().delta(model, epsilon=epsilon)

    def at_precision(self, model: ProtocolModel, walks: "WalkFacts", precision: Precision) -> Curve:
        """Curve of delta: at each epsilon the smallest of the three bounds and the local bound."""
        arriving, people = walks.survival, walks.num_users
        mixtures = [(each.exposed, mixture_curve(model, people, each, precision)) for each in _hidings(walks)]
        near = mixture_curve(
            model, people, HidingChances(exposed=0.0, chance=arriving, most=people - 1), precision, of=_blanket_delta
        )

        def curve(epsilons: Floats) -> Floats:
            least = alone = LocalOnly().curve(model, epsilons=epsilons)
            for exposed, mixture in mixtures:
                if (exposed * alone < least).any():
                    least = np.minimum(least, exposed * alone + (1 - exposed) * mixture(epsilons))
            least = np.minimum(least, raised(near, epsilons, cost=walks.near_uniformity, known=least))
            charge = charges_of(model, people, epsilons)
            return np.minimum(least * arriving * _ROUND_UP + charge, alone)

        return curve


def uniform_bound(model: ProtocolModel, walks: "WalkFacts | None", delta: float) -> Hypothesis:
    """Hypothesis: a theorem bounds the loss of a uniform shuffle of all reports."""
    size = 0 if walks is None else walks.num_users
    known = [each.id for each in uniform_theorems(model, size, delta)] if size > 1 else []
    if size > 1 and _PAIR.applies(uniform_model(model, size), delta=delta):
        known.append(_PAIR.id)
    value = ", ".join(known) or f"none for {model.local.kind!r} reports"
    return Hypothesis("uniform-bound", "a bound for a uniform shuffle of these reports", value, bool(known))


def _hidings(walks: "WalkFacts") -> Iterator[HidingChances]:
    """Hidings of the victim by the two laws Q, with lost reports taken into account."""
    others, arriving = walks.num_users - 1, walks.survival
    overlapping, common = _product(arriving, walks.mean_overlap), _product(arriving, 1 - walks.separation)
    counted = others if overlapping == 1 else math.floor(math.nextafter(others * overlapping, 0.0))
    yield HidingChances(exposed=0.0, chance=overlapping, most=counted)
    yield HidingChances(exposed=walks.separation, chance=common, most=others)


def _have_one_law(walks: "WalkFacts") -> bool:
    """Whether all people's positions have one law, and every report arrives."""
    return any(each.exposed == 0 and each.chance == 1 for each in _hidings(walks))


def _product(one: float, other: float) -> float:
    """Lower bound on the product of two chances."""
    return one * other if one == other == 1 else math.nextafter(one * other, 0.0)


def mixture_curve(
    model: ProtocolModel, people: int, hidden: HidingChances, precision: Precision, *, of: _DeltaOfSize | None = None
) -> Curve:
    """Upper bound at each epsilon on the mean of D(1 + M): M people hide the victim.

    D is a uniform shuffle's delta.

    D is by default the least of all theorems.
    """
    if hidden.chance <= 0 or hidden.most < 1:
        return lambda epsilons: LocalOnly().curve(model, epsilons=epsilons)
    outside, few = _blocks(people - 1, hidden, precision)
    deltas = [(mass, (of or _uniform_delta)(model, 1 + low)) for low, mass in few]

    def curve(epsilons: Floats) -> Floats:
        least = alone = LocalOnly().curve(model, epsilons=epsilons)
        found, left = outside * alone, sum(mass for mass, _ in deltas) * _ROUND_UP
        for mass, delta in deltas:
            if (left * least <= _NEGLIGIBLE * found).all():  # larger numbers of people add no more than this
                return np.asarray(np.minimum(found + left * least, alone))
            least = np.minimum(delta(epsilons), least)
            found, left = found + mass * least, left - mass
        return np.asarray(np.minimum(found, alone))

    return curve


def _blocks(others: int, hidden: HidingChances, precision: Precision) -> tuple[float, list[tuple[int, float]]]:
    """Chance left out, and blocks of the number of hiding people, each by its least number and its chance."""
    number = _num_blocks(others, hidden, precision)
    blocks = binomial_blocks(others, hidden.chance, outside=precision.outside, num_blocks=number)
    masses: dict[int, float] = {}
    for low, mass in zip(blocks.lows.tolist(), blocks.most.tolist(), strict=True):
        counted = min(int(low), hidden.most)
        masses[counted] = masses.get(counted, 0.0) + mass
    return blocks.outside, [(low, mass) for low, mass in sorted(masses.items()) if mass > 0]


def _num_blocks(others: int, hidden: HidingChances, precision: Precision) -> int:
    """Number of blocks of nearly equal counts; at most one block for each count."""
    mean = others * hidden.chance
    spread = math.sqrt(max(mean * (1 - hidden.chance), 0.0) * -2 * math.log(precision.outside))
    wanted = math.ceil(2 * spread / max(_CLOSE * mean, 1.0))
    return min(max(wanted, _COARSE), precision.num_blocks)


def _uniform_delta(model: ProtocolModel, size: int) -> Curve:
    """Delta D of a uniform shuffle of this size: smallest of all theorems, without charges for remainders."""
    uniform = uniform_model(model, size)
    if _remainder(model):
        return _PAIR.pair(uniform).curve
    theorems = uniform_theorems(model, size, _ANY_DELTA) if size > 1 else []

    def curve(epsilons: Floats) -> Floats:
        found = [np.ones(len(epsilons)), *(each.curve(uniform, epsilons=epsilons) for each in theorems)]
        return np.asarray(np.min(found, axis=0))

    return curve


def _blanket_delta(model: ProtocolModel, size: int) -> Curve:
    """Delta D of a uniform shuffle of this size by blanket bounds alone.

    These bounds also cover near-uniform positions.
    """
    return partial(uniform_curve, model, size, quickly=True)


def _likely(model: ProtocolModel, walks: "WalkFacts", delta: float) -> tuple[float, float]:
    """Starting points of a search for the least epsilon: an epsilon that is large enough, and a guess.

    The first is surely large enough, if it is below epsilon0.
    """
    hidden, epsilon0 = next(_hidings(walks)), model.local.epsilon0
    if hidden.chance <= 0 or hidden.most < 1:
        return math.inf, math.inf
    mean = min((walks.num_users - 1) * hidden.chance, hidden.most)
    if math.isfinite(epsilon0):
        typical = 1 + int(max(mean - math.sqrt(mean * (1 - hidden.chance)), 1.0))
        return math.inf, _PAIR.pair(uniform_model(model, typical)).epsilon(delta)
    unlikely, few = _blocks(walks.num_users - 1, hidden, Precision(_LITTLE * delta, _COARSE))
    sure = epsilon_of_one_law(model, 1 + few[0][0], (delta - unlikely) * (1 - 1e-12))
    return sure, sure * math.sqrt((1 + few[0][0]) / (1 + mean))


def epsilon_of_one_law(model: ProtocolModel, size: int, delta: float) -> float:
    """Epsilon of a uniform shuffle of this number of people, whose positions have one law.

    Infinite if nothing is known.
    """
    if size < 2:
        return math.inf
    theorems = [_PAIR] if _remainder(model) else uniform_theorems(model, size, delta)
    return min((each.epsilon(uniform_model(model, size), delta=delta) for each in theorems), default=math.inf)


def _remainder(model: ProtocolModel) -> bool:
    return model.local.guarantee.delta > 0


def charges_of(model: ProtocolModel, people: int, epsilons: Floats) -> Floats:
    """Charge for the local deltas of all people, at each epsilon."""
    return _PAIR.charges(uniform_model(model, people), epsilons) if _remainder(model) else np.zeros(len(epsilons))


def turn_of(model: ProtocolModel, people: int) -> float:
    """Epsilon above which charges grow faster than the bound falls; infinite without charges."""
    return _PAIR.turn(uniform_model(model, people)) if _remainder(model) else math.inf
