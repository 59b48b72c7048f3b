import sys

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.protocols.d_sigma.analyzers.learned_laws import (
    BoostedRegions,
    laws_in_groups,
    learnability_error,
    share_of_likeliest,
)
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.randomizers import KaryRandomizedResponse, OptimizedUnaryEncoding
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource


def line(people=3000):
    places = np.sort(np.random.default_rng(0).random(people))
    chances = np.where(places < 0.5, 0.9, 0.2)
    answers = (np.random.default_rng(1).random(people) < chances).astype(np.int64)
    return places, np.column_stack([1 - chances, chances]), answers


def test_boosting_finds_the_laws_behind_noisy_reports_and_nothing_without_slots():
    pytest.importorskip("sklearn")
    places, laws, answers = line()
    reports = KaryRandomizedResponse(epsilon0=2.5, domain_size=2).randomize(answers, source=SeededSource(1))
    learner = BoostedRegions(places, num_trees=40)
    found = {
        type(shuffler): learnability_error(learner.laws(shuffler.shuffle(reports)), laws)
        for shuffler in (IdentityShuffler(), UniformShuffler())
    }
    assert found[IdentityShuffler] < 0.2
    assert found[UniformShuffler] > 0.8
    at_ends = learner.laws(IdentityShuffler().shuffle(reports), at=[0.1, 0.9])
    assert at_ends[:, 1] == pytest.approx([0.9, 0.2], abs=0.1)
    assert at_ends.sum(axis=1) == pytest.approx(1)


def test_values_that_are_hardly_reported_do_no_harm():
    pytest.importorskip("sklearn")
    answers = np.array([0] * 60 + [1] * 60 + [2])
    reports = KaryRandomizedResponse(epsilon0=20.0, domain_size=4).randomize(answers, source=SeededSource(1))
    laws = BoostedRegions(np.arange(121), num_trees=5).laws(IdentityShuffler().shuffle(reports))
    assert laws.shape == (121, 4)
    assert laws[0].argmax() == 0
    assert np.isfinite(laws).all()


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    for name in ("sklearn", "sklearn.calibration", "sklearn.ensemble"):
        monkeypatch.setitem(sys.modules, name, None)
    reports = KaryRandomizedResponse(epsilon0=2.5, domain_size=2).randomize([0, 1] * 10)
    with pytest.raises(ImportError, match=r"shuffledp\[experiments\]"):
        BoostedRegions(np.arange(20)).laws(IdentityShuffler().shuffle(reports))


def test_the_error_is_in_units_of_the_uniform_guess():
    truth = np.array([[0.9, 0.1], [0.3, 0.7]])
    assert learnability_error(truth, truth) == 0
    assert learnability_error(np.full((2, 2), 0.5), truth) == 1
    assert learnability_error([[0.7, 0.3], [0.3, 0.7]], truth) == pytest.approx(0.2 / 0.6)
    with pytest.raises(InvalidParameterError, match="shape"):
        learnability_error([[0.5, 0.5]], truth)
    with pytest.raises(InvalidParameterError, match="uniform"):
        learnability_error(truth, np.full((2, 2), 0.5))


def test_laws_in_groups_are_shares_among_members():
    answers = np.array([0, 1, 2, 2, 0])
    groups = Groups.from_radius([0, 1, 2, 3, 9], radius=1)
    found = laws_in_groups(answers, groups, 3)
    for person in range(5):
        assert found[person] == pytest.approx(
            np.bincount(answers[groups.members(person)], minlength=3) / groups.sizes[groups.own[person]]
        )
    for bad in ({"answers": [0, 1]}, {"num_values": 2}, {"answers": [0.5] * 5}):
        with pytest.raises(InvalidParameterError):
            laws_in_groups(**{"answers": answers, "groups": groups, "num_values": 3} | bad)


def test_coarser_classes_add_up_their_chances():
    laws = np.array([[0.4, 0.0, 0.3, 0.3], [0.1, 0.5, 0.4, 0.0]])
    answers = np.array([2, 1])
    assert share_of_likeliest(laws, answers) == 0.5
    assert share_of_likeliest(laws, answers, coarser=[0, 0, 1, 1]) == 1.0
    with pytest.raises(InvalidParameterError, match="row"):
        share_of_likeliest(laws, answers, coarser=[0, 1])


