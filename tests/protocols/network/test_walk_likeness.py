"""What laws of positions have in common: never more than is true, and nearly as much."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws import walk_positions
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.protocols.network.laws.walk_likeness import (
    _compare_compiled,
    _compare_plainly,
    likely_rounds,
    likeness,
    mean_overlaps,
)
from shuffledp.protocols.network.laws.walk_positions import position_bounds
from shuffledp.protocols.network.laws.walk_sweeps import Sweep, _rounding, _walk_fast, _walk_plainly, swept
from shuffledp.testing import SeededSource

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "overlap.json").read_text(encoding="utf-8"))["rows"]
IRREGULAR = Graph.from_edges([*itertools.pairwise(range(60)), *((0, k) for k in range(2, 60, 3)), (1, 7), (4, 30)])
MIXED = Graph.from_edges(
    [
        *itertools.pairwise(range(60)),
        *((one, other) for one in range(60) for other in range(one) if (7 * one + 11 * other * other) % 9 == 0),
    ]
)
PAW = Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
REGULAR = Graph.random_regular(6, 200, SeededSource(1))


def exact_overlaps(laws):
    found = []
    for victim, law in enumerate(laws):
        reached = law > 0
        chances = np.minimum((laws[:, reached] / law[reached]).min(axis=1), 1.0)
        found.append((chances.sum() - chances[victim]) / (len(laws) - 1))
    return np.array(found)


def hypercube(dimension):
    people = range(2**dimension)
    return Graph.from_edges(
        [(one, one ^ (1 << bit)) for one in people for bit in range(dimension) if not one >> bit & 1]
    )


def paley(size):
    squares = {(each * each) % size for each in range(1, size)}
    return Graph.from_edges(
        [(one, other) for one in range(size) for other in range(one) if (one - other) % size in squares]
    )


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{row['kind']}-{index}", marks=() if index in {3, 5} else pytest.mark.deep)
        for index, row in enumerate(row for row in GOLDEN if row["kind"] in {"overlap_hypercube", "overlap_paley"})
    ],
)
def test_mean_overlaps_are_those_of_closed_forms(row):
    given = row["inputs"]
    graph = hypercube(given["dimension"]) if "dimension" in given else paley(given["q"])
    found = position_bounds(graph, given["rounds"], laziness=given.get("laziness", 0.0)).likeness
    expected = row["expected"]["mean_overlap"]
    assert found.mean_overlap <= expected * (1 + 1e-15)
    assert found.mean_overlap == pytest.approx(expected, abs=row["tolerance"]["mean_overlap"])


@pytest.mark.parametrize("seed", range(4))
def test_overlaps_of_any_laws_are_those_of_all_pairs_whichever_way_they_are_compared(seed):
    """Also where only some people reach a place, and where some are apart from all others."""
    draw = np.random.default_rng(seed)
    for people, places in ((5, 7), (40, 300)):
        laws = draw.dirichlet(np.full(places, 0.5), size=people) * (draw.random((people, places)) < 0.9)
        laws /= laws.sum(axis=1, keepdims=True)
        of_places, compiled, plain = np.ascontiguousarray(laws.T), np.empty(people), np.empty(people)
        _compare_compiled(of_places, np.ones(people), compiled)
        _compare_plainly(of_places, np.ones(people), plain)
        for found in (compiled, plain, mean_overlaps(laws)):
            assert found == pytest.approx(exact_overlaps(laws), rel=1e-12, abs=1e-300)
        some = draw.dirichlet(np.full(places, 9.0), size=people) * draw.random(people)[:, None]
        some[0] = 0.0  # nothing is seen of her
        expected = overlaps_of_parts(some)
        of_places, arriving = np.ascontiguousarray(some.T), some.sum(axis=1)
        _compare_compiled(of_places, arriving, compiled)
        _compare_plainly(of_places, arriving, plain)
        for found in (compiled, plain, mean_overlaps(some, arriving)):
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-300)
        assert expected[0] == 1 > expected[1:].max() > 0


def overlaps_of_parts(parts):
    """For each person the mean of what is in the others' parts of laws of hers, if hers is made to add up to 1."""
    found = []
    for one in parts:
        hers = one / one.sum() if one.any() else one
        shares = [min([1.0, *(each[hers > 0] / hers[hers > 0])]) for each in parts]
        found.append((sum(shares) - min([1.0, *(one[hers > 0] / hers[hers > 0])])) / (len(parts) - 1))
    return np.array(found)


