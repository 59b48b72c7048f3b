"""Random walks of few people on small graphs: what is stated against the exact delta of everything that is seen."""

import itertools
import math
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are run from a checkout and never installed

from experiments.network.swap_reveal import shares_of_places

from shuffledp.accounting import account, delta_at
from shuffledp.accounting.theorems.clone_pairs import StrongPair
from shuffledp.core.channels import Channel
from shuffledp.core.local_models import ProtocolModel
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.protocols.network.theorems.network_limits import (
    NetworkFirstHop,
    NetworkHistogram,
    first_hop_delta,
    visible_empties_delta,
)
from shuffledp.protocols.network.theorems.network_overlap import NetworkOverlap
from shuffledp.protocols.network.theorems.network_single import NetworkSingle
from shuffledp.randomizers import ChannelModel, KaryRandomizedResponse, LdpModel
from shuffledp.shufflers import UniformShuffleModel
from soundness.exact_deltas import response
from soundness.exact_walks import (
    GRAPHS,
    exact_delta,
    exact_epsilon,
    few_held,
    law_of_fillings,
    mean_overlap,
    near_uniformity,
    pairs_of_views,
    positions,
    positions_by_trajectories,
    ranked,
    sees_one_each,
    sees_padded,
    sees_shuffled,
    separation,
    stationary,
)

SLACK = 1e-12
EPSILONS = np.array([0.0, 0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99])
SMALL = ["K3", "K4", "C4", "paw", "star", "P3", "P4"]
QUICK = {("K3", "all"), ("C4", "all"), ("P3", "single")}
ROUNDS = range(5)
BINARY = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)


def response_of(epsilon0):
    return KaryRandomizedResponse(epsilon0=epsilon0, domain_size=2).model


def walk_model(laws, *, rounds, protocol, pi=None, submissions=0, **others):
    """The public description of walks with these laws of positions."""
    probabilities, counts = np.unique(ranked(laws), return_counts=True)
    weights = laws.mean(axis=0) if pi is None else pi
    return RandomWalkShuffleModel(
        num_users=len(laws),
        num_rounds=rounds,
        protocol=protocol,
        submissions=submissions,
        graph_digest="",
        irregularity=float(len(laws) * weights @ weights),
        mean_overlap=mean_overlap(laws),
        few_held=few_held(laws) if protocol == "single" else (),
        near_uniformity=near_uniformity(laws),
        separation=separation(laws, weights),
        position_probabilities=tuple(probabilities[::-1].tolist()),
        position_counts=tuple(counts[::-1].tolist()),
        **{"dummy_model": LdpModel(epsilon0=1.0)} | others,
    )


def model_of(name, rounds, protocol, *, local=None, **others):
    local = local or LdpModel(epsilon0=1.0)
    others = {"dummy_model": local} | others
    walks = walk_model(positions(name, rounds), rounds=rounds, protocol=protocol, pi=stationary(name)[0], **others)
    return ProtocolModel(local=local, shuffle=walks)


@cache
def exact(name, rounds, protocol, victim, epsilon0=1.0):
    channel, laws = response(2, epsilon0), positions(name, rounds)
    return exact_delta(channel, laws, victim, kernel_of(protocol, len(laws), channel[0]), EPSILONS * epsilon0)


def kernel_of(protocol, size, dummy):
    if protocol == "single":
        return sees_one_each(size, size, dummy)
    return sees_padded(size, size, dummy, submissions=2) if protocol == "padded" else None


def worst(name, rounds, protocol, epsilon0=1.0):
    victims = range(GRAPHS[name][0])
    return np.max([exact(name, rounds, protocol, victim, epsilon0) for victim in victims], axis=0)


# ---- the enumeration itself ------------------------------------------------------------------------------------------

TABLE = [  # graph, rounds, victims, then epsilon at delta 0.05 and 0.01: all, single, and uniform shuffle
    ("K3", 1, [0], ((0.9104, 0.9827), (0.6507, 0.7964), (0.8631, 0.9741))),
    ("K3", 2, [0], ((0.8631, 0.9741), (0.4688, 0.6831), (0.8631, 0.9741))),
    ("C5", 1, [0], ((0.9160, 0.9838), (0.6507, 0.8046), (0.7263, 0.9509))),
    ("C5", 2, [0], ((0.8734, 0.9759), (0.4688, 0.6720), (0.7263, 0.9509))),
    ("C5", 4, [0], ((0.7433, 0.9509), (0.3590, 0.5577), (0.7263, 0.9509))),
    ("paw", 1, range(4), ((0.9177, 0.9841), (0.6231, 0.8261), (0.8076, 0.9644))),
    ("paw", None, range(4), ((0.8076, 0.9644), (0.3443, 0.5390), (0.8076, 0.9644))),
    ("K4", None, [0], ((0.8076, 0.9644), (0.3734, 0.5783), (0.8076, 0.9644))),
]


