"""The largest delta over all data sets of binary reports, against sums over all reports and over all counts."""

import math
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest

from shuffledp.accounting.evaluators import binary_counts
from shuffledp.accounting.evaluators.binary_counts import BinaryCounts

PARTS = (0.0, 1e-9, 0.1, 0.5, 0.9, 0.999)  # of epsilon0


def enumerated(ratio: Fraction, growth: Fraction, users: int) -> Fraction:
    """The largest delta over all data sets of the others and both directions, from all tuples of reports."""
    lie, largest = 1 / (ratio + 1), Fraction(0)
    for others in product((0, 1), repeat=users - 1):
        laws = []
        for own in (0, 1):
            law = [Fraction(0)] * (users + 1)
            for reports in product((0, 1), repeat=users):
                wrong = sum(report != held for report, held in zip(reports, (own, *others), strict=True))
                law[sum(reports)] += lie**wrong * (1 - lie) ** (users - wrong)
            laws.append(law)
        for first, second in (laws, laws[::-1]):
            largest = max(largest, sum(max(p - growth * q, Fraction(0)) for p, q in zip(first, second, strict=True)))
    return largest


@pytest.mark.parametrize("users", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon0", [0.01, 1.0, 4.0])
def test_it_is_the_largest_over_all_data_sets_and_all_tuples_of_reports(users, epsilon0):
    for part in PARTS[::2]:
        truth = enumerated(Fraction(math.exp(epsilon0)), Fraction(math.exp(part * epsilon0)), users)
        found = BinaryCounts(epsilon0=epsilon0, users=users).delta(part * epsilon0)
        assert found == pytest.approx(float(truth), rel=1e-8)


def counted(epsilon0: float, epsilon: float, users: int) -> mpmath.mpf:
    """The same from the law of the number of ones, in 40 digits."""
    with mpmath.workdps(40):
        lie, growth = 1 / (mpmath.exp(mpmath.mpf(epsilon0)) + 1), mpmath.exp(mpmath.mpf(epsilon))
        largest = mpmath.mpf(0)
        for ones in range(users):
            law = [mpmath.mpf(1)]
            for chance in [1 - lie] * ones + [lie] * (users - 1 - ones):
                law = [a * (1 - chance) + b * chance for a, b in zip([*law, 0], [0, *law], strict=True)]
            steps = list(zip([*law, 0], [0, *law], strict=True))
            deltas = ((b * (1 - lie) + a * lie) - growth * (b * lie + a * (1 - lie)) for a, b in steps)
            largest = max(largest, mpmath.fsum(max(delta, 0) for delta in deltas))
        return largest


@pytest.mark.parametrize(("epsilon0", "users"), [(1e-6, 9), (0.1, 14), (1.0, 15), (6.0, 12), (30.0, 6)])
def test_it_is_above_the_sum_over_all_counts_and_close_to_it(epsilon0, users):
    counts = BinaryCounts(epsilon0=epsilon0, users=users)
    for part in PARTS:
        truth = counted(epsilon0, part * epsilon0, users)
        assert truth <= counts.delta(part * epsilon0)
        assert counts.delta(part * epsilon0) <= truth * (1 + (1e-6 if part > 0.99 else 1e-8))
    assert counts.delta(epsilon0) == counts.delta(2 * epsilon0) == 0.0


def test_blocks_and_the_frequencies_that_are_left_out_change_nothing(monkeypatch):
    counts = BinaryCounts(epsilon0=2.0, users=300)
    found = {epsilon: counts.delta(epsilon) for epsilon in (0.0, 0.7, 1.9)}
    each = np.concatenate(list(counts.deltas(0.7)))
    assert len(each) == 512  # the second block ends where the data sets do
    assert each[44:256] == pytest.approx(each[256:468], rel=1e-12)
    for block, negligible in ((7, 40.0), (300, 40.0), (256, 60.0)):
        monkeypatch.setattr(binary_counts, "_BLOCK", block)
        monkeypatch.setattr(binary_counts, "_NEGLIGIBLE", negligible)
        for epsilon, delta in found.items():
            assert counts.delta(epsilon) == pytest.approx(delta, rel=1e-12)


def test_the_curve_is_delta_at_each_epsilon_and_chords_above_it_for_many():
    counts = BinaryCounts(epsilon0=1.0, users=60)
    few = np.array([0.3, 0.0, 1.0, 2.0, 0.3])
    assert counts.curve(few) == pytest.approx([counts.delta(float(epsilon)) for epsilon in few])
    many = np.linspace(0.0, 1.2, 3001)
    curve = counts.curve(many)
    exact = np.array([counts.delta(float(epsilon)) for epsilon in many[::37]])
    assert (curve[::37] >= exact * (1 - 1e-12)).all()
    assert curve[::37] == pytest.approx(exact, rel=5e-3, abs=1e-15)
    assert all(later <= earlier for earlier, later in pairwise(curve))


@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-100])
def test_epsilon_is_where_delta_falls_to_the_one_given(delta):
    for epsilon0, users in ((0.5, 40), (3.0, 539)):
        counts = BinaryCounts(epsilon0=epsilon0, users=users)
        epsilon = counts.epsilon(delta)
        assert epsilon == 0 or counts.delta(epsilon * (1 - 1e-7)) > delta
        assert counts.delta(epsilon) <= delta
