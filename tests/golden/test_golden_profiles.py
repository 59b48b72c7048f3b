"""Loss profiles, naming tails and household losses come out as computed independently of this library."""

import json
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from shuffledp.laws import gaussian_alpha, gaussian_mu, sample_noisy_sort
from shuffledp.protocols.d_sigma.laws.common_answers import common_answer_epsilon
from shuffledp.protocols.d_sigma.laws.loss_profiles import ORDERS
from shuffledp.protocols.d_sigma.laws.mallows_profiles import kendall_divergences, kendall_profile
from shuffledp.protocols.d_sigma.laws.naming_tails import naming_tail
from shuffledp.protocols.d_sigma.laws.sort_profiles import laplace_profile
from shuffledp.protocols.d_sigma.shufflers.group_profiles import KendallScales
from shuffledp.testing import SeededSource

VALUES = json.loads(Path(__file__).with_name("loss_profiles.json").read_text(encoding="utf-8"))


def rows(block, *, slow=lambda _: False):
    marks = [(row, pytest.mark.deep if slow(row["inputs"]) else ()) for row in VALUES[block]]
    found = [pytest.param(row, id=str(list(row["inputs"].values())), marks=mark) for row, mark in marks]
    return pytest.mark.parametrize("row", found)


def near(row):
    return pytest.approx(row["expected"], abs=row["tolerance"], rel=0)


