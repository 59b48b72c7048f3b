"""Random walks without a trusted shuffler (Liew et al. 2022): what remains true of them, at any number of rounds.

Person j's report ends at place i with probability P_j(i); who hands in which reports is seen, and nothing else. The
proofs are in docs/theorems.md, "Random walks without a shuffler".

The hypotheses are needed. Where empty-handed people hand in nothing, or the number of reports held is seen, the bound
is exceeded on a path of three people already (``tests/soundness/test_soundness_network.py``).
"""

import math
from functools import partial
from typing import Protocol, cast

import numpy as np

from shuffledp.accounting.evaluators.binomial import binomial_blocks
from shuffledp.accounting.evaluators.report_densities import ReportLaw
from shuffledp.accounting.evaluators.weighted_sums import WeightedSum
from shuffledp.accounting.numerics import gaussian_epsilon, smallest_below
from shuffledp.accounting.theorem import LocalOnly, Theorem, common_reports, several_users
from shuffledp.accounting.theorems.blanket_laws import moderate_epsilon0
from shuffledp.accounting.theorems.reductions import (
    blanket_bound,
    blanket_laws,
    raised,
    uniform_curve,
    uniform_epsilons,
)
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats

_ROUNDING = 2.0**-53
_UNLIKELY = 1e-3  # of delta: spent on too few people to hide among
_FINE, _COARSE = 32, 8  # blocks of their number
_ANY_DELTA = 0.5
_FEW, _LITTLE = 1000, 1e-3  # people, and the share of them who may not come, for whom the curve says much more
_TURNS, _CLOSE = 6, 1.001  # looks for an epsilon, and the ratio of its bounds that will do


class Walks(Protocol):
    """The fields of a model of kind "network"; `shuffledp.shufflers.RandomWalkShuffleModel` says what they mean."""

    num_users: int
    num_rounds: int
    protocol: str
    laziness: float
    dropout: float
    offline: float
    num_colluding: int
    near_uniformity: float
    separation: float
    position_probabilities: tuple[float, ...]
    position_counts: tuple[int, ...]
    is_bipartite: bool
    num_parts: int
    parts: "tuple[Walks, ...]"

    def dummy_model_among(self, reports: LocalModel) -> LocalModel | None: ...  # noqa: D102


def walks_of(model: ProtocolModel) -> Walks | None:
    """The model's random walks; None for another shuffle."""
    return cast(Walks, model.shuffle) if model.shuffle.kind == "network" else None


def survival(walks: Walks) -> float:
    """The chance that a report is not lost on its way, which depends on nothing."""
    return float((1 - walks.dropout) ** walks.num_rounds)


def known_walks(model: ProtocolModel) -> Hypothesis:
    """Reports walk, and at least once."""
    walks = walks_of(model)
    rounds = "" if walks is None else f", num_rounds={walks.num_rounds}"
    requirement = "random walks of at least one round, which the analyst sees the end of alone"
    value = f"shuffler {model.shuffle.kind!r}{rounds}"
    return Hypothesis("random-walks", requirement, value, walks is not None and walks.num_rounds >= 1)


def independent_walks(model: ProtocolModel) -> Hypothesis:
    """Reports walk independently of each other and of what is in them: nobody's reports wait together."""
    walks = walks_of(model)
    offline = None if walks is None else walks.offline
    requirement = "reports that walk independently of each other and of the answers, so that offline = 0"
    value = "no walks" if offline is None else f"offline={offline:g}"
    return Hypothesis("independent-walks", requirement, value, offline == 0)


def nobody_colludes(model: ProtocolModel) -> Hypothesis:
    """No relay tells the analyst what it saw: whoever receives a report in the first round knows whose it is."""
    walks = walks_of(model)
    colluding = None if walks is None else walks.num_colluding
    return Hypothesis(
        name="no-colluding-relays",
        requirement="no relay that colludes with the analyst: it would know the owner of what comes in the first "
        "round, and no epsilon below epsilon0 holds with a small delta",
        value="no walks" if colluding is None else f"num_colluding={colluding}",
        holds=colluding == 0,
    )


def fresh_dummies(model: ProtocolModel) -> Hypothesis:
    """Everybody hands in equally many reports, so that what is handed in does not tell how many were held."""
    walks = walks_of(model)
    dummies = None if walks is None else walks.dummy_model_among(model.local)
    made = "of no known randomizer" if dummies is None else f"of {dummies.kind!r}, epsilon0={dummies.epsilon0:.6g}"
    # Another randomizer of the same epsilon0 will not do: its reports may be told apart, by their domain already.
    fresh = dummies is not None and dummies == model.local
    return Hypothesis(
        name="hidden-bag-sizes",
        requirement="one report of each person, or equally many, where those who hold too few add fresh dummies from "
        "the same randomizer, those who hold too many choose uniformly, and how many they held is not seen",
        value="no walks" if walks is None else f"protocol {walks.protocol!r}, dummies {made}",
        holds=walks is not None and walks.protocol in ("single", "padded") and fresh,
    )


def dummies_by_themselves(model: ProtocolModel) -> tuple[Hypothesis, ...]:
    """Dummies tell nothing of the reports: assumed of a function, as nobody can tell what one does; else none."""
    walks = walks_of(model)
    if walks is None or walks.protocol == "all" or walks.dummy_model_among(model.local) is not None:
        return ()
    requirement = "dummies are made by a function, which looks at no report and draws them by itself"
    return (Hypothesis("independent-dummies", requirement, "assumed, as no code can check it", True),)


