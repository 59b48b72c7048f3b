import numpy as np
import pytest

from attacks.seen import view_of
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.protocols.d_sigma.attacks.evaluation import MajorityVote
from shuffledp.protocols.d_sigma.attacks.side_information import (
    SideInformation,
    placement,
    reports_by_slot,
    similar_people,
)
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.randomizers import KaryRandomizedResponse, OptimizedUnaryEncoding
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shuffledp.testing import SeededSource

GROUPS = Groups.from_radius([0, 0, 0, 1, 1, 5, 5, 5, 5, 9], radius=1)


def test_people_looked_at_are_of_the_group_and_the_most_similar():
    privileged = np.array([0, 1, 7, 2, 7, 4, 4, 4, 9, 0])
    found = similar_people(GROUPS, count=3, privileged=privileged)
    for person, slots in enumerate(found):
        members = GROUPS.members(person)
        some = slots[slots >= 0]
        assert person in some
        assert some.size == np.unique(some).size == min(3, members.size)
        assert set(some) <= set(members)
        apart = np.sort(np.abs(privileged[members] - privileged[person]))
        assert np.array_equal(np.sort(np.abs(privileged[some] - privileged[person])), apart[: some.size])
    assert found[9].tolist() == [9, -1, -1]


def test_without_privileged_information_people_are_of_the_group_in_an_order_by_seed():
    crowd = Groups.from_labels(["all"] * 500)
    once, again, other = (similar_people(crowd, count=25, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)
    assert (once == np.arange(500)[:, None]).sum() == 500
    assert np.bincount(once.ravel(), minlength=500).min() > 0


def test_placement_of_a_uniform_block_is_one_in_its_size():
    crowd = Groups.from_labels([0, 0, 0, 0, 1])
    near = similar_people(crowd, count=4)
    found = placement(MallowsShuffler(groups=crowd, alpha=0.0), near, num_draws=4000, source=SeededSource(3))
    assert np.abs(found[:4] - 0.25).max() < 0.05
    assert found[4].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_reports_lie_in_their_slots():
    shuffler = MallowsShuffler(groups=GROUPS, alpha=1.0)
    reports = KaryRandomizedResponse(epsilon0=30.0, domain_size=10).randomize(np.arange(10), source=SeededSource(1))
    drawn = shuffler.draw(source=SeededSource(2))
    view = shuffler.shuffle(reports, source=SeededSource(2))
    assert np.array_equal(reports_by_slot(view, 10), drawn)
    assert sorted(reports_by_slot(UniformShuffler().shuffle(reports), 10)) == list(range(10))


def test_what_is_no_view_of_values_in_slots_is_refused():
    near = SideInformation(neighbors=np.array([[0], [1]]))
    with pytest.raises(InvalidParameterError, match="neighbors"):
        MajorityVote().infer(view_of([0, 1]), SideInformation())
    with pytest.raises(InvalidParameterError, match="one for each of 2 slots"):
        MajorityVote().infer(view_of([0, 1, 1]), near)
    with pytest.raises(InvalidParameterError, match="view must be"):
        MajorityVote().infer({"permutation": [1, 0]}, near)
    reports = OptimizedUnaryEncoding(epsilon0=1.0, domain_size=2).randomize([0, 1])
    with pytest.raises(UnsupportedModelError, match="values"):
        MajorityVote().infer(IdentityShuffler().shuffle(reports), near)


@pytest.mark.parametrize(
    "parts",
    [
        {"neighbors": np.zeros((3, 2), dtype=int), "points": np.zeros(4)},
        {"neighbors": np.zeros((3, 2))},
        {"neighbors": np.zeros(3, dtype=int)},
        {"neighbors": np.full((3, 2), -2)},
        {"features": np.full((3, 2), -1)},
        {"placement": np.zeros((3, 2))},
        {"neighbors": np.zeros((3, 2), dtype=int), "placement": np.zeros((3, 1))},
        {"neighbors": [[0, 1], [1]]},
        {"neighbors": 3},
        {"neighbors": np.ma.masked_equal([[0], [1]], 1)},
        {"features": np.full((3, 2), 2**63, dtype=np.uint64)},
        {"points": ["north", "south"]},
        {"points": np.zeros((2, 2, 2))},
    ],
)
def test_side_information_that_does_not_fit_together_is_refused(parts):
    with pytest.raises(InvalidParameterError):
        SideInformation(**parts)


@pytest.mark.parametrize("slot", [4, 9, 10**9, 2**62])
def test_slots_that_there_are_not_are_refused_before_anything_reads_them(slot):
    near = np.array([[0, slot]] * 4)
    with pytest.raises(InvalidParameterError, match="slots from 0 to 3"):
        SideInformation(neighbors=near)
    with pytest.raises(InvalidParameterError, match="slots from 0 to 3"):
        placement(MallowsShuffler(groups=Groups.from_labels([0] * 4), alpha=0.0), near, num_draws=1)
    assert SideInformation(neighbors=[[0, 3]] * 4).neighbors.max() == 3


def test_side_information_does_not_change_with_the_arrays_it_was_made_from():
    near = np.zeros((2, 1), dtype=int)
    side = SideInformation(neighbors=near)
    near[:] = 10**9
    assert side.neighbors.tolist() == [[0], [0]]
    with pytest.raises(ValueError, match="read-only"):
        side.neighbors[0] = 10**9


@pytest.mark.parametrize("chances", [[np.nan, 0], [np.inf, 0], [-3, 0], [5, 0], [0.6, 0.6], ["a", "b"]])
def test_placement_must_be_chances_of_a_single_report(chances):
    with pytest.raises(InvalidParameterError, match="placement"):
        SideInformation(neighbors=[[0, 1], [1, -1]], placement=[chances, [1, 0]])


def test_placement_where_there_is_no_slot_counts_for_nothing():
    side = SideInformation(neighbors=[[0, 1], [1, -1]], placement=[[0.4, 0.6], [0.5, 0.9]])
    assert side.placement.dtype == np.float64


def test_more_people_than_the_largest_group_has_are_not_looked_at():
    assert np.array_equal(similar_people(GROUPS, count=10**9), similar_people(GROUPS, count=5))


def test_parameters_of_similar_people_are_checked():
    with pytest.raises(InvalidParameterError, match="count"):
        similar_people(GROUPS, count=0)
    with pytest.raises(InvalidParameterError, match="seed"):
        similar_people(GROUPS, seed=-1)
    with pytest.raises(InvalidParameterError, match="complete"):
        similar_people(GROUPS, privileged=np.ma.masked_equal(np.arange(10), 3))
    with pytest.raises(InvalidParameterError, match="one number per person"):
        similar_people(GROUPS, privileged=["a"] * 10)
    with pytest.raises(InvalidParameterError, match="one finite number"):
        similar_people(GROUPS, privileged=[np.nan] * 10)


def test_side_information_is_not_printed():
    known = SideInformation(points=np.array([987654.0, 1.0]))
    assert repr(known) == "SideInformation(points; not shown)"


@pytest.mark.parametrize("people", [3, 5])
def test_placement_by_a_shuffle_of_other_people_is_refused(people):
    shuffler = MallowsShuffler(groups=Groups.from_labels([0] * 4), alpha=0.0)
    with pytest.raises(InvalidParameterError, match="those of the shuffler, 4"):
        placement(shuffler, np.zeros((people, 1), dtype=int), num_draws=1)
    with pytest.raises(InvalidParameterError, match="shuffler must be"):
        placement(IdentityShuffler(), np.zeros((4, 1), dtype=int), num_draws=1)


def test_of_very_many_values_it_is_said_that_nothing_is_written_out():
    with pytest.raises(UnsupportedModelError, match="100000 values"):
        MajorityVote().infer(view_of([0, 1], domain_size=100_000), SideInformation(neighbors=[[0], [1]]))