@pytest.mark.parametrize(("name", "rounds", "victims", "epsilons"), TABLE)
def test_exact_epsilons_are_those_of_an_independent_enumeration(name, rounds, victims, epsilons):
    channel = response(2, 1.0)
    laws = stationary(name) if rounds is None else positions(name, rounds)
    size = len(laws)
    kernels = (None, sees_one_each(size, size, channel[0]), sees_shuffled(size, size, channel[0]))
    for kernel, expected in zip(kernels, epsilons, strict=True):
        found = [exact_epsilon(channel, laws, victims, kernel, delta) for delta in (0.05, 0.01)]
        assert found == pytest.approx(expected, abs=6e-5)


@pytest.mark.deep
@pytest.mark.parametrize("name", GRAPHS)
def test_powers_of_the_transition_matrix_count_trajectories(name):
    for rounds in ROUNDS:
        for start, law in enumerate(positions(name, rounds)):
            assert law == pytest.approx([float(chance) for chance in positions_by_trajectories(name, start, rounds)])


# ---- bounds are above ------------------------------------------------------------------------------------------------


def stated_by(theorem, model, epsilons=EPSILONS):
    return np.array([theorem.delta(model, epsilon=epsilon) for epsilon in epsilons.tolist()])


def headline_of(model, epsilons=EPSILONS):
    return np.array([delta_at(model, epsilon=epsilon).guarantee.delta for epsilon in epsilons.tolist()])


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        pytest.param(name, protocol, marks=() if (name, protocol) in QUICK else pytest.mark.deep)
        for name in SMALL
        for protocol in ("all", "single", "padded")
    ],
)
def test_no_walk_loses_more_than_is_stated(name, protocol):
    """All starts, all data, both directions, 0 to 4 rounds; each theorem by itself, and the accountant's choice."""
    for rounds in ROUNDS:
        model = model_of(name, rounds, protocol, submissions=2 if protocol == "padded" else 0)
        found = worst(name, rounds, protocol)
        for stated in (stated_by(NetworkOverlap(), model), stated_by(NetworkSingle(), model), headline_of(model)):
            assert (found <= stated * (1 + 1e-9) + SLACK).all()


@pytest.mark.deep
@pytest.mark.parametrize(("name", "rounds"), [("K5", 2), ("K5", 4), ("C5", 2), ("P5", 3)])
def test_nor_does_one_of_five_people(name, rounds):
    for protocol in ("all", "single"):
        model = model_of(name, rounds, protocol)
        for victim in (0, 2):
            found = exact(name, rounds, protocol, victim)
            assert (found <= headline_of(model) * (1 + 1e-9) + SLACK).all()


@pytest.mark.deep
@pytest.mark.parametrize("protocol", ["all", "single"])
@pytest.mark.parametrize("matrix", [[[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7], [0.15, 0.85]]])
def test_nor_does_a_lopsided_randomizer(matrix, protocol):
    """Also through its own blanket, which is a different one, and with dummies of any answer."""
    channel = np.array(matrix)
    local = ChannelModel(matrix=Channel(channel))
    epsilons = EPSILONS[:-1] * local.epsilon0
    for name, rounds in (("K3", 2), ("paw", 3), ("star", 1)):
        laws = positions(name, rounds)
        model = model_of(name, rounds, protocol, local=local)
        stated = np.minimum(stated_by(NetworkOverlap(), model, epsilons), stated_by(NetworkSingle(), model, epsilons))
        for victim in range(len(laws)):
            for dummy in channel:
                found = exact_delta(channel, laws, victim, kernel_of(protocol, len(laws), dummy), epsilons)
                assert (found <= stated * (1 + 1e-9) + SLACK).all()


