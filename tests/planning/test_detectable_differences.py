"""Least differences that are found: known values, and the power that simulations have at them."""

import json
from pathlib import Path

import numpy as np
import pytest

from shuffledp import KaryRandomizedResponse
from shuffledp.analyzers import FrequencyAnalyzer, FrequencySummary, between, compared, within
from shuffledp.core.errors import InvalidParameterError
from shuffledp.planning import least_difference, least_difference_of_options
from shuffledp.randomizers import OneOption, TickColumns

ROWS = json.loads((Path(__file__).parents[1] / "golden" / "differences.json").read_text(encoding="utf-8"))["rows"]


def krr(epsilon0, size=2):
    return KaryRandomizedResponse(epsilon0=epsilon0, domain_size=size).model


@pytest.mark.parametrize("row", [each for each in ROWS if each["kind"] == "detectable"], ids=lambda row: row["name"])
def test_the_least_difference_solves_its_equation_at_both_shares(row):
    """Mutant: the variance at the base alone, whose power is .765 at 300 people and epsilon0 = 4."""
    given = row["inputs"]
    found = least_difference(
        krr(given["epsilon0"]), (given["n_each"],) * 2, base=given["base"], comparisons=given["comparisons"]
    )
    assert found == pytest.approx(row["expected"], rel=1e-6)


@pytest.mark.parametrize(
    ("people", "epsilon0", "points"), [(300, 1, 24.5), (300, 4, 11.3), (3000, 1, 7.7), (3000, 4, 3.5)]
)
def test_a_single_comparison_finds_less(people, epsilon0, points):
    found = least_difference(krr(float(epsilon0)), (people, people), base=0.3)
    assert round(100 * found, 1) == points
    base = [each for each in ROWS if each["kind"] == "tests-mde-regions" and each["inputs"]["n"] == people]
    assert epsilon0 != 1 or found > base[0]["expected"]["mde"]  # that of the base's variance alone


def test_more_people_find_less_and_too_few_nothing():
    model = krr(1.0, 5)
    for find in (lambda n: least_difference(model, (n, n)), lambda n: least_difference_of_options(model, n)):
        assert find(4000) < find(2000) < 0.5
        assert find(20) is None


def test_ticks_in_columns_tell_two_options_apart_for_those_asked():
    columns, single = (kind(epsilon0=4.0, num_options=4, at_most=4).model for kind in (TickColumns, OneOption))
    assert least_difference_of_options(columns, 5000) < least_difference(columns, (5000, 5000))
    assert least_difference_of_options(single, 5000) > 0


@pytest.mark.parametrize("bad", [{"base": 0.0}, {"power": 0.5}, {"comparisons": 0}, {"level": 1.0}])
def test_bad_arguments_are_refused(bad):
    with pytest.raises(InvalidParameterError, match=next(iter(bad))):
        least_difference(krr(1.0), (100, 100), **bad)


def power(shares, model, people, *, runs, options):
    """Share of the runs in which two options, or two groups, are told apart."""
    rng, found = np.random.default_rng(1), []
    law = np.full((model.domain_size,) * 2, model.q) + np.eye(model.domain_size) * (model.p - model.q)

    def estimate(share):
        counts = rng.multinomial(people, np.asarray(share) @ law)
        return FrequencyAnalyzer().estimate(FrequencySummary(model=model, counts=counts, num_reports=people))

    for _ in range(runs):
        pairs = within(estimate(shares[0]), ("0", "1")) if options else between(*map(estimate, shares))
        found.append(compared([pairs], level=0.95)[0][0].differs[0])
    return np.mean(found)


@pytest.mark.deep
@pytest.mark.parametrize("epsilon0", [1.0, 4.0])
def test_the_power_is_four_in_five(epsilon0):
    model = krr(epsilon0)
    apart = least_difference(model, (3000, 3000))
    shares = [(0.7 - apart, 0.3 + apart), (0.7, 0.3)]
    assert power(shares, model, 3000, runs=4000, options=False) == pytest.approx(0.8, abs=0.02)
    model = krr(epsilon0, 4)
    apart = least_difference_of_options(model, 3000)
    shares = [(0.3 + apart / 2, 0.3 - apart / 2, 0.2, 0.2)]
    assert power(shares, model, 3000, runs=4000, options=True) == pytest.approx(0.8, abs=0.02)
