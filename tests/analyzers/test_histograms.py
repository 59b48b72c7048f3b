"""Histograms and quantiles: intervals of whole bins that cover, shares made ascending, and what is refused."""

import numpy as np
import pytest

from analyzers.given_counts import coverage, drawn, expected
from shuffledp import HistogramAnalyzer, KaryRandomizedResponse, OptimizedUnaryEncoding
from shuffledp.analyzers.histograms import made_ascending
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.randomizers import OptimizedLocalHashing

RUNS = 1000
LEVELS = (0.1, 0.25, 0.5, 0.9)
EDGES = np.linspace(0, 100, 21)
KRR, OUE = KaryRandomizedResponse, OptimizedUnaryEncoding


def numbers(people):
    """Ages of so many people, most of them young."""
    return np.clip(np.random.default_rng(7).gamma(4.0, 8.0, size=people), 0, 99.99)


def analyzed(randomizer, people, epsilon0, *, silent=0, runs=RUNS):
    """Many runs with the same people, of whom the last ``silent`` gave no answer, and their true quantiles."""
    model = randomizer(epsilon0=epsilon0, domain_size=20 + (silent > 0)).model
    ages = numbers(people)[: people - silent]
    held = np.append(np.searchsorted(EDGES, ages, side="right") - 1, np.full(silent, 20))
    holders, rng = np.bincount(held, minlength=model.domain_size), np.random.default_rng(3)
    analyzer = HistogramAnalyzer(edges=EDGES, quantiles=LEVELS)
    found = [analyzer.estimate(drawn(model, holders, rng)) for _ in range(runs)]
    return found, holders / people, np.quantile(ages, LEVELS, method="inverted_cdf")


@pytest.mark.parametrize(
    ("randomizer", "people", "epsilon0", "silent"),
    [
        (OUE, 3000, 1.0, 0),
        pytest.param(KRR, 3000, 2.0, 0, marks=pytest.mark.deep),
        pytest.param(OUE, 3000, 2.0, 500, marks=pytest.mark.deep),
        pytest.param(KRR, 300, 3.0, 0, marks=pytest.mark.deep),
        pytest.param(KRR, 300, 4.0, 60, marks=pytest.mark.deep),
    ],
)
def test_intervals_of_shares_and_of_quantiles_cover_the_truth(randomizer, people, epsilon0, silent):
    found, shares, quantiles = analyzed(randomizer, people, epsilon0, silent=silent)
    assert coverage(found, shares).min() > 0.925  # of 20 bins, each at 0.95
    covered = coverage([each.quantiles for each in found], quantiles)
    assert covered.min() > 0.95
    ends, middle = (np.array([getattr(each.quantiles, name) for each in found]) for name in ("interval", "estimate"))
    assert np.isin(ends, EDGES).all()
    assert (ends[..., 0] < ends[..., 1]).all()
    assert ((ends[..., 0] <= middle) & (middle <= ends[..., 1])).all()


def test_intervals_of_quantiles_that_leave_out_a_bin_at_each_end_would_be_noticed():
    found, _, quantiles = analyzed(OUE, 3000, 1.0, runs=300)
    short = [(each.quantiles.lower + 5 <= quantiles) & (quantiles <= each.quantiles.upper - 5) for each in found]
    assert np.mean(short, axis=0).min() < 0.85


def test_many_reports_name_the_bin_of_a_quantile_and_the_place_in_it():
    model = OUE(epsilon0=2.0, domain_size=4).model
    summary = expected(model, [0.1, 0.3, 0.4, 0.2], 10**8)
    (quantiles,) = HistogramAnalyzer(edges=[0, 10, 20, 30, 40], quantiles=[0.25, 0.6]).estimate(summary).derived
    np.testing.assert_allclose(quantiles.estimate, [15, 25], rtol=1e-9)
    np.testing.assert_array_equal(np.stack([quantiles.lower, quantiles.upper]), [[10, 20], [20, 30]])
    np.testing.assert_allclose(quantiles.standard_error, 10 / (2 * 1.959964), rtol=1e-6)


def test_a_quantile_at_an_edge_has_both_bins_beside_it():
    summary = expected(OUE(epsilon0=2.0, domain_size=3).model, [0.5, 0.3, 0.2], 10**8)
    estimate = HistogramAnalyzer(edges=[0, 1, 2, 3], quantiles=[0.5]).estimate(summary)
    assert [estimate.quantiles.lower[0], estimate.quantiles.estimate[0], estimate.quantiles.upper[0]] == [
        0,
        pytest.approx(1, abs=1e-6),
        2,
    ]


