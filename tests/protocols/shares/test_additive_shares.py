"""The theorem about shares in imperfectly shuffled rounds: hypotheses, its curve, and the truth below it."""

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from shuffledp.accounting import account, delta_at
from shuffledp.core.errors import HypothesisError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind, Status, Trust
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix, SplitAndMixModel
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel
from shuffledp.protocols.shares.theorems import additive_shares as split_and_mix
from shuffledp.protocols.shares.theorems.additive_shares import SplitAndMixRounds, _Coordinates, _Step
from shuffledp.protocols.shares.theorems.share_mixing import mixing_distance
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel
from soundness.exact_rounds import Rounds, hockey_stick, mallows_cayley, noisy_law, polya_modulo, uniform

THEOREM = SplitAndMixRounds()
RESPONSE = KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=3)
PLANNED = SplitAndMix(num_users=1000, epsilon=1.0, lower=0, upper=1, num_shares=9, noise_users=900).model


def rounds_of(local, gamma=0.5, users=1000, colluding=0, num_rounds=None):
    one = ImperfectShuffleModel(num_users=users, imperfection=gamma, construction="assumed", num_colluding=colluding)
    return ParallelShuffleModel(round=one, num_rounds=local.num_messages if num_rounds is None else num_rounds)


def protocol(local=PLANNED, shuffle=None):
    return ProtocolModel(local=local, shuffle=rounds_of(local) if shuffle is None else shuffle)


def failing(model, delta=1e-6):
    return [each.name for each in THEOREM.hypotheses(model, delta=delta) if not each.holds]


# ---- hypotheses -----------------------------------------------------------------------------------------------------


def test_it_applies_to_rounds_as_planned_and_says_what_was_met():
    statement = THEOREM.state(protocol(), delta=1e-6)
    assert (statement.kind, statement.basis.status) == (Kind.UPPER_BOUND, Status.OWN_PROOF)
    assert statement.guarantee.epsilon <= 1.0
    assert {Trust.OWN_DEVICE, Trust.SHUFFLER} <= set(statement.trust)
    names = {
        "additive-shares",
        "parallel-rounds",
        "known-imperfection",
        "oblivious",
        "enough-noise",
        "certified-mixing",
    }
    assert names <= {each.name for each in statement.basis.hypotheses}
    text = str(statement)
    assert "One round of each value may be worse than promised" in text
    assert "with two, nothing is promised, and without any shuffle nothing is left" in text
    assert "what each report guarantees by itself" not in text
    assert text.count("independent") == 1
    assert text.count("measure") == 1


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("additive-shares", protocol(RESPONSE, rounds_of(PLANNED))),
        ("parallel-rounds", protocol(shuffle=rounds_of(PLANNED, num_rounds=8))),
        ("parallel-rounds", protocol(shuffle=rounds_of(PLANNED, num_rounds=1))),
        ("known-imperfection", protocol(shuffle=IdentityShuffleModel(num_users=1000))),
        ("enough-noise", protocol(shuffle=rounds_of(PLANNED, colluding=101))),
        ("enough-noise", protocol(shuffle=rounds_of(PLANNED, users=899))),
        ("supported-size", protocol(shuffle=UniformShuffleModel(num_users=2 * 10**9))),
        ("certified-mixing", protocol(shuffle=rounds_of(PLANNED, gamma=4.0))),
    ],
)  # fmt: skip
def test_each_hypothesis_can_fail_and_then_nothing_is_said(name, model):
    assert name in failing(model)
    assert THEOREM.delta(model, epsilon=5.0) == 1.0
    assert THEOREM.epsilon(model, delta=1e-6) == math.inf
    with pytest.raises(HypothesisError, match="split-and-mix needs"):
        THEOREM.state(model, delta=1e-6)


def test_below_the_certificate_it_does_not_apply_and_says_which_delta_would():
    certified = THEOREM.delta(protocol(), epsilon=1.0)
    assert failing(protocol(), certified) == []
    assert failing(protocol(), certified * 0.999) == ["certified-mixing"]
    with pytest.raises(HypothesisError, match="a delta of at least"):
        THEOREM.state(protocol(), delta=certified / 2)
    with pytest.raises(UnsupportedModelError):
        account(protocol(), delta=certified / 2)


