"""The analyzer of sums: what it decodes, what it refuses, and what its intervals hold."""

from dataclasses import replace

import numpy as np
import pytest

from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.local_models import LocalModel
from shuffledp.protocols.shares.analyzers.sums import ShareSummary, SumAnalyzer
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMix, SplitAndMixModel
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import UniformShuffler
from shuffledp.testing import SeededSource

MODEL = SplitAndMixModel(
    num_users=10, epsilon=20.0, lower=0, upper=4, integer=True, num_shares=2, precision=4, modulus=80, noise_users=10
)
ANALYZER = SumAnalyzer()


def view_of(residues, rounds, model=MODEL):
    reports = Reports({"residue": np.array(residues), "round": np.array(rounds)}, model)
    return UniformShuffler().shuffle(reports)


def estimate(residues, rounds, analyzer=ANALYZER, model=MODEL):
    return analyzer.estimate(analyzer.summarize(view_of(residues, rounds, model)))


def test_shares_of_three_people_add_up_modulo_q():
    found = estimate([70, 14, 79, 4, 1, 0], [0, 1, 0, 1, 0, 1])  # 4 + 3 + 1
    assert found.estimate.tolist() == [8.0]
    assert (found.statistic, found.target, found.num_reports) == ("sum", ("value",), 6)
    mean = estimate([70, 14, 79, 4, 1, 0], [0, 1, 0, 1, 0, 1], SumAnalyzer(statistic="mean"))
    assert mean.estimate[0] == pytest.approx(8 / 3)
    assert mean.standard_error[0] == pytest.approx(found.standard_error[0] / 3)
    assert mean.margin[0] == pytest.approx(found.margin[0] / 3)


def test_a_sum_below_zero_is_one_that_wrapped_around():
    assert estimate([78, 0], [0, 1]).estimate.tolist() == [-2.0]


def test_coordinates_are_summed_by_their_rounds():
    model = SplitAndMixModel(**{**fields(MODEL), "dimension": 2, "epsilon": 40.0})
    found = estimate([10, 73, 1, 1, 79, 4, 0, 0], [0, 1, 2, 3, 0, 1, 2, 3], model=model)
    assert found.estimate.tolist() == [6.0, 2.0]
    assert found.target == ("0", "1")


def fields(model):
    return {name: value for name, value in model.to_dict().items() if name != "kind"}


@pytest.mark.parametrize("people", [1000, 3000])
def test_sums_of_large_residues_do_not_overflow(people):
    modulus = 2**52
    model = SplitAndMixModel(**{**fields(MODEL), "num_users": people, "modulus": modulus})
    residues = np.full(2 * people, modulus - 1, dtype=np.uint64)
    residues[0] = 2 * people - 1 + 5
    found = estimate(residues, np.resize([0, 1], 2 * people), model=model)
    assert found.estimate.tolist() == [5.0]


@pytest.mark.parametrize("rounds", [[0, 0], [0, 1, 1, 1], [0, 0, 0, 1]])
def test_rounds_with_unequal_numbers_of_messages_are_refused(rounds):
    with pytest.raises(InvalidParameterError, match=r"messages must be equally many in every round, .* got rounds of"):
        estimate([1] * len(rounds), rounds)


def test_more_people_than_planned_are_refused():
    estimate([0] * 20, [0, 1] * 10)
    with pytest.raises(InvalidParameterError, match="people must be at most num_users=10; got 11"):
        estimate([0] * 22, [0, 1] * 11)


def test_a_message_that_is_no_residue_is_refused():
    with pytest.raises(InvalidParameterError, match=r"residue must be in range\(80\)"):
        view_of([80, 0], [0, 1])
    with pytest.raises(InvalidParameterError, match=r"round must be in range\(2\)"):
        view_of([79, 0], [0, 2])


def test_reports_that_are_no_shares_are_unsupported():
    view = UniformShuffler().shuffle(KaryRandomizedResponse(epsilon0=1.0, domain_size=3).randomize([0, 1, 2]))
    with pytest.raises(UnsupportedModelError, match="sums need shares of numbers; got reports of 'k-rr'"):
        ANALYZER.summarize(view)


