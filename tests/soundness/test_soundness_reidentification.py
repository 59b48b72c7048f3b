"""No adversary names somebody's slot more often than Theorem 4.2 allows, the best one included."""

import itertools

import numpy as np
import pytest

from attacks.seen import view_of
from shuffledp.accounting import reidentification_bound
from shuffledp.analyzers import FrequencyAnalyzer
from shuffledp.attacks import KnownAnswers, LearnedSlots, LikeliestSlots, OptimalReidentification, Verdict, name_slots
from shuffledp.errors import InvalidParameterError
from shuffledp.groups import Groups
from shuffledp.laws import law_around, mallows_law
from shuffledp.models import ProtocolModel
from shuffledp.pipeline import Pipeline
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import MallowsShuffler
from shuffledp.testing import SeededSource
from statistical.thresholds import SIGNIFICANCE


def protocol(people, theta, epsilon0):
    randomizer = KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2)
    order = np.roll(np.arange(people), 1)
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * people), concentration=theta, order=order)
    return randomizer, shuffler, OptimalReidentification(law_around(mallows_law(people, theta), order))


def check(people, theta, epsilon0):
    randomizer, shuffler, best = protocol(people, theta, epsilon0)
    model, channel = ProtocolModel(local=randomizer.model, shuffle=shuffler.model(people)), randomizer.model.channel()
    largest = 0.0
    for answers in itertools.product((0, 1), repeat=people):
        for count in range(1, people // 2 + 1):
            bound = reidentification_bound(model, num_targets=count).success
            for targets in itertools.combinations(range(people), count):
                success = best.success(channel, KnownAnswers(answers=np.array(answers), targets=np.array(targets)))
                refined = bound
                if count == 1:
                    costs = shuffler.swap_costs(targets[0])
                    refined = min(bound, reidentification_bound(model, swap_costs=costs).success)
                assert success <= refined + 1e-12
                largest = max(largest, success / refined)
    return largest


@pytest.mark.parametrize(("theta", "epsilon0"), [(0.0, 1.0), (0.5, 0.2), (0.5, 2.5)])
def test_the_best_adversary_of_four_people_stays_below_the_bound(theta, epsilon0):
    assert check(4, theta, epsilon0) > 0.3


@pytest.mark.deep
@pytest.mark.parametrize(("theta", "epsilon0"), [(0.1, 0.5), (1.0, 1.0)])
def test_the_best_adversary_of_five_people_stays_below_the_bound(theta, epsilon0):
    assert check(5, theta, epsilon0) > 0.2


def test_without_local_noise_and_order_the_best_adversary_guesses_at_random():
    _, _, best = protocol(5, 0.0, 1.0)
    useless = KaryRandomizedResponse(epsilon0=1e-6, domain_size=2).model.channel()
    for targets, chance in (([2], 1 / 5), ([0, 3], 1 / 10)):
        known = KnownAnswers(answers=np.array([0, 1, 1, 0, 1]), targets=np.array(targets))
        assert best.success(useless, known) == pytest.approx(chance, rel=1e-4)


@pytest.mark.parametrize("targets", [[1], [0, 3]])
def test_the_heuristic_is_nearly_the_best_adversary_and_never_better(targets):
    people, theta, epsilon0 = 5, 0.7, 1.5
    randomizer, shuffler, best = protocol(people, theta, epsilon0)
    known = KnownAnswers(answers=np.array([0, 1, 1, 0, 1]), targets=np.array(targets))
    optimum = best.success(randomizer.model.channel(), known)
    pipeline = Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=FrequencyAnalyzer())
    options = {"known": known, "trials": 1500, "confidence": 1 - SIGNIFICANCE, "source": SeededSource(2)}
    learned = LearnedSlots(pipeline, num_runs=500, source=SeededSource(1))
    for attack, share in ((best, 0.85), (LikeliestSlots(shuffler, source=SeededSource(1)), 0.85), (learned, 0.7)):
        found = name_slots(pipeline, optimum, attack=attack, **options)
        assert found.verdict is Verdict.CONSISTENT
        assert found.success > share * optimum
        assert found.by_chance < 0.8 * found.success
        assert found.seeded


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("theta", "epsilon0"), [(0.3, 1.0), (0.7, 1.5), (1.2, 2.5)])
def test_the_heuristic_comes_within_a_tenth_of_the_best_adversary_by_all_outputs(theta, epsilon0, count):
    """Exactly, over all outputs: how often the slots named are right, beside the most that is possible."""
    people, answers = 5, np.array([0, 1, 1, 0, 1])
    randomizer, shuffler, best = protocol(people, theta, epsilon0)
    known = KnownAnswers(answers=answers, targets=np.array([3, 0, 1][:count]))
    law, matrix = (
        law_around(mallows_law(people, theta), np.roll(np.arange(people), 1)),
        randomizer.model.channel().matrix,
    )
    attack, right = LikeliestSlots(shuffler, source=SeededSource(1)), 0.0
    for said in itertools.product((0, 1), repeat=people):
        named = attack.infer(view_of(said, epsilon0=epsilon0), known).tolist()
        assert named == sorted(set(named))
        for sigma, chance in law.items():
            if {sigma[slot] for slot in named} == set(known.targets.tolist()):
                right += float(chance) * np.prod([float(matrix[answers[sigma[j]]][y]) for j, y in enumerate(said)])
    optimum = best.success(randomizer.model.channel(), known)
    assert 0.9 * optimum < right <= optimum + 1e-12


