"""Walks that are drawn have exactly the law that is worked out."""

import math

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.protocols.network.laws.walk_loads import expected_messages
from shuffledp.protocols.network.laws.walk_sampling import LOST, sample_walks
from shuffledp.protocols.network.people.overlays import Overlay, rounds_of
from shuffledp.testing import RecordedSource, SeededSource
from statistical.thresholds import assert_fits, assert_lies_near, assert_rejects, lies_near

PAW = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
RING = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
RUNS = 120_000


@pytest.mark.parametrize("start", range(4))
@pytest.mark.parametrize(("laziness", "dropout"), [(0.0, 0.0), (0.3, 0.0), (0.25, 0.1)])
def test_positions_have_the_exact_law(start, laziness, dropout):
    chances = {"laziness": laziness, "dropout": dropout}
    source = SeededSource(100 * start + round(10 * laziness))
    ends = sample_walks(PAW, 3, starts=np.full(RUNS, start), source=source, **chances).positions
    counts = np.bincount(ends + 1, minlength=5)
    law = position_distribution(PAW, start, 3, **chances)
    slower = position_distribution(PAW, start, 4, **chances)
    cells = np.concatenate([[1 - law.sum()], law])
    present = cells > 1e-12
    assert counts[~present].sum() == 0
    assert_fits(counts[present], cells[present] / cells[present].sum())
    wrong = np.concatenate([[1 - slower.sum()], slower])[present]
    assert_rejects(counts[present], wrong / wrong.sum())


def test_a_neighbor_of_each_degree_is_chosen_uniformly():
    star = Graph.from_edges([(0, leaf) for leaf in range(1, 8)])
    ends = sample_walks(star, 1, starts=np.zeros(RUNS, dtype=int), source=SeededSource(2)).positions
    counts = np.bincount(ends, minlength=8)[1:]
    assert_fits(counts, np.full(7, 1 / 7))
    assert_rejects(counts, np.array([8, 8, 8, 8, 8, 8, 7.0]) / 55)


def test_words_that_would_favor_a_neighbor_are_drawn_again():
    star = Graph.from_edges([(0, 1), (0, 2), (0, 3)])
    # Of degree 3, 2^64 mod 3 = 1: the word 0 is rejected, and the next decides; 2^63 is in the middle third.
    words = np.array([0, 2**63], dtype=np.uint64)
    walks = sample_walks(star, 1, starts=[0], source=RecordedSource(words))
    assert walks.positions.tolist() == [2]
    assert walks.messages.tolist() == [1, 0, 0, 0]


def test_messages_are_as_many_as_expected():
    starts = np.tile(np.arange(4), RUNS // 4)
    sent = sample_walks(PAW, 3, starts=starts, laziness=0.5, source=SeededSource(9)).messages
    expected = expected_messages(PAW, 3, laziness=0.5) * RUNS / 4
    for count, mean in zip(sent.tolist(), expected.tolist(), strict=True):
        assert_lies_near(count, mean, 2 * np.sqrt(mean))
        assert not lies_near(count, mean * 1.2, 2 * np.sqrt(mean))


def test_lost_reports_stay_lost_and_all_lazy_ones_stay():
    assert (sample_walks(PAW, 1, dropout=1.0).positions == LOST).all()
    assert sample_walks(PAW, 5, laziness=1.0).positions.tolist() == [0, 1, 2, 3]
    assert sample_walks(PAW, 0).positions.tolist() == [0, 1, 2, 3]
    assert sample_walks(Graph.from_edges([(0, 1)], 3), 3).positions.tolist() == [1, 0, 2]


def test_the_same_source_gives_the_same_walks_and_none_others():
    graph = Graph.random_regular(4, 200)
    first, again = (sample_walks(graph, 9, source=SeededSource(1)).positions for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(sample_walks(graph, 9).positions, sample_walks(graph, 9).positions)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"starts": [4]}, r"starts must be in range\(4\)"),
        ({"starts": [0.5]}, "starts must be integers in one dimension"),
        ({"laziness": 2}, "laziness must be a number from 0 to 1"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        sample_walks(PAW, 1, **options)


def test_what_is_printed_does_not_show_where_reports_are():
    walks = sample_walks(Graph.from_edges([(0, 1), (1, 2), (2, 0)]), 2, source=SeededSource(1))
    assert repr(walks) == "Walks(3 reports, 3 people; where reports are is not shown)"
    assert f"{walks}" == repr(walks)


# ---- overlays --------------------------------------------------------------------------------------------------------

RAGGED = Overlay(7, (2, 3))  # one person more than addresses


@pytest.mark.parametrize("start", [3, 6])
def test_walks_on_an_overlay_end_with_everybody_equally_often(start):
    ends = sample_walks(RAGGED, 2, starts=np.full(RUNS, start), source=SeededSource(start)).positions
    counts = np.bincount(ends, minlength=7)
    assert_fits(counts, np.full(7, 1 / 7))
    assert_rejects(counts, np.array([12, 12, 12, 12, 12, 12, 11.0]) / 83)
    naive = np.repeat([1 / 8, 1 / 6], [4, 3])  # if all contacts of the first round were equally likely
    assert_rejects(counts, naive)


@pytest.mark.parametrize("place", [0, 1])
def test_one_round_of_an_overlay_has_the_law_of_its_matrix(place):
    each = rounds_of(RAGGED, 2)[place]
    person = (3, 0)[place]
    law = each.transposed_transition().toarray()[:, person]
    walks = sample_walks(each, 1, starts=np.full(RUNS, person), source=SeededSource(5))
    counts = np.bincount(walks.positions, minlength=7)
    assert counts[law == 0].sum() == 0
    assert_fits(counts[law > 0], law[law > 0])
    assert_rejects(counts[law > 0], {3: np.array([0.5, 0.5]), 0: np.array([2, 2, 3, 3]) / 10}[person])
    assert walks.messages[person] == walks.messages.sum() == RUNS - counts[person]


def test_words_that_are_rejected_on_an_overlay_are_drawn_anew():
    """Of 2 * 7 choices, a word w is rejected if the lower half of 14 w is below 2^64 mod 14, which is 2."""
    each = rounds_of(RAGGED, 1)[0]
    source = RecordedSource([0, 2**62, 2**63, 12345])
    found = sample_walks(each, 1, starts=[3, 3], source=source).positions
    assert source.remaining == 0
    assert len(found) == 2


def test_messages_of_an_overlay_are_those_expected():
    overlay = Overlay.in_rounds(10_007, 4)
    walks = sample_walks(overlay, 4, source=SeededSource(3))
    mean = expected_messages(overlay, 4).sum()
    assert_lies_near(walks.messages.sum(), mean, 100 * math.sqrt(4 * 0.1 * 0.9))
    assert not lies_near(walks.messages.sum(), mean * 1.02, 100 * math.sqrt(4 * 0.1 * 0.9))