def equally_spaced(people, pure_alpha):
    return pure_alpha / (people * people // 2) * np.arange(people - 1, 0, -2)


def contiguous(people, pure_alpha):
    return pure_alpha / (people * (people - 1) / 2)


@rows("laplace_two_shifts")
def test_the_profile_of_two_shifts_in_closed_form(row):
    larger, smaller = sorted(row["inputs"]["d"], reverse=True)
    alone = [laplace_profile([shift]) for shift in (larger, smaller)]
    assert all(each.pure == pytest.approx(2 * shift) for each, shift in zip(alone, (larger, smaller), strict=True))
    # Each shift counts twice in a group: two of (D, D) against one of (D, b), by the closed form of the page.
    total, alpha = larger + smaller, row["inputs"]["alpha"]
    closed = -math.expm1(-(total - alpha) / 2) + 0.0
    found = 1 - math.exp(-(total - alpha) / 2) * (1 + min(smaller / 2, (total - alpha) / 4))
    assert found == near(row)
    assert closed >= found
    twice = 1 - math.exp(-(2 * larger - alpha) / 2) * (1 + min(larger / 2, (2 * larger - alpha) / 4))
    assert laplace_profile([larger]).delta(alpha) == pytest.approx(twice, abs=1e-6)
    assert laplace_profile([larger]).delta(alpha) >= twice


@rows("laplace_profile_alpha", slow=lambda inputs: inputs["group"] > 100)
def test_the_loss_of_a_laplace_sort_at_a_remainder(row):
    inputs = row["inputs"]
    found = laplace_profile(equally_spaced(inputs["group"], inputs["pure_alpha"])).alpha(inputs["delta"])
    assert found == near(row)


@rows("laplace_binary_profile_alpha")
def test_the_loss_of_a_laplace_sort_of_two_letters_whose_equal_ones_are_matched(row):
    """Of m ones among g people in order each moves by g - m places at most, and each zero by m."""
    people, spacing = row["inputs"]["group"], row["inputs"]["pure_alpha"] / (row["inputs"]["group"] ** 2 // 2)
    found = [
        laplace_profile(spacing * np.repeat([people - ones, ones], [ones // 2, (people - ones) // 2]), steps=1500)
        for ones in (people // 4, people // 2 - 2, people // 2)
    ]
    assert max(each.alpha(row["inputs"]["delta"]) for each in found) == near(row)


@rows("uniform_cov_footrule_inversions")
def test_the_covariance_of_footrule_and_inversions_of_a_uniform_order(row):
    """The formula by which displacement falls at first, (n + 1)(n^2 + 1) / 30, against all orders."""
    people = row["inputs"]["n"]
    assert (people + 1) * (people**2 + 1) / 30 == near(row)
    if people <= 6:
        orders = np.array(list(permutations(range(people))))
        footrule = np.abs(orders - np.arange(people)).sum(axis=1)
        first, second = np.triu_indices(people, 1)
        inversions = (orders[:, first] > orders[:, second]).sum(axis=1)
        assert np.cov(footrule, inversions, bias=True)[0, 1] == near(row)


@rows("kendall_profile_alpha")
def test_the_loss_of_kendalls_mallows_at_a_remainder(row):
    inputs = row["inputs"]
    found = kendall_profile(inputs["group"], contiguous(inputs["group"], inputs["pure_alpha"])).alpha(inputs["delta"])
    assert found == near(row)


@rows("laplace_profile_delta")
def test_the_remainder_at_uneven_positions(row):
    at = np.array(row["inputs"]["positions"])
    moves = (at[::-1] - at)[: at.size // 2]
    assert laplace_profile(moves).delta(row["inputs"]["alpha"]) == near(row)


@rows("kendall_renyi")
def test_renyi_divergences_of_kendalls_mallows(row):
    order = row["inputs"]["order"]
    found = np.interp(order, ORDERS, kendall_divergences(row["inputs"]["group"], row["inputs"]["theta"]))
    assert found == pytest.approx(row["expected"], rel=2e-2)  # chords between the orders that are looked at


@rows("kendall_composed_alpha")
def test_releases_of_kendalls_mallows_add_up(row):
    inputs = row["inputs"]
    theta = contiguous(inputs["group"], inputs["pure_alpha"])
    assert kendall_profile(inputs["group"], theta, releases=inputs["releases"]).alpha(inputs["delta"]) == near(row)


@rows("laplace_composed_alpha")
def test_releases_of_a_laplace_sort_add_up(row):
    inputs = row["inputs"]
    moves = equally_spaced(inputs["group"], inputs["pure_alpha"])
    assert laplace_profile(moves, releases=inputs["releases"]).alpha(inputs["delta"]) == near(row)


@rows("gaussian_composed_alpha")
def test_releases_of_a_gaussian_sort_add_up(row):
    inputs = row["inputs"]
    mu = gaussian_mu(inputs["alpha"], inputs["delta"])
    assert gaussian_alpha(mu * math.sqrt(inputs["releases"]), inputs["delta"]) == near(row)


@rows("kendall_pure_for_profile")
def test_the_pure_loss_that_a_remainder_buys(row):
    inputs = row["inputs"]
    found = KendallScales(inputs["alpha"], inputs["delta"]).of_window(inputs["group"])
    assert found * inputs["group"] * (inputs["group"] - 1) / 2 == near(row)


@rows("naming_tail")
def test_naming_several_people(row):
    inputs = row["inputs"]
    found = naming_tail(inputs["crowd"], inputs["targets"], inputs["at_least"], inputs["kappa"])
    assert found == near(row)
    assert found >= row["expected"]


@rows("household_epsilon_uniform", slow=lambda inputs: inputs["people"] > 300)
def test_a_common_answer_of_several_people_in_a_uniform_shuffle(row):
    assert common_answer_epsilon(*row["inputs"].values()) == near(row)


@rows("gaussian_mu")
def test_the_spread_that_gaussian_noise_allows(row):
    assert gaussian_mu(row["inputs"]["alpha"], row["inputs"]["delta"]) == near(row)


@rows("displacement_saturation")
def test_reports_move_as_far_as_in_the_limit_of_many_people(row):
    people, draws = 100_000, 2
    inputs, ranks = row["inputs"], np.arange(people)
    at = ranks / (people * inputs["scale_over_n"])
    drawn = (
        sample_noisy_sort(at, noise=inputs["noise"], source=SeededSource(number).substream("saturation"))
        for number in range(draws)
    )
    moved = np.mean([np.abs(each - ranks).mean() for each in drawn]) / people
    assert moved == pytest.approx(row["expected"], abs=row["tolerance"] + row["expected"] / 200)
