"""A blanket of messages: its exact counts against every data set of small crowds, golden rows, and wrong bounds."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from shuffledp import ProtocolModel, UniformShuffler, account
from shuffledp.accounting import account_all, compose_releases
from shuffledp.accounting.evaluators.clone_counts import ClonePair
from shuffledp.accounting.theorems.blanket_messages import TOLD, BlanketMessages, hidden_message
from shuffledp.core.statement_terms import Trust
from shuffledp.randomizers import BlanketedResponseModel, KaryRandomizedResponseModel

WORDS = 2**64
THEOREM = BlanketMessages()
GOLDEN = Path(__file__).parents[2] / "golden" / "blankets.json"


def local(k, slots, filled, truth):
    """A response that is the truth with this chance beyond chance, and slots filled with this chance."""
    share = int((1 - truth) / k * WORDS)
    return BlanketedResponseModel(domain_size=k, share=share, slots=slots, full=round(filled * WORDS))


def model(of, people, fakes=0):
    return ProtocolModel(local=of, shuffle=UniformShuffler().model(people)).with_fakes(fakes)


def added(law, message):
    """The law of counts with one message more, whose answers have these chances; the last is empty."""
    found = Counter()
    for counts, chance in law.items():
        for place, of in enumerate(message):
            if of:
                found[tuple(count + (where == place) for where, count in enumerate(counts))] += chance * of
    return found


def law_of_view(of, people):
    """The law of the counts of all messages of people with these answers."""
    k = of.domain_size
    slot = [of.filled / k] * k + [1 - of.filled]
    law = {(0,) * (k + 1): 1.0}
    for answer in people:
        law = added(law, [of.p if place == answer else of.q for place in range(k)] + [0.0])
        for _ in range(of.slots):
            law = added(law, slot)
    return law


def truth(of, people, epsilon):
    """The largest delta of two data sets that differ in one person."""

    @cache
    def law(answers):
        return law_of_view(of, answers)

    worst = 0.0
    for others in itertools.combinations_with_replacement(range(of.domain_size), people - 1):
        for first, second in itertools.permutations(range(of.domain_size), 2):
            one, two = law((*others, first)), law((*others, second))
            found = sum(max(chance - math.exp(epsilon) * two.get(view, 0.0), 0.0) for view, chance in one.items())
            worst = max(worst, found)
    return worst


CASES = [(2, 1, 1.0, 0.6, 2), (2, 2, 0.5, 0.9, 3), (3, 1, 0.7, 0.8, 3), (3, 2, 1.0, 0.5, 2), (4, 1, 1.0, 0.99, 2)]


@pytest.mark.parametrize(("k", "slots", "filled", "true", "people"), CASES)
def test_the_bound_is_never_below_the_truth_of_all_data_sets(k, slots, filled, true, people):
    of = local(k, slots, filled, true)
    for epsilon in (0.0, 0.3, 1.0):
        if epsilon < of.epsilon0:
            assert THEOREM.delta(model(of, people), epsilon=epsilon) >= truth(of, people, epsilon) - 1e-12


@pytest.mark.parametrize(
    ("k", "slots", "filled", "people"), [(2, 1, 0.5, 3), (3, 1, 1.0, 2), (3, 2, 0.6, 2), (4, 1, 0.9, 2)]
)
def test_the_bound_is_the_truth_where_responses_are_true(k, slots, filled, people):
    """Others who all but tell the truth hide nobody by their responses: then a bound that is less is none."""
    of = local(k, slots, filled, 1 - 1e-12)
    for epsilon in (0.0, 0.5, 1.5):
        assert THEOREM.delta(model(of, people), epsilon=epsilon) == pytest.approx(truth(of, people, epsilon), rel=1e-6)


@pytest.mark.parametrize("wrong", ["twice the lie", "one slot more", "both answers apart"])
def test_what_forgets_something_is_below_the_truth(wrong):
    of, people, epsilon = local(3, 2, 0.6, 1 - 1e-12), 2, 0.5
    right = hidden_message(of, people)
    if wrong == "twice the lie":
        found = 0.9 * right.delta(epsilon)
    elif wrong == "one slot more":
        found = hidden_message(local(3, 3, 0.6, 1 - 1e-12), people).delta(epsilon)
    else:  # as if all blanket messages had one of both answers
        found = hidden_message(local(2, 2, 0.6, 1 - 1e-12), people).delta(epsilon)
    assert found < truth(of, people, epsilon) - 1e-3


@pytest.mark.deep
@pytest.mark.parametrize("people", [2, 3, 4])
@pytest.mark.parametrize(("k", "slots"), [(2, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("filled", [0.3, 1.0])
def test_the_bound_holds_for_every_small_crowd(k, slots, filled, people):
    for true in (0.3, 0.9):
        of = local(k, slots, filled, true)
        for epsilon in (0.1, 0.4, 0.9):
            if epsilon < of.epsilon0:
                assert THEOREM.delta(model(of, people), epsilon=epsilon) >= truth(of, people, epsilon) - 1e-12


def among_poisson(mean, epsilon, lie=0.0):
    """Delta of one message among Poisson many with one of two answers, so many of each on average."""
    mean, reach = 2 * mean, 12 * math.sqrt(2 * mean) + 60
    sizes = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach) + 1, dtype=float)
    logs = sizes * math.log(mean) - mean - np.array([math.lgamma(size + 1) for size in sizes])
    probability, gain, loss = ClonePair(epsilon0=TOLD, chance=0.5, users=2).given(sizes, epsilon)
    return (1 - lie) * float(np.exp(logs) @ (probability * np.maximum(gain - loss, 0)))


@pytest.mark.parametrize("row", json.loads(GOLDEN.read_text())["rows"], ids=lambda row: row["id"])
def test_golden_rows_of_poisson_many_messages(row):
    given, expected = row["inputs"], row["expected"]
    k, people, share = given["k"], given["n"], given["share"]
    response = KaryRandomizedResponseModel.from_epsilon0(epsilon0=given["epsilon0"], domain_size=k)
    p, q, lie = response.p, response.q, k * response.q
    each = brentq(lambda mean: among_poisson(mean, given["epsilon"], lie) - given["delta"], 20, 80, xtol=1e-9)
    assert each == pytest.approx(expected["blanket_per_option"], rel=1e-5)
    assert k * each / people == pytest.approx(expected["extra_messages_a_person"], rel=1e-5)
    variance = (share * p * (1 - p) + (1 - share) * q * (1 - q) + each / people) / (people * (1 - lie) ** 2)
    assert variance == pytest.approx(expected["variance"], rel=1e-5)
    # The device fills slots by coins, and the number of messages is seen: hardly more messages, and no more variance.
    own = BlanketedResponseModel.from_epsilon0(
        epsilon0=given["epsilon0"], domain_size=k, blanket_messages=1.01 * k * each / people
    )
    assert account(model(own, people), delta=given["delta"]).guarantee.epsilon <= given["epsilon"]
    assert own.noise_variance(share) / people <= 1.01 * variance


def test_the_limit_is_one_number_for_any_crowd_and_any_number_of_answers():
    assert brentq(lambda mean: among_poisson(mean, 1.0) - 1e-6, 20, 80) == pytest.approx(42.655, abs=1e-3)


def test_exact_sums_of_fractions_agree():
    """Binomial counts of both answers, added up as fractions."""
    of, people = local(3, 1, 0.5, 0.75), 4
    q, factor = Fraction(of.share, WORDS), Fraction(math.exp(0.5))
    chance, total = 2 * Fraction(1, 2) / 3, Fraction(0)
    for size in range(people + 1):
        weight = math.comb(people, size) * chance**size * (1 - chance) ** (people - size)
        halves = [Fraction(math.comb(size, each), 2**size) for each in range(size + 1)]
        pairs = zip([0, *halves], [*halves, 0], strict=True)
        total += weight * sum(max(one - factor * other, Fraction(0)) for one, other in pairs)
    found = hidden_message(of, people).delta(0.5)
    assert found == pytest.approx(float((1 - 3 * q) * total), rel=1e-8)


def test_more_people_more_messages_and_larger_losses_never_hurt():
    of = local(20, 1, 0.09, 0.99)
    deltas = [THEOREM.delta(model(of, people), epsilon=0.5) for people in (2_000, 10_000, 50_000)]
    assert deltas == sorted(deltas, reverse=True)
    curve = THEOREM.curve(model(of, 10_000), epsilons=np.linspace(0, 3, 20))
    assert (np.diff(curve) <= 0).all()
    assert THEOREM.epsilon(model(of, 10_000), delta=curve[7]) == pytest.approx(np.linspace(0, 3, 20)[7], rel=1e-6)


def test_fakes_send_no_blanket_and_statements_say_first_whose_messages_they_rest_on():
    of = BlanketedResponseModel.from_epsilon0(epsilon0=8.0, domain_size=20, blanket_messages=0.09)
    honest, some = (account_all(model(of, 10_000, fakes), delta=1e-6)[0] for fakes in (0, 2_000))
    fewer = account(model(of, 8_000), delta=1e-6)
    assert honest.guarantee.epsilon < some.guarantee.epsilon == fewer.guarantee.epsilon
    assert honest.trust[0] is Trust.BLANKET
    assert Trust.BLANKET.is_danger
    assert "rests on the messages of other people" in honest.remarks[0]
    *_, alone = account_all(model(of, 10_000), delta=1e-6)
    assert Trust.BLANKET not in alone.trust
    assert alone.guarantee.epsilon == of.epsilon0


def test_releases_of_it_compose_to_less_than_their_sum():
    of = BlanketedResponseModel.from_epsilon0(epsilon0=8.0, domain_size=20, blanket_messages=0.3)
    once = account(model(of, 10_000), delta=1e-6).guarantee.epsilon
    together = compose_releases(model(of, 10_000), delta=1e-6, num_releases=4).guarantee.epsilon
    assert once < together < 3 * once
