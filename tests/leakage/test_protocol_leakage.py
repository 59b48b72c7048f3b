"""One verb for every protocol: exact where the description says enough, never below the truth where it does not."""

import itertools
import math

import numpy as np
import pytest

import shuffledp as sdp
from leakage.brute import bayes, response, shuffled_views, vulnerability
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.laws import mallows_law
from shuffledp.leakage import (
    binary_vulnerability,
    expected_max_load,
    shuffled_vulnerability,
    target_vulnerability,
    worst_exchange_vulnerability,
)
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.shares.shufflers.imperfect import (
    CayleyShuffler,
    ComposedShuffler,
    DelayShuffler,
    ImperfectShuffleModel,
    ObliviousShuffleModel,
)
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffler
from shuffledp.shufflers import IdentityShuffler, UniformShuffler
from shufflers.enumerated import law_of

BINARY = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
TERNARY = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=3).model
GROUPS = sdp.Groups.from_labels(["a", "a", "a", "b"])


def near(value, rel=1e-10):
    return pytest.approx(float(value), rel=rel, abs=0)


def ask(shuffle, local=BINARY, **options):
    return target_vulnerability(ProtocolModel(local=local, shuffle=shuffle), **options)


def truth_of(law, local, person=0):
    """From the definition, about one person of a shuffle of this law."""
    matrix = local.channel().matrix.astype(np.float64)
    prior = np.full(len(matrix), 1 / len(matrix))
    moved = {tuple((0 if p == person else person if p == 0 else p) for p in order): c for order, c in law.items()}
    return vulnerability(shuffled_views(matrix, prior, len(next(iter(law))), moved), prior, bayes(len(matrix)))


def test_a_uniform_shuffle_and_none():
    for people in (1, 2, 50):
        assert ask(UniformShuffler().model(people)).value == near(binary_vulnerability(people, BINARY.p))
        assert ask(IdentityShuffler().model(people)).value == near(BINARY.p)
    found = ask(UniformShuffler().model(1000), TERNARY)
    channel = shuffled_vulnerability(None, TERNARY.channel(), num_users=1000)
    assert (found.value, found.decay, found.kind) == (near(channel.value), channel.decay, Kind.EXACT)
    assert ask(IdentityShuffler().model(9)).decay == "none"


def test_a_domain_too_large_for_a_table_is_fine_for_the_plain_question():
    local = sdp.KaryRandomizedResponse(epsilon0=2.0, domain_size=10**6).model
    found = ask(UniformShuffler().model(10**5), local)
    assert found.value == near(local.q + (local.p - local.q) * expected_max_load(10**5, 10**6) / 1e5)
    with pytest.raises(UnsupportedModelError, match="needs the randomizer as a table"):
        ask(UniformShuffler().model(10**5), local, prior=[1.0])


@pytest.mark.parametrize("distance", ["kendall", "hamming", "cayley"])
def test_a_mallows_shuffle_is_exact_for_whom_it_mixes_least(distance):
    shuffler = sdp.MallowsShuffler(groups=GROUPS, alpha=1.5, distance=distance, per_block=False)
    law = law_of(shuffler)
    truths = [truth_of(law, BINARY, person) for person in range(4)]
    found = ask(shuffler.model(4))
    assert found.upper == near(max(truths), 1e-6)
    assert found.lower - 1e-12 <= max(truths) <= found.upper + 1e-12
    assert found.value < BINARY.p
    assert ask(sdp.MallowsShuffler(groups=GROUPS, alpha=1.5).model(4)).value == near(BINARY.p)  # b is alone


def test_an_imperfect_shuffle_of_the_mallows_law_is_exact():
    law = {w: float(c) for w, c in mallows_law(4, 0.8, distance="cayley").items()}
    model = CayleyShuffler(imperfection=0.8).model(4)
    for local in (BINARY, TERNARY):
        found = ask(model, local)
        assert (found.value, found.kind) == (near(truth_of(law, local)), Kind.EXACT)
    assert ask(CayleyShuffler(imperfection=0.0).model(9)).value == near(binary_vulnerability(9, BINARY.p))
    assert ask(CayleyShuffler(imperfection=3.0).model(1)).value == near(BINARY.p)


