"""Reports that walk: what the exact law of positions shows, what colluders add to it, and twins that fall."""

import math
from dataclasses import replace

import numpy as np
import pytest

import shuffledp as sdp
from attacks.twins import EmptyHands, OneRoundEarly, walking
from shuffledp.accounting import account
from shuffledp.attacks import NeighboringInputs, Verdict, audit
from shuffledp.core.guarantees import CentralDP
from shuffledp.protocols.network.attacks.walk_games import (
    WALK_SCORES,
    SightingReader,
    WalkReader,
    colluders_beside,
    most_exposed,
    trace_walks,
)
from shuffledp.protocols.network.laws.churn_schedules import Schedule
from shuffledp.protocols.network.laws.walk_distributions import position_distribution
from shuffledp.protocols.network.laws.walk_sampling import LOST
from shuffledp.protocols.network.people.overlays import Overlay
from shuffledp.protocols.network.theorems.network_gate import walk_gate
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.testing import SeededSource
from soundness.exact_walks import GRAPHS, exact_epsilon, positions, sees_one_each
from statistical.thresholds import SIGNIFICANCE, assert_fits, assert_rejects

CERTAIN = 1 - SIGNIFICANCE
DELTA = 0.05
BINARY = np.array([[math.e, 1], [1, math.e]]) / (1 + math.e)
INPUTS = NeighboringInputs(first=0, second=1, others=0)


def small(name):
    return sdp.Graph.from_edges(GRAPHS[name][1])


def ring(people, reach=1):
    return sdp.Graph.from_edges([(one, (one + far) % people) for one in range(people) for far in range(1, reach + 1)])


def exact_claim(pipeline, name, protocol, rounds):
    """The least epsilon that is true of everybody on this graph, by enumeration."""
    size = GRAPHS[name][0]
    kernel = sees_one_each(size, size, BINARY[0]) if protocol == "single" else None
    epsilon = exact_epsilon(BINARY, positions(name, rounds), range(size), kernel, DELTA)
    claim = account(pipeline.model(size), delta=DELTA)
    return replace(claim, guarantee=CentralDP(epsilon=epsilon, delta=DELTA))


def audited(pipeline, claim=None, *, trials=None, **options):
    people = pipeline.shuffler.graph.num_users
    claim = claim or account(pipeline.model(people), delta=DELTA)
    options = {"confidence": CERTAIN, "source": SeededSource(3)} | options
    return audit(pipeline, claim, num_users=people, trials=trials, **options).findings[0]


# ---- against the analyst alone --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "protocol"),
    [("C5", "single"), *(pytest.param(*case, marks=pytest.mark.deep) for case in (("P4", "single"), ("C5", "all")))],
)
def test_the_attack_by_positions_comes_close_to_the_exact_loss_and_never_above(name, protocol):
    honest = walking(graph=small(name), num_rounds=2, protocol=protocol)
    claim = exact_claim(honest, name, protocol, 2)
    evidence = audited(honest, claim, trials=2000).evidence
    assert evidence.attack == "bags"
    assert evidence.epsilon_lower <= claim.guarantee.epsilon <= evidence.epsilon_upper
    assert evidence.epsilon > 0.7 * claim.guarantee.epsilon


def test_one_round_early_is_no_round_and_is_refuted_by_few_trials():
    """What is claimed after one round of "single" among 30 is far below the local loss."""
    options = {"graph": sdp.Graph.from_edges([(i, j) for i in range(30) for j in range(i)]), "num_rounds": 1}
    finding = audited(walking(OneRoundEarly, **options), trials=1000, confidence=0.99)
    assert finding.verdict is Verdict.REFUTED
    assert finding.evidence.attack in {"own-report", "bags-early"}
    assert audited(walking(**options), trials=400, confidence=0.99).verdict is Verdict.CONSISTENT


@pytest.mark.deep
def test_one_round_early_on_a_slow_graph_is_refuted_with_the_default_trials():
    """A path of four: 0.645 after two rounds, 0.749 after one."""
    options = {"graph": small("P4"), "num_rounds": 2}
    honest, twin = walking(**options), walking(OneRoundEarly, **options)
    claim = exact_claim(honest, "P4", "single", 2)
    finding = audited(twin, claim, confidence=0.99)
    assert finding.verdict is Verdict.REFUTED
    assert finding.evidence.attack == "bags-early"
    assert audited(honest, claim).verdict is Verdict.CONSISTENT


