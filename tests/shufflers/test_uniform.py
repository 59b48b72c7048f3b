"""The numbered guarantees of the uniform shuffler; what it shares with all others is in contracts/test_shufflers.py."""

import itertools
from collections import Counter

import numpy as np
import pytest

from contracts.siblings import ResidueRandomizer
from shuffledp.core.table import Table
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.randomness.permutations import random_permutation
from shuffledp.shufflers import UniformShuffleModel, UniformShuffler
from shuffledp.testing import RecordedSource, SeededSource
from statistical.thresholds import assert_fits, assert_rejects

DISTINCT = KaryRandomizedResponse(epsilon0=20.0, domain_size=300).randomize(np.arange(300), source=SeededSource(1))


def orders_seen(draws: int) -> list[int]:
    """How often each order of four different reports came out of the shuffler."""
    source, reports = SeededSource(31), DISTINCT.take([0, 1, 2, 3])
    assert sorted(reports["value"].tolist()) == [0, 1, 2, 3]
    views = (UniformShuffler().shuffle(reports, source=source) for _ in range(draws))
    seen = Counter(tuple(view.reports["value"].tolist()) for view in views)
    return [seen[order] for order in itertools.permutations(range(4))]


def test_guarantee_1_all_orders_of_the_reports_are_equally_likely():
    counts = orders_seen(24_000)
    assert_fits(counts, np.full(24, 1 / 24))
    # A shuffle that keeps the first report first a fifth too often is noticed.
    stays = np.array([order[0] == 0 for order in itertools.permutations(range(4))])
    assert_rejects(counts, np.where(stays, 1.2, 14 / 15) / 24)


def test_guarantee_1_the_order_is_one_exact_permutation_from_the_source():
    order = random_permutation(300, source=SeededSource(7))
    view = UniformShuffler().shuffle(DISTINCT, source=SeededSource(7))
    assert view.reports == DISTINCT.take(order)


def test_guarantee_1_nothing_but_the_order_is_drawn():
    words = SeededSource(8).words(302)
    recorded = RecordedSource(words)
    UniformShuffler().shuffle(DISTINCT, source=recorded)
    expected = RecordedSource(words)
    random_permutation(300, source=expected)
    assert recorded.remaining == expected.remaining


@pytest.mark.parametrize("public", [Table({"name": [f"person {i}" for i in range(300)]}), Table({"name": ["odd"]})])
def test_guarantee_2_public_columns_are_not_in_the_view_at_all(public):
    view = UniformShuffler().shuffle(DISTINCT, public=public)
    assert view.labels is None
    assert view.label_table is None
    assert list(view.reports) == ["value"]
    assert "person" not in str(view.to_dict())


def test_several_messages_are_shuffled_one_by_one_and_count_as_one_user():
    reports = ResidueRandomizer(modulus=2**40, num_messages=3).randomize(np.arange(50), source=SeededSource(2))
    view = UniformShuffler().shuffle(reports, source=SeededSource(3))
    assert view.shuffle == UniformShuffleModel(num_users=50)
    triples = {tuple(row) for row in reports["residue"].reshape(50, 3).tolist()}
    assert not triples & {tuple(row) for row in view.reports["residue"].reshape(50, 3).tolist()}
    assert sorted(view.reports["residue"].tolist()) == sorted(reports["residue"].tolist())


def test_its_model_is_uniform_and_oblivious():
    model = UniformShuffler().model(5)
    assert model.is_uniform
    assert model.is_oblivious
    assert model.to_dict() == {"kind": "uniform", "num_users": 5}