def test_dropouts_and_colluding_people_are_met_up_to_the_planned_number():
    for shuffle in (rounds_of(PLANNED, colluding=100), rounds_of(PLANNED, users=900), rounds_of(PLANNED, users=950)):
        assert failing(protocol(shuffle=shuffle)) == []
    all_there = THEOREM.delta(protocol(), epsilon=1.0)
    assert THEOREM.delta(protocol(shuffle=rounds_of(PLANNED, colluding=100)), epsilon=1.0) > all_there
    statement = account(protocol(), delta=1e-6, honest_fraction=0.9)
    assert statement.basis.theorem == "split-and-mix"
    with pytest.raises(UnsupportedModelError):
        account(protocol(), delta=1e-6, honest_fraction=0.89)


@pytest.mark.parametrize(
    ("shuffle", "reason"),
    [
        (rounds_of(PLANNED, users=899), "split-and-mix needs at least noise_users=900 honest people"),
        (rounds_of(PLANNED, gamma=4.0), "split-and-mix needs (a delta of at least|more messages)"),
        (IdentityShuffleModel(num_users=1000), "split-and-mix needs a round of its own"),
    ],
)
@pytest.mark.parametrize("ask", [lambda model: account(model, delta=1e-6), lambda model: delta_at(model, epsilon=1.0)])
def test_whoever_asks_is_told_which_hypothesis_fails_and_nothing_of_theorems_about_other_reports(ask, shuffle, reason):
    with pytest.raises(UnsupportedModelError, match=reason) as refused:
        ask(protocol(shuffle=shuffle))
    assert "not known to be private" in str(refused.value)
    assert "fmt23" not in str(refused.value)
    assert "local-dp" not in str(refused.value)


def test_one_uniform_buffer_of_all_messages_is_as_good_as_uniform_rounds():
    buffer = protocol(shuffle=UniformShuffleModel(num_users=1000))
    parallel = protocol(shuffle=ParallelShuffleModel(round=UniformShuffleModel(num_users=1000), num_rounds=9))
    for epsilon in (0.3, 1.0):
        assert THEOREM.delta(buffer, epsilon=epsilon) == THEOREM.delta(parallel, epsilon=epsilon) < 1


def test_imperfect_buffer_of_all_messages_is_not_covered():
    one = ImperfectShuffleModel(num_users=1000, imperfection=0.1, construction="assumed")
    with pytest.raises(UnsupportedModelError):
        account(protocol(shuffle=one), delta=1e-6)


def test_the_accountant_takes_it_and_states_the_same():
    statement = account(protocol(), delta=1e-6)
    assert statement.basis.theorem == "split-and-mix"
    assert statement.guarantee.epsilon == THEOREM.epsilon(protocol(), delta=1e-6)
    assert delta_at(protocol(), epsilon=1.0).guarantee.delta == THEOREM.delta(protocol(), epsilon=1.0)


# ---- the curve ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "local",
    [
        PLANNED,
        replace(PLANNED, dimension=40, num_shares=11),
        replace(PLANNED, dimension=5, l1_bounded=True, num_shares=11),
    ],
    ids=["number", "vector", "l1"],
)
def test_the_curve_falls_to_the_certificate_and_epsilon_is_its_inverse(local):
    model = protocol(local)
    deltas = [THEOREM.delta(model, epsilon=epsilon) for epsilon in (*np.linspace(0, 1.2, 61), 5.0, 50.0, math.inf)]
    assert all(after <= before for before, after in pairwise(deltas))
    distance = local.dimension * mixing_distance(1000, local.num_shares, 0.5, local.modulus)
    assert deltas[-1] <= (1 + math.e) * distance * (1 + 1e-9)
    for delta in (1e-6, 1e-4, 0.01, 0.2):
        epsilon = THEOREM.epsilon(model, delta=delta)
        assert THEOREM.delta(model, epsilon=epsilon) <= delta
        assert epsilon == 0 or THEOREM.delta(model, epsilon=epsilon * (1 - 1e-6)) > delta