@pytest.mark.deep
@pytest.mark.parametrize("epsilon0", [0.3, 2.0])
def test_nor_with_other_local_losses(epsilon0):
    epsilons = EPSILONS * epsilon0
    for name, rounds in (("K4", 1), ("paw", 4), ("P3", 1)):
        for protocol in ("all", "single"):
            model = model_of(name, rounds, protocol, local=LdpModel(epsilon0=epsilon0))
            assert (worst(name, rounds, protocol, epsilon0) <= headline_of(model, epsilons) * (1 + 1e-9) + SLACK).all()


@pytest.mark.deep
def test_laziness_enters_through_positions():
    """A bipartite graph never mixes; lazy walks on it do, and their exact loss is below what is stated of them."""
    channel, rounds = response(2, 1.0), 4
    laws = positions("C4", rounds, laziness=0.5)
    for protocol in ("all", "single"):
        walks = walk_model(laws, rounds=rounds, protocol=protocol, pi=stationary("C4")[0], laziness=0.5)
        model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=walks)
        kernel = kernel_of(protocol, 4, channel[0])
        assert (exact_delta(channel, laws, 0, kernel, EPSILONS) <= headline_of(model) * (1 + 1e-9) + SLACK).all()
    assert math.isinf(near_uniformity(positions("C4", rounds)))
    assert near_uniformity(laws) < 1


@pytest.mark.deep
def test_lost_reports_are_counted_among_those_who_hide_nobody():
    """Each report is lost with a chance: the exact loss, over who is left, is below what is stated."""
    channel, rounds, dropout = response(2, 1.0), 3, 0.2
    laws = positions("K3", rounds)
    kept = (1 - dropout) ** rounds
    exactly = np.zeros(len(EPSILONS))
    for others in ((), (1,), (2,), (1, 2)):  # besides the victim, who is there with the same chance
        chance = kept ** (1 + len(others)) * (1 - kept) ** (2 - len(others))
        exactly += chance * exact_delta(channel, laws[[0, *others]], 0, None, EPSILONS)
    walks = walk_model(laws, rounds=rounds, protocol="all", pi=stationary("K3")[0], dropout=dropout)
    model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=walks)
    assert (exactly <= stated_by(NetworkOverlap(), model) * (1 + 1e-9)).all()
    whole = stated_by(NetworkOverlap(), model_of("K3", rounds, "all", local=LdpModel(epsilon0=1.0)))
    assert (stated_by(NetworkOverlap(), model) / kept > whole).any()  # of those who come, whose own are not lost


def views_with_losses(laws, kept, channel, data):
    """What is seen of one report each where every report is lost with a chance, mixed over who is left."""
    size, total = len(laws), 0.0
    for count in range(size + 1):
        kernel = sees_one_each(size, count, channel[0])
        for left in itertools.combinations(range(size), count):
            chance = kept**count * (1 - kept) ** (size - count)
            people = np.array(left, dtype=int)
            rows = channel[np.array(data)[people]] if count else np.empty((0, 2))
            total = total + chance * (law_of_fillings(rows, laws[people]) @ kernel)
    return total


@pytest.mark.deep
@pytest.mark.parametrize("name", ["K3", "paw", "P3"])
def test_lost_reports_leave_one_report_each_as_private_as_stated(name):
    channel, rounds, dropout = response(2, 1.0), 2, 0.15
    laws, kept = positions(name, rounds), (1 - dropout) ** rounds
    size = len(laws)
    graph = Graph.from_edges(GRAPHS[name][1])
    shuffler = RandomWalkShuffler(graph=graph, num_rounds=rounds, protocol="single", dropout=dropout, dummies=BINARY)
    model = ProtocolModel(local=BINARY.model, shuffle=shuffler.model(size))
    stated, worst_yet = headline_of(model), np.zeros(len(EPSILONS))
    for data in itertools.product((0, 1), repeat=size):
        for victim in range(size):
            changed = [bit ^ (person == victim) for person, bit in enumerate(data)]
            one, other = (views_with_losses(laws, kept, channel, each) for each in (data, changed))
            found = np.maximum(one - np.exp(EPSILONS)[:, None] * other, 0).sum(axis=1)
            worst_yet = np.maximum(worst_yet, found)
    assert (worst_yet <= stated * (1 + 1e-9) + SLACK).all()
    assert worst_yet[0] > 0.3 * stated[0]


