"""Scores: what each report says for each guess, reduced without changing any answer."""

from fractions import Fraction

import numpy as np
import pytest

from leakage.brute import known_views, shuffled_views
from shuffledp import KaryRandomizedResponse, ProtocolModel
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.laws import mallows_law
from shuffledp.leakage import shuffled_fraction, shuffled_vulnerability, strong_vulnerability, target_vulnerability
from shuffledp.leakage.expected_maximum import exact_mean_best, expected_excess, num_states
from shuffledp.leakage.guess_scores import Scores, checked_gain, checked_prior, decay, scores
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler, DelayShuffler
from shuffledp.shufflers import IdentityShuffler, UniformShuffler

BINARY = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
REFUSED = "gain must have a guess worth 0 or more for every view"
CASES = 40


def test_scores_are_exact_for_fractions_and_average_to_the_prior_gain():
    half, third = Fraction(1, 2), Fraction(1, 3)
    found = scores(np.array([[half, half], [third, 1 - third]]), np.array([third, 1 - third]), np.eye(2, dtype=int))
    assert found.chances.tolist() == [Fraction(7, 18), Fraction(11, 18)]
    assert (found.values @ found.chances).tolist() == [third, 1 - third]
    assert (found.prior, found.best) == (1 - third, 1)


def test_reports_that_are_never_sent_are_left_out():
    found = scores(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]), np.array([0.5, 0.5]), np.eye(2))
    assert found.values.shape == (2, 2)


@pytest.mark.parametrize("seed", range(6))
def test_reducing_changes_no_expectation(seed):
    generator = np.random.default_rng(seed)
    chances, values = generator.dirichlet(np.ones(4)), generator.random((3, 4))
    values = np.vstack([values, values[1] - 0.1, values[0]])  # dominated, and twice the same
    chances, values = np.append(chances * 0.7, 0.3 * chances), np.hstack([values, values])  # each report twice
    small = Scores(chances, values).reduced()
    assert small.values.shape[0] <= 3
    assert small.values.shape[1] <= 4
    assert small.prior == pytest.approx(float(Scores(chances, values).prior))
    slots = ((0.25, 4),)
    best = (values @ chances).argmax()
    order = np.array([best, *(row for row in range(5) if row != best)])
    assert expected_excess(small.chances, small.values, slots)[0] == pytest.approx(
        expected_excess(chances, values[order], slots)[0], abs=1e-13
    )
    assert decay(small) == decay(Scores(chances, values))


@pytest.mark.parametrize("tiny", [1e-9, 1e-14, 1e-40, 1e-200])
def test_what_hardly_any_report_says_does_not_blur_what_the_others_say(tiny):
    chances = np.array([0.8, 0.2 - tiny, tiny])
    values = np.array([[1.0, 1.0, 1.0], [0.25, 0.7 / (0.2 - tiny), 0.1 / tiny]])
    found = Scores(chances, values)
    small = found.reduced()
    assert small.values.shape == (2, 3)
    single = sum(q * max(a, b) for q, a, b in zip(chances, *values, strict=True)) - float(found.prior)
    assert expected_excess(small.chances, small.values, ((1.0, 1),))[0] == pytest.approx(single, rel=1e-13)
    assert decay(found) == decay(small) == "inverse-square-root"


def test_a_guess_that_a_rare_report_favors_is_kept_however_rare():
    values = np.array([[1.0, 1.0, 5.0], [1.0 - 1e-9, 1.0 + 1e-9, 1e30]])
    assert Scores(np.array([0.5, 0.5, 1e-30]), values).reduced().values.shape == (2, 3)
    assert decay(Scores(np.array([0.6, 0.4, 1e-30]), values)) == "exponential"


def test_histograms_with_a_report_that_is_rare_and_worth_much_are_not_left_out(monkeypatch):
    from shuffledp.leakage import expected_maximum as enumerating

    chances, values = np.array([1e-30, 0.3, 0.7]), np.array([[0.0, 0.0, 0.0], [1e29, -0.5, -0.2]])
    slots = ((0.02, 50),)
    full, _ = expected_excess(chances, values, slots)
    assert full > 0.09
    monkeypatch.setattr(enumerating, "FEW", 0)
    assert expected_excess(chances, values, slots)[0] == pytest.approx(full, rel=1e-11)


def test_windows_leave_out_nothing_that_counts(monkeypatch):
    from shuffledp.leakage import expected_maximum as enumerating

    chances, values = np.array([0.2, 0.3, 0.5]), np.array([[1.0, 0.2, 0.3], [0.1, 0.9, 0.4], [0.3, 0.3, 0.62]])
    slots = ((0.0005, 300), (0.001, 850))
    for case in (((1 / 700, 700),), slots[:1]):
        full, nothing = expected_excess(chances, values, case)
        monkeypatch.setattr(enumerating, "FEW", 0)
        value, left_out = expected_excess(chances, values, case)
        assert value == pytest.approx(full, rel=1e-11)
        assert nothing == 0 < left_out < 1e-16
        monkeypatch.undo()
    fewer = ((0.005, 30), (0.01, 85))
    monkeypatch.setattr(enumerating, "FEW", 0)
    monkeypatch.setattr(enumerating, "_SMALLEST", 1e-5)
    value, left_out = expected_excess(chances, values, fewer)
    monkeypatch.undo()
    full, _ = expected_excess(chances, values, fewer)
    assert value < full * (1 - 1e-6)
    assert value + left_out >= full
    assert num_states(3, ((1 / 10**6, 10**6),), chances) < 10**9 < (10**6) ** 2 / 2
    assert num_states(1, slots, np.ones(1)) == 1


def test_the_exact_mean_is_that_of_two_dice():
    half = Fraction(1, 2)
    assert exact_mean_best(np.array([half, half]), np.eye(2, dtype=object), 2) == Fraction(3, 4)


def test_a_prior_of_fractions_sums_to_exactly_1():
    nearly = [Fraction(1, 2), Fraction(1, 2) + Fraction(1, 10**10)]
    with pytest.raises(InvalidParameterError, match="prior must sum to exactly 1"):
        checked_prior(nearly, 2)
    assert checked_prior([float(each) for each in nearly], 2).sum() == 1
    with pytest.raises(InvalidParameterError, match="sum to 1"):
        Channel([nearly, [Fraction(1), Fraction(0)]])


def test_priors_and_gains_keep_fractions_and_get_defaults():
    assert checked_prior([Fraction(1, 3), Fraction(2, 3)], 2).dtype == object
    assert checked_prior(None, 4).tolist() == [0.25] * 4
    assert checked_prior([1, 0], 2).tolist() == [1.0, 0.0]
    assert checked_gain(None, 3).tolist() == np.eye(3).tolist()


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
