"""Exact sampling of noisy sort: the order of positions plus noise."""

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
