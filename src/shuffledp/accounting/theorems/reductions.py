"""Reductions of a shuffle to a uniform shuffle, at a cost: oblivious shuffles, and windows of people.

The proofs are in docs/theorems.md ("Imperfect and oblivious shuffles", "Shuffles that mix neighbors only").

**Theorem** (after Ghazi et al. 2023, Theorem 2.3, without its constant). If exchanging the reports of two people
changes the probability of anything seen by a factor of at most exp(epsilon1), apart from delta1, whatever the reports
are, then the view is (epsilon + epsilon1, delta + delta1)-private, with (epsilon, delta) of any blanket bound for a
uniform shuffle.

**Theorem** (windows). Let J be a set of people such that exchanging two of them changes the probability of every
permutation by at most a factor exp(c). Then the view is (epsilon_uniform(|J|) + c, delta)-private for everybody in J,
with any blanket bound for the epsilon of a uniform shuffle of |J| people. It holds for every set J; each person is told
the best one known. Whoever colludes is left out of J.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from shuffledp.accounting.evaluators.report_densities import ReportLaw
from shuffledp.accounting.theorem import LocalOnly, Theorem, common_reports, oblivious
from shuffledp.accounting.theorems.binary_covers import BinaryCover
from shuffledp.accounting.theorems.blanket_laws import BlanketChannel, BlanketLaplace, LawTheorem
from shuffledp.accounting.theorems.clone_pairs import StrongPair, VariationRatioCorrected
from shuffledp.accounting.theorems.two_levels import BinaryWorst, BlanketTwoLevel
from shuffledp.core.guarantees import CentralDP, Guarantee
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import ShuffleModel, SwapWindows
from shuffledp.core.statement_terms import Hypothesis, Status
from shuffledp.core.table import Floats
from shuffledp.core.text import in_digits

_BLANKETS: tuple[Theorem, ...] = (StrongPair(), BlanketTwoLevel(), BlanketLaplace(), BlanketChannel())
_UNIFORM: tuple[Theorem, ...] = (*_BLANKETS, VariationRatioCorrected(), BinaryWorst(), BinaryCover())
_ANY_DELTA = 0.5
_ROUND_UP = 1 + 1e-12
_COARSE = 4  # every fourth window size is tried first, and then the sizes around the best


def blanket_bound(model: ProtocolModel, *, size: int, delta: float) -> Hypothesis:
    """Hypothesis: a blanket bound holds for these reports from this number of people."""
    blankets = [each.id for each in _applying(model, size, delta)] if size > 1 else []
    value = ", ".join(blankets) or f"none for {model.local.kind!r} reports"
    return Hypothesis("blanket-bound", "a blanket bound for these reports", value, bool(blankets))


def uniform_epsilons(model: ProtocolModel, size: int, delta: float) -> Iterator[float]:
    """Epsilons by blanket bounds for a uniform shuffle of ``size`` people, the quickest bound first."""
    uniform = uniform_model(model, size)
    return (theorem.epsilon(uniform, delta=delta) for theorem in _applying(model, size, delta))


def uniform_curve(model: ProtocolModel, size: int, epsilons: Floats, *, quickly: bool) -> Floats:
    """Least delta by blanket bounds for a uniform shuffle, at each epsilon; 1 if no bound applies.

    A little less tight if ``quickly``.
    """
    uniform, least = uniform_model(model, size), np.ones(len(epsilons))
    for theorem in _applying(model, size, _ANY_DELTA):
        curve = theorem.curve if quickly else partial(Theorem.curve, theorem)  # the base class evaluates `delta_at`
        least = np.minimum(least, curve(uniform, epsilons=epsilons))
    return least


def raised(
    uniform: Callable[[Floats], Floats],
    epsilons: Floats,
    *,
    cost: float,
    remainder: float = 0.0,
    known: Floats | float = 1.0,
) -> Floats:
    """Curve of delta moved by a cost: ``uniform(epsilon) + remainder`` at ``epsilon + cost``.

    It is extended to epsilons below the cost. Where that cannot be less than what is ``known`` of delta anyway, it is
    1, without a look at the uniform one.

    A curve of delta is convex in exp(epsilon) and falls with a slope of -1 at most, so that at an epsilon below the
    cost it is exp(cost) - exp(epsilon) higher than at the cost, at most.
    """
    if math.isinf(cost) or remainder >= 1:
        return np.ones(len(epsilons))
    left = np.maximum(np.nextafter(epsilons - cost, -np.inf), 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        missing = np.exp(epsilons) * np.expm1(cost - epsilons) * _ROUND_UP
    above = np.where(epsilons < cost, missing, 0.0) + remainder
    worth = above < known
    found = np.ones(len(epsilons))
    found[worth] = np.minimum((uniform(left[worth]) + above[worth]) * (1 + 1e-15), 1.0) if worth.any() else 1.0
    return found


def blanket_laws(model: ProtocolModel, size: int, delta: float) -> list[tuple[ReportLaw, ...]]:
    """Blanket laws of the pairs of inputs to evaluate, one tuple for each blanket bound that applies."""
    uniform, found = uniform_model(model, size), []
    for theorem in _applying(model, size, delta):
        if isinstance(theorem, LawTheorem):
            found.append(tuple(theorem.family(uniform).laws))
        else:
            ratio = math.exp(model.local.epsilon0)
            values, masses = np.array([ratio, 1.0]), np.full(2, 1 / (1 + ratio))
            found.append((ReportLaw(first=values, second=values[::-1], mass=masses),))
    return found


def uniform_theorems(model: ProtocolModel, size: int, delta: float) -> list[Theorem]:
    """Theorems for a uniform shuffle of this number of people, blanket bounds or not.

    They all apply, and the shuffle is taken as a mechanism by itself. Without those that another one supersedes.
    """
    uniform = uniform_model(model, size)
    applying = [theorem for theorem in _UNIFORM if theorem.applies(uniform, delta=delta)]
    superseded = {name for theorem in applying for name in theorem.supersedes}
    return [theorem for theorem in applying if theorem.id not in superseded]


def uniform_model(model: ProtocolModel, size: int) -> ProtocolModel:
    """Protocol in which this number of people send the model's reports through a uniform shuffle."""
    return ProtocolModel(local=model.local, shuffle=ShuffleModel.from_dict({"kind": "uniform", "num_users": size}))


