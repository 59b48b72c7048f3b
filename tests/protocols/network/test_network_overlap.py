"""Theorems about random walks: hypotheses, both ways of asking, what is known of large graphs, and lower bounds."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shuffledp.accounting import account, account_all, bracket, compose_releases, delta_at
from shuffledp.accounting.theorems.clone_pairs import StrongPair
from shuffledp.accounting.theorems.reductions import blanket_laws
from shuffledp.core.errors import HypothesisError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.protocols.network.theorems.network_limits import NetworkFirstHop, NetworkHistogram
from shuffledp.protocols.network.theorems.network_overlap import NetworkOverlap, charges_of, turn_of
from shuffledp.protocols.network.theorems.network_single import NetworkSingle, _allocated, _distinct, _largest_share
from shuffledp.randomizers import KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import UniformShuffleModel

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
    assert stated.basis.theorem == "network-overlap"


@pytest.mark.parametrize("protocol", ["single", "padded"])
def test_one_report_each_with_equal_chances_is_the_uniform_pair(protocol):
    model = model_of(1000, protocol=protocol)
    single = NetworkSingle().epsilon(model, delta=1e-6)
    uniform = StrongPair().epsilon(uniformly(1000), delta=1e-6)
    assert uniform * (1 - 1e-6) <= single <= uniform * (1 + 1e-4)
    published = VECTORS["replace_accountant_single"]["cases"][0]
    assert single < published["eps"]  # which has clones with a chance of 1/E


def test_near_uniformity_is_added():
    base = NetworkOverlap().epsilon(model_of(), delta=1e-6)
    for gamma in (0.01, 0.3):
        near = NetworkOverlap().epsilon(model_of(near_uniformity=gamma, separation=1.0), delta=1e-6)
        assert near == pytest.approx(base + gamma, rel=1e-4)
    assert NetworkOverlap().epsilon(model_of(near_uniformity=2.0, separation=1.0), delta=1e-6) == 1.0


def test_separation_takes_over_where_it_says_more():
    """Reports that are lost in the mixing cost delta, and hide nobody."""
    apart = model_of(near_uniformity=math.inf, separation=1e-8)
    uniform = NetworkOverlap().epsilon(model_of(), delta=1e-6)
    found = NetworkOverlap().epsilon(apart, delta=1e-6)
    assert uniform < found < 1.01 * uniform
    larger = NetworkOverlap().epsilon(model_of(near_uniformity=math.inf, separation=9e-7), delta=1e-6)
    assert found < larger < 1.0
    assert not NetworkOverlap().applies(model_of(near_uniformity=math.inf, separation=1e-3), delta=1e-6)
    both = model_of(near_uniformity=0.5, separation=1e-8)
    assert NetworkOverlap().epsilon(both, delta=1e-6) == found


@pytest.mark.parametrize("theorem", [NetworkOverlap(), NetworkSingle()], ids=lambda theorem: theorem.id)
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
    epsilon = NetworkOverlap().epsilon(model, delta=delta)
    assert NetworkOverlap().delta(model, epsilon=epsilon) <= delta
    assert NetworkOverlap().delta(model, epsilon=0.97 * epsilon) > delta
    assert NetworkOverlap().curve(model, epsilons=np.array([0.99 * epsilon]))[0] > delta


@pytest.mark.parametrize(
    ("users", "others", "at_half", "epsilons"),
    [
        (12, {"dropout": 0.02, "near_uniformity": 0.05, "separation": 0.01}, 0.0355576, (0.0, 0.880095, 0.98864)),
        (
            300,
            {"dropout": 0.05, "near_uniformity": math.inf, "separation": 1e-4},
            0.000338493,
            (0.0, 0.0, 0.359852),
        ),
        (1000, {"dropout": 0.02, "near_uniformity": 0.02, "separation": 1e-3}, 3.69029e-15, (0.0, 0.0, 0.0956499)),
    ],
)
def test_delta_falls_in_epsilon_and_epsilon_in_delta_where_reports_get_lost(users, others, at_half, epsilons):
    model, theorem = model_of(users, **others), NetworkOverlap()
    grid = np.linspace(0, 1, 9)
    deltas = np.array([theorem.delta(model, epsilon=epsilon) for epsilon in grid.tolist()])
    for falling in (deltas, theorem.curve(model, epsilons=grid)):
        assert (np.diff(falling) < 0).all()
    assert theorem.delta(model, epsilon=0.5) == pytest.approx(at_half, rel=1e-3)
    found = np.array([theorem.epsilon(model, delta=10.0**-digits) for digits in range(1, 7)])
    assert (np.diff(found) >= 0).all()
    assert found[:3] == pytest.approx(epsilons, rel=1e-3)
    for epsilon, delta in zip(found, 10.0 ** -np.arange(1, 7), strict=True):
        assert theorem.delta(model, epsilon=epsilon) <= delta
    twice = model_of(users, **{**others, "dropout": 2 * others["dropout"]})
    of_those_who_come = [theorem.delta(each, epsilon=0.5) / each.shuffle.survival for each in (model, twice)]
    assert of_those_who_come[0] < of_those_who_come[1]


def test_lost_reports_hide_nobody():
    lost = model_of(dropout=0.01, num_users=10_000)
    expected = 1 + round(9999 * 0.99**50)
    found, few = NetworkOverlap().epsilon(lost, delta=1e-6), StrongPair().epsilon(uniformly(expected), delta=1e-6)
    of_those_who_come = StrongPair().epsilon(uniformly(expected), delta=1e-6 / 0.99**50)
    assert of_those_who_come < found < 1.01 * of_those_who_come < few  # for the others nothing is lost


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
        NetworkOverlap().state(model, delta=1e-6)
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
    for theorem in (NetworkOverlap(), NetworkSingle(), NetworkFirstHop(), NetworkHistogram()):
        assert not theorem.applies(uniformly(), delta=1e-6)
        assert theorem.delta(uniformly(), epsilon=0.1) == (1.0 if theorem.kind.promises else 0.0)


# ---- overlaps --------------------------------------------------------------------------------------------------------

OVERLAPS = json.loads((Path(__file__).parents[2] / "golden" / "overlap.json").read_text(encoding="utf-8"))["rows"]


def overlapping(users, overlap, **others):
    return model_of(users, **{"mean_overlap": overlap, "near_uniformity": math.inf, "separation": 1.0, **others})


@pytest.mark.parametrize(
    "row",
    [row for row in OVERLAPS if row["kind"] in {"overlap_hypercube", "overlap_paley"}],
    ids=lambda row: row["kind"],
)
def test_epsilons_are_those_of_an_independent_sum(row):
    given, expected = row["inputs"], row["expected"]
    users = 2 ** given["dimension"] if "dimension" in given else given["q"]
    found = NetworkOverlap().epsilon(overlapping(users, expected["mean_overlap"]), delta=given["delta"])
    assert expected["epsilon_least"] * (1 - 1e-6) <= found <= expected["epsilon"] + row["tolerance"]["epsilon"]


@pytest.mark.parametrize("row", [row for row in OVERLAPS if row["kind"] == "approximate"])
def test_remainders_of_the_local_guarantee_are_charged_once_for_all_people(row):
    given = row["inputs"]
    local = LdpModel(epsilon0=given["eps0"], delta0=given["delta0"])
    model = overlapping(given["n"], given["mean_overlap"], local=local)
    found = NetworkOverlap().epsilon(model, delta=given["delta"])
    assert found == pytest.approx(row["expected"], abs=row["tolerance"])
    assert NetworkOverlap().delta(model, epsilon=found) <= given["delta"] * (1 + 1e-9)
    assert account(model, delta=given["delta"]).basis.theorem == "network-overlap"
    pure = overlapping(given["n"], given["mean_overlap"], local=LdpModel(epsilon0=given["eps0"]))
    assert NetworkOverlap().delta(pure, epsilon=found) < given["delta"]
    large = LdpModel(epsilon0=given["eps0"], delta0=1e-8)  # a charge of more than delta
    assert not NetworkOverlap().applies(
        overlapping(given["n"], given["mean_overlap"], local=large), delta=given["delta"]
    )


def test_a_remainder_leaves_one_report_each_and_padded_ones_as_private_as_all_of_them():
    local = LdpModel(epsilon0=0.5, delta0=1e-12)
    for protocol in ("single", "padded"):
        model = model_of(1000, protocol=protocol, local=local, mean_overlap=1.0)
        assert account(model, delta=1e-6).basis.theorem == "network-overlap"
        assert account(model, delta=1e-6).guarantee.epsilon == pytest.approx(0.0627, abs=2e-4)
        assert not NetworkSingle().applies(model, delta=1e-6)


def test_positions_of_one_law_are_the_uniform_shuffle_whatever_theorem_is_best_for_it():
    for local in (
        LDP,
        KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model,
        KaryRandomizedResponse(epsilon0=2.0, domain_size=5).model,
    ):
        exactly = overlapping(900, 1.0, local=local)
        uniform = account(uniformly(900, local), delta=1e-6).guarantee.epsilon
        assert NetworkOverlap().epsilon(exactly, delta=1e-6) == pytest.approx(uniform, rel=1e-9)
        nearly = NetworkOverlap().epsilon(overlapping(900, 1 - 1e-6, local=local), delta=1e-6)
        assert uniform < nearly < uniform * 1.001


def test_the_less_overlaps_the_less_is_hidden():
    overlaps = (0.0, 1e-4, 0.01, 0.1, 0.5, 0.9, 1.0)
    epsilons = [account(overlapping(900, each), delta=1e-6).guarantee.epsilon for each in overlaps]
    assert (np.diff(epsilons) <= 0).all()
    assert epsilons[0] == 1.0
    assert epsilons[-1] == pytest.approx(0.15731, abs=2e-5)
    deltas = [NetworkOverlap().delta(overlapping(900, each), epsilon=0.3) for each in overlaps]
    assert (np.diff(deltas) <= 0).all()


def test_near_uniform_positions_say_more_where_hardly_anybody_hides_anybody():
    """A regular graph of 8 neighbors and 900 people after 15 rounds, with few lies and with many."""
    known = {"mean_overlap": 0.93, "near_uniformity": 0.162, "separation": 1.0}
    for epsilon0, is_less in ((4.0, True), (1.0, False)):
        local = LdpModel(epsilon0=epsilon0)
        both, overlap = (
            NetworkOverlap().epsilon(model_of(900, local=local, **{**known, **less}), delta=1e-6)
            for less in ({}, {"near_uniformity": math.inf})
        )
        assert (both < overlap * 0.999) is is_less


def test_curves_are_above_what_is_stated_and_compose():
    model = overlapping(900, 0.8)
    epsilons = np.array([0.0, 0.05, 0.1, 0.2, 0.4])
    curve = NetworkOverlap().curve(model, epsilons=epsilons)
    stated = [NetworkOverlap().delta(model, epsilon=epsilon) for epsilon in epsilons.tolist()]
    assert (curve >= np.array(stated) * (1 - 1e-9)).all()
    twice = compose_releases([model, model], delta=1e-6).guarantee.epsilon
    once = account(model, delta=1e-6).guarantee.epsilon
    assert once < twice < 1.7 * once


# ---- one report each, and how many are held --------------------------------------------------------------------------


def poisson_few(levels):
    chances = np.cumsum([math.exp(-1) / math.factorial(held) for held in range(levels)])
    return tuple(np.minimum(chances * (1 + 1e-3), 1.0).tolist())


def test_how_many_reports_are_held_hides_more_than_not_to_know_it():
    """Ten thousand people, of whom everybody's report may be anywhere: the bound with allocations, and without."""
    known = {"protocol": "single", "near_uniformity": math.inf, "separation": 1.0}
    without = NetworkSingle().epsilon(model_of(10_000, **known), delta=2e-6)
    model = model_of(10_000, **known, few_held=poisson_few(8))
    found = NetworkSingle().epsilon(model, delta=2e-6)
    assert without == pytest.approx(0.0409, abs=1e-4)
    assert found == pytest.approx(0.0285, abs=1e-4)
    assert NetworkSingle().delta(model, epsilon=found) <= 2e-6 * (1 + 1e-6)
    assert account(model, delta=2e-6).basis.theorem == "network-single"
    fewer = model_of(10_000, **known, few_held=poisson_few(2))
    assert found < NetworkSingle().epsilon(fewer, delta=2e-6) < without


