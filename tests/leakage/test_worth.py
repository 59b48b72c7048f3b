"""Gains with which the best guess is worth less than 0 after something that can be seen are refused, and no others."""

from fractions import Fraction

import numpy as np
import pytest

from leakage.brute import known_views, shuffled_views
from shuffledp import Channel, KaryRandomizedResponse, ProtocolModel
from shuffledp.errors import InvalidParameterError
from shuffledp.laws import mallows_law
from shuffledp.leakage import shuffled_fraction, shuffled_vulnerability, strong_vulnerability, target_vulnerability
from shuffledp.shufflers import CayleyShuffler, DelayShuffler, IdentityShuffler, UniformShuffler

BINARY = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
REFUSED = "gain must have, whatever is seen, a guess worth 0 or more"
CASES = 40


def refused(call):
    try:
        call()
    except InvalidParameterError as error:
        if REFUSED not in str(error):
            raise
        return True
    return False


def least(views, prior, gain):
    """What the best guess is worth beforehand or after what can be seen, where that is least; up to a factor."""
    seen = [[law.get(view, 0) for law in views] for view in {view for law in views for view in law}]
    return min(
        float((gain @ (prior * np.array(chances, dtype=float))).max()) for chances in [np.ones(len(prior)), *seen]
    )


def draw(seed):
    random = np.random.default_rng(seed)
    matrix, prior = random.dirichlet(np.ones(3), size=3), random.dirichlet(np.full(3, 4.0))
    return matrix, prior, random.uniform(-0.8, 1.0, size=(3, 3))


@pytest.mark.parametrize("users", [1, 2, 3])
def test_a_gain_is_refused_exactly_where_some_histogram_makes_the_best_guess_worth_less_than_0(users):
    answers = []
    for seed in range(CASES):
        matrix, prior, gain = draw(seed)
        expected = least(shuffled_views(matrix, prior, users), prior, gain) < 0
        channel = Channel(matrix)
        assert refused(lambda c=channel, p=prior, g=gain: shuffled_vulnerability(p, c, g, num_users=users)) == expected
        answers.append(expected)
    assert CASES / 10 < sum(answers) < 9 * CASES / 10


@pytest.mark.parametrize("others", [(0, 0, 0), (2, 0, 0), (1, 1, 0)])
def test_the_same_for_somebody_who_knows_all_others(others):
    answers, known = [], [value for value, count in enumerate(others) for _ in range(count)]
    for seed in range(CASES):
        matrix, prior, gain = draw(seed)
        expected = least(known_views(matrix, known), prior, gain) < 0
        channel = Channel(matrix)
        assert (
            refused(lambda c=channel, p=prior, g=gain: strong_vulnerability(p, c, g, others=list(others))) == expected
        )
        answers.append(expected)
    assert CASES / 10 < sum(answers) < 9 * CASES / 10


def test_whole_numbers_of_reports_count_and_not_any_mixture_of_them():
    """An even split of reports makes both guesses worth less than 0: an odd number of people cannot split evenly."""
    gain, channel = [[1.0, -1.1], [-1.1, 1.0]], Channel([[1.0, 0.0], [0.0, 1.0]])
    prior = [0.6, 0.4]
    assert not refused(lambda: shuffled_vulnerability(prior, channel, gain, num_users=3))
    assert refused(lambda: shuffled_vulnerability(prior, channel, gain, num_users=2))
    assert refused(lambda: shuffled_vulnerability(prior, channel, gain, num_users=2000))


@pytest.mark.parametrize("people", [2, 3, 4])
def test_whatever_the_shuffler_every_view_counts(people):
    gain, prior, matrix = [[1.0, -1.1], [-1.1, 1.0]], [0.6, 0.4], BINARY.channel().matrix.astype(float)

    def asked(shuffle):
        model = ProtocolModel(local=BINARY, shuffle=shuffle)
        return refused(lambda: target_vulnerability(model, prior=prior, gain=gain))

    assert not asked(IdentityShuffler().model(people))
    views = shuffled_views(matrix, np.array(prior), people)
    assert asked(UniformShuffler().model(people)) == (least(views, prior, np.array(gain)) < 0) == (people == 3)
    law = mallows_law(people, 1.0, distance="cayley")
    views = shuffled_views(matrix, np.array(prior), people, law)
    assert asked(CayleyShuffler(imperfection=1.0).model(people)) == (least(views, prior, np.array(gain)) < 0)
    assert asked(DelayShuffler(imperfection=0.5, offsets=np.arange(people) / people).model(people))  # any law of places


def test_fractions_and_positions_are_asked_too():
    gain, prior, model = [[1, -2], [-2, 1]], [0.7, 0.3], ProtocolModel(local=BINARY, shuffle=UniformShuffler().model(2))
    assert refused(lambda: target_vulnerability(model, prior=prior, gain=gain, positions=[0.5, 0.5]))
    channel = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
    prior = [Fraction(7, 10), Fraction(3, 10)]
    worth = np.array([[Fraction(1), Fraction(-2)], [Fraction(-2), Fraction(1)]])
    assert refused(lambda: shuffled_fraction(prior, channel, worth, num_users=2))
