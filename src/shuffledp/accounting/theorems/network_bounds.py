"""Random walks without a trusted shuffler (Liew et al. 2022): what remains true of them, at any number of rounds.

Person j's report ends at place i with probability P_j(i); who hands in which reports is seen, and nothing else.

**Nearly uniform positions.** Let gamma be the largest log[P_j(a) P_k(b) / (P_j(b) P_k(a))] of all people j, k and
places a, b. Exchanging the places of two people changes the probability of an allocation by at most a factor
exp(gamma), so that the proof of `shuffledp.accounting.theorems.reductions` applies: (epsilon_uniform(n) + gamma,
delta), with any blanket bound, and below gamma what its curve leaves.

**Separation.** Let all laws have a part of 1 - s in common, such as P_j(i) >= (1 - s) pi_i for all j and i. Then each
report is, with probability 1 - s, at a place drawn from one law, whoever it is from. Reveal which ones are not, whose
they are and where. If the victim's is one of them, the local guarantee remains; else it is exchangeable with the
M ~ Bin(n-1, 1-s) others that are left:

    delta(epsilon) <= s delta_local(epsilon) + (1-s) E[delta_uniform(1 + M)(epsilon)].

A report that is lost, with a chance that depends on nothing, hides nobody: then M counts those that arrive. Handing in
a part of what one holds, chosen uniformly, with dummies that depend on nothing, is post-processing of handing in all.

**One report each.** Everybody hands in one report, chosen uniformly of the N_i + 1 held, or a fresh dummy of the same
randomizer. Condition on where the others' reports are, and on which of them are chosen. Then each person hands in an
independent report, and the victim's takes the place of the one of person i with probability p_i = P_i / (1 + N_i). Let
w be a blanket, below the law of every report and of dummies, Y ~ w, G_i = (R(x) - e R(x'))/w (Y_i), where a blanket
report is handed in, and else 0, and z_i = G_i - (1 - e), which have mean 0:

    delta(epsilon) <= E[((1 - e) + sum of p_i z_i)_+],    e = exp(epsilon).

This grows with each p_i, as the mean of a convex function of independent variables of mean 0 does. So p_i = P_i is a
bound whatever the others do, on any graph and after any number of rounds. It is convex and symmetric in them, too, so
that any law will do of which the k largest probabilities add up to no less than anybody's, for all k.

**Padded.** If everybody hands in B reports, the victim's takes the place of one of B - N_i dummies, or is one of the
N_i + 1 > B of which B are chosen. In each case the probabilities of the places at i add up to at most P_i, and moving
all to one place, raised to P_i, only raises the bound: it is the one above.

The hypotheses are needed. Where empty-handed people hand in nothing, or the number of reports held is seen, the bound
is exceeded on a path of three people already (``tests/soundness/test_soundness_network.py``).
"""

import math
from functools import partial
from typing import ClassVar

import numpy as np

from shuffledp.accounting.evaluators.binomial import binomial_blocks
from shuffledp.accounting.evaluators.report_densities import ReportLaw
from shuffledp.accounting.evaluators.weighted_sums import WeightedSum
from shuffledp.accounting.numerics import gaussian_epsilon, smallest_below
from shuffledp.accounting.theorem import (
    LocalOnly,
    Theorem,
    common_randomizer,
    not_adaptive,
    one_message_each,
    several_users,
)
from shuffledp.accounting.theorems.blanket_laws import moderate_epsilon0
from shuffledp.accounting.theorems.network_hypotheses import (
    Walks,
    dummies_by_themselves,
    fresh_dummies,
    independent_walks,
    known_walks,
    nobody_colludes,
    survival,
    walks_of,
)
from shuffledp.accounting.theorems.reductions import (
    blanket_bound,
    blanket_laws,
    raised,
    uniform_curve,
    uniform_delta,
    uniform_epsilons,
)
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats

