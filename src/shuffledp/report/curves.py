"""What every theorem says about one task, over a range of numbers of users."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import THEOREMS, Theorem
from shuffledp.models import ProtocolModel
from shuffledp.statements import Kind

__all__ = ["Curve", "Curves"]

_POINTS = 25
_DECADES_BELOW, _DECADES_ABOVE, _LEAST_DECADES = 1, 3, 5
_FARTHEST = 10**9  # users up to which we look for the first number at which a theorem applies


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """What one theorem says about the task for each number of users.

    Args:
        theorem: the theorem.
        epsilon: shape (users,), NaN where it does not apply or says nothing.
        here: epsilon at the task's own number of users, or None.
        reason: the hypothesis that fails there, or ""; one that more users do not mend comes first.
        start: the least number of users at which it applies; None if there is none up to a billion.
    """

    theorem: Theorem
    epsilon: NDArray[np.float64]
    here: float | None
    reason: str
    start: int | None

    @property
    def is_lower(self) -> bool:
        """True for a lower bound."""
        return self.theorem.kind is Kind.LOWER_BOUND

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to draw."""
        return not np.isfinite(self.epsilon).any()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """All theorems over one range of numbers of users.

    Args:
        users: shape (users,), ascending; the task's own number is among them.
        people: the task's own number.
        epsilon0: the local loss.
        curves: one for each theorem in the registry.
    """

    users: NDArray[np.int64]
    people: int
    epsilon0: float
    curves: tuple[Curve, ...]

    @classmethod
    def of(cls, describe: Callable[[int], ProtocolModel], *, people: int, delta: float) -> "Curves":
        """Evaluate every theorem, from a tenth of the people to a thousand times as many."""
        family = _Family(describe=describe, delta=delta)
        lowest = max(math.floor(math.log10(people)) - _DECADES_BELOW, 0)
        highest = max(math.floor(math.log10(people)) + _DECADES_ABOVE, _LEAST_DECADES)
        starts = [family.start(theorem) for theorem in THEOREMS]
        inside = [start for start in starts if start and 10**lowest < start < 10**highest]
        grid = np.logspace(lowest, highest, _POINTS).round().astype(np.int64)
        # Both sides of every number at which a theorem begins to apply, so that steps are drawn as steps.
        users = np.unique([*grid, *inside, *(start - 1 for start in inside), people])
        curves = tuple(
            family.curve(theorem, start, users, people) for theorem, start in zip(THEOREMS, starts, strict=True)
        )
        return cls(users=users, people=people, epsilon0=describe(people).local.epsilon0, curves=curves)

    @property
    def drawn(self) -> tuple[Curve, ...]:
        """The curves of theorems that apply somewhere in the range."""
        return tuple(curve for curve in self.curves if not curve.is_empty)

    @property
    def stated(self) -> NDArray[np.float64]:
        """The smallest upper bound that applies at each number of users; shape (users,)."""
        return self._extreme(np.fmin, [curve for curve in self.curves if curve.theorem.kind.promises])

    @property
    def unreachable(self) -> NDArray[np.float64]:
        """The largest lower bound at each number of users, NaN where there is none; shape (users,)."""
        return self._extreme(np.fmax, [curve for curve in self.curves if curve.is_lower])

    def _extreme(self, ufunc: np.ufunc, curves: list[Curve]) -> NDArray[np.float64]:
        nothing = np.full(len(self.users), math.nan)
        return np.asarray(ufunc.reduce([nothing, *(curve.epsilon for curve in curves)]), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """One task at one delta, with any number of users."""

    describe: Callable[[int], ProtocolModel]
    delta: float

    def failing(self, theorem: Theorem, users: int) -> dict[str, str]:
        """The hypotheses that do not hold, by name."""
        hypotheses = theorem.hypotheses(self.describe(users), delta=self.delta)
        return {each.name: each.text for each in hypotheses if not each.holds}

    def epsilon(self, theorem: Theorem, users: int) -> float | None:
        """Epsilon, if the theorem applies."""
        if self.failing(theorem, users):
            return None
        return theorem.epsilon(self.describe(users), delta=self.delta)

    def start(self, theorem: Theorem) -> int | None:
        """The least number of users at which the hypotheses hold, if more users never break them."""
        low, high = 0, _FARTHEST
        if self.failing(theorem, high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.failing(theorem, middle) else (low, middle)
        return high

    def curve(self, theorem: Theorem, start: int | None, users: NDArray[np.int64], people: int) -> Curve:
        """The theorem at each number of users."""
        failing, never = self.failing(theorem, people), self.failing(theorem, _FARTHEST)
        reason = next((text for name, text in failing.items() if name in never), next(iter(failing.values()), ""))
        values = [self.epsilon(theorem, int(number)) or math.nan for number in users]  # 0 says nothing: not drawn
        here = self.epsilon(theorem, people)
        return Curve(theorem=theorem, epsilon=np.array(values), here=here, reason=reason, start=start)
