"""Small channels, priors and gains for the tests of leakage, and vulnerability by trying every strategy."""

import itertools
from fractions import Fraction

import numpy as np

from shuffledp.core.channels import Channel

HALF, QUARTER, ZERO, ONE = Fraction(1, 2), Fraction(1, 4), Fraction(0), Fraction(1)
FLIP = Channel([[3 * QUARTER, QUARTER], [QUARTER, 3 * QUARTER]])
THREE = Channel(
    [
        [HALF, Fraction(1, 3), Fraction(1, 6)],
        [QUARTER, QUARTER, HALF],
        [Fraction(1, 5), Fraction(3, 5), Fraction(1, 5)],
    ]
)


def as_floats(channel):
    return Channel(channel.matrix.astype(np.float64), channel.inputs, channel.outputs)


def random_fractions(rng, *shape, total=None):
    """Fractions with small numerators; if a total is asked for, along the last axis."""
    weights = rng.integers(1, 20, shape)
    entries = np.array([*(Fraction(int(w)) for w in weights.flat), None], dtype=object)[:-1].reshape(shape)
    return entries if total is None else entries * total / entries.sum(axis=-1, keepdims=True)


def random_channel(rng, inputs, outputs):
    return Channel(random_fractions(rng, inputs, outputs, total=1))


def best_over_strategies(prior, channel, gain):
    """The best average gain of all ways to choose an action for each output."""
    best = None
    for actions in itertools.product(range(len(gain)), repeat=len(channel.outputs)):
        value = sum(
            prior[x] * channel.matrix[x, y] * gain[action][x]
            for x in range(len(channel.inputs))
            for y, action in enumerate(actions)
        )
        best = value if best is None or value > best else best
    return best