def test_of_other_imperfect_shuffles_the_worst_is_stated():
    exact = ask(CayleyShuffler(imperfection=0.8).model(6))
    composed = ComposedShuffler(first=CayleyShuffler(imperfection=0.8), second=lambda n, _: np.arange(n))
    for shuffler in (DelayShuffler(imperfection=0.8), composed):
        found = ask(shuffler.model(6))
        assert found.kind is Kind.UPPER_BOUND
        assert exact.value <= found.value + 1e-12
        assert found.value < BINARY.p
    assert ask(DelayShuffler(imperfection=0.0).model(9)).value == near(binary_vulnerability(9, BINARY.p))


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_a_noisy_sort_is_bounded(alpha):
    shuffler = sdp.NoisySortShuffler(groups=sdp.Groups.from_labels(["a", "a", "a", "a"]), alpha=alpha)
    law, found = law_of(shuffler), ask(shuffler.model(4))
    truths = [truth_of(law, BINARY, person) for person in range(4)]
    assert found.kind is Kind.UPPER_BOUND
    assert max(truths) <= found.upper <= BINARY.p + 1e-12
    places = np.zeros(4)
    for order, chance in law.items():
        places[order.index(0)] += chance
    assert ask(shuffler.model(4), positions=places).value == near(truths[0], 1e-9)
    gaussian = sdp.NoisySortShuffler(groups=GROUPS, alpha=alpha, noise="gaussian", delta=1e-3)
    assert ask(gaussian.model(4)).value == near(BINARY.p)


def test_a_walk_is_bounded_given_the_bags():
    """All walks of four people on a complete graph, with what is seen of the bags conditioned on."""
    graph = sdp.Graph.from_edges([(i, j) for i in range(4) for j in range(i)])
    model = RandomWalkShuffler(graph=graph, num_rounds=2).model(4)
    step = (np.ones((4, 4)) - np.eye(4)) / 3
    laws = step @ step
    truth = 0.0
    for places in np.ndindex(4, 4, 4, 4):
        chance = math.prod(laws[person, place] for person, place in enumerate(places))
        weights = np.zeros(4)
        for order in itertools.permutations(range(4)):
            weights[order[0]] += math.prod(laws[person, places[slot]] for person, slot in enumerate(order))
        truth += chance * ask(UniformShuffler().model(4), positions=weights / weights.sum()).value
    found = ask(model)
    assert found.kind is Kind.UPPER_BOUND
    assert binary_vulnerability(4, BINARY.p) < truth <= found.upper < BINARY.p
    lossy = RandomWalkShuffler(graph=graph, num_rounds=2, dropout=0.1).model(4)
    assert ask(lossy).value == near(BINARY.p)


def test_shuffles_of_which_little_is_known_tell_no_more_than_one_report():
    oblivious = ObliviousShuffleModel(num_users=9, epsilon=0.1)
    assert (ask(oblivious).value, ask(oblivious).kind) == (near(BINARY.p), Kind.UPPER_BOUND)
    parallel = ParallelShuffler(UniformShuffler(), 1).model(9)
    assert binary_vulnerability(9, BINARY.p) <= ask(parallel).upper + 1e-12


def test_the_strong_adversary():
    uniform = UniformShuffler().model(4)
    known = ask(uniform, adversary="strong", others=[3, 0])
    worst = ask(uniform, adversary="strong")
    assert ask(uniform).value < known.value <= worst.value < BINARY.p
    assert ask(IdentityShuffler().model(4), adversary="strong").value == near(BINARY.p)
    bound = ask(CayleyShuffler(imperfection=1.0).model(4), adversary="strong")
    assert (bound.value, bound.kind) == (near(BINARY.p), Kind.UPPER_BOUND)


@pytest.mark.parametrize("imperfection", [0.5, 2.0])
def test_the_worst_shuffle_that_is_as_imperfect_tells_no_less_than_the_one_of_cayley(imperfection):
    shuffle = CayleyShuffler(imperfection=imperfection).model(6)
    worst = worst_exchange_vulnerability(sdp.ProtocolModel(local=BINARY, shuffle=shuffle))
    weights = [np.exp(imperfection * (np.arange(6) < heavy)) for heavy in range(6)]
    laws = [each / each.sum() for each in weights]
    corners = [ask(UniformShuffler().model(6), positions=law).value for law in laws]
    assert worst.kind is Kind.UPPER_BOUND
    assert worst.value == near(max(corners))
    assert (ask(shuffle).value == near(worst.value)) == (imperfection == 2.0)  # then the worst corner is Cayley's law
    assert ask(shuffle).value <= worst.value * (1 + 1e-14)
    assumed = ImperfectShuffleModel(num_users=6, imperfection=imperfection, construction="assumed")
    assert ask(assumed).value == worst.value
    uniform = sdp.ProtocolModel(local=BINARY, shuffle=CayleyShuffler(imperfection=0.0).model(6))
    assert worst_exchange_vulnerability(uniform).value == near(binary_vulnerability(6, BINARY.p))


def test_fewer_places_are_given_where_reports_get_lost():
    graph = sdp.Graph.from_edges([(i, j) for i in range(4) for j in range(i)])
    lossy = RandomWalkShuffler(graph=graph, num_rounds=2, dropout=0.1).model(4)
    assert ask(lossy, positions=[0.5, 0.5]).value == near(binary_vulnerability(2, BINARY.p))
    with pytest.raises(InvalidParameterError, match="there are 4; got 5"):
        ask(lossy, positions=[0.2] * 5)


