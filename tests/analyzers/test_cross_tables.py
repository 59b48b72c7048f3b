"""Cross tables: cells, margins, row shares and differences whose intervals cover, however few people are in a row."""

import numpy as np
import pytest

from analyzers.given_counts import coverage, drawn, expected
from shuffledp import CrossTableAnalyzer, KaryRandomizedResponse, OptimizedUnaryEncoding
from shuffledp.analyzers import FrequencySums
from shuffledp.core.errors import InvalidParameterError

RUNS = 1000
KRR, OUE = KaryRandomizedResponse, OptimizedUnaryEncoding
YES_NO = [["No", "Yes"], ["No", "Yes"]]


def analyzed(randomizer, epsilon0, holders, *, silent=0, runs=RUNS):
    """Many runs with the same people, given by their cells; ``silent`` more gave no answer."""
    table = np.array(holders)
    analyzer = CrossTableAnalyzer(
        categories=[[f"r{i}" for i in range(len(table))], [f"c{j}" for j in range(table.shape[1])]]
    )
    counts, rng = np.array([*table.ravel(), *([silent] * (silent > 0))]), np.random.default_rng(11)
    model = randomizer(epsilon0=epsilon0, domain_size=len(counts)).model
    return [analyzer.estimate(drawn(model, counts, rng)) for _ in range(runs)], table / counts.sum()


@pytest.mark.parametrize(
    ("randomizer", "epsilon0", "holders", "silent"),
    [
        (KRR, 1.0, [[1900, 2060], [5, 35]], 0),  # hardly anybody is in the second row
        (OUE, 2.0, [[1400, 600], [800, 1200]], 400),
        pytest.param(KRR, 1.0, [[1400, 600], [800, 1200]], 0, marks=pytest.mark.deep),
        pytest.param(KRR, 3.0, [[300, 200, 100], [0, 250, 150]], 0, marks=pytest.mark.deep),
        pytest.param(OUE, 1.0, [[300, 200, 100], [90, 750, 160], [700, 0, 700]], 0, marks=pytest.mark.deep),
    ],
)
def test_intervals_of_all_that_is_stated_cover_the_truth(randomizer, epsilon0, holders, silent):
    found, truth = analyzed(randomizer, epsilon0, holders, silent=silent)
    every = np.append(truth.ravel(), [1 - truth.sum()] * (silent > 0))
    assert coverage(found, every).min() > 0.93  # each at 0.95
    assert coverage([each.margins for each in found], np.append(truth.sum(axis=1), truth.sum(axis=0))).min() > 0.93
    shares = truth / truth.sum(axis=1, keepdims=True)
    assert coverage([each.row_shares for each in found], shares.ravel()).min() > 0.93
    apart = (shares[1:, 1:] - shares[0, 1:]).ravel()
    assert coverage([each.differences for each in found], apart).min() > 0.93


def test_of_many_people_in_each_row_the_intervals_cover_hardly_more_than_they_say():
    found, truth = analyzed(KRR, 2.0, [[1400, 600], [800, 1200]])
    shares = truth / truth.sum(axis=1, keepdims=True)
    assert coverage([each.row_shares for each in found], shares.ravel()).max() < 0.97
    differences = [each.differences for each in found]
    assert coverage(differences, shares[1, 1] - shares[0, 1]).max() < 0.98
    errors = np.std([each.estimate[0] for each in differences])
    assert np.mean([each.standard_error[0] for each in differences]) == pytest.approx(errors, rel=0.1)


def test_a_row_that_nobody_may_be_in_has_shares_between_nothing_and_everything():
    summary = expected(KRR(epsilon0=1.0, domain_size=4).model, [0.5, 0.5, 0.0, 0.0], 1000)
    estimate = CrossTableAnalyzer(categories=YES_NO).estimate(summary)
    np.testing.assert_array_equal(estimate.row_shares.lower[2:], 0)
    np.testing.assert_array_equal(estimate.row_shares.upper[2:], 1)
    assert estimate.differences.lower[0] < -0.4
    assert estimate.differences.upper[0] > 0.4


@pytest.mark.parametrize("randomizer", [KRR, OUE])
def test_cells_add_up_to_the_margins_and_these_to_one(randomizer):
    summary = drawn(
        randomizer(epsilon0=1.0, domain_size=6).model, [300, 200, 100, 0, 250, 150], np.random.default_rng(1)
    )
    estimate = CrossTableAnalyzer(categories=[["a", "b"], ["x", "y", "z"]]).estimate(summary)
    cells = estimate.estimate.reshape(2, 3)
    np.testing.assert_allclose(estimate.margins.estimate, np.append(cells.sum(axis=1), cells.sum(axis=0)))
    assert cells.sum() == pytest.approx(1)


