"""Theorems about random walks: hypotheses, both ways of asking, what is known of large graphs, and lower bounds."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shuffledp.accounting import account, account_all, bracket, delta_at
from shuffledp.accounting.theorems.clone_pairs import StrongPair
from shuffledp.accounting.theorems.network_bounds import NetworkAll, NetworkSingle, _distinct
from shuffledp.accounting.theorems.network_limits import NetworkFirstHop, NetworkHistogram
from shuffledp.accounting.theorems.reductions import blanket_laws
from shuffledp.core.errors import HypothesisError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.shufflers.walk_model import RandomWalkShuffleModel

VECTORS = json.loads((Path(__file__).parents[2] / "golden" / "network.json").read_text(encoding="utf-8"))
LDP = LdpModel(epsilon0=1.0)


def walks(users=10_000, *, protocol="all", **others):
    """Walks that have forgotten where they began, but for what is given."""
    given = {
        "num_users": users,
        "num_rounds": 50,
        "protocol": protocol,
        "submissions": 4 if protocol == "padded" else 0,
        "graph_digest": "",
        "irregularity": 1.0,
        "near_uniformity": 0.0,
        "separation": 0.0,
        "position_probabilities": (1 / users,),
        "position_counts": (users,),
        "dummy_model": LDP,
    }
    return RandomWalkShuffleModel(**{**given, **others})


def model_of(users=10_000, *, local=LDP, **others):
    return ProtocolModel(local=local, shuffle=walks(users, **{"dummy_model": local} | others))


def uniformly(users=10_000, local=LDP):
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))


def test_at_stationarity_it_is_the_uniform_shuffle():
    stated = account(model_of(), delta=1e-6)
    assert stated.guarantee.epsilon == pytest.approx(account(uniformly(), delta=1e-6).guarantee.epsilon, rel=1e-9)
    assert stated.basis.theorem == "network-all"


@pytest.mark.parametrize("protocol", ["single", "padded"])
def test_one_report_each_with_equal_chances_is_the_uniform_pair(protocol):
    model = model_of(1000, protocol=protocol)
    single = NetworkSingle().epsilon(model, delta=1e-6)
    uniform = StrongPair().epsilon(uniformly(1000), delta=1e-6)
    assert uniform * (1 - 1e-6) <= single <= uniform * (1 + 1e-4)
    published = VECTORS["replace_accountant_single"]["cases"][0]
    assert single < published["eps"]  # which has clones with a chance of 1/E


def test_near_uniformity_is_added():
    base = NetworkAll().epsilon(model_of(), delta=1e-6)
    for gamma in (0.01, 0.3):
        near = NetworkAll().epsilon(model_of(near_uniformity=gamma, separation=1.0), delta=1e-6)
        assert near == pytest.approx(base + gamma, rel=1e-9)
    assert NetworkAll().epsilon(model_of(near_uniformity=2.0, separation=1.0), delta=1e-6) == 1.0


def test_separation_takes_over_where_it_says_more():
    """Reports that are lost in the mixing cost delta, and hide nobody."""
    apart = model_of(near_uniformity=math.inf, separation=1e-8)
    uniform = NetworkAll().epsilon(model_of(), delta=1e-6)
    found = NetworkAll().epsilon(apart, delta=1e-6)
    assert uniform < found < 1.01 * uniform
    larger = NetworkAll().epsilon(model_of(near_uniformity=math.inf, separation=9e-7), delta=1e-6)
    assert found < larger < 1.0
    assert not NetworkAll().applies(model_of(near_uniformity=math.inf, separation=1e-3), delta=1e-6)
    both = model_of(near_uniformity=0.5, separation=1e-8)
    assert NetworkAll().epsilon(both, delta=1e-6) == found


@pytest.mark.parametrize("theorem", [NetworkAll(), NetworkSingle()], ids=lambda theorem: theorem.id)
@pytest.mark.parametrize("others", [{}, {"near_uniformity": 0.02, "separation": 0.3}, {"dropout": 0.01}])
def test_delta_falls_and_agrees_with_epsilon(theorem, others):
    model = model_of(3000, protocol="single", **others)
    epsilons = np.array([0.0, 0.01, 0.05, 0.1, 0.2, 0.5])
    deltas = [theorem.delta(model, epsilon=epsilon) for epsilon in epsilons.tolist()]
    assert (np.diff(deltas) <= 1e-12).all()
    assert (theorem.curve(model, epsilons=epsilons) >= np.array(deltas) * (1 - 1e-3)).all()
    for delta in (1e-3, 1e-6):
        epsilon = theorem.epsilon(model, delta=delta)
        assert theorem.delta_at(model, epsilon=epsilon) <= delta * (1 + 1e-6)


@pytest.mark.parametrize(
    "others", [{"near_uniformity": 0.0853, "separation": 0.00563}, {"dropout": 0.002}, {"separation": 0.004}]
)
def test_epsilon_is_solved_for_on_the_curve(others):
    """Where separation or losses cost something: below it the curve is above delta, and there it is not."""
    model, delta = model_of(120, **{"near_uniformity": math.inf, **others}), 1e-2
    epsilon = NetworkAll().epsilon(model, delta=delta)
    assert NetworkAll().delta(model, epsilon=epsilon) <= delta
    assert NetworkAll().delta(model, epsilon=0.97 * epsilon) > delta
    assert NetworkAll().curve(model, epsilons=np.array([0.99 * epsilon]))[0] > delta


@pytest.mark.parametrize(
    ("users", "others", "at_half", "epsilons"),
    [
        (12, {"dropout": 0.02, "near_uniformity": 0.05, "separation": 0.01}, 0.0976402, (0.529823, 0.961754, 0.99625)),
        (
            300,
            {"dropout": 0.05, "near_uniformity": math.inf, "separation": 1e-4},
            0.00484188,
            (0.05289, 0.58505, 0.95514),
        ),
        (1000, {"dropout": 0.02, "near_uniformity": 0.02, "separation": 1e-3}, 1.01333e-14, (0, 0.050787, 0.141322)),
    ],
)
def test_delta_falls_in_epsilon_and_epsilon_in_delta_where_reports_get_lost(users, others, at_half, epsilons):
    model, theorem = model_of(users, **others), NetworkAll()
    grid = np.linspace(0, 1, 9)
    deltas = np.array([theorem.delta(model, epsilon=epsilon) for epsilon in grid.tolist()])
    for falling in (deltas, theorem.curve(model, epsilons=grid)):
        assert (np.diff(falling) < 0).all()
    assert theorem.delta(model, epsilon=0.5) == pytest.approx(at_half, rel=1e-5)
    found = np.array([theorem.epsilon(model, delta=10.0**-digits) for digits in range(1, 7)])
    assert (np.diff(found) >= 0).all()
    assert found[:3] == pytest.approx(epsilons, rel=1e-3)
    for epsilon, delta in zip(found, 10.0 ** -np.arange(1, 7), strict=True):
        assert theorem.delta(model, epsilon=epsilon) <= delta
    fewer = model_of(users, **{**others, "dropout": 2 * others["dropout"]})
    assert theorem.delta(fewer, epsilon=0.5) > theorem.delta(model, epsilon=0.5)


def test_lost_reports_hide_nobody():
    lost = model_of(dropout=0.01, num_users=10_000)
    expected = 1 + round(9999 * 0.99**50)
    found, few = NetworkAll().epsilon(lost, delta=1e-6), StrongPair().epsilon(uniformly(expected), delta=1e-6)
    assert few < found < 1.05 * few


def test_lost_reports_are_no_worse_than_those_that_come():
    """For one report each: the bound with the chances of what arrives, which add up to less than 1."""
    given = {"protocol": "single", "near_uniformity": math.inf, "separation": 1.0, "dropout": 0.01}
    arriving = 0.99**50
    whole, less = (model_of(position_probabilities=(chance,), **given) for chance in (1e-4, arriving * 1e-4))
    assert NetworkSingle().epsilon(less, delta=1e-6) < 0.95 * NetworkSingle().epsilon(whole, delta=1e-6)
    assert not NetworkSingle().applies(model_of(position_probabilities=(0.99 * arriving * 1e-4,), **given), delta=1e-6)


def test_larger_probabilities_are_worse():
    spread = model_of(protocol="single", near_uniformity=math.inf, separation=1.0)
    lumps = model_of(
        protocol="single",
        near_uniformity=math.inf,
        separation=1.0,
        position_probabilities=(0.001, 1e-4),
        position_counts=(100, 9000),
    )
    assert account(lumps, delta=1e-6).guarantee.epsilon > 1.2 * account(spread, delta=1e-6).guarantee.epsilon
    above_one = model_of(
        protocol="single",
        near_uniformity=math.inf,
        separation=1.0,
        position_probabilities=(1.01e-4,),
        position_counts=(10_000,),
    )
    assert account(above_one, delta=1e-6).guarantee.epsilon > account(spread, delta=1e-6).guarantee.epsilon


def test_a_randomizers_own_blanket_is_used():
    local = KaryRandomizedResponse(epsilon0=1.0, domain_size=16).model
    special = NetworkSingle().epsilon(model_of(protocol="single", local=local), delta=1e-6)
    uniform = account(uniformly(local=local), delta=1e-6).guarantee.epsilon
    assert special == pytest.approx(uniform, rel=1e-3)
    assert special < 0.8 * NetworkSingle().epsilon(model_of(protocol="single"), delta=1e-6)
    assert len(blanket_laws(model_of(local=local), 100, 1e-6)) >= 2


def test_bounds_by_one_law_are_evaluated_once():
    binary = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    families = blanket_laws(model_of(local=binary), 100, 1e-6)
    assert len(families) == 2
    assert _distinct(families) == families[:1]
    several = blanket_laws(model_of(local=KaryRandomizedResponse(epsilon0=1.0, domain_size=3).model), 100, 1e-6)
    assert _distinct(several) == several


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"num_rounds": 0}, "num_rounds=0"),
        ({"num_colluding": 3}, "no epsilon below epsilon0"),
        ({"offline": 0.1}, "offline=0.1"),
        ({"near_uniformity": math.inf, "separation": 1.0}, "near_uniformity=inf"),
    ],
)
def test_what_is_needed_is_named(others, words):
    model = model_of(**others)
    with pytest.raises(HypothesisError, match=words):
        NetworkAll().state(model, delta=1e-6)
    statement = account(model, delta=1e-6)
    assert (statement.basis.theorem, statement.guarantee.epsilon) == ("local-dp", 1.0)
    assert any(words in remark for remark in statement.remarks)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"protocol": "all"}, "fresh dummies"),
        ({"protocol": "single", "position_probabilities": (1e-5,)}, "add up to at least 1"),
    ],
)
def test_one_report_each_needs_dummies_and_positions(others, words):
    with pytest.raises(HypothesisError, match=words):
        NetworkSingle().state(model_of(**others), delta=1e-6)


def test_other_shuffles_are_no_walks():
    for theorem in (NetworkAll(), NetworkSingle(), NetworkFirstHop(), NetworkHistogram()):
        assert not theorem.applies(uniformly(), delta=1e-6)
        assert theorem.delta(uniformly(), epsilon=0.1) == (1.0 if theorem.kind.promises else 0.0)


# ---- lower bounds, and collusion -------------------------------------------------------------------------------------


def test_the_histogram_is_below_the_promise():
    local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    found = bracket(model_of(local=local), delta=1e-6)
    uniform = bracket(uniformly(local=local), delta=1e-6)
    assert found.lower == pytest.approx(uniform.lower, rel=1e-9)
    assert 0 < found.lower < found.upper
    assert found.lower_basis.theorem == "network-histogram"
    assert not NetworkHistogram().applies(model_of(protocol="single"), delta=1e-6)
    assert not NetworkHistogram().applies(model_of(dropout=0.1), delta=1e-6)


def test_with_colluders_the_local_guarantee_is_what_is_left_and_no_more_can_be():
    model = model_of(1001, num_colluding=10)
    statements = account_all(model, delta=1e-6)
    assert statements[0].basis.theorem == "local-dp"
    lower = statements[1]
    assert (lower.kind, lower.basis.theorem) == (Kind.LOWER_BOUND, "network-first-hop")
    assert lower.guarantee.epsilon == pytest.approx(1.0, abs=1e-3)
    assert any("in their hands is at most 0.40" in remark for remark in statements[0].remarks)


def test_an_honest_fraction_means_colluding_relays():
    assert delta_at(model_of(), epsilon=0.5).guarantee.delta < 1e-6
    assert delta_at(model_of(), epsilon=0.5, honest_fraction=0.9).guarantee.delta > 0.1
    assert account(model_of(), delta=1e-6, honest_fraction=0.9).basis.theorem == "local-dp"


def test_the_first_hop_counts_only_what_moves():
    epsilon, plain = 0.3, model_of(101, num_colluding=20)
    found = NetworkFirstHop().delta(plain, epsilon=epsilon)
    local = (math.e - math.exp(epsilon)) / (1 + math.e)
    assert found == pytest.approx(0.2 * local, rel=1e-9)
    assert found <= 0.2 * local
    lazy = replace(plain, shuffle=replace(plain.shuffle, laziness=0.5))
    assert NetworkFirstHop().delta(lazy, epsilon=epsilon) == pytest.approx(0.1 * local, rel=1e-9)
    assert not NetworkFirstHop().applies(model_of(), delta=1e-6)
    for size in (2, 5, 100):
        response = KaryRandomizedResponse(epsilon0=1.0, domain_size=size).model
        given = replace(plain, local=response)
        exactly = 0.2 * (response.p - math.exp(epsilon) * response.q)
        assert NetworkFirstHop().delta(given, epsilon=epsilon) == pytest.approx(exactly, rel=1e-9)


pytestmark = pytest.mark.deep  # long; tests/cli and tests/survey walk through the same theorems with small graphs
