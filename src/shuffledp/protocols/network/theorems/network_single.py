"""Walks after which all people hand in equally many reports: the victim's report replaces another.

Given how many of the others' reports N_i end at each place i, the victim's is handed in there with probability
p_i = P_v(i) / (1 + N_i), in place of another. For fixed p the bound is `_replaced`; it grows with each p_i, and with
concentration. So p_i = P_v(i) will do. The N_i are counts of independent reports, hence negatively associated, and so
are the indicators of N_i <= k: with Q_k the mean of their chances, n x of them or more come with a chance of at most
exp(-n KL(x || Q_k)), as if they were independent. With x_k where that is eta / K for each k < K, fewer than n x_k
places hold k or less, but for a chance of eta; and then p is no more concentrated than the ranked P, or a law that
majorizes all of them, over 1, 2, ..., K + 1 on as many ranks each. The proofs are in docs/theorems.md.
"""

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.accounting.evaluators.report_densities import ReportLaw
from shuffledp.accounting.evaluators.weighted_sums import WeightedSum
from shuffledp.accounting.numerics import gaussian_epsilon, smallest_below
from shuffledp.accounting.theorem import LocalOnly, Theorem, common_reports, several_users
from shuffledp.accounting.theorems.blanket_laws import moderate_epsilon0
from shuffledp.accounting.theorems.reductions import blanket_bound, blanket_laws
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats
from shuffledp.protocols.network.theorems.network_walks import (
    fresh_dummies,
    independent_walks,
    known_walks,
    nobody_colludes,
    walks_of,
)

if TYPE_CHECKING:
    from shuffledp.protocols.network.laws.walk import WalkFacts

_ROUNDING = 2.0**-53
_ANY_DELTA = 0.5
_DIGITS = 3  # digits by which the chance of a bad allocation is below delta
_FEWEST_DIGITS, _FIRST_DIGITS, _MOST_DIGITS = 4, 12, 300
_HALVINGS = 60

_Weights = tuple[Floats, Floats]  # chances of places, and how many places have each


class NetworkSingle(Theorem):
    """Bound for equally many reports of each person, on any graph and after any number of rounds.

    With a blanket w, Y ~ w, G_i = (R(x) - e R(x'))/w (Y_i) where a blanket report is handed in, else 0, and
    z_i = G_i - (1 - e): delta(epsilon) <= E[((1 - e) + sum of p_i z_i)_+]. It grows with concentration, so that any law
    will do of which the k largest probabilities add up to no less than anybody's, for all k; where one report each is
    handed in, divided by how many are held at least at that many places, but for a chance of eta that costs
    eta delta_local.
    """

    id = "network-single"
    citation = "blanket bound for a report that takes the place of one of many, with known chances"
    status = Status.OWN_PROOF

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the reports walk and all people hand in equally many."""
        walks = walks_of(model)
        return super().concerns(model) and walks is not None and walks.protocol != "all" and not walks.slots

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: fresh dummies, hidden bag sizes, independent walks with known positions, and a blanket bound."""
        walks = walks_of(model)
        total = 0.0 if walks is None else float(np.dot(walks.position_probabilities, walks.position_counts))
        arriving = 1.0 if walks is None else walks.survival
        requirement = f"probabilities of positions that add up to at least {arriving:.6g}"
        value = f"{total:.12g}"
        known = Hypothesis("known-positions", requirement, value, walks is not None and total >= arriving * (1 - 1e-9))
        walk = (known_walks(model), fresh_dummies(model), *independent_walks(model), nobody_colludes(model), known)
        bound = blanket_bound(model, size=0 if walks is None else walks.num_users, delta=delta)
        return (*walk, *common_reports(model), several_users(model), moderate_epsilon0(model), bound)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon from the certified curve; at most epsilon0."""
        walks, epsilon0 = walks_of(model), model.local.epsilon0
        if walks is None:
            return epsilon0
        families = _distinct(blanket_laws(model, walks.num_users, delta))
        fisher = min((max(law.fisher for law in laws) for laws in families), default=0.0)
        digits = _digits(delta)
        weights, _ = _allocated(walks, digits)
        guess = gaussian_epsilon(math.sqrt(fisher * float(np.dot(np.square(weights[0]), weights[1]))), delta)
        curve = partial(_bound, model, walks, families, digits)
        return smallest_below(curve, level=delta, limit=epsilon0, guess=guess, tolerance=1e-5)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta by the best of several blankets, each at its worst pair of inputs; at most the local delta."""
        walks = walks_of(model)
        if walks is None or not self.applies(model, delta=_ANY_DELTA):
            return 1.0
        families = _distinct(blanket_laws(model, walks.num_users, _ANY_DELTA))
        tried: dict[int, float] = {}
        digits = _FIRST_DIGITS
        while digits not in tried:
            tried[digits] = _bound(model, walks, families, digits, epsilon)
            digits = _digits(min(tried.values()))
        if digits - 1 not in tried:  # where delta is a power of ten
            tried[digits - 1] = _bound(model, walks, families, digits - 1, epsilon)
        return min(*tried.values(), LocalOnly().delta(model, epsilon=epsilon))


