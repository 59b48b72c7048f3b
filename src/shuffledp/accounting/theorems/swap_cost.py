"""What central guarantee remains where a shuffle mixes neighbors only: among those whom it really mixes.

**Theorem.** Let J be a set of people such that exchanging two of them changes the probability of every permutation by
at most a factor exp(c). Then the view is (epsilon_uniform(|J|) + c, delta)-private for everybody in J, with any blanket
bound for the epsilon of a uniform shuffle of |J| people.

Proof. Reveal everything except which of J's blanket reports, and the victim's, lies in which of the slots S that they
hold. By Bayes's rule slot s holds the victim's with a weight w_s, and exchanging the victim with whoever is at s' shows
that weights differ by at most exp(c). So the likelihood ratio, sum of w_s a(y_s) over the sum of w_s b(y_s), is at most
exp(c) times that of equal weights, which is the blanket's, and what lies in S has the law of the uniform case.

Below c nothing follows from that directly; but a curve of delta falls with a slope of -1 at most in exp(epsilon), so
that delta(epsilon) <= delta_uniform(0) + exp(c) - exp(epsilon) there.

It holds for every set J; each person is told the best one known. Whoever colludes is left out of J.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import ClassVar

import numpy as np

from shuffledp._numerals import in_digits
from shuffledp.accounting.premises import common_randomizer, not_adaptive, oblivious, one_message_each
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.blankets import blanket_bound, raised, uniform_delta, uniform_epsilons
from shuffledp.accounting.theorems.local import LocalOnly
from shuffledp.accounting.walks import walks_of
from shuffledp.guarantees import CentralDP, Guarantee
from shuffledp.models import ProtocolModel, SwapWindows
from shuffledp.statements import Hypothesis, Status

__all__ = ["SwapCost"]

_COARSE = 4  # every so many sizes of windows are tried first, and then those around the best


class SwapCost(Theorem):
    """For the person who is mixed least: the best window's uniform epsilon plus its swap cost, epsilon0 at most."""

    id: ClassVar[str] = "swap-cost"
    citation: ClassVar[str] = "blanket bound for the people of a window, plus the cost of exchanging two of them"
    status: ClassVar[Status] = Status.OWN_PROOF

    def concerns(self, model: ProtocolModel) -> bool:
        """Any shuffle but random walks, of which other theorems know."""
        return super().concerns(model) and walks_of(model) is None

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """A shuffle whose swap costs are known, one common randomizer, and a blanket bound for its reports."""
        shuffle = model.shuffle
        known = bool(shuffle.swap_windows())
        swaps = Hypothesis(
            name="known-swap-costs",
            requirement="a shuffle with known costs of exchanging two people",
            value=f"shuffler {shuffle.kind!r}, costs {'known' if known else 'not known'}",
            holds=known,
        )
        return (
            swaps,
            oblivious(model),
            one_message_each(model),
            common_randomizer(model),
            not_adaptive(model),
            blanket_bound(model, size=2 if known else 0, delta=delta),
        )

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """The largest over the people of the least over their windows."""
        return max(self._epsilons(model, delta=delta), default=model.local.epsilon0)

    def explained(self, model: ProtocolModel, *, delta: float) -> tuple[Guarantee, tuple[str, ...]]:
        """The guarantee, whom it is about, and for people who are not alone theirs, where that is below epsilon0."""
        epsilons, epsilon0 = self._epsilons(model, delta=delta), model.local.epsilon0
        guarantee = CentralDP(epsilon=max(epsilons, default=epsilon0), delta=delta)
        alone, windows = model.shuffle.num_alone, model.shuffle.swap_windows()
        if model.shuffle.imperfection is not None:  # everybody is mixed with everybody
            return guarantee, ()
        if not alone:
            return guarantee, ("The epsilon is that of the person who is mixed least.",)
        others = [each for of, each in zip(windows, epsilons, strict=True) if max(of.sizes) > 1]
        if not others or max(others) >= epsilon0:
            return guarantee, ()
        return guarantee, (f"For those who are not alone, epsilon is at most {in_digits(max(others), 'at most')}.",)

    def _epsilons(self, model: ProtocolModel, *, delta: float) -> tuple[float, ...]:
        """For each of ``model.shuffle.swap_windows()`` the epsilon of the people whom it is about."""

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
        """The largest over the people of the least over their windows, and at most that of one report by itself."""
        if not self.applies(model, delta=0.5):
            return 1.0
        local = LocalOnly().delta(model, epsilon=epsilon)

        @cache
        def of(size: int, cost: float) -> float:
            return float(raised(partial(uniform_delta, model, size), np.array([epsilon]), cost=cost)[0])

        return max(
            min([local, *(of(size, cost) for size, cost in _distinct(windows) if size > 1)])
            for windows in model.shuffle.swap_windows()
        )


def _best(windows: SwapWindows, epsilon0: float, quick: Callable[[int], float], close: Callable[[int], float]) -> float:
    """The least of epsilon plus cost. Sizes are located by one bound, and the best of them evaluated by all."""
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
    """Sizes with their costs, the cheapest of each size, ascending: colluding people can make sizes equal."""
    cheapest: dict[int, float] = {}
    for size, cost in zip(windows.sizes, windows.costs, strict=True):
        cheapest[size] = min(cost, cheapest.get(size, cost))
    return sorted(cheapest.items())