@pytest.mark.parametrize("targets", [[90, 91], [90, 91, 92, 93, 94, 95]])
def test_among_many_several_targets_are_named_far_more_often_than_by_chance(targets):
    shuffler = MallowsShuffler(groups=Groups.from_radius(np.arange(3000), 1), alpha=8.0)
    randomizer = KaryRandomizedResponse(epsilon0=4.0, domain_size=2)
    known = KnownAnswers.worst(randomizer.model, num_users=3000, targets=targets)
    attack = LikeliestSlots(shuffler, num_draws=700, source=SeededSource(1))
    pipeline = Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=FrequencyAnalyzer())
    found = name_slots(pipeline, known=known, attack=attack, trials=40, source=SeededSource(3))
    assert found.success > 0.3


def test_among_many_the_heuristic_is_far_above_chance_and_below_the_bound():
    groups = Groups.from_radius(np.arange(200), 3)
    shuffler, randomizer = (
        MallowsShuffler(groups=groups, alpha=8.0),
        KaryRandomizedResponse(epsilon0=2.0, domain_size=2),
    )
    known = KnownAnswers(answers=np.arange(200) % 2, targets=np.array([90]))
    attack = LikeliestSlots(shuffler, num_draws=500, source=SeededSource(1))
    pipeline = Pipeline(randomizer=randomizer, shuffler=shuffler, analyzer=FrequencyAnalyzer())
    bound = reidentification_bound(pipeline.model(200), swap_costs=shuffler.swap_costs(90)).success
    found = name_slots(pipeline, bound, known=known, attack=attack, trials=200, source=SeededSource(3))
    assert found.success > 3 * found.by_chance
    assert found.verdict is Verdict.CONSISTENT


def test_bad_arguments_are_refused():
    answers = np.zeros(4, dtype=np.int64)
    for targets in ([], [4], [1, 1], [0.5]):
        with pytest.raises(InvalidParameterError):
            KnownAnswers(answers=answers, targets=np.array(targets))
    with pytest.raises(InvalidParameterError, match="law"):
        OptimalReidentification({})
    randomizer, shuffler, best = protocol(4, 0.5, 1.0)
    with pytest.raises(InvalidParameterError, match="num_answers"):
        best.success(randomizer.model.channel(), KnownAnswers(answers=np.zeros(5, dtype=int), targets=np.array([0])))
    with pytest.raises(InvalidParameterError, match="num_draws"):
        LikeliestSlots(shuffler, num_draws=0)
