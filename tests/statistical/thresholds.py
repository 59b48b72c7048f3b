"""The one place for the significance of statistical tests.

A whole run may raise a false alarm with probability 1e-6. It is shared by at most 1000 tests, so each rejects at 1e-9.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

FALSE_ALARM_OF_RUN = 1e-6
MOST_TESTS = 1000
SIGNIFICANCE = FALSE_ALARM_OF_RUN / MOST_TESTS

# The chi-square law describes so small a tail well only where every cell is expected to be full.
LEAST_EXPECTED = 100

SAMPLES = 1_000_000  # draws where a draw is cheap
SAMPLES_PER_CELL = 400  # draws for each cell where a draw is dear


def p_value(counts: ArrayLike, probabilities: ArrayLike) -> float:
    """Two-sided p-value of cell counts under a law: binomial (exact) for two cells, chi-square for more."""
    observed = np.asarray(counts, dtype=np.int64)
    law = np.asarray(probabilities, dtype=np.float64)
    if observed.shape != law.shape or observed.ndim != 1 or not np.isclose(law.sum(), 1, rtol=0, atol=1e-12):
        raise ValueError("counts and probabilities must have one shape (cells,), and probabilities must sum to 1.")
    total = int(observed.sum())
    if (observed[law == 0] > 0).any():
        return 0.0  # the impossible happened
    observed, law = observed[law > 0], law[law > 0]
    if observed.size == 1:
        return 1.0
    if observed.size == 2:
        return float(stats.binomtest(int(observed[0]), total, law[0]).pvalue)
    expected = total * law
    if expected.min() < LEAST_EXPECTED:
        raise ValueError(f"every cell must expect {LEAST_EXPECTED} draws; the least expects {expected.min():.1f}.")
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), observed.size - 1))


def assert_fits(counts: ArrayLike, probabilities: ArrayLike) -> None:
    """The counts are no reason to doubt the law."""
    found = p_value(counts, probabilities)
    assert found >= SIGNIFICANCE, f"the counts do not fit: p = {found:.3g} is below {SIGNIFICANCE:.3g}"


def assert_rejects(counts: ArrayLike, probabilities: ArrayLike) -> None:
    """The counts refute the law: the test that accepted the right one had power against this one."""
    found = p_value(counts, probabilities)
    assert found < SIGNIFICANCE, f"the counts do not tell this law from the right one: p = {found:.3g}"


def lies_near(value: float, mean: float, standard_deviation: float) -> bool:
    """Whether a value that is nearly normal is no reason to doubt its mean."""
    return bool(abs(value - mean) < -stats.norm.ppf(SIGNIFICANCE / 2) * standard_deviation)


def assert_lies_near(value: float, mean: float, standard_deviation: float) -> None:
    """The value is no reason to doubt its mean; show with `lies_near` that another mean would be rejected."""
    away = (value - mean) / standard_deviation
    assert lies_near(value, mean, standard_deviation), f"the value lies {away:.1f} standard deviations from its mean"
