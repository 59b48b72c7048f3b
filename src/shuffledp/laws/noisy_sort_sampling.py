"""Exact sampling of noisy sort (the order of positions plus noise), and the trade-off of Gaussian noise."""

import itertools
import math
from decimal import Decimal, getcontext, localcontext

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.laws.exact_draws import Bits, lost, precise
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource, resolve_source

NOISES = ("laplace", "gaussian")
_ONE = np.uint64(1)
_ROUNDING = 2.0**-50  # error of a uniform number, with what follows from it
_RELATIVE_ERROR = {"laplace": 2.0**-46, "gaussian": 2.0**-40}  # of log, and of normal quantiles
_NORMAL_ROUNDING = 2.0**-48  # error of a normal probability at 0; far from 0 the argument's error counts more
_SMALLEST = 1e-300
_LARGEST_MU = 60.0
_FAR = 1e100  # standard deviations: nothing is left so far away, and squares may be no floats


def sample_noisy_sort(
    positions: ArrayLike,
    *,
    noise: str = "laplace",
    scale: float = 1.0,
    block_starts: ArrayLike | None = None,
    source: RandomSource | None = None,
) -> Integers:
    """Random order of ranks by ``positions[rank] + scale * noise`` ("delay shuffler").

    The noise of all ranks has one law. With Laplace noise the loss of a group is its spread of positions over ``scale``
    (`shuffledp.protocols.d_sigma.sort_spreads`); with Gaussian noise the spread with ``power=2`` over ``scale`` is the
    mu of `shuffledp.laws.gaussian_delta`. Place k of the result holds rank w[k].

    Guarantees:
        1. The law is that of continuous noise, exactly, if the words of the source are uniform, and if the float
           functions of the machine err by less than 2^-46 (log) and 2^-40 (normal quantiles) of their values: keys that
           lie too close to be told apart are compared in decimal arithmetic, with further words where the first do not
           suffice. So there are no ties either, whose order could tell something.
        2. Blocks do not mix.
        3. With ``source=None`` the words are those of `shuffledp.randomness.sources.SecureSource`.

    Args:
        positions: n finite numbers; as a rule nondecreasing. They must not depend on anybody's data.
        noise: "laplace" (density ``exp(-abs(x)) / 2``) or "gaussian" (standard normal).
        scale: above 0; infinity is a uniform permutation of each block.
        block_starts: the ranks at which blocks begin, ascending and from 0 on; None is one block.
        source: None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> sample_noisy_sort([0.0, 1e6, 2e6]).tolist()
        [0, 1, 2]
    """
    validate.one_of(NOISES, noise=noise)
    if not (isinstance(scale, int | float | np.floating | np.integer) and not isinstance(scale, bool) and scale > 0):
        raise invalid("a number above 0", scale=scale)
    at = checked_positions(positions)
    blocks = _blocks(block_starts, at.size)
    source = resolve_source(source)
    if at.size == 0 or scale == math.inf:
        order = random_permutation(at.size, source=source)
        return order[np.argsort(blocks[order], kind="stable")]
    words = source.words(at.size)
    with np.errstate(over="ignore", invalid="ignore"):  # keys that floats cannot hold are compared below
        keys, margins = _keys(at / float(scale), words, noise)
        order = np.lexsort((keys, blocks)) if block_starts is not None else np.argsort(keys)
        undecided = _undecided(keys[order], margins[order], blocks[order])
    for start, stop in undecided:
        chain = order[start:stop]
        chain_keys = [_Key(float(at[rank]), float(scale), int(words[rank]), noise) for rank in chain]
        order[start:stop] = _settled(chain, chain_keys, source)
    words.fill(0)
    return order.astype(np.int64, copy=False)


def checked_positions(positions: ArrayLike) -> Floats:
    """Positions as an array of finite floats."""
    try:
        at = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError("positions must be an array of numbers.") from error
    if at.ndim != 1 or not np.isfinite(at).all():
        raise InvalidParameterError(
            f"positions must be finite numbers in one dimension; got an array of shape {at.shape}."
        )
    return at


