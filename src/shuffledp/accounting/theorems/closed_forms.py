"""Published closed forms to compare with, by Erlingsson et al., Balle et al., and Feldman et al.

Of 2019, 2019, and 2021 and 2023. In full: Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019,
"Amplification by Shuffling"; Balle, Bell, Gascon, Nissim 2019, "The Privacy Blanket of the Shuffle Model" (arXiv
1903.02837); Feldman, McMillan, Talwar 2021, "Hiding Among the Clones" (arXiv 2012.12803), and 2023, "Stronger Privacy
Amplification by Shuffling" (arXiv 2208.04591).
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from shuffledp.accounting.numerics import SMALLEST, exp, expm1, rounded_up, smallest_below
from shuffledp.accounting.theorem import (
    PURE_REPORTS,
    Theorem,
    not_adaptive,
    several_users,
    small_epsilon0,
    users_within,
)
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Status

_SMALLEST_EPSILON0, _LARGEST_EPSILON0 = 1e-50, 100.0
_ROUND_DOWN = 1 - 1e-13
_LEAST_EPSILON = 1e-200  # below it the curve is trivial


def _many_users(model: ProtocolModel) -> Hypothesis:
    return users_within("many-users", model, "n >= 1000", 1000)


def _at_most_half(model: ProtocolModel) -> Hypothesis:
    epsilon0 = model.local.epsilon0
    return Hypothesis("small-epsilon0", "epsilon0 <= 0.5", f"epsilon0={epsilon0:.6g}", epsilon0 <= 0.5)


class ClosedFormEFMRTT19(Theorem):
    """First published closed form: epsilon <= 12 epsilon0 sqrt(log(1/delta) / n).

    The theorem lets the randomizer depend on the place after the shuffle and on earlier reports, but not on the user.
    It is printed for epsilon0 < 1/2; it holds at 1/2 too, because a randomizer of that loss is the limit of mixtures of
    itself with a report that ignores the answer, and these lose less.
    """

    id = "efmrtt19-closed"
    citation = "Erlingsson et al. 2019, amplification by shuffling, main theorem (arXiv 1811.12469)"
    premises = (*PURE_REPORTS, _many_users, _at_most_half)

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: the premises, and delta < 1/100."""
        small = Hypothesis("small-delta", "delta < 0.01", f"delta={delta:g}", delta < 0.01)
        return (*super().hypotheses(model, delta=delta), small)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon by the closed form that the class states."""
        return rounded_up(12 * model.local.epsilon0 * math.sqrt(-math.log(delta) / model.num_users))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta by the closed form exp(-n (epsilon / (12 epsilon0))^2) if the hypotheses hold; else 1."""
        epsilon0 = model.local.epsilon0
        if epsilon >= epsilon0:
            return self.where_hypotheses_hold(model, 0.0)
        return self.where_hypotheses_hold(model, math.exp(-model.num_users * (epsilon / (12 * epsilon0)) ** 2))


