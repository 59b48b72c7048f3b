"""Counted bits: what is sent, what a liar moves, the fewest bits for an error, and the task that says all this."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.core.errors import BatchTooSmallError, IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Reports, View
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind, Trust
from shuffledp.planning import calibrate
from shuffledp.protocols.shares.analyzers.bit_counts import BitCountSummary, BitSumAnalyzer
from shuffledp.protocols.shares.randomizers.counted_bits import CountedBits, CountedBitsModel
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.protocols.shares.theorems.binomial_noise import shifted_binomial_delta
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.survey import Question, Task, plan
from shuffledp.testing import SeededSource

USUAL = {"num_users": 10_000, "epsilon": 1.0, "delta": 1e-6, "lower": 0, "upper": 100}
REFERENCE = json.loads((Path(__file__).parents[2] / "golden" / "counted_bits.json").read_text(encoding="utf-8"))
BITS = CountedBits(num_users=1000, lower=0, upper=10, value_bits=4, coins=3)


def protocol(people=10_000, **options):
    return ProtocolModel(
        local=calibrate.counted_bits(**USUAL | options).model, shuffle=UniformShuffleModel(num_users=people)
    )


# ---- what is sent ---------------------------------------------------------------------------------------------------


def test_a_person_sends_as_many_ones_as_the_answer_says_then_zeros_then_coins():
    bits = BITS.randomize([0, 2.5, 5, 10])["bit"].reshape(4, 7)
    assert bits[:, :4].tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
    assert bits.dtype == np.uint8


def test_between_two_steps_the_number_of_ones_is_right_on_average_and_coins_are_fair():
    bits = (
        sdp.CountedBits(num_users=40_000, lower=0, upper=10, value_bits=4, coins=3)
        .randomize([3.0] * 40_000, source=SeededSource(1))["bit"]
        .reshape(-1, 7)
    )
    ones = bits[:, :4].sum(axis=1)
    assert set(ones) == {1, 2}
    assert ones.mean() == pytest.approx(1.2, abs=5 * 0.4 / 200)
    assert bits[:, 4:].mean() == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(120_000))


def test_what_cannot_be_is_refused():
    usual = {"num_users": 10, "lower": 0, "upper": 1, "value_bits": 2, "coins": 2}
    for change, words in [
        ({"value_bits": 0}, "value_bits must be"),
        ({"coins": 0}, "coins must be"),
        ({"coins": 4095}, "coins must be at most 4096 with value_bits=2"),
        ({"value_bits": 1.5}, "value_bits must be"),
        ({"noise_users": 11}, "noise_users must be at most 10"),
        ({"upper": 0}, "upper"),
        ({"num_users": 0}, "num_users"),
    ]:
        with pytest.raises(InvalidParameterError, match=words):
            CountedBits(**usual | change)
    with pytest.raises(InvalidParameterError, match="at most num_users=1000; got 1001"):
        BITS.randomize([1.0] * 1001)
    with pytest.raises(InvalidParameterError, match="bit must be 0 or 1"):
        Reports({"bit": np.full(7, 2)}, BITS.model)
    with pytest.raises(InvalidParameterError, match="num_messages=7"):
        UniformShuffleModel(num_users=Reports({"bit": np.zeros(8, dtype=np.uint8)}, BITS.model).num_users)


# ---- what is estimated ----------------------------------------------------------------------------------------------


def view_of(bits, model=BITS.model):
    return View(reports=Reports({"bit": np.array(bits)}, model), shuffle=UniformShuffleModel(num_users=len(bits) // 7))


def test_ones_less_the_expected_coins_are_the_sum():
    analyzer = BitSumAnalyzer()
    summary = analyzer.summarize(view_of([1, 1, 0, 0, 1, 1, 0] + [0] * 7))
    assert (summary.ones, summary.num_reports) == (4, 14)
    found = analyzer.estimate(summary)
    assert found.estimate.tolist() == [10 * (4 - 3) / 4]
    assert found.standard_error[0] == pytest.approx(10 * math.sqrt(2 * (1 + 3) / 4) / 4)
    mean = BitSumAnalyzer(statistic="mean").estimate(summary + summary)
    assert mean.estimate.tolist() == [10 * (8 - 6) / 4 / 4]


@pytest.mark.parametrize(("bit", "end"), [(0, 0.0), (1, 10.0)])
def test_intervals_end_where_the_range_does(bit, end):
    for statistic, people in (("sum", 2), ("mean", 1)):
        analyzer = BitSumAnalyzer(statistic=statistic)
        found = analyzer.estimate(analyzer.summarize(view_of([bit] * 14)))
        assert not 0 <= found.estimate[0] <= people * 10
        assert found.possible == (0, people * 10)
        assert people * end in (found.lower[0], found.upper[0])
        assert 0 <= found.lower[0] < found.upper[0] <= people * 10


def test_summaries_and_views_that_do_not_fit_are_refused():
    analyzer, summary = BitSumAnalyzer(), BitSumAnalyzer().summarize(view_of([1] * 7))
    other = CountedBits(num_users=9, lower=0, upper=10, value_bits=4, coins=3).model
    with pytest.raises(IncomparableError):
        summary + BitCountSummary(model=other, ones=0, num_reports=0)
    with pytest.raises(InvalidParameterError, match="at most num_reports"):
        BitCountSummary(model=other, ones=8, num_reports=7)
    for count, words in [(0, "one report or more"), (8, "num_messages=7"), (7007, "at most num_users=1000; got 1001")]:
        with pytest.raises(InvalidParameterError, match=words):
            analyzer.estimate(BitCountSummary(model=BITS.model, ones=0, num_reports=count))
    others = sdp.UniformShuffler().shuffle(sdp.OneBitMean(epsilon0=1.0, lower=0, upper=1).randomize([0.5]))
    with pytest.raises(UnsupportedModelError, match="counts need bits"):
        analyzer.summarize(others)


@pytest.mark.parametrize("lie", [0, 1])
def test_a_liar_moves_the_sum_by_as_much_as_is_said_and_no_more(lie):
    model = CountedBitsModel(num_users=9, lower=-5, upper=5, value_bits=4, coins=3, noise_users=9)
    at_the_other_end = {0: 4, 1: 0}[lie] + 3 / 2  # ones of an honest person, on average
    moved = abs(model.sum_of(7 * lie, 1) - model.step * (at_the_other_end - 3 / 2) - model.lower)
    assert moved == pytest.approx(model.largest_shift) == pytest.approx(10 * (1 + 3 / 8))
    assert "moves the sum by at most 13.75" in model.remarks[0]


# ---- privacy and calibration ----------------------------------------------------------------------------------------


def test_the_statement_is_exact_and_names_who_must_not_see_the_bits():
    statement = sdp.account(protocol(), delta=1e-6)
    assert (statement.kind, statement.basis.theorem) == (Kind.EXACT, "counted-bits")
    assert statement.guarantee.epsilon <= 1.0
    assert Trust.ALL_BITS in statement.trust
    assert "moves the mean by any amount" not in str(statement)


def test_a_smaller_crowd_or_an_unknown_shuffle_promises_less():
    fewer = sdp.account(protocol(people=5000), delta=1e-6)
    assert fewer.guarantee.epsilon > 1.0
    fakes = protocol().with_fakes(100)
    assert sdp.account(fakes, delta=1e-6).basis.theorem == "counted-bits-buffer"
    assert sdp.account(fakes, delta=1e-6).guarantee.epsilon > sdp.account(protocol(), delta=1e-6).guarantee.epsilon
    for each in (1, 3):  # an order of other messages than all of everybody
        wrong = ImperfectShuffleModel(
            num_users=10_000, imperfection=0.01, construction="assumed", messages_per_round=each
        )
        with pytest.raises(UnsupportedModelError, match="no theorem covers"):
            sdp.account(ProtocolModel(local=protocol().local, shuffle=wrong), delta=1e-6)
    alone = ProtocolModel(local=protocol().local, shuffle=sdp.IdentityShuffler().model(10_000))
    with pytest.raises(UnsupportedModelError, match="no theorem covers"):
        sdp.account(alone, delta=1e-6)


@pytest.mark.parametrize("row", REFERENCE["rows"], ids=lambda row: row["id"])
def test_reference_values(row):
    given, expected = row["inputs"], row["expected"]
    if row["kind"] == "counted-bits-delta":
        found = shifted_binomial_delta(given["coins"], given["value_bits"], given["epsilon"])
        assert expected <= found * (1 + 1e-13)
        assert found == pytest.approx(expected, rel=1e-9)
    elif row["kind"] == "counted-bits-coins":
        enough, fewer = (
            shifted_binomial_delta(coins, given["value_bits"], given["epsilon"]) for coins in (expected, expected - 1)
        )
        assert enough <= given["delta"] < fewer
    else:
        model = CountedBits(
            num_users=given["n"], lower=0, upper=1, value_bits=given["value_bits"], coins=given["coins"]
        ).model
        assert math.sqrt(model.sum_variance(given["n"])) == pytest.approx(expected["sd_in_ranges"], rel=1e-12)
        assert model.largest_shift == pytest.approx(expected["largest_bias_per_liar"], rel=1e-12)


def test_the_curve_holds_in_the_far_tail_and_for_a_billion_people():
    assert shifted_binomial_delta(10**10, 4, 0.01) < 1e-30
    assert 0 < shifted_binomial_delta(2000, 4, 2.0) < 1e-12
    assert shifted_binomial_delta(3, 4, 0.0) == 1.0
    assert shifted_binomial_delta(3000, 29, 50.0) > 0  # too small for a float, yet some count gives an answer away
    assert shifted_binomial_delta(0, 1, 5.0) == 1.0
    assert shifted_binomial_delta(1, 1, 50.0) == pytest.approx(0.5)


def test_an_error_takes_the_fewest_bits_that_are_private():
    model = calibrate.counted_bits(**USUAL, error=0.055).model
    assert (model.value_bits, model.coins, model.num_messages) == (16, 2, 18)
    assert math.sqrt(model.sum_variance(10_000)) / 10_000 == pytest.approx(0.0541, abs=5e-5)
    assert 100 * model.largest_shift / 10_000 == pytest.approx(1.0625)  # a hundred liars
    for value_bits, coins in [(r, s) for s in range(1, 17) for r in range(1, 18 - s)]:
        small = shifted_binomial_delta(10_000 * coins, value_bits, 1.0) <= 1e-6
        assert not (small and math.sqrt(1 + coins) / value_bits / 2 <= 0.055)


def test_liars_dropouts_and_a_worse_buffer_take_more_bits():
    usual = calibrate.counted_bits(**USUAL, error=0.05).model
    assert calibrate.counted_bits(**USUAL, error=0.05, liars=2000).model.num_messages > usual.num_messages
    fewer = calibrate.counted_bits(**USUAL, error=0.05, dropout_fraction=0.2).model
    assert (fewer.num_messages > usual.num_messages, fewer.noise_users) == (True, 8000)
    gamma = calibrate.counted_bits(**USUAL, error=0.05, imperfection=0.002).model
    assert gamma.num_messages > usual.num_messages
    for change, words in [
        ({"error": 0.04}, "error must be larger"),
        ({"error": 0.055, "imperfection": 0.1}, "error must be larger"),
        ({"error": -1.0}, "error must be"),
        ({"liars": 10_000}, "liars must be so small"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"delta": 0.0}, "delta must be"),
        ({"imperfection": math.inf}, "imperfection must be finite"),
        ({"dropout_fraction": 1.0}, "dropout_fraction must be"),
        ({"num_users": 1}, "num_users must be"),
    ]:
        with pytest.raises(InvalidParameterError, match=words):
            calibrate.counted_bits(**USUAL | change)


@pytest.mark.parametrize(("people", "share"), [(10_000, 1 / 8), (1000, 1 / 2), (20, 2.0)])
def test_without_an_error_it_is_the_first_share_of_the_sampling_error_that_can_be_reached(people, share):
    model = calibrate.counted_bits(**USUAL | {"num_users": people}).model
    reached = math.sqrt(1 + model.coins) / model.value_bits
    assert reached <= share
    if share > 1 / 8:
        with pytest.raises(InvalidParameterError, match="error must be larger"):
            calibrate.counted_bits(**USUAL | {"num_users": people}, error=50 / math.sqrt(people) * share / 2)


# ---- the task -------------------------------------------------------------------------------------------------------

PROTOCOL = {"kind": "counted-bits", "epsilon": 1.0, "error": 0.5, "lower": 0, "upper": 100}


def task_of(protocol=None, expected=2000, **further):
    return Task.from_dict(
        {
            "name": "commute",
            "value": "minutes",
            "people": {"expected": expected, **further.pop("people", {})},
            "protocol": {**PROTOCOL, **(protocol or {})},
            "shuffler": {"kind": "uniform"},
            "release": {"delta": 1e-6},
            **further,
        }
    )


def test_the_task_survives_being_written():
    task = task_of()
    assert Task.from_dict(task.to_dict()) == task
    assert "counted-bits" not in Question.members()
    assert task.to_dict()["protocol"] == {
        **PROTOCOL,
        "statistic": "mean",
        "dropout_fraction": 0.0,
        "out_of_range": "refuse",
    }


def test_the_error_of_a_sum_is_that_of_the_mean_times_the_people():
    mean, total = task_of(), task_of({"statistic": "sum", "error": 0.5 * 2000})
    assert mean.column.randomizer.randomizer().model == total.column.randomizer.randomizer().model


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"protocol": {"error": 0.001}}, r"\[protocol\] error must be larger.*In the task file num_users is expected"),
        ({"protocol": {"error": 0}}, "error must be"),
        ({"protocol": {"value_bits": 3}}, "only the keys"),
        ({"protocol": {"statistic": "median"}}, "statistic must be one of"),
        ({"shuffler": {"kind": "none"}}, "kind 'uniform' or 'imperfect'"),
        ({"people": {"fakes": 10}}, "fakes must be"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_collected(changes, words):
    with pytest.raises(InvalidParameterError, match=words):
        task_of(**changes)


def test_a_plan_says_what_liars_do_and_what_a_buffer_adds():
    task = task_of({"dropout_fraction": 0.01}, people={"fakes": 20}, release={"delta": 1e-6, "minimum_batch": 100})
    found = plan(task).columns[0]
    bits = found.of_question
    assert (bits.least_people, bits.liars) == (2000, 20)
    assert bits.largest_bias == pytest.approx(20 * bits.bias_of_one)
    assert bits.bias_of_one == pytest.approx(task.column.randomizer.randomizer().model.largest_shift / 2000)
    fewer = plan(task_of({"dropout_fraction": 0.1})).columns[0].of_question
    shift = task_of({"dropout_fraction": 0.1}).column.randomizer.randomizer().model.largest_shift
    assert (fewer.least_people, fewer.bias_of_one) == (1800, pytest.approx(shift / 1800))

    task = task_of({"error": 0.5}, shuffler={"kind": "imperfect", "imperfection": 0.01})
    imperfect = plan(task).columns[0]
    assert imperfect.of_question.added_epsilon == pytest.approx(0.01 * imperfect.of_question.value_bits)
    assert imperfect.statements[0].basis.theorem == "counted-bits-buffer"
    assert imperfect.statements[0].guarantee.epsilon <= 1.0


def test_an_imperfect_buffer_takes_all_bits_together():
    pipeline = task_of({"error": 0.5}, shuffler={"kind": "imperfect", "imperfection": 0.01}).column.pipeline()
    view = pipeline.shuffler.shuffle(pipeline.randomizer.randomize([0.0, 100.0] * 1000))
    assert view.labels.tolist() == list(range(len(view)))
    assert view.shuffle.num_rounds == 1
    estimate = pipeline.analyzer.estimate(pipeline.analyzer.summarize(view))
    assert abs(estimate.estimate[0] - 50) < 6 * estimate.standard_error[0]


def test_too_few_people_are_refused():
    column = task_of({"dropout_fraction": 0.1}).column
    column.require_people(1800)
    with pytest.raises(BatchTooSmallError, match="noise of at least 1800 people"):
        column.require_people(1799)