def _digits(delta: float) -> int:
    """Number of digits d such that bad allocations of chance 10^-d add little to this delta."""
    return min(max(math.floor(_DIGITS - math.log10(max(delta, 1e-300))), _FEWEST_DIGITS), _MOST_DIGITS)


def _bound(
    model: ProtocolModel, walks: "WalkFacts", families: list[tuple[ReportLaw, ...]], digits: int, epsilon: float
) -> float:
    """Delta: bound for good allocations of reports, plus chance of bad allocations times local delta."""
    weights, bad = _allocated(walks, digits)
    found = min((max(_replaced(weights, law, epsilon) for law in laws) for laws in families), default=1.0)
    return min(1.0, (found + bad * LocalOnly().delta(model, epsilon=epsilon)) * (1 + 1e-12))


def _allocated(walks: "WalkFacts", digits: int) -> tuple[_Weights, float]:
    """Chances p_i with the number of places of each chance, and the chance of left-out allocations."""
    chances, counts = (np.array(each, dtype=float) for each in (walks.position_probabilities, walks.position_counts))
    used = chances > 0
    chances, counts = chances[used], counts[used]
    if walks.protocol != "single" or not walks.few_held:
        return (chances, counts), 0.0
    people, bad = walks.num_users, 10.0**-digits
    exponent = math.log(len(walks.few_held) / bad) / people
    most = [math.ceil(people * _largest_share(chance, exponent)) for chance in walks.few_held]
    # Places of k reports or less come first, where chances are largest: that is the worst order.
    ends = np.cumsum(counts)
    cuts = np.unique(np.concatenate([[0.0], ends, np.minimum(np.maximum.accumulate(most), ends[-1])]))
    firsts = cuts[:-1]
    held = np.searchsorted(np.maximum.accumulate(most), firsts, side="right")
    return (chances[np.searchsorted(ends, firsts, side="right")] / (1 + held), np.diff(cuts)), bad


def _largest_share(chance: float, exponent: float) -> float:
    """Smallest x above the chance Q with KL(x || Q) >= exponent, rounded up; 1 if there is none."""
    low, high = chance, 1.0
    if chance <= 0 or -math.log(chance) < exponent:
        return 0.0 if chance <= 0 else 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rest = (1 - middle) * math.log((1 - middle) / (1 - chance)) if middle < 1 else 0.0
        enough = middle * math.log(middle / chance) + rest >= exponent * (1 + 1e-9)
        low, high = (low, middle) if enough else (middle, high)
    return high


def _distinct(families: list[tuple[ReportLaw, ...]]) -> list[tuple[ReportLaw, ...]]:
    """Families of laws, without repeats among the families that hold only one law."""
    kept: list[tuple[ReportLaw, ...]] = []
    for laws in families:
        if not any(len(laws) == len(others) == 1 and _alike(laws[0], others[0]) for others in kept):
            kept.append(laws)
    return kept


def _alike(law: ReportLaw, other: ReportLaw) -> bool:
    """Whether two laws have equal cells, except for order and rounding."""
    if any(each.alone_first.size or each.alone_second.size for each in (law, other)):
        return False
    ours, theirs = (
        np.array(sorted(cell for cell in zip(each.first, each.second, each.mass, strict=True) if cell[2] > 0))
        for each in (law, other)
    )
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-12, atol=0)


def _replaced(given: _Weights, law: ReportLaw, epsilon: float) -> float:
    """Upper bound on delta for a law of two inputs, from the chances p_i.

    It is 1 where an output excludes one input.

    It is E[((1 - e) + sum of p_i z_i)_+], with e = exp(epsilon).

    It is the weighted sum of G with (e - 1) (sum of p_i - 1) added; the sum is below 1 where reports get lost, or take
    the places of others.
    """
    if law.alone_first.size or law.alone_second.size:
        return 1.0
    factor, growth = math.exp(epsilon), math.expm1(epsilon)
    weights, counts = given
    present = law.mass > 0
    total = float(weights @ counts)
    excess = total - 1 + 1e-15 * (len(weights) + 8) * (total + 1)
    first, second = law.first[present], law.second[present]
    found = WeightedSum(
        values=(first - second) - growth * second,
        masses=law.mass[present],
        weights=weights,
        counts=counts,
        shift=growth * excess,
        errors=4 * _ROUNDING * (1 + epsilon) * (first + factor * second),
    ).positive_part()
    return min(found, 1.0)
