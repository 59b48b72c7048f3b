"""The table [protocol]: solved by its task, refused where nothing is certified, planned with a certificate."""

import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError
from shuffledp.core.statement_terms import Trust
from shuffledp.planning import calibrate
from shuffledp.protocols.shares.shufflers.parallel import ParallelShuffleModel
from shuffledp.protocols.shares.survey.protocol_section import ProtocolSection
from shuffledp.protocols.shares.survey.split_and_mix_section import SplitAndMixSection
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.survey import Question, Task, plan
from shuffledp.testing import SeededSource

PROTOCOL = {"kind": "split-and-mix", "epsilon": 2.0, "lower": 0, "upper": 100}
IMPERFECT = {"kind": "imperfect", "imperfection": 0.5}


def described(*, expected=200, protocol=None, shuffler=None, delta=1e-6, **further) -> dict:
    return {
        "name": "commute",
        "value": "minutes",
        **({} if expected is None else {"people": {"expected": expected}}),
        "protocol": {**PROTOCOL, **(protocol or {})},
        "shuffler": shuffler or IMPERFECT,
        "release": {"delta": delta},
        **further,
    }


def task_of(**changes) -> Task:
    return Task.from_dict(described(**changes))


# ---- the section ----------------------------------------------------------------------------------------------------


def test_a_protocol_is_no_kind_of_randomizer():
    assert "split-and-mix" in ProtocolSection.members()
    assert "split-and-mix" not in Question.members()
    with pytest.raises(InvalidParameterError, match="kind must be one of"):
        Task.from_dict({"name": "x", "value": "y", "randomizer": PROTOCOL, "release": {"delta": 1e-6}})


def test_the_task_survives_being_written_and_its_digest_says_what_matters():
    task = task_of()
    assert Task.from_dict(task.to_dict()) == task
    assert "randomizer" not in task.to_dict()
    assert task.to_dict()["protocol"]["statistic"] == "mean"
    assert "circumstances" not in task.to_dict()["protocol"]
    assert task_of(protocol={"dropout_fraction": 0.1}).sha256 != task.sha256


