"""k-ary randomized response, and what is guessed about one of many people who use it."""

import math

import numpy as np

from shuffledp import Channel
from shuffledp.leakage import expected_max_load


def response(size: int, truth: float) -> Channel:
    """The truth with chance ``truth``, and each other value with equal chance."""
    lie = (1 - truth) / (size - 1)
    return Channel(np.where(np.eye(size, dtype=np.bool_), truth, lie))


def excess(people: int, size: int, truth: float = 1.0) -> float:
    """V - 1/k after randomizing and shuffling, for uniform and independent values: the paper's Theorem 22, evaluated.

    A vulnerability after both is q + (p - q) E[fullest bin] / n, where p = ``truth`` and q is any lie's chance.
    """
    lie = (1 - truth) / (size - 1)
    return (truth - lie) * (expected_max_load(people, size) / people - 1 / size)


def limit_constant(size: int) -> float:
    """The mean e_k of the largest of k standard normal numbers."""
    places = np.linspace(0.0, 12.0, 24_001)
    upper = np.array([0.5 * math.erfc(place / math.sqrt(2)) for place in places])
    height = -np.expm1(size * np.log1p(-upper)) - upper**size
    return float(np.trapezoid(height, places))


def limit_excess(people: int, size: int, truth: float = 1.0) -> float:
    """What V - 1/k tends to: e_k / sqrt(k n), times p - q."""
    return (truth - (1 - truth) / (size - 1)) * limit_constant(size) / math.sqrt(size * people)


def printed_excess(people: int, size: int, truth: float = 1.0) -> float:
    """The paper's equations (15) and (16) with the constant that it takes, f = 1."""
    return (truth - (1 - truth) / (size - 1)) * math.sqrt(math.log(size) / (size * people))