def test_many_coordinates_lose_less_than_the_sum_at_a_larger_delta():
    model = protocol(replace(PLANNED, dimension=400, num_shares=11))
    assert THEOREM.epsilon(model, delta=1e-6) < 0.4


@pytest.mark.parametrize(("rate", "steps"), [(1.0, 1), (0.05, 20), (0.01, 300), (0.5, 7)])
def test_the_noise_of_one_coordinate_has_its_exact_profile(rate, steps):
    reach = np.arange(-8000, 8001)
    law = (1 - math.exp(-rate)) / (1 + math.exp(-rate)) * np.exp(-rate * np.abs(reach))
    moved = (1 - math.exp(-rate)) / (1 + math.exp(-rate)) * np.exp(-rate * np.abs(reach - steps))
    noise = _Step(rate * steps, steps)
    for epsilon in np.linspace(0, rate * steps * 1.1, 23):
        exact = hockey_stick(law, moved, epsilon)
        assert exact <= noise.delta(epsilon) + 1e-15
        assert noise.delta(epsilon) == pytest.approx(exact, abs=1e-12)
    assert noise.delta(rate * steps) == 0.0


@pytest.mark.parametrize(("dimension", "total"), [(2, 1.0), (3, 2.0), (6, 0.6)])
def test_several_coordinates_are_those_of_as_many_coins_and_above_those_of_the_noise(dimension, total):
    coin = 1 / (1 + math.exp(-total / dimension))
    heads = np.array([math.prod(each) for each in product((coin, 1 - coin), repeat=dimension)])
    tails = heads[::-1]
    noise = _Coordinates(total, dimension)
    for epsilon in np.linspace(0, total * 1.1, 12):
        exact = hockey_stick(heads, tails, epsilon)
        assert exact - 1e-15 <= noise.delta(epsilon) <= exact * (1 + 1e-8) + 1e-12
    rate, reach = total / dimension, np.arange(-300, 301)
    law, moved = (np.exp(-rate * np.abs(reach - shift)) * math.tanh(rate / 2) for shift in (0, 1))
    if dimension == 2:
        for epsilon in (0.1, 0.5, 0.9):
            exact = hockey_stick(np.outer(law, law).ravel(), np.outer(moved, moved).ravel(), epsilon)
            assert exact <= noise.delta(epsilon)


def test_the_curve_stops_where_the_noise_tells_less_than_the_rounds():
    noise = _Coordinates(3.0, 30)
    assert noise.turning(0.0) == 3.0
    distance = 1e-6
    best = noise.turning(distance)
    assert best < 3.0

    def bound(epsilon):
        return noise.delta(epsilon) + (1 + math.exp(epsilon)) * distance

    assert bound(best) == pytest.approx(min(bound(epsilon) for epsilon in np.linspace(0, 3, 3001)), rel=1e-6)


def coins(total, dimension):
    """The largest delta of as many binary responses, summed by how many of them lie."""
    loss = total / dimension
    truth = 1 / (1 + math.exp(-loss))
    ways = [math.comb(dimension, lies) for lies in range(dimension + 1)]
    law = np.array([way * truth ** (dimension - lies) * (1 - truth) ** lies for lies, way in enumerate(ways)])
    return lambda epsilon: hockey_stick(law, law[::-1], epsilon)


def laplace(total, steps):
    """That of discrete Laplace noise of so many steps, by its law."""
    reach, rate = np.arange(-3000, 3001), total / steps
    laws = [math.tanh(rate / 2) * np.exp(-rate * np.abs(reach - shift)) for shift in (0, steps)]
    return lambda epsilon: hockey_stick(*laws, epsilon)