def test_both_tables_are_refused():
    both = {**described(), "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["a", "b"]}}
    with pytest.raises(InvalidParameterError, match=r"\[randomizer\] or \[protocol\]; got both"):
        Task.from_dict(both)


@pytest.mark.parametrize(("shuffler", "gamma"), [({"kind": "uniform"}, 0.0), (IMPERFECT, 0.5)])
def test_the_randomizer_is_the_calibrated_one(shuffler, gamma):
    task = task_of(shuffler=shuffler, protocol={"dropout_fraction": 0.1})
    wanted = calibrate.split_and_mix(
        num_users=200, epsilon=2.0, delta=1e-6, imperfection=gamma, lower=0, upper=100, dropout_fraction=0.1
    )
    assert task.column.randomizer.randomizer().model == wanted.model
    assert (task.column.randomizer.least_people, task.column.randomizer.most_people) == (180, 200)


def test_a_worse_shuffler_and_a_smaller_delta_take_more_messages():
    def messages(**changes):
        return task_of(**changes).column.randomizer.randomizer().num_messages

    assert messages(shuffler={"kind": "uniform"}) < messages(shuffler={**IMPERFECT, "imperfection": 3.0})
    assert messages() < messages(delta=1e-12)


def test_a_task_whose_other_parts_change_is_solved_again():
    task = task_of()
    changed = Task(replace(task.written, people=replace(task.people, expected=500)))
    assert changed.column.randomizer.randomizer().model.num_users == 500
    assert changed == task_of(expected=500)


@pytest.mark.parametrize("shuffler", [{"kind": "none"}])
def test_a_shuffler_that_promises_nothing_is_refused(shuffler):
    with pytest.raises(InvalidParameterError, match="kind 'uniform' or 'imperfect'; got kind 'none'"):
        task_of(shuffler=shuffler)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shuffler": {"kind": "imperfect", "imperfection": -0.1}}, "imperfection must be"),
        ({"shuffler": {"kind": "imperfect", "imperfection": 60.0}}, "no number of messages up to 1024 is certified"),
        ({"expected": 2}, "must"),
        ({"protocol": {"epsilon": 0.01}}, "epsilon \\* num_users must be larger"),
        ({"protocol": {"epsilon": -1.0}}, "epsilon must be"),
        ({"protocol": {"upper": 0}}, "upper"),
        ({"protocol": {"statistic": "median"}}, "statistic must be one of"),
        ({"protocol": {"dimension": 0}}, "dimension must be"),
        ({"protocol": {"dropout_fraction": 1.0}}, "dropout_fraction must be"),
        ({"protocol": {"out_of_range": "wrap"}}, "out_of_range must be one of"),
        ({"protocol": {"integer": True, "upper": 0.5}}, "integer"),
        ({"protocol": {"l1_bounded": True, "lower": 1, "dimension": 2}}, "lower must be 0"),
        ({"protocol": {"epsilom": 1.0}}, "only the keys"),
        ({"delta": 0.0}, "delta must be"),
        ({"missing": "category"}, "missing must be"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_cannot_be_is_refused_before_anything_is_collected(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        task_of(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"protocol": {"epsilon": 0.01}},
            r"or a larger epsilon\. In the task file num_users is expected of \[people\]\.$",
        ),
        ({"shuffler": {**IMPERFECT, "imperfection": 60.0}}, r"imperfection is that of \[shuffler\], delta is"),
        ({"protocol": {"dropout_fraction": 1.0}}, r"got dropout_fraction=1\.0\.$"),
    ],
)
def test_a_refusal_names_parameters_as_the_task_file_does(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        task_of(**changes)


def test_a_file_without_a_name_is_told_the_tables_that_it_has():
    unnamed = {key: value for key, value in described().items() if key != "name"}
    with pytest.raises(InvalidParameterError, match=r"must have the key 'name'; got the keys .*protocol") as refused:
        Task.from_dict(unnamed)
    assert "randomizer" not in str(refused.value)


def test_sums_that_may_wrap_around_are_warned_of_in_plans_and_releases():
    task = task_of(expected=100, protocol={"epsilon": 0.1})
    (warning,) = plan(task).warnings
    assert "wraps around the modulus" in warning
    assert plan(task).to_dict()["warnings"] == [warning]
    assert task_of().column.model(200).local.warnings == plan(task_of()).warnings == ()
    with pytest.warns(UserWarning, match="wraps around the modulus"):
        calibrate.split_and_mix(num_users=100, epsilon=0.1, delta=1e-6, imperfection=0.5, lower=0, upper=100)


def test_without_the_number_of_people_there_is_a_task_but_no_run():
    task = task_of(expected=None)
    with pytest.raises(InvalidParameterError, match=r"\[people\] must say expected"):
        task.column.randomizer.randomizer()
    assert task.expecting(300).column.randomizer.randomizer().model.num_users == 300
    assert task_of().expecting(300) == task_of()


def test_several_rounds_are_for_imperfect_shufflers_and_a_uniform_one_takes_all_messages_at_once():
    assert isinstance(task_of().column.model(200).shuffle, ParallelShuffleModel)
    assert task_of().column.model(200).shuffle.num_rounds == task_of().column.randomizer.randomizer().num_messages
    assert isinstance(task_of(shuffler={"kind": "uniform"}).column.model(200).shuffle, UniformShuffleModel)


@pytest.mark.parametrize("statistic", ["mean", "sum"])
@pytest.mark.parametrize("lists", [{}, {"dimension": 3}, {"dimension": 3, "l1_bounded": True}])
def test_the_pipeline_estimates_what_it_says_with_the_error_that_was_expected(statistic, lists):
    task = task_of(protocol={"statistic": statistic, "epsilon": 20.0, **lists})
    values = np.full((200, lists.get("dimension", 1)), 25.0)
    values = values if lists else values[:, 0]
    estimate = task.column.pipeline().run(values, delta=1e-6, source=SeededSource(3)).estimate
    truth = 25.0 * (200 if statistic == "sum" else 1)
    assert estimate.statistic == statistic
    assert len(task.column.targets) == len(estimate.estimate)
    expected = task.column.randomizer.expected_error(200).standard_error
    assert estimate.standard_error == pytest.approx(np.full(len(task.column.targets), expected))
    assert np.abs(estimate.estimate - truth).max() < 6 * expected


def test_the_rows_are_named_after_the_column():
    assert task_of().column.targets == ("minutes",)
    assert task_of(protocol={"dimension": 2}).column.targets == ("minutes[0]", "minutes[1]")


def test_the_spread_of_lists_is_that_of_the_uniform_law_on_them():
    simplex = SplitAndMixSection(epsilon=1.0, lower=0, upper=2, dimension=3, l1_bounded=True)
    draws = np.random.default_rng(1).dirichlet(np.ones(4), 200_000)[:, :3] * 2
    assert simplex.expected_spread == pytest.approx(float(draws.var(axis=0).mean()), rel=0.01)
    assert SplitAndMixSection(epsilon=1.0, lower=1, upper=3).expected_spread == pytest.approx(4 / 12)


# ---- plans ----------------------------------------------------------------------------------------------------------


def test_a_plan_has_the_certificate_and_the_errors_of_others():
    (column,) = plan(task_of(protocol={"dropout_fraction": 0.1})).columns
    found, chosen = column.of_question, column.chosen
    assert found.certificate.num_messages * math.ceil(math.log2(found.certificate.modulus)) == chosen.report_bits
    assert found.certificate.bits_per_user == chosen.report_bits
    assert found.certificate.delta <= 1e-6
    assert found.least_people == 180
    assert found.central_error == pytest.approx(math.sqrt(2) * 100 / 2.0 / 200)
    assert found.central_error < chosen.error.standard_error < min(found.local_errors.values())
    errors = {each.kind: each.error.standard_error for each in column.options if not each.chosen}
    assert found.local_errors == pytest.approx(errors)
    assert all(each.local.epsilon == pytest.approx(2.0, abs=1e-3) for each in column.options if not each.chosen)
    assert chosen.local.is_trivial
    assert set(column.to_dict()) == {"value", "options", "unfit", "statements", "protocol", "curator"}


def test_the_precision_of_the_task_is_that_of_the_plan_and_what_rounding_adds_is_known():
    coarse, fine = (plan(task_of(protocol=each)).columns[0] for each in ({}, {"precision": 60}))
    assert (coarse.of_question.certificate.precision, fine.of_question.certificate.precision) == (15, 60)
    assert fine.chosen.error.standard_error < coarse.chosen.error.standard_error
    for column, steps in ((coarse, 15), (fine, 60)):
        added = column.chosen.error.standard_error**2 - column.of_question.noise_error**2
        assert added == pytest.approx((100 / steps) ** 2 / 4 / 200)
    (exact,) = plan(task_of(protocol={"integer": True, "statistic": "sum"})).columns
    assert exact.of_question.noise_error == pytest.approx(exact.chosen.error.standard_error)
    with pytest.raises(InvalidParameterError, match="precision must be a multiple of the width 100"):
        task_of(protocol={"integer": True, "precision": 150})


def test_errors_of_others_are_in_the_units_of_a_sum():
    mean, total = (plan(task_of(protocol={"statistic": each})).columns[0] for each in ("mean", "sum"))
    for one, other in zip(mean.options, total.options, strict=True):
        assert other.error.standard_error == pytest.approx(200 * one.error.standard_error)
        assert other.error.sampling_error == pytest.approx(200 * one.error.sampling_error)
    assert total.of_question.central_error == pytest.approx(200 * mean.of_question.central_error)


def test_lists_have_no_other_randomizer():
    (column,) = plan(task_of(protocol={"dimension": 2})).columns
    assert [option.kind for option in column.options] == ["split-and-mix"]
    assert column.of_question.local_errors == {}


def test_a_plan_may_say_the_number_of_people_itself():
    assert plan(task_of(expected=None), 300).columns[0].of_question.certificate.num_users == 300
    with pytest.raises(InvalidParameterError, match="num_users must be given"):
        plan(task_of(expected=None))


def test_a_plan_for_too_few_or_too_many_people_is_refused():
    task = task_of(protocol={"dropout_fraction": 0.1})
    assert plan(task, 180).num_users == 180
    with pytest.raises(BatchTooSmallError, match="at least 180 people"):
        plan(task, 179)
    with pytest.raises(InvalidParameterError, match="at most expected=200"):
        plan(task, 201)


def test_what_is_stated_is_at_most_the_loss_asked_for_and_nothing_on_the_device():
    headline, *_, local = plan(task_of()).statements
    assert headline.basis.theorem == "split-and-mix"
    assert headline.guarantee.epsilon <= 2.0
    assert headline.guarantee.delta <= 1e-6
    assert local.guarantee.is_trivial
    text = " ".join(headline.remarks)
    assert "nothing here measures it" in text
    assert "With two" in text or "with two" in text
    assert headline.trust[0] is Trust.ALL_SHARES


# ---- several columns ------------------------------------------------------------------------------------------------


def test_one_of_several_columns_may_have_a_protocol():
    task = Task.from_dict(
        {
            "name": "survey",
            "people": {"expected": 200},
            "value": [
                {"column": "minutes", "protocol": PROTOCOL},
                {"column": "car", "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}},
            ],
            "release": {"delta": 1e-6},
        }
    )
    assert Task.from_dict(task.to_dict()) == task
    planned = plan(task)
    assert planned.statements[0].guarantee.epsilon < 3.0
    assert [column.of_question is None for column in planned.columns] == [False, True]


# ---- two answers


def two(kind="split-and-mix", **keys):
    protocol = {"kind": kind, "epsilon": 1.0, "categories": ["No", "Yes"], "dropout_fraction": 0.5} | keys
    return {
        "name": "homework",
        "value": "enough",
        "protocol": {key: value for key, value in protocol.items() if value is not None},
        "people": {"expected": 30},
        "release": {"delta": 1e-4, "minimum_batch": 15},
    }


@pytest.mark.parametrize("kind", ["split-and-mix", "counted-bits"])
def test_two_answers_count_as_0_and_1(kind):
    task = Task.from_dict(two(kind))
    numbers = {"categories": None, "lower": 0, "upper": 1, **({"integer": True} if kind == "split-and-mix" else {})}
    same = Task.from_dict(two(kind, **numbers))
    assert task.column.randomizer.randomizer().model == same.column.randomizer.randomizer().model
    assert Task.from_dict(task.to_dict()) == task
    assert task.sha256 != same.sha256  # people are asked another question
    said, counted = ["Yes"] * 11 + ["No"] * 9, [1] * 11 + [0] * 9
    outcomes = [
        each.run({"enough": answers}, source=SeededSource(4)) for each, answers in ((task, said), (same, counted))
    ]
    one, other = (outcome.columns[""].release.estimate for outcome in outcomes)
    assert one.estimate.tolist() == other.estimate.tolist()
    assert task.column.targets == ("enough = Yes",)
    assert same.column.targets == ("enough",)
    assert task.column.randomizer.page_fields(["enough"]) == [{"label": "enough", "answers": ["No", "Yes"]}]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"categories": ["No", "Yes", "Perhaps"]}, "two, which count as 0 and 1"),
        ({"categories": ["Yes", "Yes"]}, "all different"),
        ({"upper": 2.0}, "left out with two categories"),
        ({"dimension": 2}, "left out with two categories"),
    ],
)
def test_other_than_two_answers_are_refused(keys, words):
    with pytest.raises(InvalidParameterError, match=words):
        Task.from_dict(two(**keys))


def test_a_page_asks_for_whole_numbers_where_nothing_is_rounded():
    for whole in (True, False):
        task = Task.from_dict(two(categories=None, lower=0, upper=10, integer=whole, epsilon=2.0))
        (field,) = task.column.randomizer.page_fields(["enough"])
        assert field.get("whole", False) is whole
    several = Task.from_dict(two(categories=None, lower=0, upper=1, dimension=2, epsilon=4.0))
    assert several.column.randomizer.page_fields(["enough"]) == []
