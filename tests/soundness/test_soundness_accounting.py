"""Lower bound <= exact <= upper bound, with the exact delta from the enumeration of every data set of the others."""

import math
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest

from accounting.given import GivenChannel, given, uniformly
from accounting.given import response as response_model
from shuffledp.accounting import THEOREMS, Theorem, account, account_all
from shuffledp.accounting.theorems.two_levels import all_equal_terms
from shuffledp.core.local_models import ProtocolModel
from soundness.exact_deltas import (
    binary_laws_of_others,
    hockey_stick,
    laws_of_others,
    pair_delta,
    random_extremal_channel,
    response,
    with_another,
    worst_delta,
)

NAMED = {theorem.id: theorem for theorem in THEOREMS}
UPPER = [theorem for theorem in THEOREMS if theorem.kind.promises]
AMPLIFYING = [theorem for theorem in UPPER if theorem.id != "local-dp"]
CLOSED_FORMS = [theorem for theorem in UPPER if theorem.id.endswith("-closed")]
LOWER, EXACT = NAMED["binary-all-equal"], NAMED["binary-worst"]

DELTAS = (0.3, 0.1, 0.05, 1e-3, 1e-6, 1e-9)
FRACTIONS = np.array([0.0, 0.02, 0.1, 0.3, 0.6, 0.95])  # of epsilon0
ROUNDING = 1e-11  # relative, of the enumeration
PROVEN_MARGIN = 3.0  # the proof in fmt23.py leaves delta / 3
LATTICE = 1.3  # how far the worst data set of binary response is above the one where all agree, in delta; 1.27 was seen

deep = pytest.mark.deep


def applies(theorem: Theorem, model: ProtocolModel, delta: float) -> bool:
    return all(hypothesis.holds for hypothesis in theorem.hypotheses(model, delta=delta))


def promises(model: ProtocolModel, deltas: tuple[float, ...] = DELTAS) -> list[tuple[float, float]]:
    """Each (epsilon, delta) that some upper bound states, except what the local guarantee says anyway."""
    stated = [
        (theorem.epsilon(model, delta=delta), delta)
        for theorem in AMPLIFYING
        for delta in deltas
        if applies(theorem, model, delta)
    ]
    return [(epsilon, delta) for epsilon, delta in stated if epsilon < model.local.epsilon0]


def broken(model: ProtocolModel, laws, *, sharper: float = 1.0) -> tuple[int, int]:
    """How many promises there are, and how many are broken if epsilon is divided by ``sharper``."""
    stated = promises(model)
    if not stated:
        return 0, 0
    epsilons, deltas = (np.array(column) for column in zip(*stated, strict=True))
    return len(stated), int((worst_delta(model.local.channel().matrix, laws, epsilons / sharper) > deltas).sum())


# ---- the enumeration itself -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("users", [1, 2, 4])
def test_the_enumeration_agrees_with_fractions_over_all_sequences_of_reports(size, users):
    ratio, factor = Fraction(5), Fraction(3, 2)
    lie = 1 / (ratio + size - 1)
    channel = [[ratio * lie if x == y else lie for y in range(size)] for x in range(size)]

    def histograms(data):
        law = {}
        for reports in product(range(size), repeat=users):
            chance = math.prod((channel[x][y] for x, y in zip(data, reports, strict=True)), start=Fraction(1))
            law[tuple(sorted(reports))] = law.get(tuple(sorted(reports)), 0) + chance
        return law

    exact = Fraction(0)
    for others in product(range(size), repeat=users - 1):
        for first, second in permutations([histograms((x, *others)) for x in range(size)], 2):
            exact = max(exact, sum(max(first[key] - factor * second[key], Fraction(0)) for key in first))
    floats = response(size, math.log(ratio))
    found = worst_delta(floats, laws_of_others(floats, users - 1), np.array([math.log(factor)]))
    assert found == pytest.approx(float(exact), rel=1e-13)


def test_both_ways_to_enumerate_binary_data_sets_agree():
    channel, epsilons = response(2, 1.0), 1.0 * FRACTIONS
    one, other = (worst_delta(channel, laws(channel, 30), epsilons) for laws in (laws_of_others, binary_laws_of_others))
    assert one == pytest.approx(other, rel=ROUNDING)


