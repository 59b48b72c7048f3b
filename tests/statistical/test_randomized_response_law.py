"""The law of the reports, against the exact one of the integers used; laws that are a little off are rejected."""

import numpy as np
import pytest
from thresholds import SAMPLES, assert_fits, assert_rejects

from shuffledp.randomizers import KaryRandomizedResponse, KaryRandomizedResponseModel

WRONG_BY = 1.05  # the factor in epsilon0 that every test must notice
CASES = [(1.0, 2), (0.5, 2), (2.0, 4), (3.0, 16)]


def law(model: KaryRandomizedResponseModel, answer: int) -> np.ndarray:
    return model.channel().matrix[answer]


@pytest.mark.parametrize(("epsilon0", "domain_size"), CASES)
def test_reports_follow_the_channel_and_a_loss_wrong_by_a_twentieth_is_rejected(epsilon0, domain_size):
    randomizer = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=domain_size)
    for answer in {0, domain_size - 1}:
        reports = randomizer.randomize(np.full(SAMPLES, answer))["value"]
        counts = np.bincount(reports, minlength=domain_size)
        assert_fits(counts, law(randomizer.model, answer))
        for factor in (WRONG_BY, 1 / WRONG_BY):
            wrong = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0 * factor, domain_size=domain_size)
            assert_rejects(counts, law(wrong, answer))


def test_lies_are_equally_likely_and_a_lie_favored_by_a_twentieth_is_rejected():
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=4)
    reports = randomizer.randomize(np.full(SAMPLES, 2))["value"]
    lies = np.bincount(reports[reports != 2], minlength=4)[[0, 1, 3]]
    assert_fits(lies, np.full(3, 1 / 3))
    favored = np.array([1.0, WRONG_BY, 1.0])
    assert_rejects(lies, favored / favored.sum())


def test_neighboring_reports_are_independent_and_a_correlation_of_a_thirtieth_is_rejected():
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    reports = randomizer.randomize(np.zeros(SAMPLES, dtype=np.int64))["value"].astype(np.int64)
    pairs = np.bincount(2 * reports[0::2] + reports[1::2], minlength=4)
    p, q = randomizer.model.p, randomizer.model.q
    assert_fits(pairs, [p * p, p * q, q * p, q * q])
    shift = p * q / 30
    assert_rejects(pairs, [p * p + shift, p * q - shift, q * p - shift, q * q + shift])