def test_who_shows_empty_hands_is_refuted():
    """A star after one round: only the center and one leaf hold anything, so that the leaf's report is the center's."""
    star = sdp.Graph.from_edges([(0, leaf) for leaf in range(1, 30)])
    options = {"graph": star, "num_rounds": 1, "epsilon0": 3.0}
    hidden = account(walking(**options).model(30), delta=DELTA)
    hidden = replace(hidden, guarantee=CentralDP(epsilon=1.5, delta=DELTA))
    assert audited(walking(**options), hidden, trials=500).verdict is Verdict.CONSISTENT
    assert audited(walking(EmptyHands, **options), hidden, trials=500).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "padded", "submissions": 2},
        {"protocol": "all", "dropout": 0.2},
        {"protocol": "all", "offline": 0.3},
    ],
    ids=["padded", "dropout", "offline"],
)
def test_other_protocols_are_played_too(options):
    finding = audited(walking(graph=ring(8, 2), num_rounds=2, **options), trials=100, confidence=0.9)
    assert finding.verdict is Verdict.CONSISTENT


def test_who_knows_that_somebody_was_offline_all_the_time_refutes_what_holds_if_all_are_online():
    """The attacker weighs places by the laws given the schedule, and asks about whoever is hidden worst by it."""
    online = np.ones((6, 36), dtype=bool)
    options = {"graph": Overlay(36, (6, 6)), "num_rounds": 6, "protocol": "all", "epsilon0": 2.0}
    everybody = walking(schedule=Schedule(online, "online"), **options)
    promised = account(everybody.model(36), delta=DELTA)
    assert promised.guarantee.epsilon < 0.5
    assert audited(everybody, trials=500).verdict is Verdict.CONSISTENT
    online[:, 7] = False
    without = walking(schedule=Schedule(online, "online"), **options)
    assert most_exposed(without.shuffler) == 7
    assert account(without.model(36), delta=DELTA).guarantee.epsilon == 2.0  # hers
    assert audited(without, trials=500).verdict is Verdict.CONSISTENT
    assert audited(without, promised, trials=500).verdict is Verdict.REFUTED


def test_behind_a_gate_nobody_learns_more_than_is_stated():
    coin = KaryRandomizedResponse(epsilon0=2.0, domain_size=2)
    gate = walk_gate(coin, num_users=36, epsilon=0.8, delta=DELTA)
    gated = walking(graph=Overlay(36, (6, 6)), protocol="all", epsilon0=2.0, gate=gate, num_rounds=30, offline=0.1)
    assert account(gated.model(36), delta=DELTA).guarantee.epsilon == 0.8
    assert audited(gated, trials=500).verdict is Verdict.CONSISTENT
    for seed in (1, 2):
        recorded = replace(gated, shuffler=gated.shuffler.scheduled(source=SeededSource(seed)))
        assert audited(recorded, trials=500).verdict is Verdict.CONSISTENT  # who was online is known
    gone = walking(graph=Overlay(36, (6, 6)), protocol="all", epsilon0=2.0, num_rounds=1, offline=0.1)
    stated = account(gated.model(36), delta=DELTA)
    early = replace(gone, shuffler=gone.shuffler.scheduled(source=SeededSource(1)))
    assert audited(early, stated, trials=500).verdict is Verdict.REFUTED  # before the gate would have opened


def test_the_most_exposed_is_the_center_of_a_star_and_is_played():
    star = sdp.Graph.from_edges([(5, leaf) for leaf in range(5)])
    honest = walking(graph=star, num_rounds=1, protocol="all", epsilon0=3.0)
    assert most_exposed(honest.shuffler) == 5
    assert audited(honest, trials=500).evidence.inputs.person == 5


def test_of_identical_laws_the_score_is_that_of_the_histogram():
    """After one round on a complete graph with loops for all; here by many rounds."""
    graph = sdp.Graph.from_edges([(i, j) for i in range(6) for j in range(i)])
    honest = walking(graph=graph, num_rounds=40, protocol="all")
    reader = WalkReader(honest.shuffler, honest.randomizer.model, INPUTS)
    reports = honest.randomizer.randomize([0] * 6, source=SeededSource(1))
    view = honest.shuffler.shuffle(reports, source=SeededSource(2))
    weights = [math.e if value == 0 else 1 / math.e for value in (1 - reports["value"])]
    zeros = int((reports["value"] == 0).sum())
    expected = math.log(6) - math.log(zeros / math.e + (6 - zeros) * math.e)
    assert len(weights) == 6
    assert reader.scores([view])[0].tolist() == pytest.approx([expected, expected], abs=1e-6)


