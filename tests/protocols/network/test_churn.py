"""Walks of which it is known who is online: schedules, laws, samples, what positions have in common, and the gate."""

import json
from pathlib import Path

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.laws import churn_likeness
from shuffledp.protocols.network.laws.churn_likeness import (
    arriving_given,
    likeness_given,
    overlaps_by_round,
    overlaps_given,
    quick_overlap_given,
)
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.churned_rounds import ChurnedWays, rule_for
from shuffledp.protocols.network.laws.walk_distributions import (
    graphs_of_rounds,
    one_round,
    position_distribution,
    transposed_transition,
)
from shuffledp.protocols.network.laws.walk_gates import WalkGate
from shuffledp.protocols.network.laws.walk_sampling import sample_walks
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.testing import SeededSource
from soundness.exact_churn import laws_given
from soundness.exact_walks import GRAPHS, mean_overlap, overlaps_with
from statistical.thresholds import assert_fits, assert_lies_near, assert_rejects, lies_near

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "overlap.json").read_text(encoding="utf-8"))["rows"]
GRIDS = [row for row in GOLDEN if row["kind"] == "churn_grid"]
CASES = [("paw", "stay"), ("P3", "stay"), ((4, (2, 2)), "online"), ((5, (2, 2)), "online"), ((5, (2, 2)), "stay")]
RUNS = 60_000


def ways_of(way, online, rule):
    graph = Graph.from_edges(GRAPHS[way][1]) if isinstance(way, str) else Overlay(*way)
    return ChurnedWays(graph, Schedule(np.asarray(online), rule))


def some_schedules(people, rounds, count=12):
    draw = np.random.default_rng(people)
    return draw.random((count, rounds, people)) < 0.7


def people_in(way):
    return GRAPHS[way][0] if isinstance(way, str) else way[0]


# ---- schedules -------------------------------------------------------------------------------------------------------


def test_a_schedule_is_a_value_that_json_holds():
    schedule = Schedule.drawn(11, 5, offline=0.3, rule="stay", source=SeededSource(1))
    assert Schedule.from_dict(json.loads(json.dumps(schedule.to_dict()))) == schedule
    assert schedule.first(2).online.tolist() == schedule.online[:2].tolist()
    others = [schedule.first(4), Schedule(schedule.online, "online"), Schedule(~schedule.online), "schedule"]
    assert all(schedule != other for other in others)
    assert len({schedule, Schedule(schedule.online.copy())}) == 1
    assert not schedule.online.flags.writeable
    assert repr(schedule) == f"Schedule(5 rounds, 11 people, rule 'stay', offline {int((~schedule.online).sum())})"


def test_everybody_is_offline_with_the_chance_given_by_themselves():
    schedule = Schedule.drawn(200, 500, offline=0.1, rule="stay", source=SeededSource(2))
    deviation = np.sqrt(0.09 / 100_000)
    assert_lies_near(schedule.offline / 100_000, 0.1, deviation)
    assert not lies_near(schedule.offline / 100_000, 0.11, deviation)
    pairs = 2 * schedule.online[:, :100].ravel() + schedule.online[:, 100:].ravel()
    assert_fits(np.bincount(pairs, minlength=4), [0.01, 0.09, 0.09, 0.81])
    assert_rejects(np.bincount(pairs, minlength=4), [0.02, 0.08, 0.08, 0.82])
    assert Schedule.drawn(9, 3, offline=0.0, rule="stay").offline == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Schedule(np.ones((2, 3))), "online must be a boolean"),
        (lambda: Schedule(np.ones(3, dtype=bool)), "online must be a boolean"),
        (lambda: Schedule(np.ones((2, 0), dtype=bool)), "online must be a boolean"),
        (lambda: Schedule(np.ones((2, 3), dtype=bool), "wait"), "rule must be one of 'stay', 'online'"),
        (lambda: Schedule.drawn(3, 2, offline=1.5, rule="stay"), "offline must be a number from 0 to 1"),
        (lambda: Schedule.from_dict({"rule": "stay"}), "must have the keys"),
        (lambda: Schedule.from_dict({"rule": "stay", "rounds": 1, "people": 9, "online": "??"}), "base64"),
        (lambda: Schedule.from_dict({"rule": "stay", "rounds": 1, "people": 9, "online": "/w=="}), "got 1 bytes"),
        (
            lambda: Schedule.from_dict({"rule": "stay", "rounds": 1, "people": 4, "online": "/w=="}),
            "must have 0 in the bits after the last person",
        ),
        (lambda: Schedule.from_dict({"rule": "stay", "rounds": True, "people": 4, "online": "8A=="}), "rounds must be"),
        (lambda: ways_of("paw", np.ones((1, 3), dtype=bool), "stay"), "of the people in the graph, 4"),
        (lambda: ways_of("paw", np.ones((1, 4), dtype=bool), "online"), "the rule 'stay' on a graph"),
        (lambda: graphs_of_rounds(ways_of("paw", np.ones((1, 4), dtype=bool), "stay"), 2), "at most those"),
    ],
)
def test_what_is_no_schedule_is_refused(make, words):
    with pytest.raises(InvalidParameterError, match=words):
        make()