def test_what_is_no_view_of_values_in_slots_is_refused():
    learner = BoostedRegions(np.arange(3))
    unary = IdentityShuffler().shuffle(OptimizedUnaryEncoding(epsilon0=1.0, domain_size=2).randomize([0, 1, 1]))
    with pytest.raises(UnsupportedModelError, match="values"):
        learner.laws(unary)
    few = IdentityShuffler().shuffle(KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0, 1]))
    with pytest.raises(InvalidParameterError, match="slots"):
        learner.laws(few)
    for points in ([], [np.nan], np.zeros((2, 2, 2))):
        with pytest.raises(InvalidParameterError):
            BoostedRegions(points)


def test_places_to_ask_about_have_the_columns_of_the_points():
    pytest.importorskip("sklearn")
    view = IdentityShuffler().shuffle(KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize([0, 1] * 20))
    flat = BoostedRegions(np.random.default_rng(0).random((40, 2)), num_trees=2)
    for at in (np.zeros((2, 3)), np.zeros(4), [[np.nan, 0.0]], [["a", "b"]], np.ma.masked_equal([[0.0, 1.0]], 0.0)):
        with pytest.raises(InvalidParameterError, match=r"(\b|_)at\b"):
            flat.laws(view, at=at)
    assert flat.laws(view, at=np.zeros((3, 2))).shape == (3, 2)
    line = BoostedRegions(np.arange(40.0), num_trees=2)
    for at in (np.zeros((3, 2)), [], 3.0):
        with pytest.raises(InvalidParameterError, match=r"(\b|_)at\b"):
            line.laws(view, at=at)
    assert np.array_equal(line.laws(view, at=[[1.0], [2.0]]), line.laws(view, at=[1.0, 2.0]))
    with pytest.raises(InvalidParameterError, match="view must be"):
        line.laws({"reports": [0, 1]})


@pytest.mark.parametrize(
    ("estimated", "truth"),
    [
        ([[np.nan, 1.0]], [[0.9, 0.1]]),
        ([[0.5, 0.5]], [[np.nan, 0.1]]),
        ([[5.0, 5.0]], [[0.9, 0.1]]),
        ([[0.5, 0.5]], [[100.0, -3.0]]),
        ([[0.5, 0.5]], [[1.5, -0.5]]),
        ([[0.3, 0.3, 0.4]], [[1 / 3, 1 / 3, 1 - 2 / 3]]),
        ([[0.5, 0.5], [1.0]], [[0.9, 0.1]]),
        (np.ma.masked_equal([[0.0, 1.0]], 0.0), [[0.9, 0.1]]),
    ],
)
def test_what_are_no_laws_has_no_error(estimated, truth):
    with pytest.raises(InvalidParameterError):
        learnability_error(estimated, truth)


def test_an_unbiased_estimate_below_nothing_has_an_error():
    assert learnability_error([[1.1, -0.1]], [[0.9, 0.1]]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("laws", "answers", "coarser"),
    [
        ([[0.1, 0.9]], [-1], None),
        ([[0.1, 0.9]], [2], None),
        ([[0.1, 0.9]], [0.5], None),
        ([[np.nan, 0.9]], [0], None),
        ([[0.1, 0.9]], [0], [-1, 0]),
        ([[0.1, 0.9]], [0], [0.5, 0]),
        (np.zeros((0, 2)), [], None),
        ([[0.1, 0.9]], np.ma.masked_equal([0], 0), None),
    ],
)
def test_what_are_no_answers_has_no_accuracy(laws, answers, coarser):
    with pytest.raises(InvalidParameterError):
        share_of_likeliest(laws, answers, coarser=coarser)


def test_classes_may_have_any_numbers():
    laws, answers = [[0.4, 0.0, 0.3, 0.3], [0.1, 0.5, 0.4, 0.0]], [2, 1]
    assert share_of_likeliest(laws, answers, coarser=[7, 7, 10**12, 10**12]) == 1.0