@pytest.mark.parametrize(
    ("changes", "noise"),
    [
        ({}, laplace(1.0, 32)),
        ({"dimension": 3}, coins(1.0, 3)),
        ({"dimension": 40}, coins(1.0, 40)),
        ({"dimension": 40, "l1_bounded": True}, coins(1.0, 1)),
    ],
    ids=["number", "few", "many", "l1"],
)
@pytest.mark.parametrize("sampler_error", [0.0, 1e-9])
def test_the_bound_is_the_noise_and_what_the_rounds_of_all_coordinates_tell(monkeypatch, changes, noise, sampler_error):
    """Neither more nor less than delta_noise(e) + (1 + exp(e)) (d T + n d t)."""
    monkeypatch.setattr(SplitAndMixModel, "sampler_error", sampler_error)
    split_and_mix._bound.cache_clear()
    local = replace(PLANNED, **changes, num_shares=7)
    distance = local.dimension * (mixing_distance(1000, 7, 0.5, local.modulus) + 1000 * sampler_error)
    for epsilon in (0.0, 0.1, 0.3):
        rounds = (1 + math.exp(epsilon)) * distance
        assert rounds > 1e-5 * noise(epsilon)  # a hundred times more than what the check lets pass
        assert THEOREM.delta(protocol(local), epsilon=epsilon) == pytest.approx(noise(epsilon) + rounds, rel=1e-7)
    split_and_mix._bound.cache_clear()


# ---- against all views of the real protocol -------------------------------------------------------------------------


def exact_delta(rounds, inputs, neighbor, rate, epsilon):
    noise = polya_modulo(rounds.users, rate, rounds.modulus)
    views = [rounds.views(noisy_law(rounds, each, noise)) for each in (inputs, neighbor)]
    return max(hockey_stick(views[0], views[1], epsilon), hockey_stick(views[1], views[0], epsilon))


@pytest.mark.parametrize(
    ("users", "messages", "modulus"), [(2, 6, 3), (2, 4, 5), (3, 3, 4), (3, 2, 4)], ids=str
)  # fmt: skip
@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_the_bound_is_above_the_truth_of_every_tiny_protocol(users, messages, modulus, gamma):
    """Inputs are 0 or 1, one step of the grid apart; the noise and the shares are those of the protocol."""
    total = 0.5
    law = mallows_cayley(users, gamma) if gamma else uniform(users)
    rounds = Rounds([law] * messages, modulus)
    distance = mixing_distance(users, messages, gamma, modulus)
    for others in {(0,) * (users - 1), (0, 1)[: users - 1]}:
        for epsilon in (0.0, 0.2, 0.5, 1.0):
            exact = exact_delta(rounds, (0, *others), (1, *others), total, epsilon)
            bound = _Step(total, 1).delta(epsilon) + (1 + math.exp(epsilon)) * distance
            assert exact <= bound


def tiny(gamma, messages=7, epsilon=0.3, dimension=1):
    """A model of which the theorem itself says something: enough messages for two people."""
    local = SplitAndMixModel(
        num_users=2,
        epsilon=epsilon,
        lower=0,
        upper=1,
        dimension=dimension,
        integer=True,
        num_shares=messages,
        precision=1,
        modulus=3,
        noise_users=2,
    )
    return protocol(local, rounds_of(local, gamma=gamma, users=2))


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_the_theorem_is_above_the_truth_where_it_says_something(gamma):
    model, law = tiny(gamma, messages=6), mallows_cayley(2, gamma)
    rounds = Rounds([law] * 6, 3)
    for epsilon in (0.0, 0.1, 0.3, 0.6):
        stated = THEOREM.delta(model, epsilon=epsilon)
        exact = exact_delta(rounds, (0, 0), (1, 0), float(model.local.rate), epsilon)
        assert exact <= stated < 1


def test_without_noise_the_bound_would_be_exceeded():
    """The check has power: the same rounds without the noise tell the sum."""
    rounds = Rounds([uniform(2)] * 6, 3)
    views = [rounds.views(rounds.certain(state)) for state in ((0, 0), (1, 0))]
    assert hockey_stick(views[0], views[1], 0.3) > THEOREM.delta(tiny(0.0, messages=6), epsilon=0.3)