# ---- (a) upper bounds -----------------------------------------------------------------------------------------------

BINARY = [(users, epsilon0) for users in (20, 60, 200) for epsilon0 in (0.05, 0.3, 0.8, 1.5)]
BINARY += [(1000, 0.4), (1000, 2.0)]


@pytest.mark.parametrize(
    ("users", "epsilon0"),
    BINARY + [pytest.param(n, e, marks=deep) for n in (500, 1000, 2000) for e in (0.05, 0.2, 0.5, 1.0, 2.0, 3.0)],
)
def test_no_upper_bound_is_broken_by_any_binary_data_set(users, epsilon0):
    model = response_model(2, epsilon0, users)
    assert broken(model, binary_laws_of_others(response(2, epsilon0), users - 1))[1] == 0


@pytest.mark.parametrize(
    ("users", "epsilon0"),
    [(20, 0.1), (40, 0.2), (60, 0.3)]
    + [pytest.param(n, e, marks=deep) for n in (60, 90) for e in (0.1, 0.5, 0.9, 1.2)],
)
def test_no_upper_bound_is_broken_by_any_ternary_data_set(users, epsilon0):
    model = response_model(3, epsilon0, users)
    assert broken(model, laws_of_others(response(3, epsilon0), users - 1))[1] == 0


def test_there_are_enough_promises_to_break():
    binary = sum(len(promises(response_model(2, epsilon0, users))) for users, epsilon0 in BINARY)
    ternary = sum(len(promises(response_model(3, epsilon0, users))) for users, epsilon0 in [(40, 0.2), (60, 0.3)])
    assert binary >= 40
    assert ternary >= 2


def test_a_bound_eight_times_sharper_would_be_caught():
    model = response_model(2, 0.4, 1000)
    stated, caught = broken(model, binary_laws_of_others(response(2, 0.4), 999), sharper=8)
    assert stated >= 10
    assert caught >= 3


@pytest.mark.parametrize("seed", [*range(9), *(pytest.param(seed, marks=deep) for seed in range(100, 300))])
def test_neither_the_pair_nor_a_closed_form_is_exceeded_by_a_random_extremal_channel(seed):
    generator = np.random.default_rng(seed)
    outputs, users = [(2, 60), (3, 40), (4, 10)][seed % 3]
    epsilon0 = generator.uniform(0.1, 3.0)
    inputs = int(generator.integers(2, 4))
    channel = random_extremal_channel(generator, epsilon0, inputs=inputs, outputs=outputs)
    worst = worst_delta(channel, laws_of_others(channel, users - 1), epsilon0 * FRACTIONS)
    pair = np.array([pair_delta(epsilon0, epsilon0 * fraction, users) for fraction in FRACTIONS])
    assert (worst <= pair * (1 + ROUNDING)).all()
    small = random_extremal_channel(generator, 0.3, inputs=inputs, outputs=outputs)
    model = uniformly(GivenChannel(rows=tuple(map(tuple, small))), users)
    assert broken(model, laws_of_others(small, users - 1))[1] == 0


def test_channels_that_are_not_extremal_stay_below_the_pair_too():
    generator = np.random.default_rng(1)
    for _ in range(12):
        weights = generator.uniform(1, 3, size=(3, 3))
        channel = weights / weights.sum(axis=1, keepdims=True)
        epsilon0 = GivenChannel(rows=tuple(map(tuple, channel))).epsilon0
        worst = worst_delta(channel, laws_of_others(channel, 19), epsilon0 * FRACTIONS)
        pair = np.array([pair_delta(epsilon0, epsilon0 * fraction, 20) for fraction in FRACTIONS])
        assert (worst <= pair * (1 + ROUNDING)).all()


def test_a_channel_of_a_larger_loss_exceeds_the_pair():
    channel = response(2, 1.1)
    worst = worst_delta(channel, binary_laws_of_others(channel, 59), np.array([0.5]))
    assert worst > pair_delta(1.0, 0.5, 60)


# ---- the closed forms and the pair ----------------------------------------------------------------------------------


