"""Privacy losses on a grid: dominating pairs from curves of delta, and sums of losses.

Sums are computed by FFT, from above. Let H(g) = delta(log g) bound the hockey-stick divergence of every pair of
neighboring laws in both directions, for each ratio g >= 1. The profile of a pair is convex, and so is the largest one
of several pairs, such as all ordered pairs of inputs of a lopsided randomizer: no one pair need be the worst at every
ratio. A curve above it need not be convex, but the lower convex hull of its points is above every convex function that
they are above. So the chords of that hull are above H; and chords are the profile of a pair of laws P, Q with finitely
many likelihood ratios, whose masses are the changes of slope (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022,
"Connect the dots"). By the symmetry of the two directions Q gives the ratio 1/g the mass that P gives g.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.numerics import smallest_below
from shuffledp.core.table import Floats, Integers

_BEYOND = 1e-4  # of delta: the probability of losses above the grid
_BELOW = 1e-4  # tilted probability of losses below the grid, which wrap around to its upper end
_LARGEST_POWER = 600.0
_HALVINGS = 60
_PER_SCALE = 40  # grid points, about, in one standard deviation of a release's loss
_WORKED_OUT = 20  # nodes of a curve per standard deviation: the chords between them cost a few parts in 10^4
_MOST_LOSSES = 20_000
LARGEST_LOSS = 700.0  # of one release, in nats: its exponential is still a float
_NEARLY = 0.98
_TRIALS = np.geomspace(0.03, 30, 61)  # rates for Chernoff's bound, in inverse standard deviations
_FFT_ERROR = 2e-15  # times log2 of the size: bound on the relative error of a transform


class Curve(Protocol):
    """Theorem's curve of delta for a model, at every epsilon and in both directions."""

    def curve(self, model: Any, *, epsilons: Floats) -> Floats:
        """Delta at each of many epsilons."""

    def delta_at(self, model: Any, *, epsilon: float) -> float:
        """Delta at one epsilon."""

    def epsilon(self, model: Any, *, delta: float) -> float:
        """Epsilon at one delta."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """Symmetric pair of laws P, Q, given by its positive losses log(P/Q), ascending.

    ``masses`` are their probabilities under Q (under P they are exp(loss) times as large), ``infinite`` the probability
    under P of what Q never shows.
    """

    losses: Floats
    masses: Floats
    infinite: float


def profile_at(theorem: Curve, model: Any, *, losses: Floats) -> Profile:
    """Dominating pair on these losses, from the curve of a theorem that applies.

    The losses are above 0 and ascend.
    """
    epsilons = np.concatenate([[0.0], losses])
    deltas = np.minimum.accumulate(theorem.curve(model, epsilons=epsilons))
    growths = np.expm1(epsilons)
    kept = lower_hull(growths, deltas)
    slopes = np.append(np.diff(deltas[kept]) / np.diff(growths[kept]), 0.0)
    # The first vertex is ratio 1, whose mass is whatever is left.
    return Profile(losses=epsilons[kept][1:], masses=np.maximum(np.diff(slopes), 0.0), infinite=float(deltas[-1]))


def lower_hull(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Indices of the points that are vertices of the lower convex hull of all points.

    A convex curve below all the points lies below the hull too.
    """
    kept: list[int] = []
    for place in range(len(x)):
        while len(kept) > 1:
            before, last = kept[-2], kept[-1]
            rise, run = y[last] - y[before], x[last] - x[before]
            if rise * (x[place] - x[before]) < (y[place] - y[before]) * run:
                break
            kept.pop()
        kept.append(place)
    return np.array(kept, dtype=np.intp)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossLaw:
    """Law of the privacy loss of one release: multiples of a step (``places``, ascending) and infinity."""

    places: Integers
    masses: Floats
    infinite: float

    def tilted(self, rate: float) -> tuple[float, Floats]:
        """Log of E[exp(rate * place)], and the loss law tilted by the rate."""
        with np.errstate(divide="ignore"):
            powers = np.log(self.masses) + rate * self.places
        top = float(powers.max())
        terms = np.exp(powers - top)
        total = float(terms.sum())
        return top + math.log(total), terms / total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossSum:
    """Law of the summed privacy losses of all releases, on an ascending grid of ``losses``, in nats.

    Probabilities are ``tilted`` by exp(rate x loss - log_moment), so that those that matter are not lost to rounding,
    which adds up to less than ``error``; ``beyond`` is the probability of losses above the grid.
    """

    losses: Floats
    tilted: Floats
    rate: float
    log_moment: float
    error: float
    beyond: float

    def delta(self, epsilon: float) -> float:
        """Upper bound on delta at an epsilon: E[(1 - exp(epsilon - loss))_+].

        It is 1 below the grid, which leaves losses out.
        """
        if epsilon < self.losses[0]:
            return 1.0
        scale = self.log_moment - self.rate * epsilon
        if scale > _LARGEST_POWER:
            return 1.0
        excess = np.maximum(self.losses - epsilon, 0.0)
        found = float(self.tilted @ (np.exp(-self.rate * excess) * -np.expm1(-excess))) + self.error
        return min(found * math.exp(scale) * (1 + 1e-9) + self.beyond, 1.0)

    def epsilon(self, delta: float, *, limit: float) -> float:
        """Least epsilon at this delta; at most ``limit``, an epsilon that is known to suffice."""
        return smallest_below(self.delta, level=delta, limit=limit, tolerance=1e-7)