@pytest.mark.parametrize(("epsilon0", "holders"), [(2.0, [[30, 10], [5, 15]]), (7.0, [[3000, 10], [500, 1500]])])
def test_counts_that_are_not_nearly_normal_have_intervals_that_cover_too(epsilon0, holders):
    model, truth = KRR(epsilon0=epsilon0, domain_size=4).model, np.array(holders) / np.sum(holders)
    rng, analyzer = np.random.default_rng(8), CrossTableAnalyzer(categories=YES_NO)
    assert not FrequencySums(drawn(model, np.ravel(holders), rng)).nearly_normal(np.eye(4)).any()
    found = [analyzer.estimate(drawn(model, np.ravel(holders), rng)) for _ in range(20)]
    shares = truth / truth.sum(axis=1, keepdims=True)
    assert coverage([each.row_shares for each in found], shares.ravel()).min() == 1
    assert coverage([each.differences for each in found], shares[1, 1] - shares[0, 1]).min() == 1
    widths = [np.ptp(each.differences.interval) for each in found]
    assert bool(max(widths) < 0.1) is (epsilon0 == 7.0)


def test_a_single_person_tells_nothing_of_shares_in_a_row():
    summary = drawn(KRR(epsilon0=1.0, domain_size=4).model, [1, 0, 0, 0], np.random.default_rng(1))
    estimate = CrossTableAnalyzer(categories=YES_NO).estimate(summary)
    np.testing.assert_array_equal(estimate.row_shares.interval, [[0, 1]] * 4)
    np.testing.assert_array_equal(estimate.differences.interval, [[-1, 1]])


def test_targets_name_the_answers_and_their_columns():
    analyzer = CrossTableAnalyzer(categories=[[False, True], [1, 2, 3]], columns=("smokes", "children"))
    estimate = analyzer.estimate(expected(KRR(epsilon0=1.0, domain_size=6).model, [1 / 6] * 6, 6000))
    assert estimate.target == ("false, 1", "false, 2", "false, 3", "true, 1", "true, 2", "true, 3")
    assert estimate.margins.target[:3] == ("smokes: false", "smokes: true", "children: 1")
    assert estimate.row_shares.target[-1] == "children: 3 | smokes: true"
    assert estimate.differences.target == tuple(f"children: {each} | smokes: true - false" for each in (2, 3))


@pytest.mark.parametrize(
    "categories", [[["No", "Yes"]], [["a", "b"], ["c"]], [["a", "a"], ["c", "d"]], [["a", "b"]] * 3]
)
def test_categories_that_make_no_table_are_refused(categories):
    with pytest.raises(InvalidParameterError, match="categories must be two lists, each of two or more different ones"):
        CrossTableAnalyzer(categories=categories)


def test_reports_on_another_number_of_cells_are_refused():
    summary = expected(KRR(epsilon0=1.0, domain_size=6).model, [1 / 6] * 6, 100)
    with pytest.raises(InvalidParameterError, match="must make 6 pairs, one for each value, or one fewer"):
        CrossTableAnalyzer(categories=YES_NO).estimate(summary)
    with pytest.raises(InvalidParameterError, match="columns must be two names"):
        CrossTableAnalyzer(categories=YES_NO, columns=("a",))


@pytest.mark.parametrize("holders", [[[2000, 0], [0, 2000]], pytest.param([[0, 9], [9, 0]], marks=pytest.mark.deep)])
def test_intervals_at_the_ends_of_what_is_possible_cover_and_do_not_become_certainty(holders):
    found, truth = analyzed(KRR, 2.0, np.array(holders) * (2000 // np.max(holders)), runs=500)
    shares = truth / truth.sum(axis=1, keepdims=True)
    # One pair of shares alone has this difference: intervals of pairs that are possible would cover 0.90.
    assert coverage([each.differences for each in found], shares[1, 1] - shares[0, 1])[0] > 0.935
    for what in ("row_shares", "differences"):
        errors = np.array([getattr(each, what).standard_error for each in found])
        assert errors.min() > 0.2 * np.median(errors)


@pytest.mark.parametrize("epsilon0", [20.0, pytest.param(8.0, marks=pytest.mark.deep)])
def test_shares_in_a_row_whose_noise_comes_from_few_people_cover(epsilon0):
    # Whoever has another answer hardly ever reports these, so that the noise in the row is that of its own people.
    found, truth = analyzed(OUE, epsilon0, [[3000, 10], [5, 0]], runs=200)
    shares = truth / truth.sum(axis=1, keepdims=True)
    assert coverage([each.differences for each in found], shares[1, 1] - shares[0, 1])[0] > 0.93
