"""Stratified shuffling: uniform inside each stratum, independent between them, and nothing of a person beside."""

import itertools
import json
from collections import Counter
from math import factorial, prod

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffleModel, StratifiedShuffler
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.testing import SeededSource
from statistical.thresholds import assert_fits, assert_rejects

MODEL = KaryRandomizedResponse(epsilon0=1.0, domain_size=10).model
STRATA = Strata.of({"region": ["b", "a", "b", "a", "b"]}, by="region")


def test_all_orders_inside_strata_are_equally_likely_and_independent_of_each_other():
    reports, source = Reports({"value": np.arange(5)}, MODEL), SeededSource(3)
    shuffler = StratifiedShuffler(STRATA)
    seen = Counter(tuple(shuffler.shuffle(reports, source=source).reports["value"].tolist()) for _ in range(6000))
    orders = [(*first, *then) for first in itertools.permutations((1, 3)) for then in itertools.permutations((0, 2, 4))]
    counts = [seen[order] for order in orders]
    assert sum(counts) == 6000  # nothing crosses from one stratum to the other
    assert len(orders) == prod(map(factorial, STRATA.sizes))
    assert_fits(counts, np.full(12, 1 / 12))
    assert_rejects(counts, np.array([1.5, 0.5] + [1.0] * 10) / 12)


def test_the_view_holds_one_row_for_each_stratum_and_none_for_a_person():
    weights = np.array([1.211, 2.377, 3.791, 5.113, 6.129, 7.417])
    strata = Strata.of({"w": weights}, weight="w", weight_classes=2)
    reports = Reports({"value": np.arange(6)}, MODEL)
    written = json.dumps(StratifiedShuffler(strata).shuffle(reports).to_dict())
    assert json.loads(written)["label_table"]["columns"]["w"]["values"] == [weights[:3].mean(), weights[3:].mean()]
    assert not any(str(weight) in written for weight in weights.tolist())


def test_those_hidden_least_are_in_the_smallest_stratum_with_all_who_collude():
    model = StratifiedShuffleModel(sizes=(40, 12, 70))
    assert (model.num_users, model.num_labels, model.num_alone, model.is_uniform) == (122, 3, 0, False)
    assert model.worst_off == UniformShuffleModel(num_users=12)
    assert model.with_fakes(5).worst_off == UniformShuffleModel(num_users=7)
    assert model.with_fakes(30).worst_off == UniformShuffleModel(num_users=1)
    assert model.with_fakes(5).num_honest == 117


def test_its_words_say_the_size_of_the_smallest_stratum():
    (said,) = StratifiedShuffleModel(sizes=(40, 12, 70)).mixing
    assert "the smallest of 3 strata, of 12 people; nobody's guarantee is weaker" in said
    (said,) = StratifiedShuffleModel(sizes=(40, 12, 70)).with_fakes(5).mixing
    assert "of 12 people, of whom 7 are counted as honest" in said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": ()}, "num_strata must be an integer that is 1 or more"),
        ({"sizes": (3, 0)}, "sizes must be an integer that is 1 or more"),
        ({"num_colluding": 6}, "num_colluding must be at most num_users=5"),
        ({"design_effect": 0.0}, "design_effect must be a finite number above 0"),
        ({"rounding": 1.5}, "rounding must be a number from 0 to 1"),
    ],
)
def test_what_describes_no_strata_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        StratifiedShuffleModel(**({"sizes": (3, 2)} | changes))


def test_another_number_of_people_than_in_the_strata_is_refused():
    with pytest.raises(InvalidParameterError, match="num_users must be the people of the strata, 5; got num_users=4"):
        StratifiedShuffler(STRATA).shuffle(Reports({"value": np.arange(4)}, MODEL))