def test_a_report_alone_in_its_place_is_one_persons_own():
    honest = walking(graph=ring(9), num_rounds=0, protocol="all")
    reader = WalkReader(honest.shuffler, honest.randomizer.model, INPUTS)
    reports = honest.randomizer.randomize([0] * 9, source=SeededSource(1))
    view = honest.shuffler.shuffle(reports, source=SeededSource(2))
    sign = 1 if reports["value"][0] == 0 else -1
    assert reader.scores([view])[0].tolist() == pytest.approx([sign, sign])
    assert len(reader.scores([view])[0]) == len(WALK_SCORES)


def test_one_round_early_on_an_overlay_is_refuted_and_all_rounds_are_not():
    """With two rounds of 30 people each is as good as a uniform shuffle of 60; with one everybody stays among two."""
    options = {"graph": sdp.Overlay(60, (2, 30)), "num_rounds": 2, "protocol": "all", "epsilon0": 3.0}
    honest, twin = walking(**options), walking(OneRoundEarly, **options)
    claim = account(honest.model(60), delta=DELTA)
    finding = audited(twin, claim, trials=600, confidence=0.99)
    assert finding.verdict is Verdict.REFUTED
    assert finding.evidence.attack in {"bags-early", "own-report"}
    assert audited(honest, claim, trials=200, confidence=0.99).verdict is Verdict.CONSISTENT


# ---- colluders ------------------------------------------------------------------------------------------------------


def test_colluders_on_an_overlay_are_the_contacts_of_the_first_round():
    shuffler = walking(graph=sdp.Overlay(12, (3, 4)), num_rounds=2, protocol="all", num_colluding=3).shuffler
    assert colluders_beside(shuffler, 5) == (1, 9, 0)
    trace = trace_walks(shuffler, source=SeededSource(1))
    assert (trace[1] % 4 == trace[0] % 4).all()  # the first round keeps the last digit
    assert (trace[2] // 4 == trace[1] // 4).all()


def test_where_people_collude_the_local_loss_is_consistent():
    assert audited(walking(graph=ring(8), num_rounds=2, num_colluding=1), trials=60, confidence=0.9).verdict == (
        Verdict.CONSISTENT
    )


@pytest.mark.deep
def test_a_claim_that_forgets_colluders_is_refuted_and_that_of_the_local_loss_is_not():
    options = {"graph": sdp.Graph.random_regular(6, 80, source=SeededSource(1)), "num_rounds": 4, "epsilon0": 2.0}
    forgotten = account(walking(**options).model(80), delta=DELTA)
    honest = walking(**options, num_colluding=4)
    finding = audited(honest, forgotten, trials=600, confidence=0.99)
    assert finding.verdict is Verdict.REFUTED
    assert finding.evidence.attack in {"sightings", "bags-and-sightings"}
    assert audited(walking(**options), forgotten, trials=100).verdict is Verdict.CONSISTENT
    assert audited(honest, trials=200, confidence=0.9).verdict is Verdict.CONSISTENT


def test_a_neighbor_who_gets_a_report_from_its_owner_reads_it():
    shuffler = walking(graph=ring(9), num_rounds=2, protocol="all", num_colluding=1).shuffler
    assert colluders_beside(shuffler, 0) == (1,)
    reader = SightingReader(shuffler, sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model, INPUTS)
    still = np.arange(9)
    passed, elsewhere = still.copy(), still.copy()
    passed[0], elsewhere[0] = 1, 8
    columns = {"value": np.ones(9, dtype=np.int64)}
    assert reader.score(columns, np.array([still, passed, passed])) == pytest.approx(-1.0)
    assert reader.score(columns, np.array([still, elsewhere, elsewhere])) == 0.0


def test_walks_drawn_round_by_round_have_the_law_of_positions():
    options = {"laziness": 0.3, "dropout": 0.1}
    shuffler = walking(graph=small("paw"), num_rounds=3, protocol="all", **options).shuffler
    source, runs = SeededSource(7), 4000
    last = np.array([trace_walks(shuffler, source=source)[-1, 3] for _ in range(runs)])
    counts = np.bincount(np.where(last == LOST, 4, last), minlength=5)
    for rounds, check in ((3, assert_fits), (2, assert_rejects)):
        law = position_distribution(small("paw"), 3, rounds, **options)
        check(counts, np.append(law, 1 - law.sum()))


pytestmark = pytest.mark.deep
