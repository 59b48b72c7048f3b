"""Links of so many slots: who waits, how many slots are needed, and the chance that they are too few."""

import itertools

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.link_slots import overfull, slots_needed, slots_sent, surplus_chance, waiting
from shuffledp.protocols.network.laws.walk_distributions import graphs_of_rounds, transposed_transition
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.testing import SeededSource
from soundness.exact_links import joint_law, law_of_places, overflowing
from soundness.exact_walks import GRAPHS, step_of
from statistical.thresholds import assert_fits, assert_rejects

COPIES = 40_000


def matrices_of(graph, rounds):
    return [transposed_transition(each).toarray().T for each in graphs_of_rounds(graph, rounds)]


def test_of_those_on_one_link_the_first_in_the_order_go():
    links, order = np.array([7, 5, 7, 7, 5]), np.array([3, 1, 0, 4, 2])
    assert waiting(links, order, 1).tolist() == [True, False, True, False, True]
    assert waiting(links, order, 2).tolist() == [False, False, True, False, False]
    assert not waiting(links, order, 3).any()
    assert waiting(links[:0], order[:0], 1).shape == (0,)
    assert [overfull(links, slots) for slots in (1, 2, 3, 9)] == [True, True, False, False]


def test_who_waits_is_each_of_those_on_a_link_equally_often():
    """Over all orders, exactly."""
    links = np.array([0, 0, 1, 0])
    orders = [np.array(order) for order in itertools.permutations(range(4))]
    late = np.array([waiting(links, order, 2) for order in orders])
    assert late.sum(axis=0).tolist() == [8, 8, 0, 8]
    assert (late.sum(axis=1) == 1).all()


@pytest.mark.parametrize("name", ["K3", "P3"])
def test_walks_on_links_of_one_slot_end_with_the_exact_joint_law(name):
    """Many copies at once; and walks without a limit, and with those who wait chosen by number, would be told."""
    size, edges = GRAPHS[name]
    copies = [(one + size * copy, other + size * copy) for copy in range(COPIES) for one, other in edges]
    ends = sample_walks(Graph.from_edges(copies), 3, slots=(1, 1, 1), source=SeededSource(5)).positions
    counts = np.bincount((ends.reshape(COPIES, size) % size) @ size ** np.arange(size), minlength=size**size)

    def law_of(slots):
        found = np.zeros(size**size)
        for places, chance in law_of_places(joint_law([step_of(name)] * 3, slots)).items():
            found[np.array(places) @ size ** np.arange(size)] = chance
        return found

    def seen(law):
        common = law_of((1, 1, 1)) > 0.005
        return np.append(law[common], law[~common].sum())

    assert_fits(seen(counts), seen(law_of((1, 1, 1))))
    assert_rejects(seen(counts), seen(law_of((3, 3, 3))))
    assert_rejects(seen(np.roll(counts, 1)), seen(law_of((1, 1, 1))))


def test_messages_and_those_who_waited_are_counted():
    graph = Graph.from_edges([(0, 1)])
    walks = sample_walks(graph, 3, starts=[0, 0, 0], slots=(1, 1, 2))
    assert (walks.messages.tolist(), walks.waited) == ([4, 2], 2 + 1)
    free = sample_walks(graph, 3, starts=[0, 0, 0])
    assert (free.messages.tolist(), free.waited) == ([6, 3], 0)


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize(
    "graph",
    [
        *(Graph.from_edges(GRAPHS[name][1]) for name in ("K3", "P3", "paw", "star")),
        Overlay(4, (2, 2)),
        Overlay(5, (2, 2)),
    ],
    ids=["K3", "P3", "paw", "star", "2x2", "ragged 5"],
)
def test_the_chance_of_a_surplus_is_never_more_than_said(graph, slots):
    cycle = 2 if isinstance(graph, Overlay) else 3
    limits = (1, *(slots,) * (cycle - 1))
    said = surplus_chance(graph, limits)
    exact = overflowing(joint_law(matrices_of(graph, cycle), limits))
    assert exact <= said < 1.01
    assert said == 1.0 or exact == 0.0 or exact > said / 20  # exactly 0: too few people ever come together there
    assert surplus_chance(graph, (1,)) == surplus_chance(graph, ()) == 0.0


def test_it_is_the_sum_over_links_by_their_true_loads():
    graph, laziness, slots = Graph.from_edges(GRAPHS["paw"][1]), 0.3, (1, 3, 2, 4)
    step, held, total = step_of("paw", laziness=laziness), np.ones(4), 0.0
    for number, most in enumerate(slots):
        loads = (held[:, None] * step) * (1 - np.eye(4))
        total += (loads ** (most + 1)).sum() / float(np.prod(np.arange(1, most + 2))) if number else 0.0
        held = held @ step
    assert surplus_chance(graph, slots, laziness=laziness) == pytest.approx(total, rel=1e-8)
    assert surplus_chance(graph, slots, laziness=laziness) >= total


@pytest.mark.parametrize("share", [1e-2, 1e-8])
def test_slots_are_the_fewest_for_equal_parts(share):
    graph = Graph.from_edges([*GRAPHS["paw"][1], (3, 4), (4, 5)])
    found = slots_needed(graph, 5, overflow=share)
    assert found[0] == 1
    assert surplus_chance(graph, found) <= share
    for place in range(1, 5):
        alone = [99] * 5
        alone[place] = found[place]
        assert surplus_chance(graph, alone) <= share / 4
        alone[place] -= 1
        assert not alone[place] or surplus_chance(graph, alone) > share / 4


def test_slots_of_the_overlay_and_of_the_graph_of_ten_thousand():
    overlay, graph = Overlay(10_000, (10, 10, 10, 10)), Graph.random_regular(8, 10_000, SeededSource(1))
    for ways, rounds, expected in ((overlay, 4, 225), (graph, 39, 2_744)):
        found = slots_needed(ways, rounds, overflow=1e-8)
        assert set(slots_sent(ways, found).tolist()) == {expected}
        assert surplus_chance(ways, found) <= 1e-8
    twice = slots_needed(overlay, 8, overflow=1e-8)
    assert twice[4] > 1  # nobody holds just one when the second cycle begins
    assert surplus_chance(overlay, (1, 8, 8, 8, 1, 8, 8, 8)) == 1.0


@pytest.mark.parametrize(
    ("slots", "reason"), [((1,), "each of 2 rounds"), ((1, 0), "1 or more"), ((1, 1.5), "integer")]
)
def test_slots_that_are_none_are_refused(slots, reason):
    with pytest.raises(InvalidParameterError, match=reason):
        sample_walks(Graph.from_edges([(0, 1)]), 2, slots=slots)
    with pytest.raises(InvalidParameterError, match="laziness"):
        surplus_chance(Overlay(4, (2, 2)), (1, 1), laziness=0.5)