def _applying(model: ProtocolModel, size: int, delta: float) -> list[Theorem]:
    uniform = uniform_model(model, size)
    return [theorem for theorem in _BLANKETS if theorem.applies(uniform, delta=delta)]


class ObliviousShuffle(Theorem):
    """Guarantee of an oblivious shuffle: a uniform shuffle's guarantee plus (epsilon1, delta1).

    The epsilon is at most epsilon0.
    """

    id = "oblivious-shuffle"
    citation = "Ghazi et al. 2023, Theorem 2.3, for any blanket bound and without a constant"
    status = Status.OWN_PROOF
    is_vectorized = True

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: a shuffle with a promise about exchanges, one common randomizer, and a blanket bound."""
        promise = _promise(model)
        promised = Hypothesis(
            name="exchange-privacy",
            requirement=f"a shuffle known to hide exchanges of two people, apart from a remainder below {delta:g}",
            value=f"shuffler {model.shuffle.kind!r}, "
            + ("nothing known" if promise is None else f"epsilon1={promise[0]:.6g}, delta1={promise[1]:g}"),
            holds=promise is not None and promise[1] < delta,
        )
        size = model.shuffle.num_honest if promise is not None else 0
        return (promised, *common_reports(model), blanket_bound(model, size=size, delta=delta))

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether the shuffle is known to hide exchanges of two people."""
        return super().concerns(model) and _promise(model) is not None

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Least epsilon by blanket bounds at delta - delta1, plus epsilon1; at most epsilon0."""
        cost, remainder = _promise(model) or (math.inf, 1.0)
        left = delta if remainder == 0 else math.nextafter(delta - remainder, 0.0)
        local = model.local.guarantee
        epsilon0 = local.epsilon if local.delta <= delta else math.inf
        if cost >= epsilon0 or left <= 0:
            return epsilon0
        uniform = min(uniform_epsilons(model, model.shuffle.num_honest, left), default=math.inf)
        return min(epsilon0, (uniform + cost) * (1 + 1e-15))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta of a uniform shuffle at epsilon - epsilon1, plus delta1.

        Below epsilon1, the delta that follows from that.
        """
        return float(self._curve(model, np.array([epsilon]), quickly=False)[0])

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at many epsilons."""
        return self._curve(model, epsilons, quickly=True)

    def _curve(self, model: ProtocolModel, epsilons: Floats, *, quickly: bool) -> Floats:
        cost, remainder = _promise(model) or (math.inf, 1.0)
        uniform = partial(uniform_curve, model, model.shuffle.num_honest, quickly=quickly)
        found = raised(uniform, epsilons, cost=cost, remainder=remainder)
        return np.minimum(found, LocalOnly().curve(model, epsilons=epsilons))


def _promise(model: ProtocolModel) -> tuple[float, float] | None:
    """Promise (epsilon1, delta1) of the shuffle; None for a uniform shuffle, or if unknown.

    A uniform shuffle needs no promise.
    """
    return None if model.shuffle.is_uniform else model.shuffle.exchange_privacy


class SwapCost(Theorem):
    """Guarantee by windows of people: the uniform epsilon of a window plus its swap cost.

    That of the best window, for the least mixed person; at most epsilon0.
    """

    id = "swap-cost"
    citation = "blanket bound for the people of a window, plus the cost of exchanging two of them"
    status = Status.OWN_PROOF

    def concerns(self, model: ProtocolModel) -> bool:
        """Whether exchanging two people has a cost in the model's shuffle, be the cost known or not."""
        return super().concerns(model) and model.shuffle.has_swap_costs

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: a shuffle with known swap costs, one common randomizer, and a blanket bound."""
        shuffle = model.shuffle
        known = bool(shuffle.swap_windows())
        value = f"shuffler {shuffle.kind!r}, costs {'known' if known else 'not known'}"
        swaps = Hypothesis("known-swap-costs", "a shuffle with known costs of exchanging two people", value, known)
        bound = blanket_bound(model, size=2 if known else 0, delta=delta)
        return (swaps, oblivious(model), *common_reports(model), bound)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Largest epsilon over people; each person has the epsilon of the best window."""
        return max(self._epsilons(model, delta=delta), default=model.local.epsilon0)

    def explained(self, model: ProtocolModel, *, delta: float) -> tuple[Guarantee, tuple[str, ...]]:
        """Guarantee, with a remark on the least mixed person, or on all who are mixed with somebody."""
        epsilons, epsilon0 = self._epsilons(model, delta=delta), model.local.epsilon0
        guarantee = CentralDP(epsilon=max(epsilons, default=epsilon0), delta=delta)
        alone, windows = model.shuffle.num_alone, model.shuffle.swap_windows()
        if model.shuffle.imperfection is not None:  # all people are mixed together
            return guarantee, ()
        if not alone:
            return guarantee, ("The epsilon is that of the person who is mixed least.",)
        others = [each for of, each in zip(windows, epsilons, strict=True) if max(of.sizes) > 1]
        if not others or max(others) >= epsilon0:
            return guarantee, ()
        return guarantee, (f"For those who are not alone, epsilon is at most {in_digits(max(others), 'at most')}.",)

    def _epsilons(self, model: ProtocolModel, *, delta: float) -> tuple[float, ...]:
        """Epsilon for each entry of the shuffle's swap windows, for the people of the entry.

        The entries of ``model.shuffle.swap_windows()``.
        """

        @cache
        def quick(size: int) -> float:
            return next(uniform_epsilons(model, size, delta), math.inf)

        @cache
        def close(size: int) -> float:
            return min(uniform_epsilons(model, size, delta), default=math.inf)

        local = model.local.guarantee
        epsilon0 = local.epsilon if local.delta <= delta else math.inf
        return tuple(_best(windows, epsilon0, quick, close) for windows in model.shuffle.swap_windows())

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Largest delta over people; each person has the delta of the best window.

        It is at most that of one report by itself.
        """
        if not self.applies(model, delta=0.5):
            return 1.0
        local = LocalOnly().delta(model, epsilon=epsilon)

        @cache
        def of(size: int, cost: float) -> float:
            return float(raised(partial(uniform_curve, model, size, quickly=False), np.array([epsilon]), cost=cost)[0])

        return max(
            min([local, *(of(size, cost) for size, cost in _distinct(windows) if size > 1)])
            for windows in model.shuffle.swap_windows()
        )


def _best(windows: SwapWindows, epsilon0: float, quick: Callable[[int], float], close: Callable[[int], float]) -> float:
    """Least sum of epsilon and swap cost over one person's windows; at most epsilon0.

    One bound finds the best size, and all bounds evaluate it.
    """
    tried = [(size, cost) for size, cost in _distinct(windows) if cost < epsilon0 and size > 1]
    if not tried:
        return epsilon0

    def roughly(place: int) -> float:
        size, cost = tried[place]
        return quick(size) + cost

    best = min(range(0, len(tried), _COARSE), key=roughly)
    around = range(max(0, best - _COARSE + 1), min(len(tried), best + _COARSE))
    size, cost = tried[min(around, key=roughly)]
    return min(epsilon0, (close(size) + cost) * (1 + 1e-15))


def _distinct(windows: SwapWindows) -> list[tuple[int, float]]:
    """Window sizes with the least cost of each, ascending.

    Colluders can make sizes equal.
    """
    cheapest: dict[int, float] = {}
    for size, cost in zip(windows.sizes, windows.costs, strict=True):
        cheapest[size] = min(cost, cheapest.get(size, cost))
    return sorted(cheapest.items())