@pytest.mark.deep
@pytest.mark.parametrize("protocol", ["all", "single", "padded"])
@pytest.mark.parametrize("name", ["K4", "C4", "paw", "P4"])
def test_what_the_shuffler_says_of_itself_is_enough(name, protocol):
    """The shuffler's own public description, in place of one made here."""
    for rounds in (0, 1, 3):
        shuffler = RandomWalkShuffler(
            graph=Graph.from_edges(GRAPHS[name][1]),
            num_rounds=rounds,
            protocol=protocol,
            submissions=2 if protocol == "padded" else None,
            dummies=None if protocol == "all" else BINARY,
        )
        model = ProtocolModel(local=BINARY.model, shuffle=shuffler.model(GRAPHS[name][0]))
        assert (worst(name, rounds, protocol) <= headline_of(model) * (1 + 1e-9) + SLACK).all()


@pytest.mark.deep
def test_epsilon_is_where_the_exact_delta_has_fallen_to_delta():
    for name, rounds, protocol in (("K4", 3, "all"), ("K4", 2, "single"), ("paw", 4, "single"), ("K3", 4, "padded")):
        model = model_of(name, rounds, protocol, submissions=2 if protocol == "padded" else 0)
        channel, laws = response(2, 1.0), positions(name, rounds)
        for delta in (0.2, 0.05):
            stated = account(model, delta=delta).guarantee.epsilon
            kernel = kernel_of(protocol, len(laws), channel[0])
            assert exact_epsilon(channel, laws, range(len(laws)), kernel, delta) <= stated


# ---- equalities ------------------------------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("name", ["K3", "K4", "C4", "C5", "paw", "star"])
def test_with_stationary_positions_everything_is_a_uniform_shuffle(name):
    """Data set by data set, in both directions: whatever the degrees."""
    channel, laws = response(2, 1.0), stationary(name)
    shuffled = sees_shuffled(len(laws), len(laws), channel[0])
    for every in pairs_of_views(channel, laws, 0):
        mixed = every @ shuffled
        for epsilon in (0.0, 0.3, 0.7):
            for one, other in ((0, 1), (1, 0)):
                by_node = np.maximum(every[one] - math.exp(epsilon) * every[other], 0).sum()
                together = np.maximum(mixed[one] - math.exp(epsilon) * mixed[other], 0).sum()
                assert by_node == pytest.approx(together, abs=1e-13)


@pytest.mark.deep
def test_with_stationary_positions_the_bound_is_that_of_the_uniform_shuffle():
    laws = stationary("paw")
    walks = walk_model(laws, rounds=1000, protocol="all")
    assert walks.near_uniformity == pytest.approx(0, abs=1e-12)
    model = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=walks)
    uniform = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=4))
    assert stated_by(NetworkOverlap(), model) == pytest.approx(stated_by(StrongPair(), uniform), rel=1e-9)


@pytest.mark.deep
def test_the_formula_for_one_report_each_is_attained_on_a_cycle_of_four():
    """So no smaller one is true of all graphs; elsewhere it is above."""
    for name, rounds, attained in (("C4", 1, True), ("C4", 2, True), ("K4", 2, False)):
        laws = positions(name, rounds)
        exactly = exact(name, rounds, "single", 0)[EPSILONS == 0.7][0]
        formula = with_hidden_sizes(laws, 0, 1.0, 0.7)
        assert bool(formula == pytest.approx(exactly, rel=1e-9)) is attained
        assert exactly <= formula * (1 + 1e-12)


def test_leaving_out_what_positions_tell_would_be_false():
    """After one round on a complete graph, three on the paw: more than a uniform shuffle loses, at most epsilons."""
    uniform = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=4))
    stated = stated_by(StrongPair(), uniform)
    for name, rounds in (("K4", 1), ("paw", 3)):
        assert (worst(name, rounds, "all") > stated + 1e-4).sum() >= 5


def test_near_uniformity_is_that_of_an_independent_computation():
    for name, rounds, value in (
        ("K5", 4, 0.03883617171420317),
        ("K4", 3, 0.30830135965451655),
        ("paw", 4, 2.538973871),
    ):
        assert near_uniformity(positions(name, rounds)) == pytest.approx(value, rel=1e-9)
    assert math.isinf(near_uniformity(positions("paw", 3)))


