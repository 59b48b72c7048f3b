"""Published numbers of messages, as they are printed: where they say nothing, and by how much they exceed the need."""

import json
import math
import sys
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest

from shuffledp.planning import calibrate
from shuffledp.protocols.shares.theorems.share_mixing import mixing_distance
from soundness.exact_rounds import Rounds, cayley_distance, hockey_stick, uniform, variation

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are run from a checkout and never installed

from experiments.imperfect.published_counts import (
    lemma_12_count,
    perfect_shuffle_count,
    printed_count,
    rule_of_thumb,
    security_target,
)

BLOCKS = json.loads((Path(__file__).parents[1] / "golden" / "certificates.json").read_text(encoding="utf-8"))["blocks"]
BITS = security_target(epsilon=1.0, delta=1e-6)


def given(users, gamma=0.0, bits=BITS):
    return {
        "num_users": users,
        "imperfection": gamma,
        "modulus": math.ceil(2 * users**1.5),
        "security_bits": bits,
    }


def test_the_security_sought_is_that_of_the_remainder():
    assert (1 + math.e) * 2 ** -(BITS + 1) == pytest.approx(1e-6)
    assert security_target(epsilon=1000.0, delta=0.1) == pytest.approx(1000 / math.log(2) - 1 + math.log2(10))


@pytest.mark.parametrize("row", BLOCKS["largest_printed_imperfections"]["rows"], ids=str)
def test_the_printed_lemma_says_nothing_beyond_a_tiny_imperfection(row):
    users, largest = row["num_users"], row["imperfection"]
    assert printed_count(**given(users, largest * (1 - 1e-5))) > 10**6
    assert printed_count(**given(users, largest * (1 + 1e-5))) is None


def test_the_printed_remark_about_its_hypothesis_is_false_for_every_real_number_of_people():
    """It says that gamma <= loglog n / 80 implies 728 e^(4 gamma) <= log n."""

    def implied(log_users):
        return 728 * math.exp(4 * math.log(log_users) / 80) <= log_users

    assert [implied(math.log(users)) for users in (10**3, 10**6, 10**9, 10**12)] == [False] * 4
    assert not implied(1029)
    assert implied(1031)


@pytest.mark.parametrize(("users", "messages"), [(19, 18_507), (1000, 1436)])
def test_at_the_largest_gamma_of_its_hypothesis_it_asks_for_thousands_of_messages(users, messages):
    gamma = math.log(math.log(users)) / 80
    assert printed_count(**given(users, gamma)) == pytest.approx(messages, rel=2e-3)


@pytest.mark.parametrize("gamma", [0.0, 0.005, 0.02, 0.03])
@pytest.mark.parametrize("users", [100, 10**4, 10**8])
def test_each_step_towards_the_certificate_needs_fewer_messages(users, gamma):
    printed, redone = printed_count(**given(users, gamma)), lemma_12_count(**given(users, gamma))
    certified = calibrate.split_and_mix(
        num_users=users, epsilon=1.0, delta=1e-6, imperfection=gamma, lower=0, upper=1
    ).num_messages
    assert printed is None or printed > redone
    assert redone is None or redone > 10 * certified


def test_numbers_that_would_be_infinite_are_left_out():
    assert rule_of_thumb(**given(1000, gamma=1000.0)) is None
    assert perfect_shuffle_count(num_users=2, modulus=5, security_bits=10.0) is None
    assert lemma_12_count(**given(1000, gamma=10.0)) is None


def test_the_rule_of_thumb_is_not_a_bound():
    """At a large imperfection sets of many users decide, not the chance that one is alone."""
    users, gamma = 10**6, 8.0
    messages = rule_of_thumb(**given(users, gamma))
    assert (1 + math.e) * mixing_distance(users, messages, gamma, 2 * 10**9) > 1e-6


# ---- what else is printed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("users", "size"), [(4, 1), (4, 2), (5, 2), (5, 3)])
def test_as_many_exchanges_suffice_as_there_are_users_to_move(users, size):
    """Lemma 4.8: e^(s gamma), not e^(2 s gamma); and images are drawn from the other users: C(n-s, j), not C(n, j)."""
    kept = set(range(size))
    keeping = [each for each in permutations(range(users)) if {each[user] for user in kept} == kept]
    counted = {}
    for image in map(set, combinations(range(users), size)):
        others = [each for each in permutations(range(users)) if {each[user] for user in kept} == image]
        nearest = {min(cayley_distance(one, other) for other in others) for one in keeping}
        moved = len(image - kept)
        assert nearest == {moved}
        counted[moved] = counted.get(moved, 0) + 1
    assert counted == {j: math.comb(size, j) * math.comb(users - size, j) for j in counted}


def test_a_protocol_that_is_secure_between_inputs_can_be_twice_as_far_from_each_other_as_from_the_ideal():
    """Lemma 3.1 as a black box: (1 + e^epsilon) 2^-sigma; half of it is right for the distance to the ideal."""
    rounds = Rounds([uniform(2)] * 2, 2)
    one, other = (rounds.views(rounds.certain(state)) for state in ((0, 0), (1, 1)))
    ideal = rounds.ideal(0)
    assert variation(one, other) == pytest.approx(0.5)
    assert variation(one, ideal) == variation(other, ideal) == pytest.approx(0.25)


def printed_loss(users, epsilon):
    """Loss of discrete Laplace noise for a grid of step 1/sqrt(n), whose inputs are rounded at random."""
    precision = math.sqrt(users)
    up = precision - math.floor(precision)
    return math.log(
        (1 - up) * math.exp(epsilon * math.floor(precision) / precision)
        + up * math.exp(epsilon * math.ceil(precision) / precision)
    )


@pytest.mark.parametrize("row", BLOCKS["precision_that_is_no_integer"]["rows"], ids=str)
def test_a_precision_that_is_no_integer_loses_more_than_epsilon(row):
    users, epsilon = row["num_users"], row["epsilon"]
    found = printed_loss(users, epsilon)
    assert found == pytest.approx(row["effective"], rel=1e-9)
    assert found > epsilon
    rate = epsilon / math.sqrt(users)
    places = np.arange(-300, 301)
    law = np.exp(-rate * np.abs(places))
    up = math.sqrt(users) % 1
    low, high = (np.exp(-rate * np.abs(places - step)) for step in (math.isqrt(users), math.isqrt(users) + 1))
    worst = np.log(((1 - up) * low + up * high) / law)
    assert worst.max() == pytest.approx(found, rel=1e-9)
    assert hockey_stick((1 - up) * low + up * high, law, epsilon) > 0


@pytest.mark.filterwarnings("ignore:With a probability of up to")  # of a sum that wraps around, which is not the point
def test_with_an_integer_precision_the_loss_is_epsilon():
    assert printed_loss(16, 1.0) == pytest.approx(1.0, rel=1e-12)
    for users, epsilon in product((10, 1000), (1.0, 3.0)):
        model = calibrate.split_and_mix(num_users=users, epsilon=epsilon, delta=1e-3, lower=0, upper=1).model
        assert model.rate * model.precision <= epsilon
