"""Upper and lower bound on the largest delta over all data sets of shuffled binary reports.

A data set counts by the number of people who hold the first answer; the number of people is any.

A report is 1 with chance p1 if the person holds the first answer, and with chance p0 < p1 if the second. If j of the
other n-1 people hold the first one, T ~ Bin(j, p1) + Bin(n-1-j, p0) of their reports are 1. With e = exp(epsilon),
a = p1 - e p0, and a victim who holds the first answer instead of the second,

    delta_j = max_k A_j(k),    A_j(k) = a Pr[T = k] - (e-1) Pr[T > k].

**Cover.** For m1 <= j <= m2, delta_j is at most the delta among m1 people who hold the first answer and n-1-m2 who hold
the second: the view of data set j is made from theirs by adding the reports of the others, whose law does not depend on
the victim. So blocks of {0, ..., n-1} bound all data sets from above, and ends of blocks are data sets.

**Evaluation.** The best k is a mode of the law t of T tilted by r^T, r = 1 + (e-1)/a, less than 1 away from its mean;
with M = E[r^T], A_j(k) = M r^-k (a t(k) - (e-1) sum_{i>0} r^-i t(k+i)). Probabilities are sums over roots of unity, of
which a few dozen matter, however many people there are (docs/proofs.md, "Binary response").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.accounting.numerics import SMALLEST, gaussian_epsilon, smallest_below
from shuffledp.core.table import Floats

_ROUNDING = 2.0**-53
_NEGLIGIBLE = 40.0  # e^-40 is below the rounding error of what it is added to
_CHUNK = 512  # crowds at once, of which variances do not differ much
_FIRST_BLOCKS, _PARTS, _MOST_BLOCKS = 64, 4, 40_000
_CURVE_BLOCKS = 1024
_TOLERANCE, _TOLERANCE_OF_FEW = 1e-3, 1e-6  # of delta, between the two sides
_FEW = 10_000  # people
_CLOSE = 1e-9  # of epsilon
_MOST_NODES = 400  # of a curve


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryChannel:
    """Binary channel: the chances of reports 1 and 0 for each of two answers.

    The chances of a report of 0 are ``nots``. The first answer has the larger chance of 1.
    """

    chances: tuple[float, float]
    nots: tuple[float, float]

    @property
    def mirrored(self) -> "BinaryChannel":
        """Channel with its outputs and its answers exchanged, to evaluate the other direction."""
        return BinaryChannel(chances=self.nots[::-1], nots=self.chances[::-1])

    @property
    def is_symmetric(self) -> bool:
        """Whether the channel equals its mirror image.

        If so, one direction of all data sets is enough.
        """
        return self.mirrored == self

    @property
    def gap(self) -> float:
        """Total variation distance between the reports of the two answers.

        It is computed from the chances that lose fewer digits.
        """
        (first, second), (not_first, not_second) = self.chances, self.nots
        return first - second if first + second < 1 else not_second - not_first

    @property
    def information(self) -> float:
        """Largest chi-squared information of one report among people who all hold one answer.

        That is (p1 - p0)^2 / (p (1 - p)).
        """
        return max(self.gap**2 / max(one * zero, SMALLEST) for one, zero in zip(self.chances, self.nots, strict=True))


def symmetric_channel(epsilon0: float) -> BinaryChannel:
    """Channel of binary randomized response with local loss ``epsilon0``."""
    odds = math.exp(-epsilon0)  # of a lie
    truth, lie = 1 / (1 + odds), odds / (1 + odds)
    return BinaryChannel(chances=(truth, lie), nots=(lie, truth))


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredCounts:
    """Counts of ones over all data sets of ``users`` people, who each send one report through the channel.

    ``limit`` is an epsilon from which on delta is 0 anyway.
    """

    channel: BinaryChannel
    users: int
    limit: float

    def epsilon(self, delta: float) -> float:
        """Least epsilon, to a tolerance, at which the delta of every data set is at most ``delta``."""
        guess = gaussian_epsilon(math.sqrt(self.channel.information / self.users), delta)
        return smallest_below(self.delta, level=delta, limit=self.limit, guess=guess, tolerance=_CLOSE)

    def delta(self, epsilon: float) -> float:
        """Largest delta over all data sets, rounded up; 0 at an epsilon of ``limit`` or more."""
        return self.sides(epsilon)[1]

    def sides(self, epsilon: float, *, tolerance: float | None = None) -> tuple[float, float]:
        """Lower and upper bound on the largest delta over all data sets, mostly within a relative tolerance.

        The tolerance is 1e-3 by default, and 1e-6 for up to 10,000 people.
        """
        if epsilon >= self.limit:
            return 0.0, 0.0
        if tolerance is None:
            tolerance = _TOLERANCE if self.users > _FEW else _TOLERANCE_OF_FEW
        lower = upper = 0.0
        for side in self._directions():
            found = side._narrowed(epsilon, lower, tolerance)
            lower, upper = max(lower, found[0]), max(upper, found[1])
        return lower, min(upper + SMALLEST, 1.0)

    def in_blocks(self, epsilon: float, *, blocks: int) -> float:
        """Upper bound on the largest delta over all data sets, from ``blocks`` equal blocks.

        It is 0 from the limit on.
        """
        if epsilon >= self.limit:
            return 0.0
        edges = _edges(self.users, blocks)
        return min(max(float(side._above(epsilon, edges[:-1], edges[1:]).max()) for side in self._directions()), 1.0)

    def curve(self, epsilons: Floats) -> Floats:
        """Upper bound by `in_blocks` on the largest delta over all data sets, at many epsilons.

        Of more than 400 epsilons it is evaluated at 400, with chords over exp(epsilon) between them.
        """
        inside = np.minimum(epsilons, self.limit)
        nodes = np.unique(inside)
        if len(nodes) > _MOST_NODES:
            nodes = nodes[np.linspace(0, len(nodes) - 1, _MOST_NODES).astype(np.int64)]
        deltas = np.array([self.in_blocks(float(node), blocks=_CURVE_BLOCKS) for node in nodes])
        return np.asarray(np.interp(np.expm1(inside), np.expm1(nodes), deltas), dtype=np.float64)

    def _directions(self) -> Sequence["CoveredCounts"]:
        """Directions of the pair of answers to evaluate: one for a symmetric channel, else two."""
        return (self,) if self.channel.is_symmetric else (self, replace(self, channel=self.channel.mirrored))

    def _narrowed(self, epsilon: float, known: float, tolerance: float) -> tuple[float, float]:
        """Lower and upper bound on the largest delta in one direction.

        Blocks whose bound is above the best data set's delta, by more than the tolerance, are cut again.
        """
        edges = _edges(self.users, _FIRST_BLOCKS)
        starts, ends = edges[:-1], edges[1:]
        lower, accepted, looked_at = known, 0.0, 0
        while True:
            upper = self._above(epsilon, starts, ends)
            lower = max(lower, float(self._below(epsilon, starts).max()))
            looked_at += len(starts)
            open_still = (upper > lower * (1 + tolerance)) & (ends - starts > 1)
            if not open_still.any() or looked_at > _MOST_BLOCKS:
                return lower, max(accepted, float(upper.max()))
            accepted = max(accepted, float(upper[~open_still].max(initial=0.0)))
            starts, ends = _cut(starts[open_still], ends[open_still])

    def _above(self, epsilon: float, starts: Floats, ends: Floats) -> Floats:
        """Upper bound on the delta of each block of data sets.

        The people in whom the block's data sets differ are left out.
        """
        return _deltas(self.channel, epsilon, starts, self.users - ends)[1]

    def _below(self, epsilon: float, ones: Floats) -> Floats:
        """Exact delta of each data set, rounded down."""
        return _deltas(self.channel, epsilon, ones, self.users - 1 - ones)[0]


def _edges(users: int, blocks: int) -> Floats:
    """Edges of at most ``blocks`` equal blocks of data sets, ascending from 0."""
    return np.unique(np.floor(np.linspace(0, users, min(blocks, users) + 1)))


def _cut(starts: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """First and last data sets of smaller blocks, after each block is cut in four.

    A block of fewer than four data sets is cut into single data sets.
    """
    shares = np.linspace(0, 1, _PARTS + 1)
    edges = np.floor(starts[:, np.newaxis] + (ends - starts)[:, np.newaxis] * shares)
    edges[:, -1] = ends
    firsts, lasts = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    kept = lasts > firsts
    return firsts[kept], lasts[kept]


def _deltas(channel: BinaryChannel, epsilon: float, ones: Floats, zeros: Floats) -> tuple[Floats, Floats]:
    """Lower and upper bound on delta for each crowd of people.

    A crowd has given numbers of people with the first answer (``ones``) and the second one (``zeros``).
    """
    growth = math.expm1(epsilon)
    gain = channel.gap - growth * channel.chances[1]
    slack = 8 * _ROUNDING * (channel.gap + (1 + growth) * channel.chances[1])
    if gain + slack <= 0:
        return np.zeros(len(ones)), np.zeros(len(ones))
    gain = max(gain, slack)
    crowds = _TiltedCrowds(channel, excess=growth / gain)
    found = []
    for first in range(0, len(ones), _CHUNK):
        part = slice(first, first + _CHUNK)
        found.append(crowds.best(ones[part], zeros[part], gain=gain, growth=growth, slack=2 * slack))
    value, error = np.concatenate(found, axis=1)
    return np.maximum(value - error, 0.0), np.maximum(value, 0.0) + error


class _TiltedReport:
    """Binary report with its chance of 1 tilted by r = 1 + excess.

    ``log_growth`` is log E[r^report].
    """

    def __init__(self, chance: float, other: float, excess: float) -> None:
        growth = chance * excess
        self.chance, self.other = chance * (1 + excess) / (1 + growth), other / (1 + growth)
        self.variance, self.log_growth = self.chance * self.other, math.log1p(growth)

    def log_characteristic(self, frequencies: Floats) -> tuple[Floats, Floats]:
        """Log-modulus and phase of the characteristic function E[exp(iw report)], after tilting."""
        half = np.sin(frequencies / 2) ** 2
        log_modulus = np.log1p(np.maximum(-4 * self.variance * half, _ROUNDING - 1)) / 2
        return log_modulus, np.arctan2(self.chance * np.sin(frequencies), 1 - 2 * self.chance * half)


class _TiltedCrowds:
    """Tilted laws of T for crowds of people, from which A(k) is evaluated."""

    def __init__(self, channel: BinaryChannel, *, excess: float) -> None:
        self.one, self.zero = (
            _TiltedReport(chance, other, excess) for chance, other in zip(channel.chances, channel.nots, strict=True)
        )
        self.log_tilt = math.log1p(excess)

    def best(self, ones: Floats, zeros: Floats, *, gain: float, growth: float, slack: float) -> Floats:
        """Largest A(k) of each crowd over all counts k, and a bound on the error; shape (2, crowds).

        A(k) is defined at the top of the module. The error includes the error of the gain (``slack``).
        """
        spreads = ones * self.one.variance + zeros * self.zero.variance
        reach = 2 + math.ceil(_NEGLIGIBLE / 3 + math.sqrt((_NEGLIGIBLE / 3) ** 2 + 2 * _NEGLIGIBLE * spreads.max()))
        frequencies = _frequencies(float(spreads.min()), reach)
        places = np.floor(ones * self.one.chance + zeros * self.zero.chance)
        moduli, phases = (
            np.outer(ones, of_one) + np.outer(zeros, of_zero)
            for of_one, of_zero in zip(
                self.one.log_characteristic(frequencies), self.zero.log_characteristic(frequencies), strict=True
            )
        )
        moduli, phases = np.exp(moduli), phases - np.outer(places, frequencies)
        kernel = self._kernel(frequencies, reach)
        sums = (moduli * np.cos(phases)) @ kernel.real.T - (moduli * np.sin(phases)) @ kernel.imag.T
        here, above, at_next, above_next = sums.T
        largest = np.maximum(gain * here - growth * above, (gain * at_next - growth * above_next) * self._step)
        growths = ones * self.one.log_growth + zeros * self.zero.log_growth
        scales = np.exp(growths - places * self.log_tilt)
        # Each frequency has an error in proportion to its modulus, of which the mean is at most this.
        mean = np.minimum(1.0, math.sqrt(math.pi / 8) / np.sqrt(np.maximum(spreads, SMALLEST)) + 1 / reach)
        unit = self._unit(ones + zeros, growths + places * (self.log_tilt + 2 * frequencies[-1]))
        error = 2 * gain * (unit * mean + 6 * math.exp(-_NEGLIGIBLE)) + unit * np.abs(largest)
        error += slack * (np.abs(here) + np.abs(at_next) + unit)
        return np.stack([largest, error]) * scales

    @property
    def _step(self) -> float:
        """Inverse of the tilt: 1/r."""
        return math.exp(-self.log_tilt)

    def _kernel(self, frequencies: Floats, reach: int) -> "np.ndarray[tuple[int, int], np.dtype[np.complex128]]":
        """Weights that turn characteristic functions into the sums of A(k) and A(k + 1); shape (4, frequencies).

        Weights of t(k), of the sum of r^-i t(k+i), and of both for k + 1.
        """
        weights = np.where(np.arange(len(frequencies)) % reach == 0, 0.5, 1.0) / reach
        decay = -(max(self.log_tilt, SMALLEST) + 1j * frequencies)
        above = weights * np.exp(decay) * np.expm1((reach - 1) * decay) / np.expm1(decay)
        turn = np.exp(-1j * frequencies)
        return np.stack([weights + 0j, above, weights * turn, above * turn])

    def _unit(self, people: Floats, powers: Floats) -> Floats:
        """Relative rounding error of a term.

        From its exponents, and from chances rounded in their last place.
        """
        rarest = max(min(self.one.other, self.zero.other), SMALLEST)
        late = np.minimum(np.sqrt(people / rarest), people)
        return np.asarray(16 * _ROUNDING * (100 + powers + late))


def _frequencies(least: float, reach: int) -> Floats:
    """Frequencies where a characteristic function exceeds e^-40, for sums of at least this variance."""
    number = reach
    if least > _NEGLIGIBLE / 2:
        last = 2 * math.asin(math.sqrt(_NEGLIGIBLE / 2 / least)) / math.pi
        number = min(math.ceil(last * reach), reach)
    return np.arange(number + 1, dtype=np.float64) * np.float64(math.pi / reach)