def regime(theorem: Theorem, delta: float, users: int) -> float:
    """The largest epsilon0 at which the theorem applies, 0 if there is none."""
    low, high = 0.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if applies(theorem, given(middle, users), delta) else (low, middle)
    return low


SPARSE = [(users, delta) for users in (20, 100, 1000, 10_000) for delta in (0.999, 0.5, 0.1, 1e-3, 1e-6, 1e-12)]
DENSE = [
    pytest.param(users, delta, marks=deep)
    for users in (8, 10, 12, 14, 17, 22, 30, 45, 70, 150, 300, 700, 2000, 5000, 10_000, 30_000)
    for delta in (0.99999, 0.9, 0.7, 0.3, 0.2, 0.05, 0.01, 1e-4, 1e-5, 1e-8, 1e-10, 1e-15, 1e-30)
]


@pytest.mark.parametrize("theorem", CLOSED_FORMS, ids=lambda each: each.id)
@pytest.mark.parametrize(("users", "delta"), SPARSE + DENSE)
def test_each_closed_form_lies_above_the_pair_up_to_the_edge_of_its_regime(theorem, users, delta):
    edge = regime(theorem, delta, users)
    for share in (0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0):
        if edge > 0:
            epsilon = theorem.epsilon(given(edge * share, users), delta=delta)
            assert pair_delta(edge * share, epsilon, users) <= delta / PROVEN_MARGIN


def test_the_proof_of_the_closed_form_has_the_room_it_claims():
    # In the words of fmt23.py: m (1 - exp(-y^2/2)) >= 1.1 L wherever 8 r (L - log 2) <= 1.
    level = np.concatenate([np.linspace(math.log(4), 20, 4000), np.geomspace(20, 1000, 100)])[:, np.newaxis]
    rate = np.geomspace(1e-9, 1, 200) / (8 * (level - math.log(2)))
    height = 2 * np.sqrt(2 * level * rate) + 2 * rate
    room = (2 / rate - 1) * -np.expm1(-((height / (1 + height)) ** 2) / 2)
    assert (room >= 1.1 * level).all()
    assert (np.exp(0.25 - room) <= 4 * np.exp(-level) / PROVEN_MARGIN).all()


def test_the_pair_would_catch_a_closed_form_a_tenth_as_large():
    epsilon = NAMED["fmt23-closed"].epsilon(given(2.0, 1000), delta=1e-6)
    assert pair_delta(2.0, epsilon / 10, 1000) > 1e-6


# ---- (b) the lower bound --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("users", [1, 2, 3, 7, 30, 120])
@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 4.0])
def test_the_lower_bound_is_the_data_set_where_all_agree_in_both_directions(users, epsilon0):
    channel, law = response(2, epsilon0), np.ones(1)
    for _ in range(users - 1):
        law = with_another(law, channel[1])
    same, other = with_another(law, channel[1]), with_another(law, channel[0])
    for epsilon in epsilon0 * FRACTIONS:
        found = all_equal_terms(epsilon0=epsilon0, epsilon=float(epsilon), users=users)
        exact = [hockey_stick(*pair, np.array([epsilon]))[0] for pair in ((other, same), (same, other))]
        for (gain, loss), truth in zip(found, exact, strict=True):
            assert abs(gain - loss - truth) <= 1e-12 * (gain + loss) + 1e-18


@pytest.mark.parametrize("users", [1, 2, 5, 20, 60, 150, *(pytest.param(n, marks=deep) for n in (400, 1000))])
@pytest.mark.parametrize("epsilon0", [0.1, 0.7, 2.0, 5.0])
def test_the_lower_bound_is_below_the_worst_data_set_and_that_is_little_worse(users, epsilon0):
    model, channel = response_model(2, epsilon0, users), response(2, epsilon0)
    epsilons = model.local.epsilon0 * FRACTIONS
    worst = worst_delta(channel, binary_laws_of_others(channel, users - 1), epsilons)
    lower = np.array([LOWER.delta(model, epsilon=epsilon) for epsilon in epsilons])
    assert (lower <= worst * (1 + ROUNDING)).all()
    if users > 1:
        exact = EXACT.curve(model, epsilons=epsilons)
        assert (worst <= exact * (1 + ROUNDING)).all()
        assert (lower <= exact).all()
        assert exact == pytest.approx(worst, rel=1e-6, abs=1e-15)
    kept = worst > 1e-14
    assert (worst[kept] <= LATTICE * lower[kept]).all()


