"""No adversary names more of a household's slots than the hypergeometric bound allows, after any view."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import FrequencyAnalyzer, Groups, KaryRandomizedResponse, MallowsShuffler, NoisySortShuffler, Pipeline
from shuffledp.attacks import Verdict
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.laws import mallows_law, noisy_sort_law
from shuffledp.protocols.d_sigma.attacks.reidentification_adversaries import KnownAnswers, LikeliestSlots
from shuffledp.protocols.d_sigma.attacks.reidentification_game import name_slots
from shuffledp.protocols.d_sigma.laws.naming_tails import naming_tail, naming_tail_of_alpha
from shuffledp.protocols.d_sigma.planning.households import household_odds
from shuffledp.testing import SeededSource


def likeliest(law, epsilon0, targets, at_least):
    """Largest chance, over answers, views and named slots, that enough named slots are the targets', given the view."""
    orders = np.array(list(law))
    people = orders.shape[1]
    honest = 1 / (1 + math.exp(-epsilon0))
    matrix = np.array([[honest, 1 - honest], [1 - honest, honest]])
    views = np.array(list(itertools.product((0, 1), repeat=people)))
    named = list(itertools.combinations(range(people), len(targets)))
    theirs = np.isin(orders, targets)
    wins = np.array([theirs[:, list(slots)].sum(axis=1) >= at_least for slots in named], dtype=float)
    worst = 0.0
    for answers in views:
        joint = np.array(list(law.values()), dtype=float)[:, None] * matrix[
            answers[orders][:, None, :], views[None]
        ].prod(axis=2)
        worst = max(worst, float(((wins @ joint) / joint.sum(axis=0)).max()))
    return worst


def costs(kind, people):
    """Law of a shuffle of everybody, and the cost of exchanging two people of a window of ranks."""
    if kind == "mallows":
        return mallows_law(people, 0.3), lambda low, high: 0.3 * (2 * (high - low) - 1) if high > low else 0.0
    at = np.array([0.0, 0.3, 0.5, 1.0, 1.2][:people])
    return noisy_sort_law(at), lambda low, high: 2 * (at[high] - at[low])


def windows_around(targets, people):
    for low in range(min(targets) + 1):
        for high in range(max(targets), people):
            yield low, high


def check(kind, people, epsilon0):
    """Largest quotient of what is possible and the bound; and of how many cases two wrong bounds are exceeded."""
    law, cost = costs(kind, people)
    whole = (0, people - 1)
    alpha = 0.3 * people * (people - 1) / 2 if kind == "mallows" else None
    most, apart, one_cost = 0.0, 0, 0
    for size in (2, 3):
        for targets in itertools.combinations(range(people), size):
            single = max(likeliest(law, epsilon0, (target,), 1) for target in targets)
            for at_least in {size // 2 + 1, size}:
                found = likeliest(law, epsilon0, targets, at_least)
                bounds = [
                    naming_tail(high - low + 1, size, at_least, 2 * epsilon0 + cost(low, high))
                    for low, high in windows_around(targets, people)
                ]
                if alpha is not None:
                    bounds.append(naming_tail_of_alpha(people, size, at_least, epsilon0, alpha))
                assert found <= min(bounds) + 1e-12
                most = max(most, found / min(bounds))
                apart += found > single**at_least + 1e-12
                one_cost += found > with_one_cost(people, size, at_least, 2 * epsilon0 + cost(*whole)) + 1e-12
    return most, apart, one_cost


def with_one_cost(crowd, size, at_least, kappa):
    """Wrong bound, in which the whole household is exchanged at the cost of one person."""
    counts = range(max(0, 2 * size - crowd), size + 1)
    weights = [math.comb(size, j) * math.comb(crowd - size, size - j) * math.exp(kappa * min(j, 1)) for j in counts]
    return sum(weight for j, weight in zip(counts, weights, strict=True) if j >= at_least) / sum(weights)


@pytest.mark.parametrize("kind", ["mallows", "laplace"])
def test_the_best_adversary_of_four_people_stays_below_the_bound(kind):
    most, apart, one_cost = check(kind, 4, 0.5)
    assert 0.5 < most <= 1 + 1e-12
    assert apart > 0  # finding one is not independent of finding another
    assert one_cost > 0  # and the cost counts for each of them


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["mallows", "laplace"])
@pytest.mark.parametrize("epsilon0", [0.2, 1.5])
def test_the_best_adversary_of_five_people_stays_below_the_bound(kind, epsilon0):
    most, _, one_cost = check(kind, 5, epsilon0)
    assert most <= 1 + 1e-12
    assert one_cost > 0


def test_without_order_and_values_the_bound_is_attained():
    law = dict.fromkeys(itertools.permutations(range(4)), 1 / 24)
    assert likeliest(law, 0.0, (0, 1), 2) == pytest.approx(naming_tail(4, 2, 2, 0.0), rel=1e-9)


def protocol(shuffler, people, epsilon0=0.5):
    local = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model
    return ProtocolModel(local=local, shuffle=shuffler.model(people))