def test_priors_and_gains_are_passed_on():
    gain = [[1.0, 0.0], [0.0, 3.0]]
    for adversary in ("uninformed", "strong"):
        found = ask(UniformShuffler().model(3), prior=[0.7, 0.3], gain=gain, adversary=adversary)
        assert found.prior == near(0.9)
        assert found.value > 0.9


def test_equally_private_mechanisms_leak_differently():
    """Of two people's bits one mechanism shows both, the other their parity, each truthfully with probability 3/4."""
    first = sdp.Channel(response(2, 0.75))
    both = first.product(first)
    parity = sdp.Channel([[0.75, 0.25], [0.25, 0.75], [0.25, 0.75], [0.75, 0.25]])

    def neighbors(channel):
        pairs = [(0, 1), (2, 3), (0, 2), (1, 3)]
        return max(sdp.Channel(channel.matrix[list(pair)]).epsilon() for pair in pairs)

    def guess(channel):  # about the first bit, the other one uniform
        law = channel.matrix.reshape(2, 2, -1).mean(axis=1)
        return float((law / 2).max(axis=0).sum())

    assert neighbors(both) == near(neighbors(parity)) == near(math.log(3))
    assert (guess(both), guess(parity)) == (near(0.75), near(0.5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adversary": "nosy"}, "adversary must be one of 'uninformed', 'strong'"),
        ({"others": [1, 1]}, "others must be left out unless"),
        ({"positions": [1.0], "adversary": "strong"}, "positions must be left out unless"),
        ({"adversary": "strong", "others": [1, 1]}, "others must be 3 people; got 2"),
        ({"adversary": "strong", "others": [2.0, 1.0]}, "others must be 2 whole numbers of people"),
        ({"adversary": "strong", "others": "ab"}, "others must be numbers"),
        ({"adversary": "strong", "others": [None, 1]}, "others must be numbers"),
        ({"positions": [0.5, 0.5]}, "positions must have one probability for each place, of which there are 4; got 2"),
        ({"positions": [0.125] * 8}, "positions must have one .* 4; got 8"),
        ({"prior": [0.5, 0.6]}, "prior must sum to 1"),
        ({"gain": [[1, 2, 3]]}, "gain must be a table"),
        ({"method": "magic"}, "method must be one of"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        ask(UniformShuffler().model(4), **options)
    with pytest.raises(InvalidParameterError, match="model must be a ProtocolModel"):
        target_vulnerability(BINARY)


def test_what_has_no_table_or_several_messages_is_not_answered():
    hashing = sdp.OptimizedLocalHashing(epsilon0=1.0, domain_size=5).model
    with pytest.raises(UnsupportedModelError, match="needs the randomizer as a table"):
        ask(UniformShuffler().model(4), hashing)
    sums = sdp.calibrate.split_and_mix(epsilon=1.0, delta=1e-6, num_users=100, lower=0, upper=1).model
    with pytest.raises(UnsupportedModelError, match="one report per person"):
        ask(UniformShuffler().model(100), sums)


def test_orders_of_which_little_is_known_tell_at_least_what_a_histogram_does():
    local = sdp.KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
    uniform = ProtocolModel(local=local, shuffle=sdp.UniformShuffler().model(400))
    shuffle = ImperfectShuffleModel(num_users=400, imperfection=1.0, construction="assumed")
    for adversary in ("uninformed", "strong"):
        found = target_vulnerability(ProtocolModel(local=local, shuffle=shuffle), adversary=adversary)
        sure = target_vulnerability(uniform, adversary=adversary)
        assert sure.prior < found.lower <= sure.upper
        assert "the lower end is what is sure" in found.note


def test_a_channel_in_place_of_a_randomizers_model_is_refused():
    model = ProtocolModel(local=sdp.Channel([[0.8, 0.2], [0.2, 0.8]]), shuffle=sdp.UniformShuffler().model(9))
    with pytest.raises(InvalidParameterError, match="such as ChannelModel"):
        target_vulnerability(model)


def test_reports_of_the_others_that_are_certain_are_seen_through_by_any_shuffle():
    """Both ends are the report's own, up to rounding: the lower one is not above the upper one."""
    local = sdp.randomizers.ChannelModel(matrix=sdp.Channel([[1, 0, 0], [0.3, 0.6, 0.1]]))
    shuffle = ImperfectShuffleModel(num_users=30, imperfection=0.5, construction="assumed")
    found = target_vulnerability(ProtocolModel(local=local, shuffle=shuffle), prior=[0.3, 0.7], adversary="strong")
    assert found.prior <= found.lower <= found.value <= found.upper == pytest.approx(0.79)