@pytest.mark.parametrize("rounds", [1, 4, 9, 15])
@pytest.mark.parametrize("graph", [IRREGULAR, REGULAR])
def test_of_few_people_all_pairs_are_compared(graph, rounds):
    laws = position_distribution(graph, None, rounds, laziness=0.2)
    found, exact = position_bounds(graph, rounds, laziness=0.2).likeness, exact_overlaps(laws)
    assert 0.98 * exact.min() <= found.mean_overlap <= exact.min()


@pytest.mark.parametrize("most_steps", [10**9, None])
@pytest.mark.parametrize(
    ("graph", "rounds"), [(IRREGULAR, 30), (IRREGULAR, 200), (REGULAR, 1), (REGULAR, 9), (REGULAR, 18)]
)
def test_what_is_said_of_many_people_is_true_too(monkeypatch, graph, rounds, most_steps):
    """By a sweep of all starts; or of half of the rounds and the gap, where no more can be swept."""
    monkeypatch.setattr(walk_positions, "_FEW", 10)
    steps = most_steps or graph.num_users * (graph.num_users + graph.neighbors.size) * 8
    bounds = position_bounds(graph, rounds, laziness=0.1, most_steps=steps)
    found, laws = bounds.likeness, position_distribution(graph, None, rounds, laziness=0.1)
    quotients = laws / graph.stationary
    assert found.exact is (most_steps is not None or rounds < 9)
    assert found.mean_overlap <= exact_overlaps(laws).min()
    assert found.separation >= 1 - laws.min(axis=0).sum()
    assert found.near_uniformity >= (
        2 * np.log(quotients.max(axis=1) / np.maximum(quotients.min(axis=1), 1e-99))
    ).max() or (rounds > 1)
    assert found.largest >= quotients.max() * (1 - 1e-12)
    deviations = np.sqrt((graph.stationary * (quotients - 1) ** 2).sum(axis=1))
    assert (found.deviations >= deviations * (1 - 1e-9) - 1e-9).all()
    descending = np.cumsum(np.sort(laws, axis=1)[:, ::-1], axis=1)
    listed = np.repeat(*bounds.ranked)
    together = np.cumsum(np.concatenate([listed, np.zeros(max(graph.num_users - listed.size, 0))]))[: graph.num_users]
    assert (descending <= together + 1e-9).all()


def test_of_few_people_whose_laws_are_nearly_alike_the_bound_of_the_extremes_is_stated():
    """On Paley's graph of 101 people: below 0.98 all pairs are compared, from there on what is stated is near them."""
    compared = []
    for rounds in range(2, 8):
        stated = position_bounds(paley(101), rounds).likeness.mean_overlap
        exact = exact_overlaps(position_distribution(paley(101), None, rounds)).min()
        assert exact - 0.02 < stated <= exact + 1e-12
        compared.append(stated == pytest.approx(exact, rel=1e-9))
        assert compared[-1] or stated >= 0.98
    assert compared[0]
    assert not all(compared)


def test_of_many_people_bounds_are_near_the_truth_once_walks_have_mixed(monkeypatch):
    exact = position_bounds(REGULAR, 16).likeness
    monkeypatch.setattr(walk_positions, "_FEW", 10)
    found = position_bounds(REGULAR, 16)
    assert found.likeness.mean_overlap > 0.95 * exact.mean_overlap > 0.8
    chances, counts = (np.array(each) for each in found.ranked)
    assert chances**2 @ counts < 1.02 / 200
    by_halves = position_bounds(REGULAR, 32, most_steps=200 * 1400 * 16).likeness
    assert not by_halves.exact
    assert by_halves.mean_overlap > 0.98