@pytest.mark.parametrize("make", [MallowsShuffler, NoisySortShuffler])
def test_the_odds_of_households_are_the_best_of_their_windows_and_groups(make):
    groups = Groups.from_lists([[0, 1, 2, 3, 4], [3, 4, 5, 6]])
    shuffler = make(groups=groups, alpha=1.0, order=np.arange(7))
    model = protocol(shuffler, 7)
    (found,) = household_odds(shuffler, model, [[0, 1, 2]])
    assert (found.size, found.at_least, found.num_households, found.given) == (3, 2, 1, True)
    best = naming_tail_of_alpha(5, 3, 2, 0.5, model.shuffle.pure_loss)
    for width in (3, 4, 5, 6, 7):
        cost = max(shuffler.swap_costs(0)[width - 1], 0.0)
        best = min(best, naming_tail(width, 3, 2, 1.0 + cost))
    assert found.more_than_half == pytest.approx(best, rel=1e-6)
    assert found.all_slots < found.more_than_half
    assert found.more_than_half == found.more_than_half_median


def test_larger_households_stand_apart_and_neighbors_stand_for_those_that_are_not_known():
    groups = Groups.from_radius(np.arange(400), 24)
    shuffler = NoisySortShuffler(groups=groups, alpha=4.0)
    model = protocol(shuffler, 400)
    pairs, triples = household_odds(shuffler, model, [[0, 1], [5, 200], [7, 8, 9]])
    assert (pairs.size, pairs.num_households, triples.size) == (2, 2, 3)
    (assumed,) = household_odds(shuffler, model, 3)
    assert (assumed.num_households, assumed.given) == (398, False)
    assert assumed.more_than_half_median <= triples.more_than_half <= assumed.more_than_half


def test_a_household_over_two_blocks_is_not_hidden_and_colluders_hide_nobody():
    groups = Groups.from_labels([0] * 30 + [1] * 30)
    shuffler = MallowsShuffler(groups=groups, alpha=1.0, order=np.arange(60))
    model = protocol(shuffler, 60)
    (apart,) = household_odds(shuffler, model, [[0, 45]])
    assert (apart.more_than_half, apart.all_slots) == (1.0, 1.0)
    (all_honest,) = household_odds(shuffler, model, [[0, 1]])
    few = ProtocolModel(local=model.local, shuffle=model.shuffle.counting(40))
    (some,) = household_odds(shuffler, few, [[0, 1]])
    assert some.all_slots > all_honest.all_slots


def test_bad_households_are_refused():
    groups = Groups.from_labels([0] * 6)
    shuffler = MallowsShuffler(groups=groups, alpha=1.0)
    model = protocol(shuffler, 6)
    for households in ([[0]], [[0, 0]], [[0, 6]], [["a", "b"]]):
        with pytest.raises(InvalidParameterError, match="households must hold two different people or more"):
            household_odds(shuffler, model, households)
    with pytest.raises(InvalidParameterError, match="households must be at most all people, 6"):
        household_odds(shuffler, model, 7)
    gaussian = NoisySortShuffler(groups=groups, alpha=1.0, noise="gaussian", delta=1e-6)
    with pytest.raises(UnsupportedModelError, match="Gaussian noise, for which no exchange has a finite cost"):
        household_odds(gaussian, protocol(gaussian, 6), 2)


def test_an_attack_on_more_than_half_of_a_household_stays_below_the_bound_of_its_window():
    people, targets = 60, [28, 29, 30]
    groups = Groups.from_radius(np.arange(people), 10)
    randomizer = KaryRandomizedResponse(epsilon0=1.5, domain_size=2)
    shuffler = NoisySortShuffler(groups=groups, alpha=8.0)
    pipeline = Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=FrequencyAnalyzer())
    known = KnownAnswers.worst(randomizer.model, num_users=people, targets=targets)
    (bound,) = household_odds(shuffler, pipeline.model(people), [targets])
    attack = LikeliestSlots(shuffler, num_draws=400, source=SeededSource(1))
    options = {"known": known, "attack": attack, "trials": 150, "source": SeededSource(2)}
    some = name_slots(pipeline, bound.more_than_half, at_least=2, **options)
    whole = name_slots(pipeline, bound.all_slots, **options)
    assert [some.verdict, whole.verdict] == [Verdict.CONSISTENT] * 2
    assert some.success > 3 * some.by_chance
    assert some.success > whole.success
    assert "names at least 2 of the slots of 3 given people" in str(some)
    with pytest.raises(InvalidParameterError, match="at_least must be at most the number of targets, 3"):
        name_slots(pipeline, at_least=4, **options)


def test_neighbors_of_two_blocks_are_no_household_where_a_block_holds_one():
    """Mutant: people on both sides of a gap, whose reports never meet, count as a household with a chance of 1."""
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * 60 + [1] * 60), alpha=4.0)
    model = ProtocolModel(local=KaryRandomizedResponse(epsilon0=0.5, domain_size=2).model, shuffle=shuffler.model(120))
    (found,) = household_odds(shuffler, model, 3)
    assert (found.num_households, found.more_than_half < 0.1) == (2 * 58, True)
    alone = MallowsShuffler(groups=Groups.from_labels([0, 0, 1, 1]), alpha=4.0)
    (larger,) = household_odds(alone, replace(model, shuffle=alone.model(4)), 3)
    assert larger.more_than_half == 1.0
