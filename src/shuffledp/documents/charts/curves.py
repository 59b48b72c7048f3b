"""Result of every theorem about a protocol over a range of users, local losses or deltas."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import THEOREMS, Theorem
from shuffledp.accounting.account import upper_bounds
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Kind

_PER_DECADE, _LOSS_POINTS, _DELTA_POINTS = 4, 18, 9
_DECADES_BELOW, _DECADES_ABOVE, _LEAST_DECADES = 1, 3, 5
_FARTHEST = 10**9  # limit of the search for the fewest users of a theorem
_LOSSES, _DELTAS = (0.1, 5.0), (1e-12, 1e-4)  # least range of a picture


class CurveAxis(StrEnum):
    """Quantity that changes along a curve."""

    USERS = "users"
    EPSILON0 = "epsilon0"
    DELTA = "delta"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Result of one theorem along an axis.

    Args:
        theorem: the theorem.
        epsilon: shape (values,), NaN where it does not apply; from 0 as a lower bound nothing follows.
        here: epsilon at the protocol's own value, or None.
        reason: the hypothesis that fails there, or ""; one that more users do not mend comes first.
        start: the least number of users at which it applies; None if there is none, or users are not what changes.
    """

    theorem: Theorem
    epsilon: NDArray[np.float64]
    here: float | None
    reason: str
    start: int | None

    @property
    def is_lower(self) -> bool:
        """Whether the theorem gives a lower bound."""
        return self.theorem.kind is Kind.LOWER_BOUND

    @property
    def is_empty(self) -> bool:
        """Whether the curve has no drawable value; a logarithmic axis cannot show zeros."""
        return not np.isfinite(shown(self.epsilon)).any()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Curves of all theorems along one axis.

    Args:
        along: what changes.
        values: shape (values,), ascending; the protocol's own is among them.
        here: the protocol's own value.
        local: shape (values,), the local loss, above which a bound is of no use.
        curves: one for each theorem.
        own: what is stated at the protocol's own value, where bounds that take seconds make it less than the curves.
    """

    along: CurveAxis
    values: NDArray[Any]
    here: float
    local: NDArray[np.float64]
    curves: tuple[Curve, ...]
    own: float = math.inf

    @classmethod
    def over_users(
        cls,
        describe: Callable[[int], ProtocolModel],
        *,
        people: int,
        delta: float,
        theorems: Sequence[Theorem] = THEOREMS,
        best_only: bool = False,
    ) -> "Curves":
        """Curves of all theorems for numbers of users, from about a tenth to a thousand times ``people``.

        With ``best_only`` none is evaluated where another one supersedes it, nor a lower bound where the loss is exact.
        """
        at = cache(lambda number: (describe(int(number)), delta))
        family = _Family(at=at, best=cache(lambda number: upper_bounds(*at(number))) if best_only else None)
        lowest = max(math.floor(math.log10(people)) - _DECADES_BELOW, 0)
        highest = max(math.floor(math.log10(people)) + _DECADES_ABOVE, _LEAST_DECADES)
        grid = np.logspace(lowest, highest, _PER_DECADE * (highest - lowest) + 1).round().astype(np.int64)
        users = np.unique([*grid, people])
        if best_only:
            curves = tuple(family.curve(theorem, users, people) for theorem in theorems)
        else:
            curves = tuple(family.users_curve(theorem, users, people) for theorem in theorems)
        local = np.array(list(family.losses(users).values()))
        return cls(along=CurveAxis.USERS, values=users, here=people, local=local, curves=curves)

    @classmethod
    def over_epsilon0(
        cls,
        describe: Callable[[float], LocalModel],
        model: ProtocolModel,
        *,
        delta: float,
        theorems: Sequence[Theorem] = THEOREMS,
        points: int = _LOSS_POINTS,
    ) -> "Curves":
        """Curves of all theorems for local losses around the model's own, where such randomizers exist."""
        here = model.local.epsilon0
        grid = np.geomspace(min(_LOSSES[0], here / 2), max(_LOSSES[1], here * 2), points)

        def at(loss: float) -> tuple[ProtocolModel, float]:
            local = model.local if loss == here else describe(loss)
            return replace(model, local=local), delta

        return cls._along(CurveAxis.EPSILON0, _Family(at=at), np.unique([*grid, here]), here, theorems)

    @classmethod
    def over_delta(
        cls, model: ProtocolModel, *, delta: float, theorems: Sequence[Theorem] = THEOREMS, points: int = _DELTA_POINTS
    ) -> "Curves":
        """Curves of all theorems for deltas around the given one."""
        grid = np.geomspace(min(_DELTAS[0], delta / 2), max(_DELTAS[1], min(delta * 100, 0.5)), points)
        return cls._along(
            CurveAxis.DELTA, _Family(at=lambda value: (model, value)), np.unique([*grid, delta]), delta, theorems
        )

    @classmethod
    def _along(
        cls, along: CurveAxis, family: "_Family", values: NDArray[np.float64], here: float, theorems: Sequence[Theorem]
    ) -> "Curves":
        losses = family.losses(values)
        possible, local = np.array(list(losses)), np.array(list(losses.values()))
        curves = tuple(family.curve(theorem, possible, here) for theorem in theorems)
        return cls(along=along, values=possible, here=here, local=local, curves=curves)

    @property
    def epsilon0(self) -> float:
        """The local loss of the protocol."""
        return float(self.local[self.values == self.here][0])

    @property
    def stated_here(self) -> float:
        """Stated epsilon at the protocol's own value."""
        return min(float(self.stated[self.values == self.here][0]), self.own)

    @property
    def is_at_once(self) -> bool:
        """Whether the stated epsilon is below the curves, since curves leave out bounds that take seconds.

        Two ways of working out one bound may differ in their last digits.
        """
        return self.own < float(self.stated[self.values == self.here][0]) * (1 - 1e-6)

    @property
    def drawn(self) -> tuple[Curve, ...]:
        """The curves of theorems that apply somewhere in the range."""
        return tuple(curve for curve in self.curves if not curve.is_empty)

    @property
    def tallest(self) -> float:
        """Largest loss to draw: the largest finite local loss, else stated loss, else loss of any curve."""
        candidates = (self.local, self.stated, *(curve.epsilon for curve in self.drawn))
        return next(float(np.nanmax(shown(each))) for each in candidates if np.isfinite(shown(each)).any())

    @property
    def stated(self) -> NDArray[np.float64]:
        """Smallest upper bound at each value, of all theorems that apply; shape (values,)."""
        return self._extreme(np.fmin, [curve for curve in self.curves if curve.theorem.kind.promises])

    @property
    def stated_at_once(self) -> NDArray[np.float64]:
        """Smallest upper bound at each value, without theorems that take seconds; shape (values,)."""
        quick = [curve for curve in self.curves if curve.theorem.kind.promises and not curve.theorem.is_costly]
        return self._extreme(np.fmin, quick)

    @property
    def corners(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Corners of the stated line: index in ``values``, and epsilon; both of shape (corners,).

        Where a theorem that is the best at one of two neighbors does not apply at the other, the larger epsilon goes on
        to the smaller one's value: somewhere between the two the theorem starts to apply, and nobody has looked where.
        """
        stated = self.stated
        places, heights = [0], [stated[0]]
        for place in range(1, len(stated)):
            before, after = stated[place - 1], stated[place]
            if before != after and self._is_jump(place):
                places.append(place if before > after else place - 1)
                heights.append(max(before, after))
            places.append(place)
            heights.append(after)
        return np.array(places, dtype=np.intp), np.array(heights, dtype=np.float64)

    def _is_jump(self, place: int) -> bool:
        """Whether the curve jumps before this value: the best theorem on one side does not apply on the other side."""
        pairs = [curve.epsilon[place - 1 : place + 1] for curve in self.curves if curve.theorem.kind.promises]
        best = np.fmin.reduce(pairs)
        return any(all(np.isnan(pair).any() for pair in pairs if pair[side] == best[side]) for side in range(2))

    @property
    def unreachable(self) -> NDArray[np.float64]:
        """Largest lower bound (or exact epsilon) at each value; NaN without one; shape (values,)."""
        known = [curve for curve in self.curves if curve.is_lower or curve.theorem.kind is Kind.EXACT]
        found = self._extreme(np.fmax, known)  # an exact value is rounded up, and may slightly exceed another bound
        return np.where(found > self.stated, self.stated, found)

    def _extreme(self, ufunc: np.ufunc, curves: list[Curve]) -> NDArray[np.float64]:
        nothing = np.full(len(self.values), math.nan)
        return np.asarray(ufunc.reduce([nothing, *(curve.epsilon for curve in curves)]), dtype=np.float64)


def shown(epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """Epsilons that a logarithmic axis can show; NaN in place of other epsilons."""
    return np.where((epsilon > 0) & np.isfinite(epsilon), epsilon, math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """Protocol and delta for each value on the axis.

    Args:
        at: the protocol of a value.
        best: the theorems that promise something there and are not superseded; None to evaluate all theorems.
    """

    at: Callable[[float], tuple[ProtocolModel, float]]
    best: Callable[[float], Sequence[Theorem]] | None = None

    def losses(self, values: NDArray[Any]) -> dict[float, float]:
        """The local loss at each value, for values that have a protocol."""
        found = {}
        for value in values.tolist():
            with suppress(InvalidParameterError):
                found[value] = self.at(value)[0].local.epsilon0
        return found

    def failing(self, theorem: Theorem, value: float) -> dict[str, str]:
        """The failing hypotheses of a theorem at a value, by name."""
        model, delta = self.at(value)
        return {each.name: each.text for each in theorem.hypotheses(model, delta=delta) if not each.holds}

    def epsilon(self, theorem: Theorem, value: float) -> float | None:
        """Epsilon of a theorem at a value; None if the theorem does not apply or is not drawn."""
        model, delta = self.at(value)
        if not self._is_worth(theorem, value) or self.failing(theorem, value):
            return None
        return theorem.epsilon(model, delta=delta)

    def _is_worth(self, theorem: Theorem, value: float) -> bool:
        """Whether a theorem is drawn at a value: with ``best``, only a theorem that may improve a bound."""
        if self.best is None:
            return True
        best = self.best(value)
        if theorem.kind.promises:
            return theorem in best
        return not any(each.kind is Kind.EXACT for each in best)

    def curve(self, theorem: Theorem, values: NDArray[Any], here: float) -> Curve:
        """Curve of the theorem over the values."""
        epsilons = {value: self.epsilon(theorem, value) for value in values.tolist()}
        return Curve(
            theorem=theorem,
            epsilon=np.array([math.nan if epsilon is None else epsilon for epsilon in epsilons.values()]),
            here=epsilons[here],
            reason=next(iter(self.failing(theorem, here).values()), ""),
            start=None,
        )

    def start(self, theorem: Theorem) -> int | None:
        """Fewest users from which a theorem's hypotheses always hold.

        None without such a number, or on other axes.
        """
        low, high = 0, _FARTHEST
        if self.failing(theorem, high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.failing(theorem, middle) else (low, middle)
        return high

    def users_curve(self, theorem: Theorem, users: NDArray[np.int64], people: int) -> Curve:
        """Curve of a theorem over users, with a reason for failure that more users do not remove, if any."""
        failing, never = self.failing(theorem, people), self.failing(theorem, _FARTHEST)
        lasting = next((text for name, text in failing.items() if name in never), None)
        curve = self.curve(theorem, users, people)
        return replace(curve, start=self.start(theorem), reason=lasting or curve.reason)