class ClosedFormFMT21(Theorem):
    """Closed form of Feldman et al. 2021.

    With E = exp(epsilon0): epsilon <= log(1 + (E-1)/(E+1) (8 sqrt(E log(4/delta) / n) + 8 E / n)). The theorem lets the
    randomizer depend on the place after the shuffle and on earlier reports, but not on the user. The paper prints its
    hypothesis with log(2/delta); log(4/delta) is used here, as in the authors' code (docs/errata.md).
    """

    id = "fmt21-closed"
    citation = "Feldman, McMillan, Talwar 2021, Theorem 3.1 (arXiv 2012.12803)"
    premises = PURE_REPORTS

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: epsilon0 <= log(n / (16 log(4/delta))), a pure local randomizer and a uniform shuffle."""
        largest = model.num_users / (16 * (math.log(4) - math.log(delta)))
        limit = small_epsilon0(model, delta=delta, formula="log(n / (16 log(4/delta)))", exp_limit=largest)
        return (*super().hypotheses(model, delta=delta), limit)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon by the closed form that the class states."""
        users, epsilon0 = model.num_users, model.local.epsilon0
        clones = 8 * math.sqrt(exp(epsilon0) * (math.log(4) - math.log(delta)) / users) + 8 * exp(epsilon0) / users
        return rounded_up(math.log1p(math.tanh(epsilon0 / 2) * clones))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta by the closed form, or the smallest delta at which the hypotheses hold, if larger."""
        users, epsilon0 = model.num_users, model.local.epsilon0
        least = 4 * math.exp(-users / 16 * math.exp(-epsilon0))
        if epsilon >= epsilon0:
            return self.where_hypotheses_hold(model, least)
        clones = expm1(epsilon) / expm1(epsilon0) * (exp(epsilon0) + 1) - 8 * exp(epsilon0) / users
        delta = 4 * math.exp(-users * math.exp(-epsilon0) * (clones / 8 * clones / 8)) if clones > 0 else 1.0
        return self.where_hypotheses_hold(model, max(delta, least))


class ClosedFormFMT23(Theorem):
    """Closed form of Feldman et al. 2023.

    With E = exp(epsilon0): epsilon <= log(1 + (E-1) (4 sqrt(2 log(4/delta) / ((E+1) n)) + 4 / n)). The paper states it
    for adaptive randomizers; its erratum withdraws that scope. The pair of distributions behind it dominates every
    *common, non-adaptive* randomizer by a convex-order argument of this project (docs/theorems.md), which is why the
    status is "own proof" and the hypotheses are narrower than printed.

    From the pair to the closed form: docs/proofs.md.
    """

    id = "fmt23-closed"
    citation = "Feldman, McMillan, Talwar 2023, closed form, scope as corrected here (arXiv 2208.04591)"
    status = Status.OWN_PROOF
    premises = (*PURE_REPORTS, not_adaptive)

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: epsilon0 <= log(n / (8 log(2/delta)) - 1), one pure local randomizer and a uniform shuffle."""
        largest = model.num_users / (8 * (math.log(2) - math.log(delta))) - 1
        limit = small_epsilon0(model, delta=delta, formula="log(n / (8 log(2/delta)) - 1)", exp_limit=largest)
        return (*super().hypotheses(model, delta=delta), limit)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon by the closed form that the class states."""
        users, epsilon0 = model.num_users, model.local.epsilon0
        clones = 4 * math.sqrt(2 * (math.log(4) - math.log(delta)) / (exp(epsilon0) + 1) / users) + 4 / users
        return rounded_up(math.log1p(expm1(epsilon0) * clones))

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Delta by the closed form, or the smallest delta at which the hypotheses hold, if larger."""
        users, epsilon0 = model.num_users, model.local.epsilon0
        least = 2 * math.exp(-users / 8 / (exp(epsilon0) + 1))
        if epsilon >= epsilon0:
            return self.where_hypotheses_hold(model, least)
        clones = expm1(epsilon) / expm1(epsilon0) - 4 / users
        delta = 4 * math.exp(-(exp(epsilon0) + 1) * users / 2 * (clones / 4) ** 2) if clones > 0 else 1.0
        return self.where_hypotheses_hold(model, max(delta, least))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    """Random variable L of a blanket bound: its range, variance and blanket mass gamma.

    Its mean is 1 - exp(epsilon). It lies between ``least`` and ``most``, and its variance is at most ``variance``.
    """

    blanket: float
    most: float
    least: float
    variance: float


def _in_range(epsilon0: float) -> bool:
    return _SMALLEST_EPSILON0 <= epsilon0 <= _LARGEST_EPSILON0


def _float_range(model: ProtocolModel) -> Hypothesis:
    epsilon0 = model.local.epsilon0
    requirement = f"{_SMALLEST_EPSILON0:g} <= epsilon0 <= {_LARGEST_EPSILON0:g}"
    return Hypothesis("float-range", requirement, f"epsilon0={epsilon0:.6g}", _in_range(epsilon0))


class _BlanketBound(Theorem):
    """Blanket bound: epsilon solved on a curve of delta.

    The delta is an expectation over the number of blanket messages.
    """

    premises = (*PURE_REPORTS, not_adaptive, several_users, _float_range)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Least epsilon at which the bound on delta is at most ``delta``; at most epsilon0."""
        if not _in_range(model.local.epsilon0):
            return model.local.epsilon0
        return smallest_below(
            lambda epsilon: self._bound(model, epsilon), level=delta, limit=model.local.epsilon0, tolerance=1e-9
        )

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Bound on delta at an epsilon if the theorem applies; else 1."""
        if not self.applies(model, delta=0.5):
            return 1.0
        return 0.0 if epsilon >= model.local.epsilon0 else self._bound(model, epsilon)

    def _bound(self, model: ProtocolModel, epsilon: float) -> float:
        if epsilon < _LEAST_EPSILON:
            return 1.0
        loss = _LOSSES.get(model.local.kind, _any_randomizer)(model.local, epsilon)
        factor, decay = self._of_each(loss, math.expm1(epsilon))
        # The expectation of exp(-decay M) over the number M of blanket messages.
        survive = math.exp(model.num_users * math.log1p(loss.blanket * math.expm1(-decay * _ROUND_DOWN)))
        return min(rounded_up(factor / (loss.blanket * model.num_users) * survive) + SMALLEST, 1.0)

    @abstractmethod
    def _of_each(self, loss: _Loss, drift: float) -> tuple[float, float]:
        """Coefficients c and d of a bound c exp(-d m) on E[(L_1 + ... + L_m)_+].

        ``drift`` is minus the mean of L.
        """