def loss_sum(laws: Sequence[LossLaw], *, step: float, repeats: int, delta: float) -> LossSum:
    """Law, on one grid, of the sum of independent losses: ``repeats`` from each of the laws.

    It is accurate near this delta. Losses above the grid count as infinite, and those below come back at its upper end:
    both err upward, at every epsilon on the grid. Below it nothing is said, since tilted losses that come back are too
    light to stand for those that are missing.
    """
    rate = _rate(laws, repeats, math.log(delta))
    first = math.floor(_extreme(laws, repeats, rate, math.log(_BELOW), -1))
    last = math.ceil(_extreme(laws, repeats, 0.0, math.log(_BEYOND * delta), 1))
    size = 1 << (last - first + 1).bit_length()
    spectrum, steepness, log_moment = np.ones(size // 2 + 1, dtype=np.complex128), np.ones(size // 2 + 1), 0.0
    for law in laws:
        moment, terms = law.tilted(rate)
        folded = np.zeros(size)
        np.add.at(folded, law.places % size, terms)
        factor = np.fft.rfft(folded)
        spectrum *= factor**repeats
        steepness *= np.minimum(np.abs(factor), 1.0) ** (repeats - 1)
        log_moment += repeats * moment
    tilted = np.maximum(np.roll(np.fft.irfft(spectrum, size), -first), 0.0)
    finite = repeats * sum(math.log1p(-law.infinite) for law in laws)
    rounding = _FFT_ERROR * math.log2(size) * (len(laws) * repeats + 1)
    return LossSum(
        losses=np.asarray((first + np.arange(size)) * step, dtype=np.float64),
        tilted=tilted,
        rate=rate / step,
        log_moment=log_moment,
        error=rounding * math.sqrt(2) * float(np.linalg.norm(steepness)),
        beyond=_BEYOND * delta - math.expm1(finite),
    )


def _moments(laws: Sequence[LossLaw], repeats: int, rate: float) -> tuple[float, float, float]:
    """Log generating function, mean and variance of the tilted sum of losses."""
    log_moment = mean = variance = 0.0
    for law in laws:
        moment, terms = law.tilted(rate)
        center = float(terms @ law.places)
        log_moment += repeats * moment
        mean += repeats * center
        variance += repeats * float(terms @ (law.places - center) ** 2)
    return log_moment, mean, variance


def _rate(laws: Sequence[LossLaw], repeats: int, log_delta: float) -> float:
    """Tilting rate per step at which Chernoff's bound at the tilted mean is delta.

    Or at which the mean is near the top.
    """
    limit = repeats * sum(float(np.log(law.masses[law.masses > 0][-1])) for law in laws)
    target = max(log_delta, _NEARLY * limit)
    low, high = 0.0, _LARGEST_POWER / max(int(law.places[-1]) for law in laws)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        log_moment, mean, _ = _moments(laws, repeats, middle)
        low, high = (middle, high) if log_moment - middle * mean > target else (low, middle)
    return low


def _extreme(laws: Sequence[LossLaw], repeats: int, rate: float, log_left: float, sign: int) -> float:
    """Place beyond which the tilted sum has a probability of at most exp(``log_left``).

    By Chernoff's bound. Above for sign 1, below for sign -1.
    """
    base, _, variance = _moments(laws, repeats, rate)
    places = []
    for trial in _TRIALS / math.sqrt(max(variance, 1e-9)):
        moment, _, _ = _moments(laws, repeats, rate + sign * trial)
        places.append((moment - base - log_left) / trial)
    farthest = repeats * max(int(np.abs(law.places).max()) for law in laws) * len(laws)
    return sign * float(min(*places, farthest))


def loss_laws(theorems: Sequence[Curve], models: Sequence[Any], left_out: float) -> tuple[list[LossLaw], float] | None:
    """Loss law of each model, and their common step.

    None if nearly infinite losses are too likely to be left out.
    """
    reaches = [loss_reach(*part, left_out) for part in zip(theorems, models, strict=True)]
    if max(reaches) > LARGEST_LOSS:
        return None
    releases = list(zip(theorems, models, reaches, strict=True))
    # With this step the grid costs one part in a thousand or less: 2.5 delta(0) is one standard deviation.
    scales = [min(2.5 * theorem.delta_at(model, epsilon=0.0), reach) for theorem, model, reach in releases]
    step = max(min(scales) / _PER_SCALE, max(reaches) / _MOST_LOSSES)
    strides = [max(int(scale / _WORKED_OUT / step), 1) for scale in scales]
    return [loss_law(*each[:2], step, each[2], stride) for each, stride in zip(releases, strides, strict=True)], step


def loss_reach(theorem: Curve, model: Any, left_out: float) -> float:
    """Loss beyond which the theorem's curve of delta is at most ``left_out``."""
    return max(theorem.epsilon(model, delta=left_out), 1e-12)


def loss_law(theorem: Curve, model: Any, step: float, reach: float, stride: int = 1) -> LossLaw:
    """Loss law of a theorem's dominating pair, in steps.

    Losses are rounded to multiples of ``stride`` steps.
    """
    last = math.ceil(reach / step) + stride
    pair = profile_at(theorem, model, losses=np.arange(stride, last, stride) * np.float64(step))
    above, below = pair.masses * np.exp(pair.losses), pair.masses[::-1]
    rest = max(1 - pair.infinite - float(above.sum() + below.sum()), 0.0)
    places = np.rint(pair.losses / step).astype(np.int64)
    return LossLaw(
        places=np.concatenate([-places[::-1], [0], places]),
        masses=np.concatenate([below, [rest], above]),
        infinite=pair.infinite,
    )