def test_a_sum_that_may_well_have_wrapped_around_is_refused():
    model = SplitAndMixModel(**{**fields(MODEL), "epsilon": 0.3})
    assert model.wrap_probability > 0.05
    with pytest.raises(InvalidParameterError, match=r"wrap_probability must be at most 0.05, or the sum means nothing"):
        estimate([1, 0], [0, 1], model=model)


def test_summaries_of_other_models_are_not_added():
    other = SplitAndMixModel(**{**fields(MODEL), "modulus": 81})
    first, second = (ANALYZER.summarize(view_of([1, 0], [0, 1], model)) for model in (MODEL, other))
    with pytest.raises(IncomparableError, match="summaries must be of one model"):
        first + second


WRONG_SUMMARIES = [
    ({"residues": (80,)}, "residues must be below the modulus 80"),
    ({"residues": (-1,)}, "residues must be an integer that is 0 or more"),
    ({"residues": (1, 2)}, "len_residues must be of length 1"),
    ({"messages": (1,)}, "len_messages must be of length 2"),
    ({"messages": (1, -1)}, "messages must be an integer that is 0 or more"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG_SUMMARIES)
def test_a_wrong_summary_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        ShareSummary(**{"model": MODEL, "residues": (1,), "messages": (1, 1)} | changes)


@pytest.mark.parametrize(("options", "message"), [({"statistic": "median"}, "statistic"), ({"level": 1.0}, "level")])
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidParameterError, match=f"{message} must be"):
        SumAnalyzer(**options)


def test_the_interval_is_that_of_laplace_noise_and_not_of_normal_noise():
    randomizer = SplitAndMix(num_users=10_000, epsilon=0.1, lower=0, upper=1, num_shares=2)
    model = randomizer.model
    assert LocalModel.from_dict(model.to_dict()) == model
    reports = randomizer.randomize(np.zeros(10_000), source=SeededSource(1))
    found = SumAnalyzer().estimate(
        SumAnalyzer().summarize(View(reports=reports, shuffle=UniformShuffler().model(10_000)))
    )
    assert found.margin[0] == pytest.approx(10 * np.log(20), rel=0.01)
    assert found.standard_error[0] == pytest.approx(10 * 2**0.5, rel=0.01)
    assert found.rows()[0]["upper"] == pytest.approx(found.estimate[0] + found.margin[0])
    wider = SumAnalyzer(level=0.99)
    assert wider.estimate(wider.summarize(view_of([1, 0], [0, 1]))).level == 0.99


def test_fewer_people_bring_less_noise_and_shorter_intervals():
    model = SplitAndMix(num_users=1000, epsilon=1.0, lower=0, upper=1, num_shares=2).model
    assert model.sum_variance(500) == pytest.approx(model.sum_variance(1000) / 2)
    assert model.sum_margin(500, 0.95) < model.sum_margin(1000, 0.95)
    assert model.noise_variance == pytest.approx(model.sum_variance(1000) - 1000 / 4 / model.precision**2)


@pytest.mark.parametrize("ends", [(0, 1), (-20, 50)])
def test_intervals_end_where_the_sums_and_means_of_these_people_do(ends):
    randomizer = SplitAndMix(num_users=30, epsilon=1.0, lower=ends[0], upper=ends[1], integer=True, num_shares=4)
    for value in ends:
        view = UniformShuffler().shuffle(randomizer.randomize([value] * 20, source=SeededSource(2)))
        for statistic, people in (("mean", 1), ("sum", 20)):
            analyzer = SumAnalyzer(statistic=statistic)
            found = analyzer.estimate(analyzer.summarize(view))
            wide = replace(found, possible=None)
            assert found.possible == (people * ends[0], people * ends[1])
            assert people * ends[0] <= found.lower[0] < found.upper[0] <= people * ends[1]
            assert wide.lower[0] < people * ends[0] or wide.upper[0] > people * ends[1]
            assert found.estimate[0] == wide.estimate[0]  # which is unbiased, and stays as it is
            if wide.lower[0] <= value * people <= wide.upper[0]:
                assert found.lower[0] <= value * people <= found.upper[0]