@pytest.mark.parametrize("people", [60, 400])
def test_allocations_are_as_good_as_is_said_but_for_a_chance(people):
    """Drawn: how concentrated the victim's chances to replace others are, at each number of places."""
    draw, digits = np.random.default_rng(people), 4
    chances = np.sort(draw.dirichlet(np.full(people, 3.0)))[::-1]  # everybody's law, far from even
    held = np.array([(1 - chances) ** (people - 1)])
    few = [float(held.mean())]
    for count in range(1, 6):
        held = held * (people - count) / count * (chances / (1 - chances))
        few.append(few[-1] + float(held.mean()))
    model = model_of(
        people,
        protocol="single",
        position_probabilities=tuple(chances.tolist()),
        position_counts=(1,) * people,
        few_held=tuple(few),
    )
    (weights, counts), bad = _allocated(model.shuffle, digits)
    assert bad == 1e-4
    assert counts.sum() == people
    most = np.cumsum(np.repeat(weights, counts.astype(int)))
    bent = 0
    for _ in range(400):
        others = np.bincount(draw.choice(people, size=people - 1, p=chances), minlength=people)
        given = np.cumsum(np.sort(chances / (1 + others))[::-1])
        bent += bool((given > most + 1e-12).any())
    assert bent <= 1
    assert most[-1] < 0.98 * chances.sum()