_ROUNDING = 2.0**-53
_UNLIKELY = 1e-3  # of delta: spent on too few people to hide among
_FINE, _COARSE = 32, 8  # blocks of their number
_ANY_DELTA = 0.5
_FEW, _LITTLE = 1000, 1e-3  # people, and the share of them who may not come, for whom the curve says much more
_TURNS, _CLOSE = 6, 1.001  # looks for an epsilon, and the ratio of its bounds that will do


class _OfWalks(Theorem):
    """Base of theorems about random walks."""

    def concerns(self, model: ProtocolModel) -> bool:
        """Random walks, but for those in parts of which `network-parts` knows."""
        walks = walks_of(model)
        return super().concerns(model) and walks is not None and not walks.parts


class NetworkAll(_OfWalks):
    """Nearly uniform positions, or separation: whichever says more. For each protocol."""

    id: ClassVar[str] = "network-all"
    citation: ClassVar[str] = (
        "uniform shuffling of the same reports, less what positions tell after finitely many rounds"
    )
    status: ClassVar[Status] = Status.OWN_PROOF
    is_vectorized: ClassVar[bool] = True

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Independent walks that have nearly forgotten where they began, no colluders, and a blanket bound."""
        walks = walks_of(model)
        mixed = Hypothesis(
            name="mixed-positions",
            requirement="positions that depend little on where a report began: finite near-uniformity, or separation "
            f"below delta={delta:g}",
            value="no walks" if walks is None else _likeness(walks),
            holds=walks is not None and (math.isfinite(walks.near_uniformity) or walks.separation < delta),
        )
        shape = (
            known_walks(model),
            *dummies_by_themselves(model),
            independent_walks(model),
            nobody_colludes(model),
            mixed,
        )
        reports = (one_message_each(model), common_randomizer(model), not_adaptive(model), several_users(model))
        size = 0 if walks is None else walks.num_users
        return (*shape, *reports, blanket_bound(model, size=size, delta=delta))

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The least of both at the number of people who come with near certainty; epsilon0 at most."""
        walks, epsilon0 = walks_of(model), model.local.epsilon0
        if walks is None:
            return epsilon0
        found = [epsilon0]
        if walks.near_uniformity < epsilon0:
            uniform = _uniform_epsilon(model, *_at_least(walks, survival(walks), _UNLIKELY * delta), delta)
            found.append((uniform + walks.near_uniformity) * (1 + 1e-15))
        if walks.separation < 1:
            found.append(_apart(model, walks, delta))
        if walks.separation == 1 or not walks.num_users <= _FEW or _mixing(walks) > 1 - _LITTLE:
            return min(found)
        return smallest_below(  # among few people, who nearly always come are fewer than those who come on average
            lambda epsilon: float(self.curve(model, epsilons=np.array([epsilon]))[0]),
            level=delta,
            limit=min(found),
            guess=0.97 * min(found),
            tolerance=2e-3,
        )

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The lesser of both."""
        return float(self._curve(model, np.array([epsilon]), num_blocks=_FINE)[0])

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at many epsilons, a little less tight."""
        return self._curve(model, epsilons, num_blocks=_COARSE)

    def _curve(self, model: ProtocolModel, epsilons: Floats, *, num_blocks: int) -> Floats:
        walks = walks_of(model)
        if walks is None or not self.applies(model, delta=_ANY_DELTA):
            return np.ones(len(epsilons))
        local = LocalOnly().curve(model, epsilons=epsilons)
        mixture = partial(_among_those_who_come, model, walks, num_blocks=num_blocks)
        near = raised(partial(mixture, survival(walks)), epsilons, cost=walks.near_uniformity)
        if walks.separation >= 1:
            return np.minimum(near, local)
        mixed = mixture(_mixing(walks), epsilons)
        apart = (walks.separation * local + (1 - walks.separation) * mixed) * (1 + 1e-12)
        return np.minimum(np.minimum(near, apart), local)


