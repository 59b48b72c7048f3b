"""Split and mix: its parameters, its shares, its rounding, and the loss of its noise."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import LocalModel
from shuffledp.core.statement_terms import Trust
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix, SplitAndMixModel
from shuffledp.testing import SeededSource

MODEL = {
    "num_users": 100,
    "epsilon": 1.0,
    "lower": 0,
    "upper": 10,
    "num_shares": 4,
    "precision": 10,
    "modulus": 2000,
    "noise_users": 100,
}
SPLIT = {"num_users": 100, "epsilon": 1.0, "lower": 0, "upper": 10, "num_shares": 4}


# ---- parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("people", "steps"), [(1, 1), (2, 2), (10, 4), (100, 10), (101, 11), (10**6, 1000)])
def test_the_grid_has_the_root_of_the_people_rounded_up_to_an_integer(people, steps):
    randomizer = SplitAndMix(**SPLIT | {"num_users": people, "epsilon": 50.0})
    assert randomizer.precision == steps
    assert randomizer.modulus == 2 * people * steps
    assert randomizer.num_messages == 4
    assert randomizer.model.noise_users == people
    assert randomizer.model.report_bits == math.ceil(math.log2(randomizer.modulus))


def test_the_loss_of_all_steps_of_all_coordinates_is_at_most_epsilon_and_hardly_less():
    for changes in ({}, {"epsilon": 0.3}, {"dimension": 7}, {"precision": 7, "epsilon": math.pi}):
        model = SplitAndMixModel(**MODEL | changes)
        loss = model.rate * model.precision * model.dimension
        assert loss <= Fraction(model.epsilon)
        assert loss > Fraction(model.epsilon) * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize(("dimension", "coordinates"), [(1, 1), (2, 2)])
def test_one_or_two_coordinates_of_bounded_length_share_the_loss_as_others_do(dimension, coordinates):
    model = SplitAndMixModel(**MODEL | {"dimension": dimension, "l1_bounded": True})
    assert model.rate == Fraction(1, 10 * coordinates)


def test_more_coordinates_of_bounded_length_cost_what_two_do_and_a_little_for_rounding():
    model = SplitAndMixModel(**MODEL | {"dimension": 5, "l1_bounded": True})
    assert 20 * math.expm1(float(model.rate)) == pytest.approx(1.0, rel=1e-12)
    assert 20 * math.expm1(float(model.rate)) <= 1.0
    assert SplitAndMixModel(**MODEL | {"dimension": 500, "l1_bounded": True}).rate == model.rate
    whole = SplitAndMixModel(**MODEL | {"dimension": 5, "l1_bounded": True, "integer": True})
    assert whole.rate == Fraction(1, 20)


def log_ratios(values, rate, reach=12):
    """For each value in steps, the law of its rounding plus noise (but for a constant), at -reach, ..., reach."""
    outputs = np.arange(-reach, reach + 1)
    left = np.floor(values).astype(int)
    share = (values - left)[:, None]
    noise = np.exp(-rate * np.abs(outputs - left[:, None])), np.exp(-rate * np.abs(outputs - left[:, None] - 1))
    return np.log((1 - share) * noise[0] + share * noise[1])


def largest_loss(rate, *, dimension, precision, parts):
    """The largest loss between two vectors whose coordinates are multiples of 1/parts steps, by trying them all."""
    laws = log_ratios(np.arange(precision * parts + 1) / parts, rate)
    pairs = (laws[:, None, :] - laws[None, :, :]).max(axis=2)  # coordinates are independent: losses add up
    grid = range(precision * parts + 1)
    vectors = np.array([each for each in itertools.product(grid, repeat=dimension) if sum(each) <= precision * parts])
    losses = sum(pairs[np.ix_(vectors[:, place], vectors[:, place])] for place in range(dimension))
    return float(losses.max())


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_vectors_of_bounded_length_lose_at_most_epsilon_between_any_two_of_a_fine_grid(dimension, epsilon):
    changes = {"dimension": dimension, "l1_bounded": True, "precision": 1, "epsilon": epsilon}
    rate = float(SplitAndMixModel(**MODEL | changes).rate)
    loss = largest_loss(rate, dimension=dimension, precision=1, parts=6)
    assert loss <= epsilon * (1 + 1e-12)
    assert loss > 0.75 * epsilon


def test_a_rate_that_forgets_the_rounding_would_lose_more_than_epsilon():
    epsilon = 2.0
    assert largest_loss(epsilon / 2, dimension=4, precision=1, parts=6) > 1.02 * epsilon
    assert largest_loss(epsilon / 2, dimension=4, precision=1, parts=1) <= epsilon * (
        1 + 1e-12
    )  # of integers it is right


def test_with_the_root_of_the_people_itself_as_precision_rounding_costs_more_than_epsilon():
    """As printed: the largest value may be rounded up to the next integer. Its loss is log E[exp(epsilon y / p)]."""

    def loss(people, epsilon):
        steps = math.sqrt(people)
        up = steps - math.floor(steps)
        ends = math.exp(epsilon * math.floor(steps) / steps), math.exp(epsilon * math.ceil(steps) / steps)
        return math.log((1 - up) * ends[0] + up * ends[1])

    assert loss(10, 1.0) == pytest.approx(1.0073, abs=5e-5)
    assert loss(10, 3.0) == pytest.approx(3.075, abs=5e-4)
    assert loss(1000, 1.0) == pytest.approx(1.00012, abs=5e-6)
    assert loss(100, 1.0) == pytest.approx(1.0)
    laws = log_ratios(np.array([0.0, math.sqrt(10)]), 1 / math.sqrt(10))
    assert (laws[1] - laws[0]).max() == pytest.approx(loss(10, 1.0))


def test_coordinates_in_the_whole_range_lose_a_part_of_epsilon_each():
    rate = float(SplitAndMixModel(**MODEL | {"dimension": 3, "precision": 2}).rate)
    laws = log_ratios(np.arange(9) / 4, rate)
    losses = (laws[:, None, :] - laws[None, :, :]).max()
    assert 3 * losses == pytest.approx(1.0)
    assert 3 * losses <= 1 + 1e-12


WRONG_MODELS = [
    ({"num_users": 0}, "num_users must be an integer that is 1 or more"),
    ({"num_users": 2.0}, "num_users must be an integer"),
    ({"epsilon": 0}, "epsilon must be a finite number above 0"),
    ({"epsilon": 1e-7}, "epsilon must be from 1e-06 to 100"),
    ({"epsilon": 101.0}, "epsilon must be from 1e-06 to 100"),
    ({"epsilon": math.nan}, "epsilon must be a finite number"),
    ({"lower": 10}, "upper must be above lower"),
    ({"upper": math.inf}, "upper must be a finite number"),
    ({"dimension": 0}, "dimension must be an integer that is 1 or more"),
    ({"l1_bounded": 1}, "l1_bounded must be a bool"),
    ({"l1_bounded": True, "lower": 1}, "lower must be 0 if l1_bounded"),
    ({"integer": True, "lower": 0.5}, "lower and upper must be integers"),
    ({"integer": True, "upper": 3}, "precision must be a multiple of the width 3"),
    ({"num_shares": 1}, "num_shares must be an integer that is 2 or more"),
    ({"num_shares": 1025}, "num_shares must be at most 1024"),
    ({"precision": 0}, "precision must be an integer that is 1 or more"),
    ({"modulus": 1000}, "modulus must be above num_users . precision = 1000"),
    ({"modulus": 2**52 + 1}, "modulus must be at most"),
    ({"noise_users": 101}, "noise_users must be at most 100"),
    ({"noise_users": 0}, "noise_users must be an integer that is 1 or more"),
    ({"epsilon": 1e-6, "dimension": 1000}, "rate must be 2..-30 or more"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG_MODELS)
def test_a_model_with_wrong_parameters_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        SplitAndMixModel(**MODEL | changes)


def test_a_model_has_no_local_guarantee_and_says_so():
    model = SplitAndMixModel(**MODEL)
    assert model.epsilon0 == math.inf
    assert model.trust == (Trust.ALL_SHARES,)
    assert "reads the answer" in Trust.ALL_SHARES.text
    assert 0 < model.sampler_error < 1e-300
    assert LocalModel.from_dict(model.to_dict()) == model


# ---- wrap-around ----------------------------------------------------------------------------------------------------


def test_the_chance_of_wrapping_around_is_that_of_the_noise_in_the_worst_case():
    model = SplitAndMixModel(**MODEL | {"num_users": 30, "noise_users": 30, "modulus": 600, "epsilon": 0.1})
    ratio = math.exp(-0.01)
    assert model.wrap_probability == pytest.approx(2 * ratio**150 / (1 + ratio), rel=1e-6)
    assert model.wrap_probability == pytest.approx(0.22, abs=0.005)
    doubled = SplitAndMixModel(
        **MODEL | {"num_users": 30, "noise_users": 15, "modulus": 600, "epsilon": 0.1}
    ).wrap_probability
    assert model.wrap_probability < doubled <= 1


def test_a_sum_that_may_well_wrap_around_is_refused_and_one_that_may_is_remarked_on():
    with pytest.raises(
        InvalidParameterError,
        match=r"epsilon \* num_users must be larger, .* 0.05 is the most that is taken; got epsil",
    ):
        SplitAndMix(**SPLIT | {"num_users": 30, "epsilon": 0.1})
    noted = SplitAndMix(**SPLIT | {"num_users": 30}).model
    assert 1e-9 < noted.wrap_probability < 0.05
    assert "wraps around" in noted.remarks[0]
    assert len(SplitAndMix(**SPLIT).model.remarks) == 0


def test_noise_at_the_edge_of_the_window_is_decoded_and_one_step_further_wraps_around():
    for modulus in (2000, 2001, 1999):
        model = SplitAndMixModel(**MODEL | {"modulus": modulus, "integer": True})
        limit = (modulus - 1000 - 1) // 2
        for total in (0, 1000):
            for noise in (-limit, limit):
                assert model.decode(((total + noise) % modulus,), 100) == [total + noise]
        for total, noise in ((0, -limit - 2), (1000, limit + 2)):
            assert model.decode(((total + noise) % modulus,), 100) != [total + noise]


def test_the_window_is_the_published_one_if_all_come_and_moves_with_the_number_who_do():
    model = SplitAndMixModel(**MODEL)
    assert model.decode((1500,), 100) == [1500]
    assert model.decode((1501,), 100) == [1501 - 2000]
    assert model.decode((1250,), 50) == [1250]
    assert model.decode((1251,), 50) == [1251 - 2000]
    shifted = SplitAndMixModel(**MODEL | {"lower": -5, "upper": 5})
    assert shifted.decode((250,), 50) == [0]


# ---- messages -------------------------------------------------------------------------------------------------------


def messages(randomizer, values, seed=1):
    reports = randomizer.randomize(values, source=SeededSource(seed))
    model = randomizer.model
    return reports["residue"].reshape(-1, model.dimension, model.num_shares).astype(np.int64), reports


def test_messages_of_a_person_follow_each_other_share_by_share_and_coordinate_by_coordinate():
    randomizer = SplitAndMix(**SPLIT | {"dimension": 3, "epsilon": 99.0})
    shares, reports = messages(randomizer, [[0, 5, 10], [10, 0, 5]])
    assert reports["round"].tolist() == 2 * list(range(12))
    assert reports["residue"].dtype == np.uint16
    assert reports["round"].dtype == np.uint8
    assert len(reports) == 24
    steps = shares.sum(axis=2) % randomizer.modulus
    centered = np.where(steps > 1000, steps - 2000, steps)
    assert np.abs(centered - [[0, 5, 10], [10, 0, 5]]).max() <= 3


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_residues_have_the_smallest_type_that_holds_the_modulus(dtype):
    randomizer = SplitAndMix(
        **SPLIT | {"epsilon": 90.0, "num_users": 2, "modulus": min(2**52, 2 ** (8 * dtype().itemsize))}
    )
    shares, reports = messages(randomizer, [0, 10])
    assert reports["residue"].dtype == dtype
    assert (shares.sum(axis=(1, 2)) % randomizer.modulus).tolist() == [0, 2]


def test_integers_are_sent_without_rounding_and_the_default_grid_is_theirs():
    randomizer = SplitAndMix(num_users=100, epsilon=100.0, lower=-3, upper=2, num_shares=3, integer=True, noise_users=1)
    assert randomizer.precision == 5
    shares, _ = messages(randomizer, [-3, 0, 2, 1])
    assert (shares.sum(axis=(1, 2)) % randomizer.modulus).tolist() == [0, 3, 5, 4]
    randomizer = SplitAndMix(num_users=100, epsilon=100.0, lower=0, upper=49, num_shares=2, integer=True, precision=98)
    numbers = np.arange(50)  # 1/49 and others are no floats
    assert randomizer._steps(numbers.astype(float), None).tolist() == (2 * numbers).tolist()
    with pytest.raises(InvalidParameterError, match=r"^values must be integers; 1 are not"):
        randomizer.randomize([0.5])


def test_what_is_no_integer_is_refused_by_its_place():
    randomizer = SplitAndMix(num_users=100, epsilon=100.0, lower=-3, upper=2, num_shares=3, integer=True)
    with pytest.raises(InvalidParameterError, match=r"^values must be integers; 2 are not, first values\[1\]\.$"):
        randomizer.randomize([0, 0.5, 1, -0.25])


def test_values_on_the_grid_are_not_rounded_and_others_are_right_on_average():
    randomizer = SplitAndMix(**SPLIT | {"epsilon": 100.0, "num_users": 4000, "precision": 4, "noise_users": 4000})
    shares, _ = messages(randomizer, np.repeat([2.5, 6.0], 2000))
    steps = shares.sum(axis=(1, 2)) % randomizer.modulus
    assert (steps[:2000] == 1).all()
    assert set(steps[2000:].tolist()) == {2, 3}
    assert steps[2000:].mean() == pytest.approx(2.4, abs=0.08)


def test_more_people_than_planned_are_refused_and_fewer_are_taken():
    randomizer = SplitAndMix(**SPLIT)
    assert len(randomizer.randomize(np.ones(99))) == 4 * 99
    with pytest.raises(InvalidParameterError, match="values must be of at most num_users=100; got 101"):
        randomizer.randomize(np.ones(101))


def test_reports_that_are_none_are_refused():
    model = SplitAndMixModel(**MODEL)
    good = {"residue": np.array([0, 1999]), "round": np.array([0, 3])}
    model.check(good)
    for changes, message in (
        ({"residue": np.array([0, 2000])}, r"residue must be in range\(2000\) in every report"),
        ({"residue": np.array([0, -1])}, "residue must be in range"),
        ({"residue": np.array([0.0, 1.0])}, "two integer columns"),
        ({"round": np.array([0, 4])}, r"round must be in range\(4\)"),
        ({"round": np.array([[0], [1]])}, "two integer columns"),
        ({"value": np.array([0, 1])}, "two integer columns"),
    ):
        with pytest.raises(InvalidParameterError, match=message) as caught:
            model.check(good | changes)
        assert "1999" not in str(caught.value)


# ---- vectors --------------------------------------------------------------------------------------------------------


WRONG_VECTORS = [
    ({}, [[0, 5], [11, 0]], r"vectors of numbers from 0.0 to 10.0; 1 are not, first values\[1\]"),
    ({}, [[0, 5], [np.nan, 0]], r"vectors of finite numbers; 1 are not, first values\[1\]"),
    ({}, [[0, 5, 1]], "vectors of 2 coordinates"),
    ({}, [0, 5], "vectors of 2 coordinates"),
    ({"l1_bounded": True}, [[0, 5], [6, 5]], r"add up to 10.0 at most; 1 are not, first values\[1\]"),
    ({"l1_bounded": True}, [[0, 5], [-1, 5]], r"numbers of 0 or more .*; 1 are not, first values\[1\]"),
    ({"integer": True}, [[0, 5], [1, 5.5]], r"integers; 1 are not, first values\[1\]"),
]


@pytest.mark.parametrize(("changes", "values", "message"), WRONG_VECTORS)
def test_wrong_vectors_are_refused_by_their_places(changes, values, message):
    with pytest.raises(InvalidParameterError, match=f"^values must be .*{message}"):
        SplitAndMix(**SPLIT | {"dimension": 2} | changes).randomize(values)


def test_vectors_outside_are_moved_inside_if_asked_for():
    near = SplitAndMix(**SPLIT | {"dimension": 2, "clip": True})
    source = SeededSource(1), SeededSource(1)
    assert near.randomize([[-3, 20]], source=source[0]) == near.randomize([[0, 10]], source=source[1])
    short = SplitAndMix(**SPLIT | {"dimension": 2, "l1_bounded": True, "clip": True})
    source = SeededSource(1), SeededSource(1)
    assert short.randomize([[-3, 20]], source=source[0]) == short.randomize([[0, 15]], source=source[1])


def test_whole_vectors_of_bounded_length_stay_whole_when_they_are_shortened():
    randomizer = SplitAndMix(
        **SPLIT | {"dimension": 3, "l1_bounded": True, "integer": True, "clip": True, "epsilon": 100.0}
    )
    shares, _ = messages(randomizer, [[10, 10, 10], [10, 0, 0], [3, 3, 4]])
    steps = shares.sum(axis=2) % randomizer.modulus
    assert steps.tolist() == [[3, 3, 3], [10, 0, 0], [3, 3, 4]]


def test_each_person_makes_noise_for_those_whose_noise_must_suffice(monkeypatch):
    asked = []

    def spy(rate, noise_users, count, *, source):
        asked.append((rate, noise_users, count))
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr("shuffledp.protocols.shares.randomizers.polya.polya_noise", spy)
    randomizer = SplitAndMix(**SPLIT | {"noise_users": 60})
    randomizer.randomize([1.0, 2.0, 3.0])
    assert asked == [(randomizer.model.rate, 60, 3)]
