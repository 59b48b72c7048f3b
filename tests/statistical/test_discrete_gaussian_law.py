"""The discrete Gaussian law, under the cryptographic source; other variances are rejected."""

import math

import numpy as np
import pytest
from thresholds import SAMPLES, assert_fits, assert_rejects

from shuffledp.protocols.shares.randomizers.discrete_gaussian import discrete_gaussian


def law_within(variance, reach):
    """Law at -reach .. reach, with all that lies beyond in the two end cells."""
    wide = 15 * math.ceil(math.sqrt(variance))
    weights = np.exp(-(np.arange(-wide, wide + 1) ** 2) / (2 * variance))
    law = weights / weights.sum()
    kept = law[wide - reach : wide + reach + 1].copy()
    kept[0], kept[-1] = law[: wide - reach + 1].sum(), law[wide + reach :].sum()
    return kept


@pytest.mark.parametrize(("variance", "reach"), [(1.0, 3), (16.0, 12), (17.7777777, 12), (1000.0, 90)])
def test_numbers_have_the_discrete_gaussian_law_and_a_wrong_variance_is_rejected(variance, reach):
    numbers = discrete_gaussian(variance, SAMPLES)
    counts = np.bincount(np.clip(numbers, -reach, reach) + reach, minlength=2 * reach + 1)
    assert_fits(counts, law_within(variance, reach))
    assert_rejects(counts, law_within(1.04 * variance, reach))


def test_neighboring_numbers_are_independent():
    pairs = discrete_gaussian(1.0, 2 * SAMPLES).reshape(-1, 2)
    cells = np.clip(pairs, -2, 2) + 2
    law = law_within(1.0, 2)
    assert_fits(np.bincount(5 * cells[:, 0] + cells[:, 1], minlength=25), np.outer(law, law).ravel())
