"""What theorems share that reduce a shuffle to a uniform one of the same reports, at a cost: its blanket bounds."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.by_law import LawTheorem
from shuffledp.accounting.evaluators.laws import ReportLaw
from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.channel import BlanketChannel
from shuffledp.accounting.theorems.fmt23 import StrongPair
from shuffledp.accounting.theorems.laplace import BlanketLaplace
from shuffledp.accounting.theorems.two_level import BlanketTwoLevel
from shuffledp.models import ProtocolModel, ShuffleModel
from shuffledp.statements import Hypothesis

__all__ = [
    "blanket_bound",
    "blanket_laws",
    "raised",
    "uniform_curve",
    "uniform_delta",
    "uniform_epsilons",
    "uniform_model",
]

Floats = NDArray[np.float64]

_BLANKETS: tuple[Theorem, ...] = (StrongPair(), BlanketTwoLevel(), BlanketLaplace(), BlanketChannel())
_ANY_DELTA = 0.5
_ROUND_UP = 1 + 1e-12


def blanket_bound(model: ProtocolModel, *, size: int, delta: float) -> Hypothesis:
    """A blanket bound holds for the reports of so many people."""
    blankets = [each.id for each in _applying(model, size, delta)] if size > 1 else []
    return Hypothesis(
        name="blanket-bound",
        requirement="a blanket bound for these reports",
        value=", ".join(blankets) or f"none for {model.local.kind!r} reports",
        holds=bool(blankets),
    )


def uniform_epsilons(model: ProtocolModel, size: int, delta: float) -> Iterator[float]:
    """What the bounds say of a uniform shuffle of so many people, the quickest one first."""
    uniform = uniform_model(model, size)
    return (theorem.epsilon(uniform, delta=delta) for theorem in _applying(model, size, delta))


def uniform_delta(model: ProtocolModel, size: int, epsilons: Floats) -> Floats:
    """The least delta that they say at each epsilon; 1 where none says anything."""
    uniform, theorems = uniform_model(model, size), _applying(model, size, _ANY_DELTA)
    least = np.ones(len(epsilons))
    for theorem in theorems:
        found = [theorem.delta_at(uniform, epsilon=float(epsilon)) for epsilon in epsilons]
        least = np.minimum(least, np.array(found))
    return least


def uniform_curve(model: ProtocolModel, size: int, epsilons: Floats) -> Floats:
    """The same for many epsilons, a little less tight."""
    uniform, theorems = uniform_model(model, size), _applying(model, size, _ANY_DELTA)
    least = np.ones(len(epsilons))
    for theorem in theorems:
        least = np.minimum(least, theorem.curve(uniform, epsilons=epsilons))
    return least


def raised(uniform: Callable[[Floats], Floats], epsilons: Floats, *, cost: float, remainder: float = 0.0) -> Floats:
    """The curve that says ``uniform(epsilon) + remainder`` at ``epsilon + cost``, and what follows below the cost.

    A curve of delta is convex in exp(epsilon) and falls with a slope of -1 at most, so that at an epsilon below the
    cost it is exp(cost) - exp(epsilon) higher than at the cost, at most.
    """
    if math.isinf(cost) or remainder >= 1:
        return np.ones(len(epsilons))
    left = np.maximum(np.nextafter(epsilons - cost, -np.inf), 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        missing = np.exp(epsilons) * np.expm1(cost - epsilons) * _ROUND_UP
    above = np.where(epsilons < cost, missing, 0.0) + remainder
    worth = above < 1  # the others would be 1 anyway
    found = np.ones(len(epsilons))
    found[worth] = np.minimum((uniform(left[worth]) + above[worth]) * (1 + 1e-15), 1.0) if worth.any() else 1.0
    return found


def blanket_laws(model: ProtocolModel, size: int, delta: float) -> list[tuple[ReportLaw, ...]]:
    """For each bound that applies, the laws behind it for every pair of inputs that counts, against its blanket."""
    uniform, found = uniform_model(model, size), []
    for theorem in _applying(model, size, delta):
        if isinstance(theorem, LawTheorem):
            found.append(tuple(theorem.family(uniform).laws))
        else:
            ratio = math.exp(model.local.epsilon0)
            values, masses = np.array([ratio, 1.0]), np.full(2, 1 / (1 + ratio))
            found.append((ReportLaw(first=values, second=values[::-1], mass=masses),))
    return found


def uniform_model(model: ProtocolModel, size: int) -> ProtocolModel:
    """The same reports of so many people, uniformly shuffled."""
    return ProtocolModel(local=model.local, shuffle=ShuffleModel.from_dict({"kind": "uniform", "num_users": size}))


def _applying(model: ProtocolModel, size: int, delta: float) -> list[Theorem]:
    uniform = uniform_model(model, size)
    return [theorem for theorem in _BLANKETS if theorem.applies(uniform, delta=delta)]