class _OfWalks(Theorem):
    """Base of theorems about random walks."""

    def concerns(self, model: ProtocolModel) -> bool:
        """Random walks, but for those in parts of which `network-parts` knows."""
        walks = walks_of(model)
        return super().concerns(model) and walks is not None and not walks.parts


class NetworkAll(_OfWalks):
    """Nearly uniform positions, or separation: whichever says more. For each protocol.

    * With gamma the largest log[P_j(a) P_k(b) / (P_j(b) P_k(a))]: (epsilon_uniform(n) + gamma, delta), as for windows.
    * With a part of 1 - s that all P_j have in common, such as P_j(i) >= (1 - s) pi_i, and M ~ Bin(n-1, 1-s):
      delta(epsilon) <= s delta_local(epsilon) + (1-s) E[delta_uniform(1 + M)(epsilon)]. Lost reports hide nobody.
    """

    id = "network-all"
    citation = "uniform shuffling of the same reports, less what positions tell after finitely many rounds"
    status = Status.OWN_PROOF
    is_vectorized = True

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
        walk = (known_walks(model), *dummies_by_themselves(model), independent_walks(model), nobody_colludes(model))
        return (*walk, mixed, *_about_reports(model, delta))

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

        def curve(epsilon: float) -> float:
            return float(self.curve(model, epsilons=np.array([epsilon]))[0])

        # Among few people, who nearly always come are fewer than those who come on average.
        return smallest_below(curve, level=delta, limit=min(found), guess=0.97 * min(found), tolerance=2e-3)

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
    """One report of each person, or equally many, on any graph, after any number of rounds.

    With a blanket w, Y ~ w, G_i = (R(x) - e R(x'))/w (Y_i) where a blanket report is handed in, else 0, and
    z_i = G_i - (1 - e): delta(epsilon) <= E[((1 - e) + sum of P_i z_i)_+]. It grows with concentration, so that any law
    will do of which the k largest probabilities add up to no less than anybody's, for all k.
    """

    id = "network-single"
    citation = "blanket bound for a report that takes the place of one of many, with known chances"
    status = Status.OWN_PROOF

    def concerns(self, model: ProtocolModel) -> bool:
        """Random walks that end with as many reports from everybody."""
        walks = walks_of(model)
        return super().concerns(model) and walks is not None and walks.protocol != "all"

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Fresh dummies, hidden numbers of reports, independent walks with known positions, and a blanket bound."""
        walks = walks_of(model)
        total = 0.0 if walks is None else float(np.dot(walks.position_probabilities, walks.position_counts))
        arriving = 1.0 if walks is None else survival(walks)
        requirement = f"probabilities of positions that add up to at least {arriving:.6g}"
        value = f"{total:.12g}"
        known = Hypothesis("known-positions", requirement, value, walks is not None and total >= arriving * (1 - 1e-9))
        walk = (known_walks(model), fresh_dummies(model), independent_walks(model), nobody_colludes(model), known)
        return (*walk, *_about_reports(model, delta, moderate_epsilon0(model)))

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Solved on the certified curve; at most epsilon0."""
        walks, epsilon0 = walks_of(model), model.local.epsilon0
        if walks is None:
            return epsilon0
        families = _distinct(blanket_laws(model, walks.num_users, delta))
        fisher = min((max(law.fisher for law in laws) for laws in families), default=0.0)
        squares = float(np.dot(np.square(walks.position_probabilities), walks.position_counts))
        curve, guess = partial(_replaced, walks, families), gaussian_epsilon(math.sqrt(fisher * squares), delta)
        return smallest_below(curve, level=delta, limit=epsilon0, guess=guess, tolerance=1e-5)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """The least over the blankets of the largest over pairs of inputs; the local one at most."""
        walks = walks_of(model)
        if walks is None or not self.applies(model, delta=_ANY_DELTA):
            return 1.0
        families = _distinct(blanket_laws(model, walks.num_users, _ANY_DELTA))
        return min(_replaced(walks, families, epsilon), LocalOnly().delta(model, epsilon=epsilon))


def _about_reports(model: ProtocolModel, delta: float, *further: Hypothesis) -> tuple[Hypothesis, ...]:
    walks = walks_of(model)
    bound = blanket_bound(model, size=0 if walks is None else walks.num_users, delta=delta)
    return (*common_reports(model), several_users(model), *further, bound)


def _likeness(walks: Walks) -> str:
    """How alike positions are, and if they are not why walks never mix."""
    found = f"near_uniformity={walks.near_uniformity:.6g}, separation={walks.separation:.6g}"
    if math.isfinite(walks.near_uniformity) or walks.separation < 1 or walks.num_rounds == 0:
        return found
    if walks.num_parts > 1:
        return f"{found}, as the graph is in {walks.num_parts} parts that no report leaves"
    side = (
        ", as the graph is bipartite and laziness=0, so that the number of rounds shows on which side a report began "
        "(laziness=0.1 mixes the sides)"
    )
    return found + side if walks.is_bipartite and not walks.laziness else found


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

    With f the uniform epsilon at what s delta_local(x) leaves, max(f, x) is such, and none below min(f, x) is known.
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
    uniform = partial(uniform_curve, model, epsilons=epsilons, quickly=num_blocks != _FINE)
    total = blocks.outside * local
    for low, mass in zip(blocks.lows, blocks.most, strict=True):
        total += mass * (np.minimum(uniform(1 + int(low)), local) if low > 0 else local)
    return np.asarray(np.minimum(total * (1 + 1e-13), local))


def _mixing(walks: Walks) -> float:
    """The chance that a report arrives at a place that tells nothing of its owner, from below."""
    chance = survival(walks) * (1 - walks.separation)
    return math.nextafter(chance, 0.0) if walks.separation > 0 else chance