def few_held_exactly(laws, most):
    worst = np.zeros(most)
    for victim in range(len(laws)):
        held = np.zeros((most, laws.shape[1]))
        held[0] = 1.0
        for law in np.delete(laws, victim, axis=0):
            held = held * (1 - law) + np.vstack([np.zeros(laws.shape[1]), held[:-1] * law])
        worst = np.maximum(worst, np.cumsum(held, axis=0).mean(axis=1))
    return worst


@pytest.mark.parametrize("few", [2000, 10])
@pytest.mark.parametrize(("graph", "rounds"), [(IRREGULAR, 60), (Graph.random_regular(6, 80, SeededSource(2)), 9)])
@pytest.mark.parametrize("dropout", [0.0, 0.01])
def test_how_likely_few_reports_are_is_said_from_above(monkeypatch, few, graph, rounds, dropout):
    monkeypatch.setattr(walk_positions, "_FEW", few)
    laws = position_distribution(graph, None, rounds, dropout=dropout, laziness=0.1)
    exact = few_held_exactly(laws, 6)
    found = np.array(position_bounds(graph, rounds, dropout=dropout, laziness=0.1).few_held[:6])
    assert len(found) >= 2
    assert (found >= exact[: len(found)]).all()
    assert found[0] <= exact[0] * 1.2


@pytest.mark.parametrize("laziness", [0.0, 0.25])
@pytest.mark.parametrize("graph", [IRREGULAR, MIXED], ids=["few neighbors", "some"])
def test_a_sweep_is_that_of_all_laws_to_its_rounding_whichever_way_it_is_made(laziness, graph):
    graphs, starts = [graph] * 3, np.arange(60)
    found = []
    for walk in (_walk_plainly, _walk_fast):
        sweep = Sweep(*(np.empty((3, 60)) for _ in range(3)), rounding=_rounding(graphs))
        walk(starts, graphs, laziness, sweep)
        found.append(sweep)
    for one, other in zip(*(each[:2] for each in found), strict=True):
        assert one.tolist() == other.tolist()
    assert found[0].squares == pytest.approx(found[1].squares, rel=1e-6)
    for rounds in (1, 2, 3):
        quotients = position_distribution(graph, None, rounds, laziness=laziness) / graph.stationary
        off = found[1].rounding[rounds - 1]
        assert found[1].most[rounds - 1] == pytest.approx(quotients.max(axis=1), rel=off)
        assert found[1].least[rounds - 1] == pytest.approx(quotients.min(axis=1), rel=off, abs=1e-30)
        assert found[1].squares[rounds - 1] == pytest.approx((quotients**2 @ graph.stationary), rel=3 * off)


def test_a_sweep_does_not_depend_on_how_many_rounds_are_asked_for():
    graph = Graph.random_regular(4, 90, SeededSource(5))
    short = swept(graph, 3, laziness=0.0).most[2].copy()
    long = swept(graph, 9, laziness=0.0)
    assert long.most[2].tolist() == short.tolist()
    assert swept(graph, 4, laziness=0.0) is long
    turns = [graph, REGULAR_90]
    assert len(swept(turns, 2, laziness=0.0).most) == 2
    assert len(swept([*turns, *turns, graph], 5, laziness=0.0).most) == 5
    kept = swept(turns, 3, laziness=0.0)
    assert len(kept.most) == 5


REGULAR_90 = Graph.random_regular(6, 90, SeededSource(6))


def test_more_rounds_never_have_less_in_common():
    overlaps = [position_bounds(IRREGULAR, rounds, laziness=0.1).likeness.mean_overlap for rounds in range(1, 60, 7)]
    assert (np.diff(overlaps) >= -1e-12).all()
    assert overlaps[-1] > overlaps[0]


@pytest.mark.parametrize(("graph", "laziness"), [(REGULAR, 0.0), (IRREGULAR, 0.3)])
def test_rounds_that_are_not_swept_are_no_worse_than_the_last_that_is(graph, laziness):
    steps = graph.num_users * (graph.num_users + graph.neighbors.size) * 9
    known = [likeness(graph, rounds, laziness, most_steps=steps) for rounds in (9, 10, 13)]
    assert [each.exact for each in known] == [True, False, False]
    for before, after in itertools.pairwise(known):
        assert after.mean_overlap >= before.mean_overlap * (1 - 1e-9)
        assert after.near_uniformity <= before.near_uniformity * (1 + 1e-9)
    for rounds, found in zip((10, 13), known[1:], strict=True):
        laws = position_distribution(graph, None, rounds, laziness=laziness)
        assert found.mean_overlap <= exact_overlaps(laws).min()