def exact_of_p_equals_positions(name, rounds):
    """The formula itself, summed over all values of the z_i: no evaluator."""
    chances = np.sort(positions(name, rounds)[0])[::-1]
    chances = chances[chances > 0]
    ratio = math.e
    found = []
    for epsilon in EPSILONS:
        factor = math.exp(epsilon)
        values = np.array([ratio - factor, 1 - ratio * factor, 0.0])
        masses = np.array([1, 1, ratio - 1]) / (ratio + 1)
        sums, weights = np.zeros(1), np.ones(1)
        for chance in chances:
            sums = (sums[:, None] + chance * values).ravel()
            weights = (weights[:, None] * masses).ravel()
        found.append(float(weights @ np.maximum(sums, 0)))
    return np.array(found)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["K3", "K5", "paw", "C5"])
def test_the_evaluator_is_just_above_the_formula(name):
    model = model_of(name, 2, "single", local=LdpModel(epsilon0=1.0))
    if name != "paw":  # where all starts are alike
        formula = exact_of_p_equals_positions(name, 2)
        stated = stated_by(NetworkSingle(), model)
        assert (formula <= stated * (1 + 1e-12)).all()
        assert stated == pytest.approx(formula, rel=3e-3)
    else:
        assert model.shuffle.position_probabilities[0] == pytest.approx(positions(name, 2).max())


def test_no_round_is_no_shuffling():
    for protocol in ("all", "single"):
        statement = account(model_of("K4", 0, protocol), delta=0.01)
        assert (statement.basis.theorem, statement.guarantee.epsilon) == ("local-dp", response_of(1.0).epsilon0)
        assert any("num_rounds=0" in remark for remark in statement.remarks)


# ---- hypotheses that are needed --------------------------------------------------------------------------------------


def of_formula(chances, epsilon0, epsilon):
    """The bound with the p_i given, for one allocation of the others; summed over all values of the z_i."""
    ratio, factor = math.exp(epsilon0), math.exp(epsilon)
    values = np.array([ratio - factor, 1 - ratio * factor, 0.0]) - (1 - factor)
    masses = np.array([1, 1, ratio - 1]) / (ratio + 1)
    sums, weights = np.full(1, 1 - factor), np.ones(1)
    for chance in chances:
        sums, weights = (sums[:, None] + chance * values).ravel(), (weights[:, None] * masses).ravel()
    return float(weights @ np.maximum(sums, 0))


def allocations_of_others(laws, victim):
    """How many others are at each place, with probabilities."""
    others = np.delete(laws, victim, axis=0)
    for places in itertools.product(range(len(laws)), repeat=len(others)):
        chance = float(np.prod(others[np.arange(len(others)), places]))
        if chance > 0:
            yield np.bincount(places, minlength=len(laws)), chance


def with_hidden_sizes(laws, victim, epsilon0, epsilon):
    return sum(
        chance * of_formula(laws[victim] / (1 + held), epsilon0, epsilon)
        for held, chance in allocations_of_others(laws, victim)
    )


def with_visible_empties(laws, victim, epsilon0, epsilon):
    """The corrected formula: alone with probability nu, else in the place of one of those who hold something."""
    local, total = first_hop_delta(share=1.0, epsilon0=epsilon0, epsilon=epsilon), 0.0
    for held, chance in allocations_of_others(laws, victim):
        alone = laws[victim][held == 0].sum()
        used = laws[victim][held > 0] / (1 + held[held > 0])
        ratio, factor = math.exp(epsilon0), math.exp(epsilon)
        values = np.array([ratio - factor, 1 - ratio * factor, 0.0]) - (1 - factor)
        masses = np.array([1, 1, ratio - 1]) / (ratio + 1)
        sums, weights = np.full(1, (1 - factor) * (1 - alone)), np.ones(1)
        for each in used:
            sums, weights = (sums[:, None] + each * values).ravel(), (weights[:, None] * masses).ravel()
        total += chance * (alone * local + float(weights @ np.maximum(sums, 0)))
    return total


def padded_formula(laws, victim, epsilon0, epsilon, submissions, *, wrong=False):
    """By how many others are at each place: the victim displaces a dummy, or is one of too many."""
    total = 0.0
    for held, chance in allocations_of_others(laws, victim):
        chances = []
        for probability, others in zip(laws[victim], held.tolist(), strict=True):
            free = submissions - others
            if wrong:
                chances += [probability / submissions] * submissions
            elif free > 0:
                chances += [probability / free] * free
            else:
                chances += [probability / (1 + others)] * submissions
        total += chance * of_formula([each for each in chances if each > 0], epsilon0, epsilon)
    return total


