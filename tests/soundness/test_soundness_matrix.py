"""Each accountant of each randomizer through each shuffler: attack <= bound; and bounds fall, or rise, as they must."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import shuffledp as sdp
from attacks.twins import exact_central_claim, pipeline
from shuffledp.accounting import account
from shuffledp.attacks import NeighboringInputs, audit
from shuffledp.guarantees import CentralDP
from shuffledp.models import ProtocolModel
from shuffledp.testing import SeededSource
from soundness.exact_deltas import pair_delta
from soundness.matrix import GROUPS, RANDOMIZERS, SHUFFLERS, Cell, cells, claims_row, unstated
from statistical.thresholds import SIGNIFICANCE

CERTAIN = 1 - SIGNIFICANCE
PAGE = (Path(__file__).parents[2] / "docs" / "soundness.md").read_text(encoding="utf-8")


def is_stated(randomizer, shuffler):
    """Shares go through rounds, or one uniform shuffle; nothing else goes through rounds."""
    if randomizer == "split-and-mix":
        return shuffler == "uniform" or shuffler.startswith("rounds")
    return not shuffler.startswith("rounds")


ALL = [(one, other) for one in RANDOMIZERS for other in SHUFFLERS if is_stated(one, other)]  # nothing is computed here
FEW = [pair for pair in ALL if pair[0] in {"k-rr", "split-and-mix"}]


def sound(randomizer, shuffler, trials):
    """Whether no claim of the pair is refuted, and how many were held against attacks."""
    report = Cell(randomizer, shuffler).attacked(trials, confidence=CERTAIN, seed=2)
    held = [finding for finding in report.findings if finding.evidence is not None]
    assert all(finding.evidence.epsilon_lower <= finding.statement.guarantee.epsilon for finding in held)
    return not report.refuted


@pytest.mark.parametrize(("randomizer", "shuffler"), FEW)
def test_no_attack_shows_more_than_any_accountant_claims(randomizer, shuffler):
    assert sound(randomizer, shuffler, 100)


@pytest.mark.deep
@pytest.mark.parametrize(("randomizer", "shuffler"), ALL)
def test_no_attack_shows_more_than_any_accountant_claims_in_many_trials(randomizer, shuffler):
    assert sound(randomizer, shuffler, 2000)


def test_the_same_attacks_refute_half_of_the_local_loss_where_nothing_is_shuffled():
    """So that the test above can fail."""
    cell = Cell("k-rr", "none")
    claim = replace(cell.claims[0], guarantee=CentralDP(epsilon=0.3, delta=0.05))
    object.__setattr__(cell, "claims", (claim,))
    assert cell.attacked(1000).refuted


@pytest.mark.deep
def test_every_pair_is_in_the_matrix_or_said_to_have_no_claim():
    assert [(cell.randomizer_name, cell.shuffler_name) for cell in cells()] == ALL
    assert len(ALL) + len(unstated()) == len(RANDOMIZERS) * len(SHUFFLERS)
    for one, other in unstated():
        assert f"{one} through {other}" in PAGE


def rows_of_the_page():
    return [line for line in PAGE.splitlines() if line.count("|") == 11 and "|---" not in line][1:]


def test_the_page_has_all_pairs_and_no_refutation():
    rows = rows_of_the_page()
    assert [tuple(row.split(" | ")[:2]) for row in rows] == [(f"| {one}", other) for one, other in ALL]
    assert all(row.endswith("| 0 |") for row in rows)


@pytest.mark.parametrize("pairs", [FEW, pytest.param(ALL, marks=pytest.mark.deep)], ids=["few", "all"])
def test_the_page_has_the_claims_of_now(pairs):
    rows = dict(zip(ALL, rows_of_the_page(), strict=True))
    for pair in pairs:
        assert rows[pair].startswith(claims_row(Cell(*pair)))


# ---- equality where the attack is optimal ---------------------------------------------------------------------------


@pytest.mark.parametrize(("num_users", "delta"), [(5, 0.01), (20, 0.01)])
def test_the_optimal_attack_agrees_with_the_exact_loss_of_its_data_sets_from_both_sides(num_users, delta):
    """All others answer like the first person in one data set: enumerated for binary response."""
    honest = pipeline(epsilon0=1.0)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if pair_delta(1.0, middle, num_users) > delta else (low, middle)
    claim = replace(
        exact_central_claim(honest.randomizer.model, 2, delta), guarantee=CentralDP(epsilon=high, delta=delta)
    )
    inputs = NeighboringInputs(first=0, second=1, others=0)
    options = {"num_users": num_users, "inputs": inputs, "mode": "statistics", "stop_early": False}
    evidence = audit(honest, claim, source=SeededSource(4), confidence=CERTAIN, **options).findings[0].evidence
    assert evidence.epsilon_lower <= high <= evidence.epsilon_upper
    assert evidence.epsilon == pytest.approx(high, abs=0.25 * high + 0.01)


# ---- monotone, and limits -------------------------------------------------------------------------------------------


def stated(shuffler, *, epsilon0=1.0, num_users=100, delta=1e-3):
    local = sdp.KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model
    return account(ProtocolModel(local=local, shuffle=shuffler.model(num_users)), delta=delta).guarantee.epsilon


def falls(values):
    return all(after <= before * (1 + 1e-9) for before, after in pairwise(values)) and values[-1] < values[0]


def complete(people):
    return sdp.Graph.from_edges([(one, other) for one in range(people) for other in range(one)])


def walking(graph, rounds, protocol="single"):
    randomizer = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    dummies = None if protocol == "all" else randomizer
    return sdp.RandomWalkShuffler(graph=graph, num_rounds=rounds, protocol=protocol, dummies=dummies)


def test_more_people_hide_better():
    assert falls([stated(sdp.UniformShuffler(), num_users=people) for people in (10, 30, 100, 1000, 10_000)])


def test_a_smaller_local_loss_is_a_smaller_loss():
    assert falls([stated(sdp.UniformShuffler(), epsilon0=loss) for loss in (4.0, 2.0, 1.0, 0.5, 0.1)])


def test_more_rounds_hide_better():
    """On a graph whose degrees are alike."""
    graph = sdp.Graph.random_regular(8, 100, source=SeededSource(1))
    assert falls([stated(walking(graph, rounds)) for rounds in (1, 2, 3, 5, 10)])


def test_a_better_shuffler_hides_better():
    imperfect = [sdp.imperfect_shuffler(imperfection=gamma) for gamma in (2.0, 1.0, 0.5, 0.1, 0.01)]
    assert falls([stated(shuffler) for shuffler in imperfect])


def test_a_smaller_alpha_is_a_smaller_loss():
    """Of orders; the swap costs of central claims go with it."""
    shufflers = [sdp.MallowsShuffler(groups=GROUPS, alpha=alpha, order=range(6)) for alpha in (4.0, 2.0, 1.0, 0.1)]
    assert falls([shuffler.model(6).d_sigma.alpha for shuffler in shufflers])
    assert falls([stated(shuffler, num_users=6, delta=0.05) for shuffler in shufflers])


def test_what_attacks_measure_falls_with_people_and_rises_with_the_local_loss():
    def measured(num_users, epsilon0):
        honest = pipeline(epsilon0=epsilon0)
        claim = replace(
            exact_central_claim(honest.randomizer.model, 1, 0.01), guarantee=CentralDP(epsilon=9.0, delta=0.01)
        )
        options = {"num_users": num_users, "mode": "statistics", "trials": 50_000, "source": SeededSource(1)}
        return audit(honest, replace(claim, guarantee=CentralDP(epsilon=6.0, delta=0.01)), **options).findings[0]

    assert falls([measured(people, 2.0).evidence.epsilon for people in (1, 3, 10, 30)])
    assert falls([measured(10, loss).evidence.epsilon for loss in (3.0, 2.0, 1.0)])


def test_one_person_and_no_shuffle_leave_the_local_loss():
    assert stated(sdp.UniformShuffler(), num_users=1) == pytest.approx(1.0)
    assert stated(sdp.IdentityShuffler()) == pytest.approx(1.0)
    assert stated(walking(complete(10), 0), num_users=10) == pytest.approx(1.0)
    assert stated(sdp.imperfect_shuffler(imperfection=50.0)) == pytest.approx(1.0)


def test_perfect_shufflers_and_many_rounds_are_the_uniform_shuffle():
    uniform = stated(sdp.UniformShuffler())
    assert stated(sdp.imperfect_shuffler(imperfection=1e-9)) == pytest.approx(uniform, rel=1e-4)
    assert stated(walking(complete(100), 60, "all")) == pytest.approx(uniform, rel=0.02)
    assert math.isfinite(uniform)


pytestmark = pytest.mark.deep