@pytest.mark.parametrize(("graph", "laziness"), [(REGULAR, 0.0), (IRREGULAR, 0.2), ([REGULAR_90, REGULAR_90], 0.1)])
def test_how_many_rounds_are_probably_enough_is_told_by_a_few_starts(graph, laziness):
    likely = likely_rounds(graph, laziness, enough=0.9)
    overlaps = [
        position_bounds(graph, rounds, laziness=laziness).likeness.mean_overlap
        for rounds in (max(likely // 2, 1), likely + 1 + likely // 4)
    ]
    assert overlaps[0] < 0.9 < overlaps[1]


def test_where_nobody_meets_nothing_is_alike():
    apart = Graph.from_edges([(0, 1), (2, 3)])
    found = position_bounds(apart, 4, laziness=0.5).likeness
    assert (found.separation, found.near_uniformity) == (1.0, math.inf)
    assert found.mean_overlap == pytest.approx(1 / 3, rel=1e-9)
    alone = position_bounds(Graph.from_edges([], 1), 0).likeness
    assert alone.mean_overlap == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("edges", [((0, 1), (1, 2), (0, 2), (2, 3), (3, 4)), ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2))])
@pytest.mark.parametrize("laziness", [0.0, 0.3])
@pytest.mark.parametrize(("few", "most_rounds"), [(2000, 100), (1, 100), (1, 6), (1, 0)])
def test_no_way_to_bound_them_is_on_the_wrong_side_of_the_fractions(monkeypatch, edges, laziness, few, most_rounds):
    """All pairs of laws, a sweep, half of the rounds, the gap: not by a rounding error."""
    monkeypatch.setattr(walk_positions, "_FEW", few)
    graph = Graph.from_edges(edges)
    people, ends = graph.num_users, [graph.neighbors_of(person).tolist() for person in range(graph.num_users)]
    steps, stay = most_rounds * people * (people + graph.neighbors.size), Fraction(laziness)
    laws = [[Fraction(one == other) for other in range(people)] for one in range(people)]
    for rounds in range(1, 13):
        laws = [
            [
                stay * law[place] + sum((1 - stay) * law[end] / len(ends[end]) for end in ends[place])
                for place in range(people)
            ]
            for law in laws
        ]
        places, found = range(people), position_bounds(graph, rounds, laziness=laziness, most_steps=steps).likeness
        overlaps = [
            sum(
                min(1, *(law[place] / mine[place] for place in places if mine[place]))
                for person, law in enumerate(laws)
                if person != victim
            )
            / (people - 1)
            for victim, mine in enumerate(laws)
        ]
        assert Fraction(found.mean_overlap) <= min(overlaps)
        assert Fraction(found.separation) >= 1 - sum(min(law[place] for law in laws) for place in places)
    assert found.mean_overlap > 0 or most_rounds == 0


def test_rounding_in_very_many_rounds_is_made_up_for_by_the_gap(monkeypatch):
    monkeypatch.setattr(walk_positions, "_FEW", 10)
    found = [position_bounds(REGULAR, rounds).likeness for rounds in (20, 60, 300)]
    assert [each.exact for each in found] == [True] * 3
    assert 1 > found[2].mean_overlap >= found[1].mean_overlap > 1 - 1e-5 > found[0].mean_overlap
    assert found[2].mean_overlap > 1 - 1e-11
    assert found[2].deviations.max() < 1e-11
    assert (found[2].deviations >= 0).all()


def test_a_likely_number_of_rounds_is_found_on_graphs_so_small_that_any_number_could_be_looked_at():
    ring = Graph.from_edges([(one, (one + 1) % 19) for one in range(19)])
    assert 1 <= likely_rounds(ring, 0.0, enough=0.5) <= 100_000