# ---- (c) lower <= upper ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("users", [1, 2, 10, 100, 1000, 30_000, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("epsilon0", [0.01, 0.5, 1.0, 3.0, 8.0, pytest.param(30.0, marks=deep)])
def test_the_lower_bound_never_exceeds_an_upper_bound(users, epsilon0):
    model = response_model(2, epsilon0, users)
    for delta in (0.3, 1e-3, 1e-9, 1e-100):
        headline, lower, _ = account_all(model, delta=delta)
        upper = [each.epsilon(model, delta=delta) for each in UPPER if applies(each, model, delta)]
        loose = 1.005 if users == 10**12 else 1.002  # of theorems that never promise less, one is evaluated alone
        assert lower.guarantee.epsilon <= headline.guarantee.epsilon <= min(upper) * loose


# ---- (d) one user ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 5.0])
def test_one_user_loses_exactly_what_the_report_loses(epsilon0):
    model = response_model(2, epsilon0, 1)
    for epsilon in epsilon0 * FRACTIONS:
        local = model.local.channel().delta(float(epsilon))
        assert LOWER.delta(model, epsilon=float(epsilon)) == pytest.approx(local, rel=1e-8)
    for delta in DELTAS:
        assert account(model, delta=delta).guarantee.epsilon == model.local.epsilon0
        exact = math.log((model.local.p - delta) / model.local.q) if delta < model.local.p - model.local.q else 0.0
        assert LOWER.epsilon(model, delta=delta) == pytest.approx(exact, rel=1e-8, abs=1e-12)


# ---- (e, f) more users, less loss, more delta: never worse -----------------------------------------------------------


@pytest.mark.parametrize("epsilon0", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("fraction", [0.0, 0.02, 0.2, 0.6])
def test_one_more_user_never_increases_the_exact_delta_not_even_by_the_lattice(epsilon0, fraction):
    # The view of n + 1 people who agree is that of n people with an independent report added: post-processing.
    curve = [
        [gain - loss for gain, loss in all_equal_terms(epsilon0=epsilon0, epsilon=fraction * epsilon0, users=users)]
        for users in range(1, 301)
    ]
    for direction in zip(*curve, strict=True):
        assert all(more <= fewer * (1 + ROUNDING) + 1e-18 for fewer, more in pairwise(direction))


@pytest.mark.parametrize("epsilon0", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-6, 1e-12])
def test_more_users_never_hurt(epsilon0, delta):
    sizes = sorted({math.ceil(1.7**power) for power in range(30)})
    for ask in (account_epsilon, LOWER.epsilon):
        found = [ask(response_model(2, epsilon0, users), delta=delta) for users in sizes]
        assert all(more <= fewer * (1 + ROUNDING) for fewer, more in pairwise(found))


@pytest.mark.parametrize("users", [1, 30, 1000, 10**6])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-6, 1e-12])
def test_a_larger_local_loss_never_helps(users, delta):
    losses = np.geomspace(1e-3, 20, 22)
    for ask in (account_epsilon, LOWER.epsilon):
        found = [ask(response_model(2, float(epsilon0), users), delta=delta) for epsilon0 in losses]
        assert all(more >= less * (1 - ROUNDING) for less, more in pairwise(found))


@pytest.mark.parametrize("users", [1, 30, 1000, 10**6])
@pytest.mark.parametrize("epsilon0", [0.2, 1.0, 3.0])
def test_a_larger_delta_never_hurts(users, epsilon0):
    model = response_model(2, epsilon0, users)
    for ask in (account_epsilon, LOWER.epsilon):
        found = [ask(model, delta=float(delta)) for delta in np.geomspace(1e-30, 0.99, 22)]
        assert all(more <= less for less, more in pairwise(found))


def account_epsilon(model: ProtocolModel, *, delta: float) -> float:
    return account(model, delta=delta).guarantee.epsilon