def _blocks(starts: ArrayLike | None, count: int) -> Integers:
    """Number of the block that each rank is in."""
    blocks = np.zeros(count, dtype=np.int64)
    if starts is None:
        return blocks
    at = np.asarray(starts)
    if at.ndim != 1 or not np.issubdtype(at.dtype, np.integer) or (at.size and (at[0] != 0 or at[-1] >= count)):
        raise InvalidParameterError(f"block_starts must be ranks from 0 to {count - 1}, with 0 first.")
    if (np.diff(at) <= 0).any():
        raise InvalidParameterError("block_starts must be ascending.")
    blocks[at[1:]] = 1
    return np.cumsum(blocks)


def _keys(at: Floats, words: NDArray[np.uint64], noise: str) -> tuple[Floats, Floats]:
    """Positions plus noise, in units of the noise's scale, with error bounds.

    The last bit of a word is the sign; the others are a uniform u, of which the noise is -log(u), or the point above
    which a normal number lies with probability u / 2.
    """
    counts = words >> _ONE
    uniform = (counts + 0.5) * 2.0**-63
    if noise == "laplace":
        magnitude = -np.log(uniform)
    else:
        from scipy.special import ndtri

        magnitude = -ndtri(uniform / 2)
    keys = np.where(words & _ONE, at - magnitude, at + magnitude)
    margins = _ROUNDING + _RELATIVE_ERROR[noise] * (np.abs(at) + np.abs(magnitude)) + 2.0**-61 / uniform
    margins[counts == 0] = math.inf
    return keys, margins


def _undecided(keys: Floats, margins: Floats, blocks: Integers) -> list[tuple[int, int]]:
    """Runs of neighboring keys that may be in the wrong order because of float errors."""
    highest, lowest = keys + margins, keys - margins
    wide = np.flatnonzero(np.isinf(margins))
    if wide.size:  # a key with an infinite margin may lie anywhere in its block
        affected = np.isin(blocks, blocks[wide])
        highest[affected], lowest[affected] = math.inf, -math.inf
    # A wide margin may reach beyond the next key. Blocks far apart make running extremes start anew with each block.
    span = np.ptp(keys) + 2 * margins[np.isfinite(margins)].max(initial=0) + 1
    highest = np.maximum.accumulate(highest + span * blocks)
    lowest = np.minimum.accumulate((lowest + span * blocks)[::-1])[::-1]
    separate = np.append(True, (highest[:-1] < lowest[1:]) | (blocks[:-1] != blocks[1:]))
    starts = np.flatnonzero(separate)
    stops = np.append(starts[1:], keys.size)
    long = stops - starts > 1
    return list(zip(starts[long].tolist(), stops[long].tolist(), strict=True))


class _Key:
    """Position plus noise of one rank, with known bits of the noise; in units of the scale."""

    def __init__(self, position: float, scale: float, word: int, noise: str) -> None:
        self._position, self._scale, self._noise = Decimal(position), Decimal(scale), noise
        self._negative, self.bits = bool(word & 1), Bits(word >> 1, 63)

    def interval(self) -> tuple[Decimal, Decimal]:
        """Lower and upper bound of position plus noise."""
        center = self._position / self._scale
        most, least = (_magnitude(u, self._noise) for u in self.bits.ends())
        if self._negative:
            least, most = -most, -least
        return center + least - lost(), center + most + lost()


def _settled(chain: Integers, keys: list[_Key], source: RandomSource) -> Integers:
    """Ranks of a run in the exact order of their keys.

    As many digits and bits are computed as this takes.
    """
    while True:
        with localcontext(precise(100 + keys[0].bits.count)):
            intervals = sorted((*key.interval(), place) for place, key in enumerate(keys))
        if all(high < low for (_, high, _), (low, _, _) in itertools.pairwise(intervals)):
            return chain[[place for _, _, place in intervals]]
        for key in keys:
            key.bits.extend(source)


def _magnitude(u: Decimal, noise: str) -> Decimal:
    if u == 0:
        return Decimal("Infinity")
    return -u.ln() if noise == "laplace" else _normal_above(u / 2)


def _normal_above(chance: Decimal) -> Decimal:
    """Nonnegative x that a standard normal number exceeds with this probability.

    By Newton's method.
    """
    from scipy.special import ndtri

    root = (2 * _pi()).sqrt()
    x = Decimal(max(0.0, -float(ndtri(float(chance)))))
    while True:
        density = (-x * x / 2).exp() / root
        step = (Decimal("0.5") - density * _odd_series(x) - chance) / density
        x += step
        if abs(step) < lost() / 1000:
            return x


