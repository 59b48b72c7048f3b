"""Somebody who watches all links: names people by traffic that is not hidden, and learns nothing from envelopes."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.accounting import account
from shuffledp.attacks import NeighboringInputs, Verdict, audit
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.network.attacks.traffic_game import TrafficGame, follow, naming_rate, traffic_of
from shuffledp.protocols.network.attacks.walk_games import trace_walks
from shuffledp.protocols.network.laws.link_slots import slots_needed
from shuffledp.protocols.network.people.overlays import rounds_of
from shuffledp.protocols.network.theorems.network_limits import unmixed_chance
from shuffledp.testing import SeededSource
from soundness.exact_links import laws_by_traffic
from soundness.exact_walks import GRAPHS, step_of
from statistical.thresholds import assert_fits, assert_rejects

DELTA, PEOPLE = 0.02, 30
OVERLAY = sdp.Overlay(PEOPLE, (5, 6))


def pipeline(slots, graph=OVERLAY, rounds=2, epsilon0=2.0, **options):
    return sdp.Pipeline(
        randomizer=sdp.KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2),
        shuffler=sdp.RandomWalkShuffler(graph=graph, num_rounds=rounds, slots=slots, **options),
        analyzer=sdp.FrequencyAnalyzer(),
    )


def watched(slots, **options):
    """What the watcher shows, and what is claimed of walks on links with slots."""
    played = pipeline(slots, **options)
    constant = pipeline(slots_needed(OVERLAY, 2, overflow=1e-6), **options)
    claim = account(constant.model(PEOPLE), delta=DELTA)
    assert claim.basis.theorem == "network-constant-pattern"
    game = TrafficGame(pipeline=played, num_users=PEOPLE, source=SeededSource(3), progress=None)
    found = game.attack([NeighboringInputs(first=0, second=1, others=0)], {DELTA: 0.0}, 500, 1e-9, (1.0,))[DELTA]
    return found, claim.guarantee.epsilon


def test_traffic_that_is_not_hidden_refutes_what_holds_of_a_constant_pattern():
    evidence, claimed = watched(None)
    assert evidence.attack == "traffic"
    assert evidence.epsilon_lower > claimed
    assert evidence.epsilon_lower < 2.0  # epsilon0, which is stated of it


@pytest.mark.parametrize("protocol", ["all", pytest.param("single", marks=pytest.mark.deep)])
def test_a_constant_pattern_shows_the_watcher_no_more_than_is_claimed(protocol):
    options = {} if protocol == "all" else {"protocol": "single"}
    evidence, claimed = watched(slots_needed(OVERLAY, 2, overflow=1e-6), **options)
    assert evidence.epsilon_lower < claimed


def test_an_audit_of_links_with_slots_plays_the_watcher():
    played = pipeline(slots_needed(OVERLAY, 2, overflow=1e-6))
    claim = account(played.model(PEOPLE), delta=DELTA)
    report = audit(played, claim, num_users=PEOPLE, trials=200, source=SeededSource(4))
    assert report.findings[0].verdict is Verdict.CONSISTENT
    assert report.findings[0].evidence.attack in TrafficGame.scores


@pytest.mark.parametrize(("people", "rounds"), [(6, 1), (6, 2), (25, 1)])
def test_the_victim_is_named_at_the_rate_of_the_formula(people, rounds):
    shuffler = sdp.RandomWalkShuffler(graph=sdp.Overlay(people, (people,)), num_rounds=rounds)
    runs, chance = 2000, unmixed_chance(num_users=people, num_rounds=rounds)
    named = round(runs * naming_rate(shuffler, runs=runs, source=SeededSource(people)))
    assert_fits([named, runs - named], [chance, 1 - chance])
    other = unmixed_chance(num_users=people, num_rounds=rounds + 1)
    assert_rejects([named, runs - named], [other, 1 - other])


def test_two_rounds_of_an_overlay_leave_many_to_be_named_and_slots_nobody():
    graph = sdp.Overlay(100, (10, 10))
    naive, hidden = (sdp.RandomWalkShuffler(graph=graph, num_rounds=2, slots=each) for each in (None, (1, 6)))
    assert naming_rate(naive, runs=150, source=SeededSource(1)) > 0.08
    assert naming_rate(hidden, runs=150, source=SeededSource(1)) == 0.0


@pytest.mark.parametrize("name", ["K3", "paw", "2x2"])
def test_whom_traffic_leads_to_is_the_exact_law_given_the_traffic(name):
    if name == "2x2":
        matrices = [each.transposed_transition().toarray().T for each in rounds_of(sdp.Overlay(4, (2, 2)), 2)]
    else:
        matrices = [step_of(name)] * 2
    people = len(matrices[0])
    for traffic, places in laws_by_traffic(matrices).items():
        seen = []
        for each in traffic:
            links = np.array([link for link, _ in each], dtype=int).reshape(-1, 2)
            seen.append((links[:, 0], links[:, 1], np.array([number for _, number in each], dtype=int)))
        for victim in range(people):
            exact = Counter()
            for ends, chance in places.items():
                exact[ends[victim]] += chance / sum(places.values())
            found = follow(seen, people, victim)
            assert found.chances == pytest.approx([exact[place] for place in range(people)], abs=1e-12)


def test_envelopes_are_the_same_whatever_walks_where():
    paw = sdp.Graph.from_edges(GRAPHS["paw"][1])
    for graph in (paw, sdp.Overlay(5, (2, 2))):
        shuffler = sdp.RandomWalkShuffler(graph=graph, num_rounds=2, slots=(1, 2))
        traces = [trace_walks(shuffler, source=SeededSource(seed)) for seed in range(5)]
        assert len({each.tobytes() for each in traces}) > 1
        seen = [str(traffic_of(shuffler, each)) for each in traces]
        assert len(set(seen)) == 1
        first, second = traffic_of(shuffler, traces[0])
        assert set(first.messages.tolist()) == {1}
        assert set(second.messages.tolist()) == {2}
        assert (first.senders != first.receivers).all()
    edges = {*map(tuple, GRAPHS["paw"][1])}
    first, _ = traffic_of(sdp.RandomWalkShuffler(graph=paw, num_rounds=2, slots=(1, 2)), traces[0])
    assert {*zip(first.senders.tolist(), first.receivers.tolist(), strict=True)} == edges | {
        (other, one) for one, other in edges
    }


def test_traces_wait_as_walks_do():
    """Drawn round by round: no link carries more than its slots, and with enough of them nobody waits."""
    paw = sdp.Graph.from_edges(GRAPHS["paw"][1])
    crowded, free = (sdp.RandomWalkShuffler(graph=paw, num_rounds=6, slots=(each,) * 6) for each in (1, 4))
    stayed = 0
    for seed in range(30):
        trace = trace_walks(crowded, source=SeededSource(seed))
        for before, after in pairwise(trace):
            moved = before != after
            stayed += int((~moved).sum())
            assert max(Counter(zip(before[moved], after[moved], strict=True)).values()) == 1
        trace = trace_walks(free, source=SeededSource(seed))
        assert (trace[:-1] != trace[1:]).all()
    assert stayed > 50


@pytest.mark.parametrize(("options", "reason"), [({"runs": 0}, "runs"), ({"person": 30}, "person must be below")])
def test_nobody_is_followed_who_is_not_there(options, reason):
    with pytest.raises(InvalidParameterError, match=reason):
        naming_rate(pipeline(None).shuffler, **options)
