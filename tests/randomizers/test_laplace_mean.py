"""Discrete Laplace noise on numbers, guarantee by guarantee, and the leak that naive noise in floats has."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.randomizers import DiscreteLaplaceMean, DiscreteLaplaceMeanModel
from shuffledp.randomizers.sampling.coins import largest_fraction_up_to
from shuffledp.randomizers.sampling.discrete_laplace import LARGEST_DENOMINATOR, discrete_laplace
from shuffledp.testing import RecordedSource, SeededSource


def model(num_steps=4, rate=Fraction(1, 4), lower=0.0, upper=1.0):
    return DiscreteLaplaceMeanModel(lower=lower, upper=upper, num_steps=num_steps, rate=rate)


# ---- guarantee 1: the loss ------------------------------------------------------------------------------------------


def law(value, num_steps, ratio, reports):
    """Pr[report] / Pr[noise = 0] for a value in steps, exactly, with ``ratio`` in the place of exp(-rate)."""
    below = math.floor(value)
    up = value - below
    return [(1 - up) * ratio ** abs(report - below) + up * ratio ** abs(report - below - 1) for report in reports]


@pytest.mark.parametrize("ratio", [Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)])
@pytest.mark.parametrize("num_steps", [1, 2, 5])
def test_no_likelihood_ratio_exceeds_that_of_the_two_ends_which_is_num_steps_times_the_rate(num_steps, ratio):
    values = [Fraction(place, 6) for place in range(6 * num_steps + 1)]
    reports = range(-3, num_steps + 4)
    laws = {value: law(value, num_steps, ratio, reports) for value in values}
    largest = max(p / q for a, b in itertools.permutations(values, 2) for p, q in zip(laws[a], laws[b], strict=True))
    assert largest == ratio**-num_steps
    assert all(min(row) > 0 for row in laws.values())


@pytest.mark.parametrize("epsilon0", [1e-6, 0.1, 0.3, 1.0, math.pi, 30.0, 1000.0])
@pytest.mark.parametrize("num_steps", [1, 7, 1000, 2**20])
def test_guarantee_1_the_loss_is_at_most_the_one_asked_for_and_less_by_under_a_millionth(epsilon0, num_steps):
    randomizer = DiscreteLaplaceMean(epsilon0=epsilon0, lower=0, upper=1, num_steps=num_steps)
    found = randomizer.model
    assert 0 <= Fraction(epsilon0) - num_steps * found.rate < Fraction(1, 10**6)
    assert 0 <= Fraction(found.epsilon0) - num_steps * found.rate < Fraction(1, 10**12)
    assert found.guarantee.delta == 0


def test_round_numbers_stay_round():
    for epsilon0, num_steps in ((1.0, 1000), (2.5, 100), (0.1, 10), (4.0, 1)):
        rate = DiscreteLaplaceMean(epsilon0=epsilon0, lower=0, upper=1, num_steps=num_steps).model.rate
        assert rate == Fraction(str(epsilon0)) / num_steps


def test_the_largest_fraction_is_the_one_that_trying_all_finds():
    draw = np.random.default_rng(0)
    for limit in (1, 2, 7, 40):
        for value in [*map(Fraction, draw.uniform(0, 3, 40)), Fraction(2), Fraction(1, 7), Fraction(10**9 + 1, 10**9)]:
            best = max(Fraction(math.floor(value * divisor), divisor) for divisor in range(1, limit + 1))
            assert largest_fraction_up_to(value, largest_denominator=limit) == best


# ---- guarantee 2: every integer, and what floats would give away ----------------------------------------------------


def naive(value, draw, count):
    """What the textbook says, in float64: a sign, and the logarithm of a uniform number."""
    return value + np.where(draw.random(count) < 0.5, -1.0, 1.0) * np.log(1 - draw.random(count))


def test_of_naive_noise_in_floats_a_glance_tells_many_reports_of_zero_from_those_of_one():
    draw = np.random.default_rng(0)
    of_zero, of_one = naive(0.0, draw, 100_000), naive(1.0, draw, 100_000)
    grid = 2.0**-54  # half the distance of floats just below 1: sums 1 + noise below 1/2 are multiples of it
    near = [each[np.abs(each) < 0.5] for each in (of_zero, of_one)]
    off_grid = [float((each % grid != 0).mean()) for each in near]
    assert off_grid[1] == 0  # never reached from 1
    assert off_grid[0] > 0.1  # and often from 0: such a report proves that the value was not 1


def test_guarantee_2_every_integer_can_be_reported_for_every_value():
    # Each pair has the positive probability computed above; the reports seen of both ends are the same integers.
    found = model(num_steps=3, rate=Fraction(1, 2))
    randomizer = DiscreteLaplaceMean.from_model(found)
    seen = [
        set(randomizer.randomize(np.full(100_000, value), source=SeededSource(5))["value"].tolist())
        for value in (0.0, 0.4, 1.0)
    ]
    for reports in seen:
        assert set(range(-10, 14)) <= reports


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 2**40), Fraction(300)])
def test_a_report_that_noise_never_brings_is_refused_and_the_last_that_it_does_is_not(rate):
    found = model(num_steps=3, rate=rate)
    furthest = math.ceil(71 / rate)
    for kept in (-furthest, 3 + furthest):
        found.check({"value": np.array([0, kept])})
    for beyond in (-furthest - 1, 4 + furthest, 2**63 - 1, -(2**63)):
        with pytest.raises(InvalidParameterError, match="reports must be integers from") as caught:
            found.check({"value": np.array([0, beyond])})
        assert str(beyond) not in str(caught.value)
    with pytest.raises(InvalidParameterError, match="reports must be integers from"):
        found.check({"value": np.array([2**64 - 1], dtype=np.uint64)})
    with localcontext() as context:
        context.prec = 60
        ratio = (-Decimal(rate.numerator) / rate.denominator).exp()
        chance = 2 * ratio ** (furthest + 1) / (1 + ratio)  # of noise further than that
        assert chance < Decimal(2) ** -100


# ---- guarantee 3: the law (the statistical tests have its chi-square) -----------------------------------------------


def test_guarantee_3_reports_are_the_rounded_value_plus_the_noise_of_the_sampler():
    found = model(num_steps=1000, rate=Fraction(1, 100))
    values = np.array([0.0, 0.1234, 0.5, 0.99999, 1.0])
    words = SeededSource(9).words(500)
    reports = DiscreteLaplaceMean.from_model(found).randomize(values, source=RecordedSource(words))
    rest = [0.0, 0.4, 0.0, 0.99, 0.0]
    rounded = [0, 123, 500, 999, 1000] + (words[:5] < np.array(rest) * 2.0**64)
    noise = discrete_laplace(found.rate, 5, source=RecordedSource(words[5:]))
    assert reports["value"].tolist() == (rounded + noise).tolist()


# ---- guarantee 4: contributions -------------------------------------------------------------------------------------


def test_guarantee_4_contributions_are_unbiased_and_an_error_of_a_fiftieth_of_the_noise_is_noticed():
    randomizer = DiscreteLaplaceMean(epsilon0=2.0, lower=-10, upper=30, num_steps=7)
    for value in (-10.0, 3.3, 30.0):
        reports = randomizer.randomize(np.full(400_000, value), source=SeededSource(2))
        decoded = randomizer.model.contributions(reports.columns)
        error = decoded.std() / math.sqrt(len(decoded))
        assert abs(decoded.mean() - value) < 5 * error
        assert abs(decoded.mean() - (value + decoded.std() / 50)) > 5 * error


def test_the_noise_variance_is_that_of_the_law_plus_at_most_a_quarter_of_a_squared_step():
    found = model(num_steps=5, rate=Fraction(1, 3), lower=-2.0, upper=8.0)
    with localcontext() as context:
        context.prec = 50
        ratio = (-Decimal(1) / 3).exp()
        total = sum(2 * place**2 * ratio**place for place in range(1, 1000))
        exact = float(total * (1 - ratio) / (1 + ratio)) * 2.0**2
    at_grid_end, between = found.noise_variance(np.array([-2.0])), found.noise_variance(np.array([1.0]))
    assert at_grid_end[0] == pytest.approx(exact, rel=1e-13)
    assert between[0] == pytest.approx(exact + 1.0, rel=1e-13)
    assert found.noise_curvature == 0


# ---- what is refused ------------------------------------------------------------------------------------------------

WRONG_MODELS = [
    ({"rate": Fraction(0)}, "rate must be above 0"),
    ({"rate": Fraction(251)}, "rate must be above 0, at most 1000 / num_steps"),
    ({"rate": Fraction(1, LARGEST_DENOMINATOR + 1)}, "rate must be above 0"),
    ({"rate": 0.25}, "rate must be a Fraction"),
    ({"num_steps": 0}, "num_steps must be an integer that is 1 or more"),
    ({"num_steps": 2.0}, "num_steps must be an integer"),
    ({"num_steps": 2**20 + 1, "rate": Fraction(1, 2**21)}, "num_steps must be at most 1048576"),
    ({"lower": 1.0}, "upper must be above lower"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG_MODELS)
def test_a_wrong_model_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        model(**changes)


@pytest.mark.parametrize("epsilon0", [0.0, -1.0, 1e-7, 1001.0, math.inf, math.nan, "1"])
def test_a_loss_that_cannot_be_represented_is_refused(epsilon0):
    with pytest.raises(InvalidParameterError, match="epsilon0 must be"):
        DiscreteLaplaceMean(epsilon0=epsilon0, lower=0, upper=1)


def test_numpy_numbers_become_plain_ones_so_that_models_compare_and_are_written_the_same():
    plain = DiscreteLaplaceMean(epsilon0=1.0, lower=0, upper=2, num_steps=8)
    numpy = DiscreteLaplaceMean(epsilon0=np.float64(1.0), lower=np.int64(0), upper=np.float32(2), num_steps=np.uint8(8))
    assert plain.model == numpy.model
    assert plain.model.to_dict() == numpy.model.to_dict()
    assert plain.model.to_dict()["rate"] == "1/8"


@pytest.mark.parametrize(
    "columns", [{"value": np.array([0.5])}, {"value": np.zeros((2, 2), int)}, {"other": np.array([1])}]
)
def test_columns_that_cannot_be_its_reports_are_refused(columns):
    with pytest.raises(InvalidParameterError, match="columns must be one integer column 'value'"):
        Reports(columns, model())