def test_shares_of_rare_events_are_those_of_the_inequality():
    for chance, exponent in ((0.3, 0.01), (0.3, 1.0), (1e-6, 0.5), (0.9, 0.2)):
        share = _largest_share(chance, exponent)
        if share < 1:
            rest = (1 - share) * math.log((1 - share) / (1 - chance))
            assert share * math.log(share / chance) + rest == pytest.approx(exponent, rel=1e-6)
        else:
            assert -math.log(chance) <= exponent
    assert _largest_share(0.0, 0.1) == 0.0


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


UNLIKE = {"near_uniformity": math.inf, "separation": 1.0}  # of which overlaps alone say something


def test_of_overlapping_positions_too_lost_reports_hide_nobody():
    """Against the exact sum over how many arrive of 60 people, each with a chance of a half."""
    others, epsilon = 59, 0.4
    found = NetworkOverlap().delta(model_of(60, mean_overlap=1.0, num_rounds=1, dropout=0.5, **UNLIKE), epsilon=epsilon)
    exact = sum(
        math.comb(others, many) / 2**others * StrongPair().delta(uniformly(1 + many), epsilon=epsilon)
        for many in range(1, others + 1)
    )
    assert found >= 0.5 * exact
    assert found > 1.1 * 0.5 * StrongPair().delta(uniformly(60), epsilon=epsilon)


def test_what_remainders_of_all_people_cost_is_in_every_delta():
    local = LdpModel(epsilon0=0.5, delta0=1e-9)
    remaining = model_of(1000, local=local, mean_overlap=0.9, **UNLIKE)
    for epsilon in (0.2, 0.3):
        charge = charges_of(remaining, 1000, np.array([min(epsilon, turn_of(remaining, 1000))]))[0]
        assert charge > 1e-9
        assert NetworkOverlap().delta(remaining, epsilon=epsilon) >= charge