class NetworkSingle(_OfWalks):
    """One report of each person, or equally many: p_i = P_i, on any graph, after any number of rounds."""

    id: ClassVar[str] = "network-single"
    citation: ClassVar[str] = "blanket bound for a report that takes the place of one of many, with known chances"
    status: ClassVar[Status] = Status.OWN_PROOF

    def concerns(self, model: ProtocolModel) -> bool:
        """Random walks that end with as many reports from everybody."""
        walks = walks_of(model)
        return super().concerns(model) and walks is not None and walks.protocol != "all"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Fresh dummies, hidden numbers of reports, independent walks with known positions, and a blanket bound."""
        walks = walks_of(model)
        total = 0.0 if walks is None else float(np.dot(walks.position_probabilities, walks.position_counts))
        arriving = 1.0 if walks is None else survival(walks)
        known = Hypothesis(
            name="known-positions",
            requirement=f"probabilities of positions that add up to at least {arriving:.6g}",
            value=f"{total:.12g}",
            holds=walks is not None and total >= arriving * (1 - 1e-9),
        )
        shape = (known_walks(model), fresh_dummies(model), independent_walks(model), nobody_colludes(model), known)
        reports = (one_message_each(model), common_randomizer(model), not_adaptive(model), several_users(model))
        size = 0 if walks is None else walks.num_users
        return (*shape, *reports, moderate_epsilon0(model), blanket_bound(model, size=size, delta=delta))

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Solved on the certified curve; at most epsilon0."""
        walks, epsilon0 = walks_of(model), model.local.epsilon0
        if walks is None:
            return epsilon0
        families = _distinct(blanket_laws(model, walks.num_users, delta))
        fisher = min((max(law.fisher for law in laws) for laws in families), default=0.0)
        squares = float(np.dot(np.square(walks.position_probabilities), walks.position_counts))
        return smallest_below(
            lambda epsilon: _replaced(walks, families, epsilon),
            level=delta,
            limit=epsilon0,
            guess=gaussian_epsilon(math.sqrt(fisher * squares), delta),
            tolerance=1e-5,
        )

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The least over the blankets of the largest over pairs of inputs; the local one at most."""
        walks = walks_of(model)
        if walks is None or not self.applies(model, delta=_ANY_DELTA):
            return 1.0
        families = _distinct(blanket_laws(model, walks.num_users, _ANY_DELTA))
        return min(_replaced(walks, families, epsilon), LocalOnly().delta(model, epsilon=epsilon))


def _likeness(walks: Walks) -> str:
    """How alike positions are, and if they are not why walks never mix."""
    found = f"near_uniformity={walks.near_uniformity:.6g}, separation={walks.separation:.6g}"
    if math.isfinite(walks.near_uniformity) or walks.separation < 1 or walks.num_rounds == 0:
        return found
    if walks.num_parts > 1:
        return f"{found}, as the graph is in {walks.num_parts} parts that no report leaves"
    if walks.is_bipartite and not walks.laziness:
        return (
            f"{found}, as the graph is bipartite and laziness=0, so that the number of rounds shows on which side a "
            "report began (laziness=0.1 mixes the sides)"
        )
    return found


def _replaced(walks: Walks, families: list[tuple[ReportLaw, ...]], epsilon: float) -> float:
    return min((max(_of_law(walks, law, epsilon) for law in laws) for laws in families), default=1.0)


def _distinct(families: list[tuple[ReportLaw, ...]]) -> list[tuple[ReportLaw, ...]]:
    """Without those that are one law once more: for binary randomized response several bounds are."""
    kept: list[tuple[ReportLaw, ...]] = []
    for laws in families:
        if not any(len(laws) == len(others) == 1 and _alike(laws[0], others[0]) for others in kept):
            kept.append(laws)
    return kept


def _alike(law: ReportLaw, other: ReportLaw) -> bool:
    """Whether cells are equal, but for their order and the rounding of floats."""
    if any(each.alone_first.size or each.alone_second.size for each in (law, other)):
        return False
    ours, theirs = (
        np.array(sorted(cell for cell in zip(each.first, each.second, each.mass, strict=True) if cell[2] > 0))
        for each in (law, other)
    )
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-12, atol=0)


def _of_law(walks: Walks, law: ReportLaw, epsilon: float) -> float:
    """E[((1 - e) + sum of P_i z_i)_+] from above, for a law of two inputs; 1 where reports stand alone.

    It is the weighted sum of G with (e - 1) (sum of P_i - 1) added; the sum is below 1 where reports get lost.
    """
    if law.alone_first.size or law.alone_second.size:
        return 1.0
    factor, growth = math.exp(epsilon), math.expm1(epsilon)
    weights, counts = (np.array(each, dtype=float) for each in (walks.position_probabilities, walks.position_counts))
    used, present = weights > 0, law.mass > 0
    total = float(weights @ counts)
    excess = total - 1 + 1e-15 * (len(weights) + 8) * (total + 1)
    first, second = law.first[present], law.second[present]
    found = WeightedSum(
        values=(first - second) - growth * second,
        masses=law.mass[present],
        weights=weights[used],
        counts=counts[used],
        shift=growth * excess,
        errors=4 * _ROUNDING * (1 + epsilon) * (first + factor * second),
    ).positive_part()
    return min(found, 1.0)


def _at_least(walks: Walks, chance: float, outside: float) -> tuple[int, float]:
    """How many people there are to hide among, the victim included, and the chance that there are fewer."""
    blocks = binomial_blocks(walks.num_users - 1, min(chance, 1.0), outside=outside, num_blocks=_COARSE)
    return 1 + int(blocks.lows[0]), blocks.outside


def _uniform_epsilon(model: ProtocolModel, size: int, unlikely: float, delta: float) -> float:
    """Epsilon of a uniform shuffle of this number of people, but for an event of this chance; infinite if unknown."""
    left = (delta - unlikely) * (1 - 1e-12)
    return min(uniform_epsilons(model, size, left), default=math.inf) if size > 1 and left > 0 else math.inf


def _apart(model: ProtocolModel, walks: Walks, delta: float) -> float:
    """An epsilon with s delta_local(epsilon) + delta_uniform(epsilon) <= delta, at the people who nearly always come.

    If the uniform shuffle has epsilon f at what s delta_local(x) leaves of delta, then the larger of f and x is such an
    epsilon, and none below the smaller one is known to be.
    """
    size, unlikely = _at_least(walks, _mixing(walks), _UNLIKELY * delta)
    low, high, sought = 0.0, model.local.epsilon0, model.local.epsilon0
    for _ in range(_TURNS):
        spent = walks.separation * LocalOnly().delta(model, epsilon=sought) * (1 + 1e-12)
        found = _uniform_epsilon(model, size, unlikely + spent, delta)
        low, high = max(low, min(found, sought)), min(high, max(found, sought))
        if high <= low * _CLOSE:
            break
        sought = low if sought > low else (low + high) / 2
    return high


def _among_those_who_come(
    model: ProtocolModel, walks: Walks, chance: float, epsilons: Floats, *, num_blocks: int
) -> Floats:
    """The mean of the uniform delta over the number of others who are there with this chance, each; from above."""
    local = LocalOnly().curve(model, epsilons=epsilons)
    if chance <= 0:
        return local
    blocks = binomial_blocks(walks.num_users - 1, min(chance, 1.0), outside=1e-30, num_blocks=num_blocks)
    uniform = uniform_delta if num_blocks == _FINE else uniform_curve
    total = blocks.outside * local
    for low, mass in zip(blocks.lows, blocks.most, strict=True):
        total += mass * (np.minimum(uniform(model, 1 + int(low), epsilons), local) if low > 0 else local)
    return np.asarray(np.minimum(total * (1 + 1e-13), local))


def _mixing(walks: Walks) -> float:
    """The chance that a report arrives at a place that tells nothing of its owner, from below."""
    chance = survival(walks) * (1 - walks.separation)
    return math.nextafter(chance, 0.0) if walks.separation > 0 else chance
