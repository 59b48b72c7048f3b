"""The cover of data sets and the swap bound come out as computed independently of this library."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from shuffledp import KaryRandomizedResponse, ProtocolModel, UniformShuffler
from shuffledp.accounting import account, compose_releases
from shuffledp.accounting.evaluators.covered_counts import CoveredCounts, symmetric_channel
from shuffledp.accounting.swapping.channel_bounds import SwapChannel
from shuffledp.accounting.swapping.envelopes import envelope
from shuffledp.accounting.swapping.private_bounds import private_delta
from shuffledp.accounting.swapping.report_classes import any_private
from shuffledp.accounting.swapping.searches import Choices
from shuffledp.randomizers import LdpModel

VALUES = json.loads(Path(__file__).with_name("sharp.json").read_text(encoding="utf-8"))


def rows(name):
    return [dict(zip(VALUES[name]["columns"], row, strict=True)) for row in VALUES[name]["rows"]]


def channel(row, others):
    matrix = np.array(row["matrix"])
    return SwapChannel(matrix=matrix / matrix.sum(axis=1, keepdims=True), others=others)


def choices(row):
    return Choices(rate=row["lam"], donors=row["kappa"], smoothing=row["a"])


def shuffled(epsilon0, people):
    local = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model
    return ProtocolModel(local=local, shuffle=UniformShuffler().model(people))


@pytest.mark.parametrize("row", rows("any_randomizer"), ids=lambda row: f"{row['people']}-{row['epsilon0']}")
def test_the_swap_bound_at_given_choices_is_as_low(row):
    found = private_delta(
        epsilon0=row["epsilon0"], others=row["people"] - 1, epsilon=row["epsilon"], choices=choices(row)
    )
    assert math.log(found) <= row["ln_delta_bound"] + 0.02


@pytest.mark.deep
@pytest.mark.parametrize("row", rows("any_randomizer"), ids=lambda row: f"{row['people']}-{row['epsilon0']}")
def test_the_statement_is_between_the_lower_bound_and_what_was_reported(row):
    found = account(epsilon0=row["epsilon0"], num_users=row["people"], delta=1e-6, sharp=True).guarantee.epsilon
    assert row["lower_epsilon"] <= found <= min(row["reported_epsilon"], row["pair_epsilon"]) * 1.0015


@pytest.mark.parametrize("row", rows("channel_exact"))
def test_channels_are_bounded_above_all_their_data_sets(row):
    found = channel(row, row["people"] - 1).delta_of(tuple(row["pair"]), row["epsilon"], choices(row))
    assert row["exact_delta"] <= found <= row["delta_bound"] * 1.03


@pytest.mark.parametrize("row", rows("binary_outputs"))
def test_channels_of_two_outputs_are_bounded_for_every_pair(row):
    users = channel(row, row["others"])
    worst = max(users.delta_of(pair, row["epsilon"], choices(row)) for pair in users.pairs)
    assert row["exact_delta"] <= worst <= row["delta_bound"] * 1.03


@pytest.mark.deep
@pytest.mark.parametrize("row", rows("channel_searched"))
def test_the_channel_of_six_outputs_is_searched_as_well(row):
    found = channel(row, row["people"] - 1).epsilon(row["delta"], limit=1.5)
    assert row["lower_epsilon"] <= found <= row["epsilon"] * 1.0005


@pytest.mark.parametrize("row", rows("extreme_laws"), ids=["8"])
def test_the_five_extreme_laws_are_those(row):
    reports, laws = any_private(row["epsilon0"], 0.0), row["atoms (a, b, mass) of each law"]
    expected = [sorted((a - b, mass) for a, b, mass in law) for law in laws]
    found = [
        sorted((value, mass) for value, mass in zip(reports.values, law, strict=True) if mass) for law in reports.masses
    ]
    for one, other in zip(sorted(found), sorted(expected), strict=True):
        assert np.array(one) == pytest.approx(np.array(other), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("row", rows("binary_epsilon"), ids=lambda row: f"{row['people']}-{row['epsilon0']}")
def test_binary_response_lies_between_the_data_sets_and_the_cover(row):
    found = account(shuffled(row["epsilon0"], row["people"]), delta=row["delta"]).guarantee.epsilon
    assert row["at_least"] * (1 - 2e-5) <= found <= row["at_most"] * (1 + 4e-5)


@pytest.mark.parametrize("row", rows("binary_cover"), ids=lambda row: f"{row['E']:.3g}")
def test_a_cover_of_fifty_blocks_is_that(row):
    epsilon0 = math.log(row["E"])
    counts = CoveredCounts(channel=symmetric_channel(epsilon0), users=row["people"], limit=epsilon0)
    assert counts.in_blocks(row["epsilon"], blocks=row["blocks"]) == pytest.approx(row["cover"], rel=1e-6)
    assert counts.sides(row["epsilon"])[0] == pytest.approx(row["exact"], rel=1e-3)


@pytest.mark.deep
@pytest.mark.parametrize("row", rows("columns"), ids=lambda row: f"{row['people']}-{row['releases']}-{row['epsilon']}")
def test_columns_lose_together_what_they_are_planned_for(row):
    model = shuffled(row["epsilon0"], row["people"])
    found = compose_releases(model, num_releases=row["releases"], delta=row["delta"]).guarantee.epsilon
    assert 0.97 * row["epsilon"] <= found <= 1.002 * row["epsilon"]


@pytest.mark.parametrize("row", rows("composed"), ids=["1000"])
def test_an_envelope_of_mirrored_points_is_a_pair_and_one_of_the_points_alone_is_none(row):
    epsilons, deltas = np.array(row["points"]).T
    found = envelope(row["epsilon0"], epsilons, deltas)
    assert found.masses.min() >= 0
    assert found.masses.sum() == pytest.approx(1, abs=1e-12)
    assert found.masses @ found.growths == pytest.approx(0, abs=1e-12)
    assert found.curve(np.zeros(1))[0] == pytest.approx(row["mirrored_delta"], rel=5e-3)
    slope = (deltas[1] - deltas[0]) / np.expm1(epsilons[1])
    assert 1 - deltas[0] + 2 * slope == pytest.approx(row["one_sided_mass"], abs=5e-3)


@pytest.mark.deep
@pytest.mark.parametrize("row", rows("composed"), ids=["1000"])
def test_releases_of_any_randomizer_lose_less_together_and_no_less_than_ternary_response(row):
    model = ProtocolModel(local=LdpModel(epsilon0=row["epsilon0"]), shuffle=UniformShuffler().model(row["people"]))
    for releases, total in row["totals"].items():
        options = {"num_releases": int(releases), "delta": 1e-6}
        sharp, plain = (compose_releases(model, sharp=each, **options).guarantee.epsilon for each in (True, False))
        assert row["totals_of_3rr"][releases] <= sharp <= min(total * 1.005, plain)
