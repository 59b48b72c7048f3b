"""Scores against enumeration over all assignments of reports to people, and what they see of labels and of order."""

import math
from itertools import permutations

import numpy as np
import pytest

from attacks.twins import InArrivalOrder
from contracts.siblings import ResidueModel
from shuffledp.attacks.likelihood_scores import SCORES, NeighboringInputs, report_scores, view_scores, worst_inputs
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.randomizers import (
    DiscreteLaplaceMean,
    HadamardResponse,
    KaryRandomizedResponse,
    OneBitMean,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    PrivUnit,
    RoundedMean,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource

HISTOGRAM, OWN = (list(SCORES).index(name) for name in ("histogram", "own-report"))
RANDOMIZERS = [
    KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
    KaryRandomizedResponse(epsilon0=3.0, domain_size=5),
    OptimizedUnaryEncoding(epsilon0=2.0, domain_size=11),
    SymmetricUnaryEncoding(epsilon0=2.0, domain_size=3),
    OptimizedLocalHashing(epsilon0=1.5, domain_size=20),
    HadamardResponse(epsilon0=1.0, domain_size=6),
    SubsetSelection(epsilon0=1.0, domain_size=7),
    OneBitMean(epsilon0=1.0, lower=-1.0, upper=2.0),
    RoundedMean(epsilon0=2.0, lower=0.0, upper=1.0, num_levels=4),
    DiscreteLaplaceMean(epsilon0=1.0, lower=0.0, upper=10.0, num_steps=5),
    PrivUnit(epsilon0=3.0, dimension=4),
]
RESIDUES = ResidueModel(modulus=5, num_messages=2)
PEOPLE = 4


def view_of(randomizer, shuffler, inputs, seed):
    source = SeededSource(seed)
    return shuffler.shuffle(randomizer.randomize(inputs.answers("first", PEOPLE), source=source), source=source)


def chance(model, columns, answers):
    """Of the multiset of reports, up to a factor of the reports: over all ways in which people may have sent them."""
    logs = np.array([model.log_likelihood(columns, answer) for answer in answers])
    return sum(math.exp(sum(logs[i, j] for i, j in enumerate(order))) for order in permutations(range(PEOPLE)))


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=lambda randomizer: randomizer.model.kind)
def test_the_histogram_scores_the_exact_likelihood_ratio_of_the_multiset(randomizer):
    for seed, inputs in enumerate(worst_inputs(randomizer.model)):
        view = view_of(randomizer, UniformShuffler(), inputs, seed)
        score = view_scores([view], randomizer.model, inputs)[0, HISTOGRAM]
        others = [inputs.others] * (PEOPLE - 1)
        first, second = (
            chance(randomizer.model, view.reports.columns, [answer, *others])
            for answer in (inputs.first, inputs.second)
        )
        assert score == pytest.approx(math.log(first / second), abs=1e-8)


@pytest.mark.parametrize("shuffler", [IdentityShuffler(), InArrivalOrder()], ids=["labels", "order"])
def test_the_own_report_is_scored_where_the_view_betrays_it(shuffler):
    randomizer = KaryRandomizedResponse(epsilon0=2.0, domain_size=3)
    inputs = NeighboringInputs(first=0, second=1, others=2)
    for seed in range(20):
        reports = randomizer.randomize(inputs.answers("first", PEOPLE), source=SeededSource(seed))
        expected = report_scores(reports.columns, randomizer.model, inputs)[0]
        assert view_scores([shuffler.shuffle(reports)], randomizer.model, inputs)[0, OWN] == expected


def test_views_of_different_lengths_are_scored_as_one_by_one_and_an_empty_one_tells_nothing():
    randomizer = KaryRandomizedResponse(epsilon0=2.0, domain_size=3)
    inputs = NeighboringInputs(first=0, second=1, others=2)
    model = UniformShuffler().model(9)
    views = [
        View(reports=Reports({"value": np.arange(size) % 3}, randomizer.model), shuffle=model) for size in (3, 0, 1, 7)
    ]
    together = view_scores(views, randomizer.model, inputs)
    alone = np.concatenate([view_scores([view], randomizer.model, inputs) for view in views])
    assert np.array_equal(together, alone)
    assert together[1].tolist() == [0.0, 0.0]
    assert (view_scores(views[1:2], randomizer.model, inputs) == 0).all()


def test_equal_multisets_have_equal_scores_in_whatever_order_they_are_added_up():
    randomizer = KaryRandomizedResponse(epsilon0=1.1, domain_size=7)
    inputs = NeighboringInputs(first=0, second=1, others=2)
    reports = Reports({"value": np.arange(700) % 7}, randomizer.model)
    views = [UniformShuffler().shuffle(reports) for _ in range(50)]
    assert len(np.unique(view_scores(views, randomizer.model, inputs)[:, HISTOGRAM])) == 1


def test_the_largest_losses_do_not_overflow():
    randomizer = DiscreteLaplaceMean(epsilon0=1000.0, lower=0.0, upper=1.0, num_steps=4)
    inputs = NeighboringInputs(first=0.0, second=1.0, others=0.5)
    score = view_scores([view_of(randomizer, UniformShuffler(), inputs, 1)], randomizer.model, inputs)
    assert np.isfinite(score).all()
    assert score[0, HISTOGRAM] > 400


def test_reports_whose_law_is_not_written_out_are_refused():
    with pytest.raises(UnsupportedModelError, match="no attack is known for 'test-residues' reports"):
        report_scores({"residue": np.arange(3)}, RESIDUES, NeighboringInputs(first=0, second=1, others=2))


def test_of_an_unknown_family_no_worst_inputs_are_known():
    assert worst_inputs(RESIDUES) == ()


@pytest.mark.parametrize("same", [1, 0.5, (1.0, 0.0)])
def test_two_equal_answers_are_no_neighbors(same):
    with pytest.raises(InvalidParameterError, match="second must be different from first"):
        NeighboringInputs(first=same, second=same, others=0)


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=lambda randomizer: randomizer.model.kind)
def test_the_worst_inputs_are_answers_and_differ_in_the_first_person_alone(randomizer):
    for inputs in worst_inputs(randomizer.model):
        first, second = (inputs.answers(which, 5) for which in ("first", "second"))
        assert len(randomizer.randomize(first)) == len(randomizer.randomize(second)) == 5
        assert np.array_equal(first[1:], second[1:])
        assert not np.array_equal(first[0], second[0])
        assert NeighboringInputs.from_dict(inputs.to_dict()).to_dict() == inputs.to_dict()