def test_quantiles_are_those_of_the_people_who_answered():
    summary = expected(OUE(epsilon0=2.0, domain_size=5).model, [0.05, 0.15, 0.2, 0.1, 0.5], 10**8)
    estimate = HistogramAnalyzer(edges=[0, 10, 20, 30, 40], quantiles=[0.25, 0.6]).estimate(summary)
    np.testing.assert_allclose(estimate.quantiles.estimate, [15, 25], rtol=1e-9)
    np.testing.assert_array_equal(estimate.quantiles.upper, [20, 30])
    assert len(estimate.target) == 5


def test_where_nobody_seems_to_have_answered_a_quantile_may_be_anywhere():
    summary = expected(OUE(epsilon0=1.0, domain_size=3).model, [-0.2, -0.1, 1.3], 200)
    (row,) = HistogramAnalyzer(edges=[0, 1, 2], quantiles=[0.5]).estimate(summary).quantiles.rows()
    assert (row["lower"], row["upper"]) == (0, 2)
    assert 0 <= row["estimate"] <= 2


def test_few_reports_leave_quantiles_open_rather_than_wrong():
    model = KRR(epsilon0=1.0, domain_size=20).model
    rng, analyzer = np.random.default_rng(2), HistogramAnalyzer(edges=EDGES)
    holders = np.bincount([3] * 10, minlength=20)
    found = [analyzer.estimate(drawn(model, holders, rng)) for _ in range(60)]
    assert coverage([each.quantiles for each in found], 17.0).min() > 0.95


def test_shares_made_ascending_are_never_farther_from_an_ascending_truth():
    rng, nearer = np.random.default_rng(5), 0
    for _ in range(500):
        truth = np.concatenate([[0], np.sort(rng.uniform(size=12)), [1]])
        seen = truth + rng.normal(scale=rng.choice([0.01, 0.1, 1.0]), size=14) * (np.arange(14) % 13 > 0)
        made = made_ascending(seen)
        assert (np.diff(made) >= 0).all()
        assert made[0] == 0
        assert made[-1] == 1
        before, after = np.square(seen - truth).sum(), np.square(made - truth).sum()
        assert after <= before * (1 + 1e-12)
        nearer += after < 0.9 * before
    assert nearer > 200


def test_rows_of_a_histogram_are_those_of_bins_and_then_of_quantiles():
    estimate = HistogramAnalyzer(edges=[0, 2.5, 5]).estimate(
        expected(OUE(epsilon0=1.0, domain_size=2).model, [0.5] * 2, 900)
    )
    rows = estimate.rows()
    assert [(row["statistic"], row["target"]) for row in rows] == [
        ("frequency", "0 to 2.5"),
        ("frequency", "2.5 to 5"),
        *(("quantile", each) for each in ("0.25", "0.5", "0.75")),
    ]
    assert str(estimate).count("\n") == 6
    assert (
        HistogramAnalyzer(edges=[0, 1, 2], quantiles=[])
        .estimate(expected(OUE(epsilon0=1.0, domain_size=2).model, [0.5] * 2, 900))
        .derived
        == ()
    )


@pytest.mark.parametrize("edges", [[0, 1], [0, 1, 1], [0, 2, 1], [0, 1, np.inf], [0, 1, "2"], "012", 3, range(1002)])
def test_edges_that_bound_no_bins_are_refused(edges):
    with pytest.raises(InvalidParameterError, match="edges must be 3 to 1,001 ascending numbers"):
        HistogramAnalyzer(edges=edges)


@pytest.mark.parametrize("quantiles", [[0], [1], [0.5, 0.5], [0.75, 0.25], [np.nan], ["0.5"], 0.5])
def test_quantiles_that_are_none_are_refused(quantiles):
    with pytest.raises(InvalidParameterError, match="quantiles must be ascending numbers strictly between 0 and 1"):
        HistogramAnalyzer(edges=[0, 1, 2], quantiles=quantiles)


def test_reports_on_another_number_of_bins_are_refused():
    summary = expected(KRR(epsilon0=1.0, domain_size=5).model, [0.2] * 5, 100)
    with pytest.raises(InvalidParameterError, match="number_of_edges must be 6, one more than values; got"):
        HistogramAnalyzer(edges=[0, 1, 2]).estimate(summary)


def test_reports_by_local_hashing_are_unsupported():
    summary = expected(OptimizedLocalHashing(epsilon0=1.0, domain_size=2).model, [0.5] * 2, 100)
    with pytest.raises(UnsupportedModelError, match="'olh'"):
        HistogramAnalyzer(edges=[0, 1, 2]).estimate(summary)
