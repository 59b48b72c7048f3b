"""Counted bits on tiny instances, with all coins and orders enumerated: the exact curve, and what a buffer adds."""

import itertools
import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.attacks import audit
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.protocols.shares.theorems.binomial_noise import CountedBitsBuffer, CountedBitsUniform
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource

EPSILONS = (0.0, 0.3, 1.0, 1.7, 2.5)
TINY = [(2, 1, 1), (3, 1, 1), (2, 2, 1), (2, 1, 2)]  # people, bits of an answer, coins


def local_of(people, value_bits, coins):
    return sdp.CountedBits(num_users=people, lower=0, upper=1, value_bits=value_bits, coins=coins).model


def stated(people, value_bits, coins, epsilon, gamma=0.0):
    local, shuffle = local_of(people, value_bits, coins), UniformShuffleModel(num_users=people)
    if not gamma:
        return CountedBitsUniform().delta(ProtocolModel(local=local, shuffle=shuffle), epsilon=epsilon)
    buffer = ImperfectShuffleModel(num_users=people, imperfection=gamma, construction="assumed")
    return CountedBitsBuffer().delta(ProtocolModel(local=local, shuffle=buffer), epsilon=epsilon)


def sent(values, value_bits, coins):
    """All that people with these numbers of ones may send, each as likely: messages of one person after another."""
    for tossed in itertools.product((0, 1), repeat=coins * len(values)):
        rows = (
            (*[1] * value, *[0] * (value_bits - value), *tossed[coins * person : coins * (person + 1)])
            for person, value in enumerate(values)
        )
        yield tuple(itertools.chain(*rows))


def counted(values, value_bits, coins):
    """Law of the number of ones, from all coins."""
    law = np.zeros(len(values) * (value_bits + coins) + 1)
    for messages in sent(values, value_bits, coins):
        law[sum(messages)] += 0.5 ** (coins * len(values))
    return law


def ordered(values, value_bits, coins, orders, law):
    """Law of what leaves the buffer, in its order."""
    found = {}
    for messages in sent(values, value_bits, coins):
        for order, chance in zip(orders, law, strict=True):
            seen = tuple(messages[place] for place in order)
            found[seen] = found.get(seen, 0.0) + chance * 0.5 ** (coins * len(values))
    return found


def lost(first, second, epsilon):
    return sum(max(chance - math.exp(epsilon) * second.get(seen, 0.0), 0.0) for seen, chance in first.items())


@pytest.mark.parametrize(("people", "value_bits", "coins"), [*TINY, (2, 3, 2), (3, 2, 2)])
def test_delta_is_exactly_what_the_number_of_ones_loses_for_every_data_set(people, value_bits, coins):
    for others in itertools.product(range(value_bits + 1), repeat=people - 1):
        laws = [dict(enumerate(counted((own, *others), value_bits, coins))) for own in range(value_bits + 1)]
        for epsilon in EPSILONS:
            worst = max(lost(one, other, epsilon) for one, other in itertools.permutations(laws, 2))
            assert worst == pytest.approx(stated(people, value_bits, coins, epsilon), rel=1e-9, abs=1e-15)


def cayley_cycles(order):
    seen, cycles = set(), 0
    for place in range(len(order)):
        cycles += place not in seen
        following = place
        while following not in seen:
            seen.add(following)
            following = order[following]
    return cycles


def buffer_laws(messages, gamma, own=1):
    """Orders, and laws in which an exchange of any two messages changes no chance by a factor above exp(gamma)."""
    orders = list(itertools.permutations(range(messages)))
    weights = {
        "cayley": [math.exp(gamma * cayley_cycles(order)) for order in orders],
        "own bits stay first": [math.exp(gamma * sum(place < own for place in order[:own])) for order in orders],
        "first two stay apart": [math.exp(gamma * (abs(order.index(0) - order.index(1)) > 1)) for order in orders],
        "hash": [math.exp(gamma * (hash(order) % 2)) for order in orders],
    }
    return orders, {name: np.array(each) / sum(each) for name, each in weights.items()}


@pytest.mark.parametrize("gamma", [0.3, 2.0])
@pytest.mark.parametrize(("people", "value_bits", "coins"), TINY)
def test_an_imperfect_buffer_adds_at_most_one_gamma_for_each_bit_of_the_answer(people, value_bits, coins, gamma):
    orders, laws = buffer_laws(people * (value_bits + coins), gamma, value_bits)
    for law in laws.values():
        first, second = (ordered((own, *[0] * (people - 1)), value_bits, coins, orders, law) for own in (0, value_bits))
        for epsilon in np.arange(0, value_bits * gamma + 2, 0.1):
            worst = max(lost(first, second, epsilon), lost(second, first, epsilon))
            assert worst <= stated(people, value_bits, coins, epsilon, gamma) * (1 + 1e-9)


def test_a_buffer_that_keeps_the_first_message_in_its_place_loses_more_than_a_uniform_one():
    orders, laws = buffer_laws(4, 1.0)
    first, second = (ordered((own, 0), 1, 1, orders, laws["own bits stay first"]) for own in (0, 1))
    assert lost(second, first, 0.3) > stated(2, 1, 1, 0.3) * 1.02


def test_bits_through_shuffles_of_their_own_lose_more_than_is_stated_for_one():
    """Why all bits go through one shuffle: the first bit's shuffle alone counts the people with one unit or more."""
    rounds = ProtocolModel(local=local_of(50, 2, 4), shuffle=sdp.ParallelShuffler(sdp.UniformShuffler(), 6).model(50))
    with pytest.raises(UnsupportedModelError, match="no theorem covers"):
        sdp.delta_at(rounds, epsilon=1.0)


def test_the_attack_that_counts_ones_reaches_what_is_stated_and_no_more():
    randomizer = sdp.CountedBits(num_users=10, lower=0, upper=1, value_bits=2, coins=2)
    pipeline = sdp.Pipeline(randomizer=randomizer, shuffler=sdp.UniformShuffler(), analyzer=sdp.BitSumAnalyzer())
    statement = sdp.account(pipeline.model(10), delta=0.05)
    found = audit(pipeline, statement, num_users=10, trials=1000, source=SeededSource(3))
    assert not found.refuted
    assert 0.4 * statement.guarantee.epsilon < found.findings[0].evidence.epsilon_lower
