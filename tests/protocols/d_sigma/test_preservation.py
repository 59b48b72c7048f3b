"""What stays in a group: exact laws against enumeration, and estimates against exact means."""

import math

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.analyzers.group_preservation import exact_means, preservation
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.testing import SeededSource
from shufflers.enumerated import law_of

SIX = Groups.from_labels([0] * 6)
ASKED = Groups.from_lists([[0, 1, 2], [1, 4], [3], [5], [0, 1, 2, 3, 4, 5]])


def kept_law(law, members):
    """Probabilities that a set keeps 0, 1, ..., all of its reports."""
    chances = np.zeros(len(members) + 1)
    for permutation, chance in law.items():
        chances[sum(permutation[slot] in members for slot in members)] += chance
    return chances


@pytest.mark.parametrize("distance", ["cayley", "hamming"])
def test_means_and_shares_that_are_kept_are_those_of_the_enumeration(distance):
    shuffler = MallowsShuffler(groups=SIX, concentration=0.5, distance=distance)
    law = law_of(shuffler)
    found = preservation(shuffler, ASKED, delta=0.1, num_draws=1)
    assert found.is_exact.all()
    for number, group in enumerate(ASKED):
        chances = kept_law(law, set(group.tolist()))
        assert found.mean[number] == pytest.approx(chances @ np.arange(chances.size) / group.size)
        below = np.cumsum(chances) - chances  # probability of keeping fewer
        assert found.least[number] == pytest.approx(np.flatnonzero(below <= 0.1).max() / group.size)


def test_the_mean_of_an_interval_of_ranks_is_exact_for_kendall_and_draws_estimate_the_rest():
    shuffler = MallowsShuffler(groups=SIX, concentration=0.5, order=range(6))
    law = law_of(shuffler)
    found = preservation(shuffler, ASKED, num_draws=4000, source=SeededSource(1))
    exact = [kept_law(law, set(group.tolist())) @ np.arange(group.size + 1) / group.size for group in ASKED]
    assert found.mean[[0, 2, 3, 4]] == pytest.approx(np.array(exact)[[0, 2, 3, 4]])
    assert found.mean[1] == pytest.approx(exact[1], abs=0.03)
    assert not found.is_exact.any()
    assert found.is_mean_exact.tolist() == [True, False, True, True, True]
    assert len(repr(found)) < 300
    assert f"Preservation({found.sizes.size} groups keep" in repr(found)
    assert (found.least <= found.mean).all()


def test_a_sort_is_estimated_from_draws_and_keeps_all_of_a_whole_block():
    groups = Groups.from_labels([0, 0, 0, 1, 1, 1])
    found = preservation(NoisySortShuffler(groups=groups, alpha=1.0), groups, num_draws=20)
    assert found.mean.tolist() == found.least.tolist() == [1.0, 1.0]
    assert found.sizes.tolist() == [3, 3]


def test_no_shuffle_keeps_everything_and_the_uniform_one_a_proportional_share():
    assert preservation(MallowsShuffler(groups=SIX, alpha=math.inf), ASKED, num_draws=2).mean.tolist() == [1.0] * 5
    uniform = preservation(MallowsShuffler(groups=SIX, alpha=0.0, distance="cayley"), ASKED, num_draws=2)
    assert uniform.mean == pytest.approx(ASKED.sizes / 6)


@pytest.mark.parametrize(
    ("distance", "known"), [("kendall", [0, 2, 3, 4]), ("cayley", [0, 1, 2, 3, 4]), ("hamming", [0, 1, 2, 3, 4])]
)
def test_exact_means_are_those_of_the_enumeration_and_left_out_where_they_are_not_known(distance, known):
    shuffler = MallowsShuffler(groups=SIX, concentration=0.5, distance=distance, order=range(6))
    law = law_of(shuffler)
    found = exact_means(shuffler, ASKED, range(5))
    assert sorted(found) == known
    for number, share in found.items():
        group = ASKED[number]
        assert share == pytest.approx(kept_law(law, set(group.tolist())) @ np.arange(group.size + 1) / group.size)
    assert list(exact_means(shuffler, ASKED, [2, 4], most_work=0)) == [4]  # all of a block keep all


def test_of_a_sort_only_whole_blocks_are_known():
    groups = Groups.from_labels([0, 0, 0, 1, 1, 1])
    shuffler = NoisySortShuffler(groups=groups, alpha=1.0)
    others = Groups.from_lists([[0, 1, 2], [0, 1], [2, 3], [3, 4, 5]])
    assert exact_means(shuffler, others, range(4)) == {0: 1.0, 3: 1.0}


def test_bad_parameters_are_refused():
    shuffler = MallowsShuffler(groups=SIX, alpha=1.0)
    with pytest.raises(InvalidParameterError, match="groups must be of 6 people"):
        preservation(shuffler, Groups.from_labels([0] * 5))
    with pytest.raises(InvalidParameterError, match="delta must be"):
        preservation(shuffler, SIX, delta=0.0)
    with pytest.raises(InvalidParameterError, match="num_draws must be"):
        preservation(shuffler, SIX, num_draws=0)
