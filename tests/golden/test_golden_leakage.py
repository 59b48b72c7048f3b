"""Leakage comes out as computed independently of this library: exact fractions, high precision, the paper's numbers."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from shuffledp.core.channels import Channel
from shuffledp.leakage import (
    bayes,
    binary_vulnerability,
    delta_of_pair,
    expected_max_load,
    record_channel,
    record_prior,
    shuffled_fraction,
    shuffled_vulnerability,
    strong_vulnerability,
)
from shuffledp.leakage.guess_scores import scores
from shuffledp.leakage.nonuniform_shuffle import best_at, slots_of
from shuffledp.leakage.shuffle_channels import (
    cascade,
    randomized_response_channel,
    reduced_randomized_response_channel,
    reduced_shuffle_channel,
    shuffle_channel,
)

VALUES = json.loads(Path(__file__).with_name("leakage.json").read_text(encoding="utf-8"))
SLOW = {(10**9, 3), (10**9, 16), (10**8, 6)}


def near(value, rel=1e-11):
    return pytest.approx(float(value), rel=rel, abs=0)


def response(size, truth):
    lie = (1 - truth) / (size - 1)
    return np.array([[truth if x == y else lie for y in range(size)] for x in range(size)])


def fractions(rows):
    return np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object)


@pytest.mark.parametrize("row", VALUES["exact_small"]["rows"], ids=str)
def test_few_people_and_randomized_response(row):
    users, size, truth, pure, noisy = row[0], row[1], *map(Fraction, row[2:])
    prior = [Fraction(1, size)] * size
    assert shuffled_fraction(prior, Channel(response(size, truth)), num_users=users) == noisy
    assert shuffled_fraction(prior, Channel(response(size, Fraction(1))), num_users=users) == pure
    if size == 2:
        assert binary_vulnerability(users, truth) == noisy


LOADS = [(row["n"], row["k"], row["E"]) for row in VALUES["max_load"]["exact"] + VALUES["max_load"]["floats"]]
LOADS += [(*map(int, key.split(",")), value) for key, value in VALUES["max_load"]["high_precision_refs"].items()]


@pytest.mark.parametrize(
    "load", [pytest.param(each, marks=pytest.mark.deep) if each[:2] in SLOW else each for each in LOADS], ids=str
)
def test_fullest_bins(load):
    balls, bins, expected = load
    assert expected_max_load(balls, bins) == near(Fraction(expected) if isinstance(expected, str) else expected, 1e-12)


def test_the_numbers_of_the_paper():
    printed = VALUES["paper_numbers"]
    assert expected_max_load(100, 3) / 100 == near(printed["k3_n100"])
    assert expected_max_load(1000, 3) / 1000 == near(printed["k3_n1000"])
    for key, truth in (("binary_n200_p1", 1.0), ("binary_n200_p09", 0.9), ("binary_n200_p06", 0.6)):
        assert binary_vulnerability(200, truth) == near(printed[key])
    for key, others in (("0pct", [200, 0]), ("50pct", [100, 100]), ("25pct", [150, 50])):
        found = strong_vulnerability(None, Channel(response(2, 0.8)), others=others)
        assert found.value == near(printed[f"abo_n201_p08_{key}"])


@pytest.mark.parametrize("case", VALUES["any_channel_iid_prior"]["cases"], ids=lambda case: str(case["prior"]))
def test_any_channel_and_prior(case):
    channel, prior = Channel(fractions(case["R"])), [Fraction(entry) for entry in case["prior"]]
    gain = None if case["gain"] == "bayes" else fractions(case["gain"])
    for users, expected in case["V"].items():
        assert shuffled_fraction(prior, channel, gain, num_users=int(users)) == Fraction(expected)
        assert shuffled_vulnerability(prior, channel, gain, num_users=int(users)).value == near(Fraction(expected))
    for users, expected in case.get("V_float", {}).items():
        assert shuffled_vulnerability(prior, channel, gain, num_users=int(users)).value == near(expected)


@pytest.mark.parametrize("case", VALUES["strong_adversary"]["cases"], ids=str)
def test_strong_adversaries(case):
    size = case["k"]
    alike = case["others"] == "all equal"
    others = [case["n"] - 1] + [0] * (size - 1) if alike else np.bincount(case["others"], minlength=size)
    expected = Fraction(case["V"]) if "V" in case else case["V_float"]
    truth = float(Fraction(str(case["p"])))
    found = strong_vulnerability(None, Channel(response(size, truth)), others=others)
    assert found.value == near(expected)


def test_both_directions_of_the_bridge():
    bridge = VALUES["dp_bridge"]
    channel, others = Channel(response(2, bridge["p"])), [bridge["n"] - 1, 0]
    for epsilon, expected in bridge["delta_max"].items():
        assert delta_of_pair(channel, 0, 1, float(epsilon), others=others) == near(expected, 1e-4)
    for epsilon, expected in bridge["delta_other_direction"].items():
        assert delta_of_pair(channel, 1, 0, float(epsilon), others=others) == near(expected, 1e-3)


def test_places_of_imperfect_shuffles():
    for case in VALUES["imperfect_positions_binary"]["cases"]:
        places = np.exp(case["gamma"] * (np.arange(case["n"]) < case["heavy"]))
        found = scores(response(2, case["p"]), np.full(2, 0.5), np.eye(2))
        assert 0.5 + best_at(found, slots_of(places / places.sum())).excess == near(case["V"], 1e-9)
    small = VALUES["imperfect_positions_binary"]["small"]
    prior = np.array([float(Fraction(each)) for each in small["prior"]])
    found = scores(fractions(small["R"]).astype(float), prior, np.eye(2))
    places = [float(Fraction(each)) for each in small["w"]]
    assert found.prior + best_at(found, slots_of(places)).excess == near(Fraction(small["V"]))


def test_few_people_written_out_as_channels():
    for row in VALUES["exact_small"]["rows"]:
        users, size, truth, pure, noisy = row[0], row[1], *map(Fraction, row[2:])
        count = reduced_shuffle_channel(users, size)
        both = cascade(randomized_response_channel(users, size, truth), count)
        for channel, expected in ((count, pure), (both, noisy)):
            assert bayes.posterior(record_prior(None, channel, 0), record_channel(None, channel, 0)) == expected


def test_capacities():
    known = VALUES["capacities"]
    assert known["S"] == "C(n+k-1,k-1)"
    for users, size in ((3, 2), (5, 2), (3, 3), (2, 4)):
        expected = math.comb(users + size - 1, size - 1)
        for channel in (shuffle_channel(users, size), reduced_shuffle_channel(users, size)):
            assert bayes.capacity(channel) == expected
    assert bayes.capacity(shuffle_channel(3, 2)) == known["S_n3_k2"]
    three = Fraction(3, 4)
    for channel in (
        cascade(randomized_response_channel(3, 2, three), shuffle_channel(3, 2)),
        reduced_randomized_response_channel(3, 2, three),
    ):
        assert bayes.capacity(channel) == Fraction(known["NS_binary_n3_p0p75"])
    hundred = reduced_randomized_response_channel(100, 2, 0.75)
    assert bayes.capacity(hundred) == near(known["NS_binary_n100_p0p75"], 1e-12)


def test_tables_that_are_printed_wrong():
    table, row = VALUES["table_IV_correct"], VALUES["table_III_row_bbb"]
    truth = Fraction(table["p"])
    correct = reduced_randomized_response_channel(table["n"], 2, truth).matrix
    assert correct[[0, 2]].tolist() == fractions(table["rows"]).tolist()  # a:3, and a:1
    printed = [[entry / (3 if {i, j} <= {1, 2} else 1) for j, entry in enumerate(r)] for i, r in enumerate(correct)]
    assert [str(sum(entries)) for entries in printed] == table["printed_row_sums"]
    both = cascade(randomized_response_channel(3, 2, truth), reduced_shuffle_channel(3, 2))
    assert both.inputs[-1] == (1, 1, 1)
    assert both.matrix[-1].tolist() == [_monomial(entry, truth) for entry in row["correct"]]
    assert both.matrix[-1].tolist() != [_monomial(entry, truth) for entry in row["printed"]]


def _monomial(text, p):
    """Such as 3 p^2 pb, with pb = 1 - p."""
    value = Fraction(1)
    for factor in text.split():
        base, _, power = factor.partition("^")
        value *= {"p": p, "pb": 1 - p}.get(base, Fraction(base) if base.isdigit() else None) ** int(power or 1)
    return value


def test_every_golden_value_is_read():
    source = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{key}"' in source for key in VALUES if key != "_about")


def test_the_constants_of_the_excess():
    for bins, constant in VALUES["asymptotics"]["e_k"].items():
        excess = expected_max_load(10**5, int(bins)) / 10**5 - 1 / int(bins)
        assert excess * math.sqrt(int(bins) * 10**5) == pytest.approx(constant, rel=0.02)
