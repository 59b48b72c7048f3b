"""Tests of independence reject as rarely as they say, and a chi-square test of the reports themselves does not."""

import json
from pathlib import Path

import numpy as np
import pytest

from analyzers.given_counts import drawn
from shuffledp import KaryRandomizedResponse
from shuffledp.analyzers import CrossTableAnalyzer, FrequencySummary, independence
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.randomizers import OptimizedLocalHashing, OptimizedUnaryEncoding

ROWS = json.loads((Path(__file__).parents[1] / "golden" / "differences.json").read_text(encoding="utf-8"))["rows"]
EVEN = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.2, 0.1])
RARE = np.array([0.9, 0.08, 0.02]), np.array([0.85, 0.10, 0.04, 0.01])


def table_of(summary, shape):
    """Cross table of counts of reports about pairs, with or without one more value for people without an answer."""
    return CrossTableAnalyzer(
        categories=[[f"{side}{each}" for each in range(size)] for side, size in zip("rc", shape, strict=True)]
    ).estimate(summary)


def counted(counts, epsilon0):
    counts = np.asarray(counts)
    model = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=counts.size).model
    summary = FrequencySummary(model=model, counts=counts.ravel(), num_reports=int(counts.sum()))
    return independence(table_of(summary, counts.shape), model)


def p_values(margins, people, make, *, runs, seed=1, shift=0.0):
    """P-values of samples of a population whose answers are independent, or not with a ``shift`` between two cells."""
    shape = tuple(map(len, margins))
    law = np.outer(*margins)
    law[:2, :2] += shift * np.array([[1, -1], [-1, 1]])
    model, rng, found = make(domain_size=law.size).model, np.random.default_rng(seed), []
    for _ in range(runs):
        test = independence(table_of(drawn(model, rng.multinomial(people, law.ravel()), rng), shape), model)
        found.append(1.0 if test is None else test.p_value)
    return np.array(found)


def krr(epsilon0):
    return lambda **size: KaryRandomizedResponse(epsilon0=epsilon0, **size)


@pytest.mark.parametrize("row", [each for each in ROWS if each["kind"] == "independence"], ids=lambda row: row["name"])
def test_statistics_are_those_of_the_likeliest_independent_law(row):
    """Mutant: noise in proportion to the margins' product, which is the plain chi-square of the reports."""
    found = counted(row["inputs"]["counts_of_reports"], row["inputs"]["epsilon0"])
    assert found.statistic == pytest.approx(row["expected"]["statistic"], rel=1e-5)
    assert found.p_value == pytest.approx(row["expected"]["p_value"], rel=1e-4)
    assert found.merged == ((), ())


def test_people_without_an_answer_do_not_make_answers_depend_on_each_other():
    model = KaryRandomizedResponse(epsilon0=2.0, domain_size=5).model
    shares = [*(0.6 * np.outer([0.7, 0.3], [0.2, 0.8])).ravel(), 0.4]
    counts = np.rint(20_000 * (model.q + np.array(shares) * (model.p - model.q))).astype(int)
    found = independence(table_of(FrequencySummary(model=model, counts=counts, num_reports=20_000), (2, 2)), model)
    assert found.degrees == 1
    assert found.statistic < 0.01


def test_rare_categories_are_merged_first_and_too_few_are_not_tested():
    """Mutant: none merged."""
    model = KaryRandomizedResponse(epsilon0=4.0, domain_size=12).model
    law = model.q + np.outer(*RARE) * (model.p - model.q)
    found = counted(np.rint(1500 * law).astype(int), 4.0)
    assert found.merged == (("r1", "r2"), ("c2", "c3"))
    assert found.degrees == 2
    assert counted([[500, 100], [110, 90]], 0.3) is None


def test_olh_is_refused():
    krr_model, model = (
        make(epsilon0=1.0, domain_size=4).model for make in (KaryRandomizedResponse, OptimizedLocalHashing)
    )
    table = table_of(FrequencySummary(model=krr_model, counts=np.array([50] * 4), num_reports=200), (2, 2))
    with pytest.raises(UnsupportedModelError, match="'olh'"):
        independence(table, model)


def test_a_dependence_is_found_and_independence_seldom_rejected():
    assert 0 < np.mean(p_values(EVEN, 3000, krr(4.0), runs=100) < 0.05) < 0.11
    assert np.mean(p_values(EVEN, 3000, krr(4.0), runs=30, shift=0.05) < 0.05) > 0.9


@pytest.mark.deep
@pytest.mark.parametrize("people", [300, 3000])
@pytest.mark.parametrize("epsilon0", [1.0, 4.0])
@pytest.mark.parametrize(
    "margins", [EVEN, RARE, (np.array([0.6, 0.4]), np.array([0.7, 0.3]))], ids=["even", "rare", "2x2"]
)
def test_independence_is_rejected_as_rarely_as_it_says(people, epsilon0, margins):
    """Mutant: rare categories kept, which rejects 9% of the time."""
    assert np.mean(p_values(margins, people, krr(epsilon0), runs=1000) < 0.05) < 0.068


@pytest.mark.deep
def test_unary_reports_reject_as_rarely():
    rejected = p_values(EVEN, 3000, lambda **size: OptimizedUnaryEncoding(epsilon0=2.0, **size), runs=1000) < 0.05
    assert 0.03 < np.mean(rejected) < 0.085


@pytest.mark.deep
def test_a_chi_square_test_of_the_reports_themselves_is_wrong():
    """What is refused: it rejects twice as often as it should."""
    from scipy.stats import chi2_contingency

    model, rng = KaryRandomizedResponse(epsilon0=1.0, domain_size=12).model, np.random.default_rng(1)
    law = np.outer([0.7, 0.2, 0.1], [0.6, 0.2, 0.1, 0.1]).ravel()
    tables = [drawn(model, rng.multinomial(3000, law), rng).counts.reshape(3, 4) for _ in range(1500)]
    assert np.mean([chi2_contingency(each).pvalue < 0.05 for each in tables]) > 0.075
