"""The keys ``by`` and ``weight`` of a task: what they mean, what they are refused beside, and what is planned."""

import numpy as np
import pytest

from cli.running import task_with
from shuffledp.accounting import account
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError
from shuffledp.core.flow import Reports, View
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.table import Table
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffler
from shuffledp.protocols.strata.survey.stratified_section import StratifiedSection
from shuffledp.shufflers import UniformShuffler
from shuffledp.survey import Task, audit_task, people_for_error, plan

NUMBERS = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 1}


def task_of(**changes) -> Task:
    return Task.from_dict(task_with(**{"by": "region", "weight": "w", **changes}))


def uniform(task: Task, people: int) -> ProtocolModel:
    return ProtocolModel(local=task.column.randomizer.randomizer().model, shuffle=UniformShuffler().model(people))


def strata(sizes, weight=1.0) -> Strata:
    """Regions of these sizes, each with two classes of equal size."""
    region = np.repeat([f"region {number}" for number in range(len(sizes))], sizes)
    weights = np.concatenate([np.arange(size) >= size // 2 for size in sizes]) * weight + 1
    return Strata.of({"region": region, "w": weights}, by="region", weight="w", weight_classes=5)


# ---- the keys -------------------------------------------------------------------------------------------------------


def test_tasks_without_these_keys_keep_their_digest():
    task = Task.from_dict(task_with())
    assert not {"by", "weight", "weight_classes"} & set(task.to_dict())
    assert Task.from_dict(task_with(weight_classes=5)).sha256 == task.sha256


def test_a_task_with_them_says_so_and_is_read_again():
    task = task_of()
    assert (task.to_dict()["by"], task.to_dict()["weight"]) == ("region", "w")
    assert "weight_classes" not in task.to_dict()
    assert task.to_dict()["shuffler"] == {"kind": "uniform"}
    assert Task.from_dict(task.to_dict()) == task
    assert task_of(weight_classes=5).sha256 == task.sha256
    digests = {each.sha256 for each in (task, task_of(weight_classes=4), task_of(by=None), task_of(weight=None))}
    assert len(digests) == 4
    assert task_of(weight_classes=4).to_dict()["weight_classes"] == 4


def test_blocks_of_columns_share_them():
    randomizer = task_with()["randomizer"]
    blocks = [{"column": name, "randomizer": randomizer} for name in ("smokes", "drinks")]
    task = task_of(value=blocks, randomizer=None)
    assert [column.shuffler.made_from.columns for column in task.columns] == [("region", "w")] * 2
    assert task.columns[0].to_dict()["by"] == "region"
    assert Task.from_dict(task.to_dict()) == task


def test_their_columns_go_to_the_shuffler_and_no_other_public_column_does():
    column = task_of(public=["region", "street"]).column
    assert column.attached == column.labeled == ("region", "w")
    assert column.detached == ("street",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by": "cheated"}, "by and weight must be public columns, other than the private one and people.id; got '"),
        (
            {"people": {"id": "w"}},
            "by and weight must be public columns, other than the private one and people.id; got '",
        ),
        ({"by": "w"}, "by must be another column than weight; got by='w'"),
        ({"by": ""}, "by must be text that is not empty"),
        ({"weight_classes": 1}, "weight_classes must be an integer that is 2 or more; got weight_classes=1"),
        ({"weight": None, "weight_classes": 4}, "weight_classes must be left out without weight; got weight_classes=4"),
        ({"shuffler": {"kind": "none"}}, "by must be left out beside \\[shuffler\\] kind = 'none'"),
        ({"by": None, "shuffler": {"kind": "imperfect", "imperfection": 0.5}}, "weight must be left out beside"),
        ({"randomizer": None, "protocol": NUMBERS, "people": {"expected": 900}}, "by and weight must be left out besi"),
    ],
)
def test_what_they_do_not_go_with_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        task_of(**changes)


def test_a_protocol_without_people_is_refused():
    with pytest.raises(
        InvalidParameterError, match="strata must be given for a task with by and weight: they are made"
    ):
        task_of().column.model(1000)


# ---- too few --------------------------------------------------------------------------------------------------------


def test_strata_below_the_smallest_batch_are_refused_with_how_many_and_what_to_do():
    column, made = task_of(release={"minimum_batch": 60}).column, strata((100, 200, 110))
    section = column.shuffler
    with pytest.raises(BatchTooSmallError) as caught:
        section.require_batch(StratifiedShuffler(made).model(410), made.table, column)
    assert str(caught.value) == (
        "a release needs at least minimum_batch = 60 reports in each stratum of column 'cheated' (region and class of "
        "w); 4 of 6 strata have fewer, the smallest 50 (in region 'region 0'). Nothing was released: join regions in "
        "'region', take fewer weight_classes than 5 or lower minimum_batch."
    )
    large = strata((120, 200, 130))
    section.require_batch(StratifiedShuffler(large).model(450), large.table, column)


# ---- before a collection --------------------------------------------------------------------------------------------


def test_a_plan_with_the_strata_of_an_input_states_what_a_release_would():
    task, made = task_of(release={"minimum_batch": 100}), strata((400, 600, 900), weight=2.0)
    found = plan(task, grouping=made)
    assert (found.num_users, found.of_shuffle.smallest, found.of_shuffle.largest, found.of_shuffle.num_strata) == (
        1900,
        200,
        450,
        6,
    )
    assert found.of_shuffle.fewest == 400
    assert found.of_shuffle.design_effect == pytest.approx(made.design_effect) == pytest.approx(5 / 4)
    assert found.statements[0].guarantee == account(uniform(task, 200), delta=1e-6).guarantee
    expected = task.column.randomizer.expected_error(1900).standard_error
    assert found.columns[0].chosen.error.standard_error == pytest.approx(expected * (5 / 4) ** 0.5)
    assert found.to_dict()["strata"]["smallest"] == 200


def test_a_plan_without_strata_is_of_the_smallest_that_would_be_released():
    found = plan(task_of(release={"minimum_batch": 150}), 5000)
    assert (found.of_shuffle.smallest, found.of_shuffle.largest) == (150, None)
    assert found.statements[0].guarantee == account(uniform(found.task, 150), delta=1e-6).guarantee


def test_a_plan_of_too_small_strata_is_refused():
    with pytest.raises(
        BatchTooSmallError, match=r"2 of 4 strata have fewer, the smallest 20 .* Nothing would be released"
    ):
        plan(task_of(release={"minimum_batch": 50}), grouping=strata((40, 400)))


def test_people_for_an_error_are_not_worked_out_for_strata():
    with pytest.raises(
        InvalidParameterError, match=r"a uniform shuffle of everybody .* kind='uniform', with by or wei"
    ):
        people_for_error(task_of(), half_width=0.05)


def test_an_audit_plays_the_smallest_stratum():
    audited = audit_task(task_of(release={"delta": 1e-2}), grouping=strata((40, 30)), trials=200)
    assert not audited.refuted
    assert "Only the smallest stratum was played, 15 honest people" in audited.remarks[0]
    assert audited.columns[0].report.model.num_users == 15


# ---- views of other strata ------------------------------------------------------------------------------------------


def view_of(made: Strata, **changes) -> View:
    model = task_of().column.randomizer.randomizer().model
    reports = Reports({"value": np.zeros(made.num_users, dtype=np.uint8)}, model)
    shuffled = StratifiedShuffler(made).shuffle(reports)
    parts = {name: getattr(shuffled, name) for name in ("reports", "labels", "label_table", "shuffle")}
    return View(**(parts | changes))


def test_views_are_those_of_its_own_strata():
    section, made = task_of().column.shuffler, strata((4, 6))
    assert isinstance(section, StratifiedSection)
    good = view_of(made)
    assert section.could_have_made(good)
    columns = dict(good.label_table.columns)
    assert not section.could_have_made(view_of(made, labels=np.minimum(good.labels, 2)))
    assert not section.could_have_made(view_of(made, label_table=Table({"region": columns["region"]})))
    assert not section.could_have_made(view_of(made, label_table=Table(columns | {"w": [1.0, 2.0, 1.0, -2.0]})))
    assert not section.could_have_made(view_of(made, label_table=Table(columns | {"w": [1.0, 2.0, 1.0, 9.0]})))
    assert not section.could_have_made(view_of(made, label_table=None))
    assert not task_of(weight=None).column.shuffler.could_have_made(good)
    assert not task_of(weight_classes=2, by=None).column.shuffler.could_have_made(good)