@pytest.mark.parametrize(("name", "rounds", "victim", "value"), [("star", 1, 0, 0.4621), ("P3", 1, 1, 0.4621)])
def test_the_formula_is_false_where_empty_hands_or_sizes_are_seen(name, rounds, victim, value):
    """Nothing handed in on a star, and bag sizes seen on a path: the center's report is exposed entirely."""
    channel, laws = response(2, 1.0), positions(name, rounds)
    size = len(laws)
    broken = {"star": {"dummies": False}, "P3": {"sizes": True}}[name]
    seen = exact_delta(channel, laws, victim, sees_one_each(size, size, channel[0], **broken), np.zeros(1))[0]
    formula = with_hidden_sizes(laws, victim, 1.0, 0.0)
    assert seen == pytest.approx(value, abs=5e-5)
    assert formula == pytest.approx({"star": 0.2804, "P3": 0.3378}[name], abs=5e-5)
    assert seen > 1.3 * formula
    hidden = exact_delta(channel, laws, victim, sees_one_each(size, size, channel[0]), np.zeros(1))[0]
    assert hidden <= formula + SLACK


@pytest.mark.deep
def test_two_people_who_show_when_they_hold_nothing_lose_twenty_times_more():
    channel, laws = response(2, 2.0), stationary("K2")
    seen = exact_delta(channel, laws, 0, sees_one_each(2, 2, channel[0], dummies=False), np.array([1.7]))[0]
    assert seen == pytest.approx(0.1005, abs=5e-5)
    assert with_hidden_sizes(laws, 0, 2.0, 1.7) == pytest.approx(0.0045, abs=5e-5)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["K3", "star", "P3", "P4", "paw"])
def test_the_corrected_formula_holds_where_empty_hands_are_seen(name):
    channel = response(2, 1.0)
    for rounds in (1, 2, 3):
        laws = positions(name, rounds)
        size = len(laws)
        kernel = sees_one_each(size, size, channel[0], dummies=False)
        model = model_of(name, rounds, "single", local=LdpModel(epsilon0=1.0))
        for victim in range(size):
            found = exact_delta(channel, laws, victim, kernel, EPSILONS[::3])
            empty = sum(chance * laws[victim][held == 0].sum() for held, chance in allocations_of_others(laws, victim))
            for epsilon, value in zip(EPSILONS[::3].tolist(), found, strict=True):
                assert value <= with_visible_empties(laws, victim, 1.0, epsilon) + SLACK
                assert value <= visible_empties_delta(model, epsilon=epsilon, empty=min(empty, 1.0)) + SLACK


@pytest.mark.deep
def test_the_victim_displaces_a_dummy_and_not_any_report():
    """A path of five, one round, two reports each: 1197/2048 exactly, where the first formula says 1089/2048."""
    epsilon0, channel, laws = math.log(7), response(2, math.log(7)), positions("P5", 1)
    kernel = sees_padded(5, 5, channel[0], submissions=2)
    exactly = exact_delta(channel, laws, 2, kernel, np.zeros(1))[0]
    assert exactly == pytest.approx(1197 / 2048, abs=1e-12)
    assert padded_formula(laws, 2, epsilon0, 0.0, 2, wrong=True) == pytest.approx(1089 / 2048, abs=1e-12)
    assert padded_formula(laws, 2, epsilon0, 0.0, 2) >= exactly - SLACK
    model = model_of("P5", 1, "padded", local=response_of(epsilon0), submissions=2)
    assert NetworkSingle().delta(model, epsilon=0.0) >= exactly


@pytest.mark.deep
@pytest.mark.parametrize("name", ["P4", "C4", "paw", "star"])
def test_the_corrected_padded_formula_lies_between_the_truth_and_what_is_stated(name):
    for rounds in (1, 2):
        laws = positions(name, rounds)
        model = model_of(name, rounds, "padded", local=LdpModel(epsilon0=1.0), submissions=2)
        stated = stated_by(NetworkSingle(), model, EPSILONS[::3])
        for victim in range(len(laws)):
            formula = np.array([padded_formula(laws, victim, 1.0, epsilon, 2) for epsilon in EPSILONS[::3].tolist()])
            assert (exact(name, rounds, "padded", victim)[::3] <= formula + SLACK).all()
            assert (formula <= stated * (1 + 1e-9) + SLACK).all()


# ---- swap reveal, by all allocations ---------------------------------------------------------------------------------