def test_a_schedule_says_who_hands_in_where_not_everybody_does():
    online, last = np.ones((3, 9), dtype=bool), np.arange(9) < 7
    schedule = Schedule(online, "stay", last)
    assert Schedule.from_dict(json.loads(json.dumps(schedule.to_dict()))) == schedule
    assert "handing_in" not in Schedule(online, "stay", np.ones(9, dtype=bool)).to_dict()
    others = [Schedule(online), Schedule(online, "stay", ~last), schedule.first(3)]
    assert all(schedule != other for other in others)
    assert others[2] == others[0]
    for wrong in (last[:8], last.astype(int), np.zeros(9, dtype=bool)):
        with pytest.raises(InvalidParameterError, match="handing_in must be"):
            Schedule(online, "stay", wrong)
    with pytest.raises(InvalidParameterError, match="handing_in must be base64"):
        Schedule.from_dict(schedule.to_dict() | {"handing_in": 3})


# ---- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "rule"), CASES, ids=str)
def test_laws_given_who_is_online_are_those_of_the_rules(way, rule):
    for online in some_schedules(people_in(way), 3):
        ways = ways_of(way, online, rule)
        found = position_distribution(ways, None, 3)
        assert found == pytest.approx(laws_given(way, online, rule), abs=1e-14)
        for each in ways.rounds:
            matrix = transposed_transition(each)
            whole = matrix @ np.eye(ways.num_users)
            assert matrix.diagonal() == pytest.approx(np.diag(whole))
            assert one_round(matrix.T, np.eye(ways.num_users), 0.0) == pytest.approx(whole.T)
        assert position_distribution(ways, 1, 2) == pytest.approx(laws_given(way, online[:2], rule)[1], abs=1e-14)


def test_graphs_take_turns_under_a_schedule():
    graphs = [Graph.from_edges(GRAPHS[name][1]) for name in ("paw", "C4")]
    ways = ChurnedWays(graphs, Schedule(np.ones((3, 4), dtype=bool)))
    assert position_distribution(ways, None, 3) == pytest.approx(position_distribution(graphs, None, 3))
    assert [rule_for(each) for each in (graphs[0], graphs, Overlay(4, (2, 2)))] == ["stay", "stay", "online"]


@pytest.mark.parametrize(("way", "rule"), CASES, ids=str)
def test_walks_that_are_drawn_have_the_laws_given_who_is_online(way, rule):
    online = some_schedules(people_in(way), 3)[1]
    ways = ways_of(way, online, rule)
    starts, source = np.full(RUNS, 1), SeededSource(5)
    walks = sample_walks(ways, 3, starts=starts, source=source)
    law = laws_given(way, online, rule)[1]
    counts = np.bincount(walks.positions, minlength=len(law))
    assert counts[law == 0].sum() == 0
    assert_fits(counts[law > 0], law[law > 0])
    assert_rejects(counts, 0.95 * law + 0.05 / len(law))
    lazy = sample_walks(ways, 3, starts=starts, source=source, laziness=0.5, dropout=0.1)
    law = position_distribution(ways, 1, 3, laziness=0.5, dropout=0.1)
    counts = np.bincount(lazy.positions + 1, minlength=len(law) + 1)
    cells = np.concatenate([[1 - law.sum()], law])
    assert_fits(counts[cells > 0], cells[cells > 0] / cells.sum())


def test_nothing_leaves_or_reaches_who_is_offline_and_only_what_leaves_is_a_message():
    online = np.array([[True, False, True, True]])
    for way, rule in (("paw", "stay"), ((4, (2, 2)), "online"), ((4, (2, 2)), "stay")):
        walks = sample_walks(ways_of(way, online, rule), 1, starts=[0, 1, 2, 3] * 200, source=SeededSource(3))
        ends = walks.positions.reshape(-1, 4)
        assert (ends[:, 1] == 1).all()
        assert (np.delete(ends, 1, axis=1) != 1).all()
        assert walks.messages.tolist() == [(ends[:, person] != person).sum() for person in range(4)]
    assert sample_walks(ways_of("paw", [[False] * 4] * 5, "stay"), 5).messages.tolist() == [0] * 4


# ---- what they have in common, and the gate --------------------------------------------------------------------------


@pytest.mark.parametrize("row", GRIDS, ids=lambda row: f"{row['inputs']['side']}-{row['inputs']['rounds']}")
def test_mean_overlaps_are_those_of_an_independent_product(row, monkeypatch):
    side, rounds = row["inputs"]["side"], row["inputs"]["rounds"]
    people = side * side
    online = (7 * np.arange(people) + 3 * np.arange(rounds)[:, None]) % 23 != 0
    ways = ways_of((people, (side, side)), online, row["inputs"]["rule"])
    expected, tolerance = row["expected"]["worst_mean_overlap"], row["tolerance"]["worst_mean_overlap"]
    assert likeness_given(ways).mean_overlap == pytest.approx(expected, abs=tolerance)
    assert likeness_given(ways).mean_overlap <= expected
    monkeypatch.setattr(churn_likeness, "_FEW", 1)
    cheaply = likeness_given(ways).mean_overlap
    assert cheaply <= expected
    assert rounds < 6 or cheaply > 0.85 * expected
    monkeypatch.setattr(churn_likeness, "_MOST_STEPS", 1)
    assert likeness_given(ways).mean_overlap == 0.0  # nothing is known


