"""Message counts and certificates of split and mix reproduce the project's reference values."""

import json
import math
import sys
from itertools import product
from pathlib import Path

import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.planning import calibrate
from shuffledp.protocols.shares.theorems.share_mixing import log_mixing_bound, mixing_distance
from soundness.exact_rounds import Rounds, expected_power, extremal, kept_set_chance, uniform, variation

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are run from a checkout and never installed

from experiments.imperfect import published_counts as printed_counts

BLOCKS = json.loads(Path(__file__).with_name("certificates.json").read_text(encoding="utf-8"))["blocks"]


def rows(block: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", BLOCKS[block]["rows"], ids=str)


def near(block: str, value: float) -> object:
    return pytest.approx(value, rel=BLOCKS[block]["relative_tolerance"], abs=0)


def modulus_of(users: int) -> int:
    return math.ceil(2 * users**1.5)


def remainder(users: int, messages: int, gamma: float, modulus: int, epsilon: float) -> float:
    return (1 + math.exp(epsilon)) * mixing_distance(users, messages, gamma, modulus)


@rows("message_counts")
def test_the_table_of_message_counts_comes_out(row):
    users, gamma, block = row["num_users"], row["imperfection"], BLOCKS["message_counts"]
    bits = printed_counts.security_target(epsilon=block["epsilon"], delta=block["delta"])
    given = {"num_users": users, "modulus": modulus_of(users), "security_bits": bits}
    assert printed_counts.printed_count(imperfection=gamma, **given) == row["printed"]
    if row["lemma_12"] != "unchecked":
        assert printed_counts.lemma_12_count(imperfection=gamma, **given) == row["lemma_12"]
    if row["perfect"] != "unchecked":
        assert printed_counts.perfect_shuffle_count(**given) == row["perfect"]
    certified = row["certified"]
    assert printed_counts.rule_of_thumb(imperfection=gamma, **given) == certified
    reached = [
        remainder(users, messages, gamma, modulus_of(users), block["epsilon"]) <= block["delta"]
        for messages in (certified - 1, certified)
    ]
    assert reached == [False, True]


@rows("published_example")
def test_the_constant_for_perfect_shuffles_gives_the_published_example(row):
    messages = row.pop("messages")
    assert printed_counts.perfect_shuffle_count(**row) == messages


@rows("certified_deltas")
def test_certified_deltas_agree_and_are_no_larger(row):
    found = remainder(
        row["num_users"], row["num_messages"], row["imperfection"], row["modulus"], epsilon=row["epsilon"]
    )
    assert found == near("certified_deltas", row["delta"])
    assert found <= row["delta"] * (1 + 1e-6)


@rows("kept_sets")
def test_the_lemma_about_kept_sets_is_what_all_shufflers_can_do_at_most(row):
    users, size, gamma = row["num_users"], row["size"], row["imperfection"]
    ways = sum(math.comb(size, j) * math.comb(users - size, j) * math.exp(-gamma * j) for j in range(size + 1))
    assert 1 / ways == near("kept_sets", row["largest"])
    assert row["largest"] < row["lemma_10"]
    if users <= 5:
        assert kept_set_chance(extremal(users, gamma, size), users, size) == near("kept_sets", row["largest"])


@rows("tiny_protocols")
def test_tiny_protocols_are_as_enumerated(row):
    users, messages, modulus = row["num_users"], row["num_messages"], row["modulus"]
    laws = [uniform(users)] * messages
    rounds = Rounds(laws, modulus)
    views = {state: rounds.views(rounds.certain(state)) for state in product(range(modulus), repeat=users)}
    to_ideal = max(variation(view, rounds.ideal(sum(state))) for state, view in views.items())
    between = max(
        variation(views[one], views[other])
        for one, other in product(views, repeat=2)
        if one < other and sum(one) % modulus == sum(other) % modulus
    )
    assert to_ideal == near("tiny_protocols", row["to_ideal"])
    assert between == near("tiny_protocols", row["between_inputs"])
    assert expected_power(laws, modulus) == near("tiny_protocols", row["expected_power"])
    found = log_mixing_bound(users, messages, 0.0, modulus)
    assert row["log_bound"] - 1e-12 <= found <= row["log_bound"] + 1e-8
    assert row["to_ideal"] <= mixing_distance(users, messages, 0.0, modulus)


@rows("bad")
def test_what_cannot_be_certified_is_refused_by_name(row):
    with pytest.raises(InvalidParameterError, match=f"^{row['name']} must be"):
        calibrate.split_and_mix(lower=0, upper=1, **row["arguments"])