def test_the_same_permutation_in_every_round_would_exceed_the_bound():
    """The check has power: then a person's shares stay together, and add up to the noisy value.

    Given the one permutation of all rounds, the view is that of a person's sum in a place.
    """
    model, noise = tiny(0.0, messages=40), polya_modulo(2, 0.3, 3)
    sums = [np.zeros((3, 3)), np.zeros((3, 3))]
    for law, inputs in zip(sums, ((0, 0), (1, 0)), strict=True):
        for one, other in product(range(3), repeat=2):
            chance = noise[(one - inputs[0]) % 3] * noise[(other - inputs[1]) % 3]
            law[one, other] += chance / 2
            law[other, one] += chance / 2
    assert hockey_stick(sums[0].ravel(), sums[1].ravel(), 0.3) > 100 * THEOREM.delta(model, epsilon=0.3)


def coordinate_views(rounds, closeness):
    """Laws of what is seen of one coordinate of two people modulo 3, by their residues; shape (3, 3, classes).

    Outputs of as many rounds with difference 1, and with 2, and of one total are as likely as each other: given the
    total, they fit the residues if the differences, whose signs turn where a round exchanges the two people, add up to
    that of the residues.
    """
    signs = np.array([1, closeness]) / (1 + closeness)  # kept, exchanged
    step = np.array([[0, signs[0], signs[1]], [0, signs[1], signs[0]]])  # laws of 1 and 2 with their sign
    classes = []
    for ones, twos in product(range(rounds + 1), repeat=2):
        if ones + twos > rounds:
            continue
        law = np.array([1.0, 0, 0])
        for each in [step[0]] * ones + [step[1]] * twos:
            law = np.array([sum(law[j] * each[(k - j) % 3] for j in range(3)) for k in range(3)])
        count = math.factorial(rounds) // math.factorial(ones) // math.factorial(twos)
        classes.append(count / math.factorial(rounds - ones - twos) * law / 3 ** (rounds - 1))
    out = np.zeros((3, 3, 3, len(classes)))  # residues, total, class
    for mine, other in product(range(3), repeat=2):
        out[mine, other, (mine + other) % 3] = [law[(mine - other) % 3] for law in classes]
    return out.reshape(3, 3, -1)


def of_noisy(views, inputs, noise):
    """The law of one coordinate's views, with the noise of both people."""
    return np.einsum("i,j,ijk->k", np.roll(noise, inputs[0]), np.roll(noise, inputs[1]), views)


def test_views_of_a_coordinate_are_those_of_all_outputs():
    views, law = coordinate_views(4, math.exp(-0.7)), mallows_cayley(2, 0.7)
    rounds = Rounds([law] * 4, 3)
    for mine, other in product(range(3), repeat=2):
        assert views[mine, other].sum() == pytest.approx(1.0)
        for third in range(3):
            ours = hockey_stick(views[mine, other], views[third, (mine + other - third) % 3], 0.1)
            seen = [rounds.views(rounds.certain(each)) for each in ((mine, other), (third, (mine + other - third) % 3))]
            assert ours == pytest.approx(hockey_stick(*seen, 0.1), abs=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_the_theorem_is_above_the_truth_of_two_coordinates(gamma):
    """Of 24 rounds each; the neighbor differs in both, and the coordinates are seen together."""
    model = tiny(gamma, messages=24, epsilon=4.0, dimension=2)
    views, noise = coordinate_views(24, math.exp(-gamma)), polya_modulo(2, float(model.local.rate), 3)
    for others in ((0, 0), (0, 1), (1, 1)):
        one, other = (
            np.multiply.outer(*(of_noisy(views, (first, each), noise) for each in others)).ravel() for first in (0, 1)
        )
        for epsilon in (0.0, 1.0, 2.0):
            stated = THEOREM.delta(model, epsilon=epsilon)
            exact = max(hockey_stick(one, other, epsilon), hockey_stick(other, one, epsilon))
            assert exact <= stated < 1
            assert exact > 0.6 * stated