@pytest.mark.parametrize(("way", "rule"), CASES, ids=str)
def test_the_least_overlap_of_anybody_is_found_after_each_round(way, rule, monkeypatch):
    for online in some_schedules(people_in(way), 4):
        ways = ways_of(way, online, rule)
        laws = [laws_given(way, online[: done + 1], rule) for done in range(4)]
        exact = [mean_overlap(each) for each in laws]
        found = list(overlaps_by_round(ways, worth=0.0))
        assert found == pytest.approx(exact, abs=1e-12)
        assert (np.array(found) <= np.array(exact) + 1e-15).all()
        bold = list(overlaps_by_round(ways, worth=0.5))
        assert all(one == other or (one == 0 and other < 0.5) for one, other in zip(bold, found, strict=True))
        each = [(overlaps_with(laws[-1], one).sum() - 1) / (len(laws[-1]) - 1) for one in range(len(laws[-1]))]
        assert overlaps_given(ways) == pytest.approx(each, abs=1e-12)
        monkeypatch.setattr(churn_likeness, "_FEW", 1)
        assert all(one <= other + 1e-15 for one, other in zip(overlaps_by_round(ways, worth=0.0), exact, strict=True))
        monkeypatch.undo()


def test_the_gate_opens_at_the_first_round_that_mixes_enough_and_looks_at_no_later_one():
    for online in some_schedules(5, 6, count=12):
        ways = ways_of((5, (2, 2)), online, "online")
        exact = [mean_overlap(laws_given((5, (2, 2)), online[: done + 1], "online")) for done in range(6)]
        for overlap, dropout in ((0.31, 0.0), (0.71, 0.0), (0.31, 0.1)):
            gate = WalkGate(epsilon=0.5, delta=0.01, overlap=overlap)
            enough = [found * (1 - dropout) ** (done + 1) >= overlap for done, found in enumerate(exact)]
            first = enough.index(True) + 1 if any(enough) else None
            assert gate.first_open_round(ways, dropout=dropout) == first
            if first is not None:
                assert gate.first_open_round(ways.first(first), dropout=dropout) == first
                assert gate.first_open_round(ways.first(first - 1), dropout=dropout) is None


def test_one_person_alone_is_hidden_by_nobody_and_as_well_as_can_be():
    alone = ways_of((2, (2,)), [[True, False]], "online")
    assert list(overlaps_by_round(alone, worth=0.1)) == [0.0]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"delta": 0.0}, "delta must be"),
        ({"overlap": 0.0}, "overlap must be"),
        ({"overlap": 1.5}, "overlap must be"),
    ],
)
def test_what_is_no_gate_is_refused(values, words):
    with pytest.raises(InvalidParameterError, match=words):
        WalkGate(**({"epsilon": 0.5, "delta": 0.01, "overlap": 0.5} | values))


def overlaps_at(laws, last):
    """For each person the mean of what others' laws have of hers at the places that are handed in; 1 for nowhere."""
    found = []
    for victim, law in enumerate(laws):
        reached = (law > 0) & last
        shares = (laws[:, reached] * law[last].sum() / law[reached]).min(axis=1, initial=1.0)
        found.append((shares.sum() - shares[victim]) / (len(laws) - 1))
    return np.array(found)


@pytest.mark.parametrize("way", ["paw", (5, (2, 2))], ids=str)
def test_overlaps_are_those_at_the_places_that_are_handed_in(way, monkeypatch):
    people, unlike = people_in(way), 0
    for online in some_schedules(people, 6):
        for last in (online[-1] | (np.arange(people) == 0), np.arange(people) > 1):
            laws = laws_given(way, online, "stay")
            graph = ways_of(way, online, "stay").graph
            ways = ChurnedWays(graph, Schedule(online, "stay", last))
            expected = overlaps_at(laws, last)
            assert overlaps_given(ways) == pytest.approx(expected, abs=1e-12)
            assert likeness_given(ways).mean_overlap == pytest.approx(expected.min(), abs=1e-12)
            assert last.all() or likeness_given(ways).separation == 1.0
            quick, exact = quick_overlap_given(ways), expected.min()
            assert quick <= exact * (1 + 1e-12)
            with monkeypatch.context() as patched:
                patched.setattr(churn_likeness, "_FEW", 2)
                assert likeness_given(ways).mean_overlap == quick
            assert arriving_given(ways) == pytest.approx(laws[:, last].sum() / people)
            unlike += quick > 0.2 * exact > 0
    assert unlike > 3