def swap_reveal_exactly(laws, victim, epsilon0, epsilon, *, quotients=False):
    """The bound, averaged over all clones, allocations and exchanges; with quotients, 0/0 and x/0 count as 0."""
    ratio, factor, size = math.exp(epsilon0), math.exp(epsilon), len(laws)
    chance, total = 2 / (1 + ratio), 0.0
    truth, lie = ratio / (1 + ratio), 1 / (1 + ratio)
    others = [person for person in range(size) if person != victim]
    for count in range(size):
        bits = np.array(list(itertools.product((0, 1), repeat=count + 1)))
        values = np.where(bits, truth - factor * lie, lie - factor * truth)
        for clones in itertools.combinations(others, count):
            people, drawn = [*clones, victim], chance**count * (1 - chance) ** (size - 1 - count) / (count + 1)
            for places in itertools.product(*(np.flatnonzero(laws[person]) for person in people)):
                weight = drawn * math.prod(laws[person, place] for person, place in zip(people, places, strict=True))
                for exchanged in range(count + 1):
                    shown = np.array(places)
                    shown[[exchanged, -1]] = shown[[-1, exchanged]]
                    shares = shares_of(laws, victim, np.array(clones, dtype=int), shown, quotients=quotients)
                    total += weight * 2 * float(np.maximum(values @ shares, 0).mean())
    return total


def shares_of(laws, victim, clones, places, *, quotients):
    if not quotients:
        return shares_of_places(laws, victim, clones, places)
    own, instead = laws[clones, places[:-1]], laws[victim, places[:-1]] * laws[clones, places[-1]]
    weights = np.append(np.divide(instead, own, out=np.zeros(len(own)), where=own > 0), laws[victim, places[-1]])
    return weights / weights.sum() if weights.sum() > 0 else weights


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "product", "quotient", "exactly"),
    [("K3", 0.32297, 0.29123, 0.29379), ("P3", 0.28679, 0.20556, 0.26905), ("paw", 0.30126, 0.25888, 0.26364)],
)
def test_swap_reveal_with_products_is_a_bound_and_with_quotients_is_not(name, product, quotient, exactly):
    laws = positions(name, 1)
    assert exact_delta(response(2, 1.0), laws, 0, None, np.array([0.3]))[0] == pytest.approx(exactly, abs=6e-6)
    assert swap_reveal_exactly(laws, 0, 1.0, 0.3) == pytest.approx(product, abs=6e-6)
    assert swap_reveal_exactly(laws, 0, 1.0, 0.3, quotients=True) == pytest.approx(quotient, abs=6e-6)
    assert quotient < exactly < product


@pytest.mark.deep
def test_swap_reveal_is_the_uniform_bound_where_positions_have_one_law():
    uniform = ProtocolModel(local=LdpModel(epsilon0=1.0), shuffle=UniformShuffleModel(num_users=3))
    for epsilon in (0.1, 0.5):
        stated = StrongPair().delta(uniform, epsilon=epsilon)
        assert swap_reveal_exactly(stationary("K3"), 0, 1.0, epsilon) == pytest.approx(stated, rel=1e-6)


# ---- lower bounds ----------------------------------------------------------------------------------------------------


def test_what_all_reports_together_show_is_a_lower_bound():
    for name, rounds in (("K3", 1), ("paw", 2), ("C4", 3)):
        model = model_of(name, rounds, "all")
        lower = stated_by(NetworkHistogram(), model)
        assert (lower <= worst(name, rounds, "all") + SLACK).all()
        assert lower[0] > 0.2


@pytest.mark.deep
def test_a_colluding_neighbor_sees_at_least_what_is_stated():
    """Given whose report is in which colluder's hands after one round: on K4 with one, exactly a third of the local."""
    walks = walk_model(positions("K4", 1), rounds=1, protocol="all", num_colluding=1)
    model = ProtocolModel(local=response_of(1.0), shuffle=walks)
    stated = stated_by(NetworkFirstHop(), model)
    local = np.array([first_hop_delta(share=1.0, epsilon0=1.0, epsilon=epsilon) for epsilon in EPSILONS.tolist()])
    assert stated == pytest.approx(local / 3, rel=1e-9)
    assert (stated <= local / 3).all()
    statement = account(model, delta=1e-3)
    assert statement.basis.theorem == "local-dp"
    assert any("num_colluding=1" in remark for remark in statement.remarks)