def _odd_series(x: Decimal) -> Decimal:
    """Sum x + x^3 / 3 + x^5 / (3 * 5) + ... of odd powers.

    Times the normal density it is the probability from 0 to x.
    """
    total, term, odd = x, x, 1
    while True:
        odd += 2
        term = term * x * x / odd
        if total + term == total:
            return total
        total += term


def _pi() -> Decimal:
    """Number pi by Machin's formula 16 arctan(1/5) - 4 arctan(1/239), in integers."""
    unit = 10 ** (getcontext().prec + 10)

    def arctan(inverse: int) -> int:
        total, power, odd = 0, unit // inverse, 1
        while power:
            total += power // odd if odd % 4 == 1 else -(power // odd)
            power, odd = power // inverse**2, odd + 2
        return total

    pi: Decimal = Decimal(16 * arctan(5) - 4 * arctan(239)) / unit
    return pi


# ---- the trade-off of Gaussian noise ---------------------------------------------------------------------------------


def gaussian_delta(mu: float, alpha: float) -> float:
    """Smallest delta at which a Gaussian mechanism of parameter ``mu`` is (alpha, delta)-private.

    ``mu`` is the sensitivity in units of the noise's scale. delta = Phi(mu / 2 - alpha / mu) - exp(alpha) Phi(-mu / 2 -
    alpha / mu), rounded up; and 0 for mu = 0. A sort by positions plus Gaussian noise has mu = largest spread of a
    group (``sort_spreads(..., power=2)``) / scale, and is then (alpha, delta)-d_sigma private for every alpha. It is
    private for no alpha with delta = 0.

    Args:
        mu: 0 or more, in units of the noise's standard deviation.
        alpha: 0 or more.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy", ICML 2018, Theorem 8.

    Example:
        >>> round(gaussian_delta(1.0, 1.0), 6)
        0.126937
    """
    validate.nonnegative(mu=mu, alpha=alpha)
    if mu == 0 or alpha == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    if alpha == 0:
        return min(math.erf(mu / math.sqrt(8)) * (1 + _NORMAL_ROUNDING) + _SMALLEST, 1.0)
    center, reach = alpha / mu, mu / 2 + alpha / mu
    if reach > _FAR:
        return _SMALLEST if center > mu else 1.0
    likely = _normal_below(mu / 2 - center)
    unlikely = math.exp(min(alpha + _log(_normal_below(-reach)), 0.0))
    error = _NORMAL_ROUNDING * (2 + reach + reach**2)
    return min(max(likely * (1 + error) - unlikely * max(1 - error, 0.0), _SMALLEST), 1.0)


def _normal_below(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _log(chance: float) -> float:
    """Logarithm of a probability; minus infinity if its digits are lost because it is so small."""
    return math.log(chance) if chance > _SMALLEST else -math.inf


def gaussian_mu(alpha: float, delta: float) -> float:
    """Largest mu, at most 60, at which `gaussian_delta` at ``alpha`` is at most ``delta``, by bisection.

    Of alpha 0 or more, and delta strictly between 0 and 1, 1e-200 or more; the errors are those of `gaussian_delta`.

    Example:
        >>> round(gaussian_mu(1.0, 1e-6), 6)
        0.236704
    """
    validate.nonnegative(alpha=alpha)
    validate.open_probability(delta=delta)
    if delta < 1e-200:
        raise invalid("1e-200 or more", delta=delta)
    low, high = 0.0, _LARGEST_MU
    if gaussian_delta(high, alpha) <= delta:
        return high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return low
        low, high = (middle, high) if gaussian_delta(middle, alpha) <= delta else (low, middle)


def gaussian_alpha(mu: float, delta: float) -> float:
    """Smallest alpha at which `gaussian_delta` of ``mu`` is at most ``delta``, by bisection; or infinity.

    Of mu 0 or more, infinity included, and delta strictly between 0 and 1; the errors are those of `gaussian_delta`.

    Example:
        >>> round(gaussian_alpha(gaussian_mu(1.0, 1e-6), 1e-6), 6)
        1.0
    """
    validate.nonnegative(mu=mu)
    validate.open_probability(delta=delta)
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
        if mu > _LARGEST_MU * 1e3 or high == math.inf:
            return math.inf
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        low, high = (low, middle) if gaussian_delta(mu, middle) <= delta else (middle, high)
