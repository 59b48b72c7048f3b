"""Split and mix on tiny instances, all of whose runs are enumerated: what the view tells beyond the ideal sum."""

import functools
import itertools
import math
from collections import Counter

import numpy as np
import pytest

from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMixModel

# (people, modulus, rounds); inputs of one step
TINY = [(2, 3, 2), (2, 3, 3), (2, 5, 3), (3, 4, 2), (3, 4, 3)]


def components(people, permutations):
    """Connected components of the graph that ties i to permutation(i), for each of the permutations."""
    label = list(range(people))
    for permutation in permutations:
        for one, other in enumerate(permutation):
            old, new = label[one], label[other]
            label = [new if each == old else each for each in label]
    return len(set(label))


@functools.cache
def excess(people, modulus, rounds):
    """E[q^(C - 1)] - 1 for independent uniform shuffles, of which two copies meet in a uniform permutation."""
    orders = list(itertools.permutations(range(people)))
    meetings = itertools.product(orders, repeat=rounds)
    total = sum(modulus ** (components(people, meeting) - 1) for meeting in meetings)
    return total / len(orders) ** rounds - 1


def view(shares):
    """What is seen of shares[person][round]: in each round the residues in no order."""
    return tuple(tuple(sorted(column)) for column in zip(*shares, strict=True))


@functools.cache
def views(inputs, modulus, rounds):
    """The law of the view, given what people hold modulo q."""
    free = itertools.product(itertools.product(range(modulus), repeat=rounds - 1), repeat=len(inputs))
    counts = Counter()
    for choice in free:
        shares = [(*mine, (value - sum(mine)) % modulus) for mine, value in zip(choice, inputs, strict=True)]
        counts[view(shares)] += 1
    total = modulus ** (len(inputs) * (rounds - 1))
    return {seen: count / total for seen, count in counts.items()}


@functools.cache
def ideal_views(total, people, modulus, rounds):
    """The law of the view of uniform shares that add up to a total: a function of the sum and of nothing else."""
    law = Counter()
    for inputs in itertools.product(range(modulus), repeat=people - 1):
        last = (total - sum(inputs)) % modulus
        for seen, chance in views((*inputs, last), modulus, rounds).items():
            law[seen] += chance / modulus ** (people - 1)
    return law


def total_variation(first, second):
    return sum(abs(first.get(seen, 0) - second.get(seen, 0)) for seen in first.keys() | second.keys()) / 2


@pytest.mark.parametrize(("people", "modulus", "rounds"), [(2, 3, 1), (2, 3, 2), (3, 2, 1), (3, 2, 2), (3, 3, 2)])
def test_inputs_given_ordered_views_collide_as_the_components_of_the_graph_say(people, modulus, rounds):
    """Lemma 4.6, an equality: q^(n-1) E[sum over x of Pr[x | ordered view]^2] = E[q^(C-1)]."""
    orders = list(itertools.permutations(range(people)))
    total, count = 0.0, 0
    for seen in itertools.product(itertools.product(range(modulus), repeat=people), repeat=rounds):
        law = Counter()
        for chosen in itertools.product(orders, repeat=rounds):
            owners = zip(
                *([row[place] for place in order] for row, order in zip(seen, chosen, strict=True)), strict=True
            )
            law[tuple(sum(mine) % modulus for mine in owners)] += 1
        total += sum(each**2 for each in law.values()) / len(orders) ** (2 * rounds)
        count += 1
    assert modulus ** (people - 1) * total / count == pytest.approx(1 + excess(people, modulus, rounds), rel=1e-12)


@pytest.mark.parametrize(("people", "modulus", "rounds"), TINY)
def test_a_view_is_as_near_to_the_ideal_one_as_the_components_of_one_round_fewer_say(people, modulus, rounds):
    bound = 0.5 * math.sqrt(excess(people, modulus, rounds - 1))
    found = 0.0
    for inputs in itertools.product(range(modulus), repeat=people):
        ideal = ideal_views(sum(inputs) % modulus, people, modulus, rounds)
        found = max(found, total_variation(views(inputs, modulus, rounds), ideal))
    assert found <= bound * (1 + 1e-12)
    assert found > bound / 6  # and the bound is not vacuous


def test_the_bound_of_as_many_rounds_as_messages_would_be_broken():
    found, bound = 0.0, 0.5 * math.sqrt(excess(3, 4, 3))
    for inputs in itertools.product(range(4), repeat=3):
        found = max(found, total_variation(views(inputs, 4, 3), ideal_views(sum(inputs) % 4, 3, 4, 3)))
    assert found > bound


def wrapped_noise(model, shape):
    """The law modulo q of noise of this shape, from the powers of its characteristic function."""
    angles = 2 * math.pi * np.arange(model.modulus) / model.modulus
    ratio = math.exp(-model.rate)
    law = ((1 - ratio) ** 2 / np.abs(1 - ratio * np.exp(1j * angles)) ** 2) ** shape
    return np.fft.ifft(law).real


def tiny_model(people, modulus, rounds, epsilon):
    return SplitAndMixModel(
        num_users=people,
        epsilon=epsilon,
        lower=0,
        upper=1,
        integer=True,
        num_shares=rounds,
        precision=1,
        modulus=modulus,
        noise_users=people,
    )


def seen_law(model, values):
    """The law of the whole view: every noise of everybody, and every split."""
    noise = wrapped_noise(model, 1 / model.num_users)
    law = Counter()
    for added in itertools.product(range(model.modulus), repeat=model.num_users):
        held = tuple((value + each) % model.modulus for value, each in zip(values, added, strict=True))
        chance = math.prod(noise[each] for each in added)
        for seen, given in views(held, model.modulus, model.num_shares).items():
            law[seen] += chance * given
    return law


def neighbors(people):
    for values in itertools.product((0, 1), repeat=people):
        for person in range(people):
            yield values, (*values[:person], 1 - values[person], *values[person + 1 :])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("people", "modulus"), [(2, 3), (3, 4), (3, 9), (7, 16)])
def test_the_sum_with_the_noise_of_all_is_epsilon_private_and_no_less_noise_would_do(people, modulus, epsilon):
    model = tiny_model(people, modulus, 2, epsilon)
    noise = wrapped_noise(model, 1.0)
    shifted = np.roll(noise, 1)
    assert np.log(noise / shifted).max() <= epsilon * (1 + 1e-9)
    if modulus > 4:
        assert np.log(noise / shifted).max() > 0.8 * epsilon
        missing = wrapped_noise(model, 1 - 1 / people)
        assert np.log(missing / np.roll(missing, 1)).max() > epsilon


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("people", "modulus", "rounds"), TINY)
def test_what_neighbors_show_differs_by_no_more_than_epsilon_and_the_distance_to_the_ideal(
    people, modulus, rounds, epsilon
):
    """delta <= (1 + e^epsilon) times the total variation to the ideal, which is a function of the private sum."""
    model = tiny_model(people, modulus, rounds, epsilon)
    bound = (1 + math.exp(epsilon)) * 0.5 * math.sqrt(excess(people, modulus, rounds - 1))
    laws = {values: seen_law(model, values) for values in itertools.product((0, 1), repeat=people)}
    worst = 0.0
    for mine, other in neighbors(people):
        first, second = laws[mine], laws[other]
        assert sum(first.values()) == pytest.approx(1)
        delta = sum(max(chance - math.exp(epsilon) * second.get(seen, 0), 0) for seen, chance in first.items())
        worst = max(worst, delta)
    assert 0 < worst <= bound
