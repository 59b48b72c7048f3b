import numpy as np
import pytest
from thresholds import SIGNIFICANCE, assert_fits, assert_rejects, p_value


def test_a_p_value_of_two_cells_is_the_exact_binomial_one():
    assert p_value([0, 10], [0.5, 0.5]) == pytest.approx(2 * 0.5**10)


def test_counts_that_equal_their_expectation_fit_and_a_law_wrong_by_a_tenth_is_rejected():
    counts = np.array([30_000, 30_000, 40_000])
    assert_fits(counts, [0.3, 0.3, 0.4])
    assert_rejects(counts, [0.33, 0.3, 0.37])


def test_a_count_in_an_impossible_cell_is_rejected_and_none_is_accepted():
    assert_rejects([1000, 1000, 1], [0.5, 0.5, 0])
    assert_fits([1000, 1000, 0], [0.5, 0.5, 0])


def test_the_false_alarm_rate_is_what_the_significance_says():
    # At a significance that can be seen: the share of p-values below 1% among 4000 samples of the right law.
    rng = np.random.default_rng(0)
    law = np.full(6, 1 / 6)
    share = np.mean([p_value(rng.multinomial(3000, law), law) < 0.01 for _ in range(4000)])
    assert 0.005 < share < 0.016
    assert pytest.approx(1e-9) == SIGNIFICANCE


def test_too_few_draws_are_refused_instead_of_judged():
    with pytest.raises(ValueError, match="every cell must expect"):
        p_value([5, 6, 7], [1 / 3, 1 / 3, 1 / 3])
    with pytest.raises(ValueError, match="sum to 1"):
        p_value([5, 6], [0.5, 0.6])
