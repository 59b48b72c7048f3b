"""Rounding of vectors to whole numbers, right on average and of bounded length."""

import math

import numpy as np
from numpy.typing import NDArray

from shuffledp.randomness.sources import RandomSource

_PLACES = 53  # binary places of a uniform number


def largest_square(scale: float, dimension: int) -> float:
    """Bound on the squared length of a rounded vector, for lengths of at most ``scale`` before."""
    return scale**2 + dimension / 4 + 2 * scale + 1


def scale_of(square: int, dimension: int) -> float:
    """Largest length whose vectors always have a squared length of at most ``square`` after rounding.

    Example:
        >>> round(scale_of(22184, 1000), 2)
        147.1
    """
    return math.sqrt(square - dimension / 4) - 1


def rounded_in_pairs(vectors: NDArray[np.float64], *, square: int, source: RandomSource) -> NDArray[np.int64]:
    """Vectors rounded to whole numbers, unbiased, with a squared length of at most ``square``.

    Of each coordinate y let a = floor(|y|), f = |y| - a, w = 2a + 1: rounding it up adds w to the squared length a^2.
    Two coordinates i, j that are not whole are taken at a time. With t+ = min(w_i (1 - f_i), w_j f_j) and t- =
    min(w_i f_i, w_j (1 - f_j)), by a coin of chance t- / (t+ + t-), w_i f_i grows by t+ and w_j f_j falls by it, or the
    other way round by t-. That keeps both on average, and the sum of all w f always; each coin settles one of the two.
    The last one is rounded by a coin of its own, so that the squared length is at most that sum plus the sum of a^2
    plus one w.

    Guarantees:
        1. The mean of each coordinate is its value, up to the rounding of floats.
        2. The squared length, in whole numbers, is at most ``square``, whatever floats did.

    Args:
        vectors: shape (n, dimension), each of a length of `scale_of` at most.
        square: the bound.
        source: randomness.
    """
    people, dimension = vectors.shape
    whole = np.floor(np.abs(vectors))
    rest, weight = np.abs(vectors) - whole, 2 * whole + 1
    up = np.zeros((people, dimension), dtype=np.bool_)
    rows, held = np.arange(people), np.zeros(people, dtype=np.int64)
    held_rest, held_weight = rest[:, 0].copy(), weight[:, 0].copy()
    for place in range(1, dimension):
        other_rest, other_weight = rest[:, place], weight[:, place]
        to_held = np.minimum(held_weight * (1 - held_rest), other_weight * other_rest)
        to_other = np.minimum(held_weight * held_rest, other_weight * (1 - other_rest))
        is_to_held = _uniform(people, source) * (to_held + to_other) < to_other
        # The held one is settled if its own part of the minimum was the smaller; else the other one is.
        settles = np.where(
            is_to_held,
            held_weight * (1 - held_rest) <= other_weight * other_rest,
            held_weight * held_rest <= other_weight * (1 - other_rest),
        )
        moved = np.where(is_to_held, -to_held, to_other)  # of weight times rest, from the held one to the other
        up[rows, np.where(settles, held, place)] = is_to_held == settles
        held_rest = np.where(settles, other_rest + moved / other_weight, held_rest - moved / held_weight)
        np.clip(held_rest, 0.0, 1.0, out=held_rest)
        held_weight = np.where(settles, other_weight, held_weight)
        held = np.where(settles, place, held)
    up[rows, held] = _uniform(people, source) < held_rest
    numbers: NDArray[np.int64] = (np.copysign(1, vectors) * (whole + up)).astype(np.int64)
    for shorter in (np.trunc(vectors), np.zeros_like(vectors)):  # neither is ever needed but for errors of floats
        long = np.einsum("ij,ij->i", numbers, numbers) > square
        numbers[long] = shorter[long].astype(np.int64)
    return numbers


def _uniform(count: int, source: RandomSource) -> NDArray[np.float64]:
    """Uniform numbers below 1, of 53 binary places."""
    return np.ldexp((source.words(count) >> np.uint64(64 - _PLACES)).astype(np.float64), -_PLACES)