class HoeffdingBalle19(_BlanketBound):
    """Blanket bound by Hoeffding's inequality.

    With a = exp(epsilon) - 1 and b the width of L, E[(L_1 + ... + L_m)_+] <= b^2 / (4 a) exp(-2 m a^2 / b^2).
    """

    id = "balle19-hoeffding"
    citation = "Balle, Bell, Gascon, Nissim 2019, privacy blanket, Hoeffding's bound (arXiv 1903.02837)"

    def _of_each(self, loss: _Loss, drift: float) -> tuple[float, float]:
        width = loss.most - loss.least
        return width * (width / (4 * drift)), 2 * (drift / width) ** 2


class BennettBalle19(_BlanketBound):
    """Blanket bound by Bennett's inequality.

    With a = exp(epsilon) - 1: E[(L_1 + ... + L_m)_+] <= b / log(1 + a b / c) exp(-m c / b^2 phi(a b / c)). Here b is
    the largest L - E[L], c the variance of L and phi(u) = (1 + u) log(1 + u) - u.
    """

    id = "balle19-bennett"
    citation = "Balle, Bell, Gascon, Nissim 2019, privacy blanket, Bennett's bound (arXiv 1903.02837)"

    def _of_each(self, loss: _Loss, drift: float) -> tuple[float, float]:
        top = loss.most + drift
        share = drift * top / loss.variance
        growth = math.log1p(share)
        phi = (1 + share) * growth - share
        if share < 0.01:  # where the formula loses digits: an alternating series, from below
            phi = share * share / 2 * (1 - share / 3 * (1 - share / 2 * (1 - share * 3 / 5)))
        return top / growth, loss.variance / (top * top) * phi


def _any_randomizer(local: LocalModel, epsilon: float) -> _Loss:
    """Random variable L that covers every randomizer of loss epsilon0.

    The blanket is at least exp(-epsilon0); only so much of it is counted. What is normalized by its whole mass, which
    may be anything up to 1, has likelihoods between 1/E and E. So L^2 is at most E (e^2 + 1) - 2 e / E^2 on average.
    """
    epsilon0, drift = local.epsilon0, math.expm1(epsilon)
    growth = math.expm1(epsilon0)
    return _Loss(
        blanket=math.exp(-epsilon0),
        most=growth - math.expm1(epsilon - epsilon0),
        least=math.expm1(-epsilon0) - math.expm1(epsilon + epsilon0),
        variance=growth * drift**2 + 2 * math.exp(epsilon) * (growth - math.expm1(-2 * epsilon0)),
    )


def _response(local: LocalModel, epsilon: float) -> _Loss:
    """Random variable L of k-ary randomized response, whose blanket is uniform."""
    size = local.domain_size if isinstance(local, FrequencyModel) else 2
    epsilon0, drift = local.epsilon0, math.expm1(epsilon)
    odds = math.exp(-epsilon0)
    unit = size / (1 + (size - 1) * odds)  # gamma E
    first = -unit * math.expm1(epsilon - epsilon0)
    second = unit * (math.expm1(-epsilon0) - drift)
    others = -unit * odds * drift
    square = (first**2 + second**2 + (size - 2) * others**2) / size
    return _Loss(blanket=unit * odds, most=first, least=second, variance=square - drift**2)


def _laplace(local: LocalModel, epsilon: float) -> _Loss:
    """Random variable L of the Laplace mechanism on an interval."""
    half, drift = local.epsilon0 / 2, math.expm1(epsilon)
    blanket, missing = math.exp(-half), -math.expm1(-half)
    square = (2 / blanket + blanket**2) / 3 * drift**2
    square += 4 / 3 * math.exp(epsilon) / blanket * missing**2 * (1 + 2 * blanket)
    return _Loss(
        blanket=blanket,
        most=math.expm1(half) - math.expm1(epsilon - half),
        least=math.expm1(-half) - math.expm1(epsilon + half),
        variance=square - drift**2,
    )


_LOSSES: dict[str, Callable[[LocalModel, float], _Loss]] = {"k-rr": _response, "laplace": _laplace}
