"""Several private columns at once: each goes its own way, and what one person loses is said first."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli.running import stub_pages, without_operator, write_csv
from shuffledp.accounting import compose_pure, compose_releases
from shuffledp.core.errors import BatchTooSmallError, InputDataError, InvalidParameterError
from shuffledp.core.guarantees import CentralDP, LocalDP
from shuffledp.core.statement_terms import Trust
from shuffledp.core.text import in_digits
from shuffledp.files import is_release, is_stage, stages
from shuffledp.protocols.d_sigma import Grouping, Groups, MallowsShuffler, losses_by_size
from shuffledp.survey import EarlierRelease, Missing, Task, plan
from shuffledp.survey.budget import order_in
from shuffledp.testing import SeededSource

MARK = "SECRET-ANSWER-42"
CHEATED = {"column": "cheated", "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}}
HOURS = {"column": "hours", "randomizer": {"kind": "one-bit-mean", "epsilon0": 0.5, "lower": 0.0, "upper": 60.0}}
ROWS = [[f"p{number}", ("No", "Yes", "No")[number % 3], str(number % 61)] for number in range(3000)]


def task(*value, **changes) -> Task:
    blocks = list(value or (CHEATED, HOURS))
    return Task.from_dict({"name": "habits", "value": blocks, "release": {"delta": 5e-7}, **changes})


def answers(folder, rows=ROWS):
    return write_csv(folder / "answers.csv", ["person", "cheated", "hours"], rows)


def run(joint, tmp_path, name="out", rows=ROWS, **options):
    (tmp_path / name).mkdir()
    return stages.run(joint, answers(tmp_path, rows), tmp_path / name, **options)


def epsilons(statements, kind):
    return [each.guarantee.epsilon for each in statements if isinstance(each.guarantee, kind)]


def test_what_one_person_loses_over_all_columns_comes_first(tmp_path):
    outcome = run(task(), tmp_path)
    columns = list(outcome.columns.values())
    headlines = [column.release.statements[0] for column in columns]
    together = compose_releases([column.model for column in columns], delta=5e-7).guarantee
    assert outcome.statements[0].guarantee == together
    alone = [each.guarantee.epsilon for each in headlines]
    assert max(alone) < together.epsilon < sum(alone)
    assert outcome.statements[-1].guarantee.epsilon == pytest.approx(1.5, abs=1e-5)
    assert [(part.label, part.statement) for part in outcome.statements[0].parts] == list(
        zip(["cheated", "hours"], headlines, strict=True)
    )
    for column in columns:
        assert column.statements == outcome.statements
        data = json.loads((tmp_path / "out" / column.column.value / "statement.json").read_text())
        assert data["statements"] == [each.to_dict() for each in outcome.statements]
    upper = [each.guarantee for each in outcome.statements if each.kind.promises]
    assert [type(each) for each in upper] == [CentralDP, LocalDP]


def test_the_statement_says_which_column_takes_what(tmp_path):
    outcome = run(task(), tmp_path)
    text, guarantee = str(outcome.statements[0]), outcome.columns["cheated"].release.statements[0].guarantee
    assert "One person answers in 2 columns, each randomized and shuffled by itself, so that nobody can link" in text
    share = in_digits(guarantee.epsilon, "at most")
    assert f"cheated takes epsilon = {share}, delta = 5e-07 (epsilon0 = 1); hours takes epsilon = " in text


def by_stages(joint, tmp_path, *, sources=(None, None), rows=ROWS, **options):
    """The same stage by stage, each in a folder of its own."""
    for name in ("reports", "views", "analyzed"):
        (tmp_path / name).mkdir()
    reports, views, analyzed = (tmp_path / name for name in ("reports", "views", "analyzed"))
    stages.randomize(joint, answers(tmp_path, rows), reports, source=sources[0])
    stages.shuffle(joint, reports, views, source=sources[1])
    assert is_stage(reports)
    assert is_stage(views)
    return stages.analyze(joint, views, analyzed, **options)


@pytest.mark.parametrize("shuffler", ["uniform", "none"])
def test_stage_by_stage_the_statements_are_those_of_a_run_less_its_operator(tmp_path, shuffler):
    joint = task(shuffler={"kind": shuffler})
    ran, staged = run(joint, tmp_path), by_stages(joint, tmp_path)
    for ours, theirs in [(staged.statements, ran.statements)] + [
        (staged.columns[name].release.statements, ran.columns[name].release.statements) for name in ran.columns
    ]:
        assert [each.to_dict() for each in ours] == [without_operator(each.to_dict()) for each in theirs]
        assert all(Trust.OPERATOR in each.trust for each in theirs[:1])
    assert is_release(tmp_path / "analyzed")
    assert staged.columns["cheated"].release.estimate.estimate[0] == pytest.approx(2 / 3, abs=0.15)


def test_stage_by_stage_each_column_has_an_order_of_its_own(tmp_path):
    other = {**CHEATED, "column": "hours"}
    exact = [{**each, "randomizer": {**each["randomizer"], "epsilon0": 30.0}} for each in (CHEATED, other)]
    rows = [["p", *[("No", "Yes")[number % 2]] * 2] for number in range(1000)]
    by_stages(task(*exact), tmp_path, sources=(SeededSource(1), SeededSource(2)), rows=rows)
    for stage, agree in (("reports", 1.0), ("views", 0.5)):
        first, second = (
            pq.read_table(tmp_path / stage / f"{name}.parquet").column("value").to_pylist()
            for name in ("cheated", "hours")
        )
        assert sum(map(str.__eq__, first, second)) / 1000 == pytest.approx(agree, abs=0.1)


def test_stage_by_stage_earlier_releases_are_wanted_too(tmp_path):
    run(task(CHEATED), tmp_path, name="first")
    second = task(people={"earlier": [task(CHEATED).sha256]})
    outcome = by_stages(second, tmp_path, earlier=[tmp_path / "first" / "statement.json"])
    assert "The same people are in 2 releases" in str(outcome.statements[0])


def test_columns_that_are_not_shuffled_are_not_said_to_be_apart(tmp_path):
    assert "nobody can link" not in str(run(task(shuffler={"kind": "none"}), tmp_path).statements[0])


def test_each_column_is_a_release_of_its_own_in_a_folder_of_its_own(tmp_path):
    outcome = run(task(), tmp_path)
    assert list(outcome.columns) == ["cheated", "hours"]
    for name, part in zip(outcome.columns, task().columns, strict=True):
        assert is_release(tmp_path / "out" / name)
        data = json.loads((tmp_path / "out" / name / "statement.json").read_text())
        assert data["task"]["part_of"] == task().sha256
        assert data["task_sha256"] == part.sha256
    data = json.loads((tmp_path / "out" / "statement.json").read_text())
    assert [row["value"] for row in data["estimates"]] == ["cheated", "cheated", "hours"]
    assert data["estimates"][0]["estimate"] == pytest.approx(2 / 3, abs=0.15)
    assert "cheated/release.parquet" in data["files"]
    assert is_release(tmp_path / "out")


def test_a_folder_with_something_else_in_a_column_is_no_release(tmp_path):
    run(task(), tmp_path)
    (tmp_path / "out" / "hours" / "notes.txt").write_text("mine")
    assert not is_release(tmp_path / "out")


def test_each_column_has_randomness_of_its_own(tmp_path):
    twice = [["p", "No", "No"]] * 500
    other = {**CHEATED, "column": "hours"}
    outcome = run(task(CHEATED, other), tmp_path, rows=twice, source=SeededSource(4))
    first, second = (column.release.estimate.estimate[0] for column in outcome.columns.values())
    assert first != second
    again = run(task(CHEATED, other), tmp_path, name="again", rows=twice, source=SeededSource(4))
    assert again.columns["cheated"].release.estimate.estimate[0] == first
    assert {each.withdrawn for each in again.statements} == {"seeded"}
    assert again.statements[0].claimed.delta == 5e-7


def test_a_single_block_states_what_a_task_of_one_column_does(tmp_path):
    outcome = run(task(CHEATED), tmp_path)
    (tmp_path / "alone").mkdir()
    alone = stages.run(Task(task(CHEATED).columns[0]), answers(tmp_path), tmp_path / "alone")
    assert outcome.statements == alone.column.release.statements == outcome.columns["cheated"].release.statements


def test_missing_answers_are_dropped_in_each_column_by_itself(tmp_path):
    rows = [[person, "" if number % 4 == 0 else cheated, hours] for number, (person, cheated, hours) in enumerate(ROWS)]
    outcome = run(task(missing="drop"), tmp_path, rows=rows)
    assert [column.flow.missing for column in outcome.columns.values()] == [750, 0]
    assert "Who answered at all is not protected" in str(outcome.statements[0])
    with pytest.raises(InputDataError):
        run(task(), tmp_path, name="refused", rows=rows)


def test_columns_of_other_people_are_not_about_equal_groups_even_if_these_look_alike(tmp_path, monkeypatch):
    """One column lacks the first person of a road and the other the last: the rows are alike, not the people."""
    stub_pages(monkeypatch)
    groups = {"public": ["km"], "groups": {"columns": ["km"], "radius": 1.0}}
    road = task(
        CHEATED, CHEATED | {"column": "lied"}, missing="drop", shuffler={"kind": "noisy-sort", "alpha": 1.5}, **groups
    )
    rows = [[km, "" if km == 0 else "Yes", "" if km == 9 else "No"] for km in range(10)]
    people = write_csv(tmp_path / "people.csv", ["km", "cheated", "lied"], rows)
    outcome = stages.run(road, people, tmp_path)
    first, second = (order_in(column.release.statements) for column in outcome.columns.values())
    assert first.guarantee.groups_digest == second.guarantee.groups_digest
    assert order_in(outcome.statements).guarantee.alpha == pytest.approx(1.5 + 3 * 1.0)


@pytest.mark.deep
def test_columns_about_equal_groups_lose_of_the_order_what_each_group_does_as_planned(tmp_path, monkeypatch):
    stub_pages(monkeypatch)
    groups = {"public": ["km"], "groups": {"columns": ["km"], "radius": 12.0}}
    road = task(CHEATED, CHEATED | {"column": "lied"}, shuffler={"kind": "mallows", "alpha": 4.0}, **groups)
    people = write_csv(tmp_path / "people.csv", ["km", "cheated", "lied"], [[km, "Yes", "No"] for km in range(60)])
    outcome = stages.run(road, people, tmp_path)
    stated = order_in(outcome.statements)
    alone = MallowsShuffler(groups=Groups.from_radius(np.arange(60), 12.0), alpha=4.0)
    exact = max(each.alpha for each in losses_by_size(alone, delta=5e-7, releases=2))
    assert stated.guarantee.alpha == pytest.approx(exact, rel=1e-9)
    assert stated.guarantee.alpha < 0.9 * compose_pure([4.0, 4.0], delta=5e-7)
    assert (stated.guarantee.delta, stated.basis.theorem) == (5e-7, "adding-orders")
    assert "group by group" in str(stated)
    planned = plan(road, grouping=Grouping(alone.groups), alone=True)
    assert order_in(planned.statements).guarantee == stated.guarantee
    assert EarlierRelease.read(tmp_path / "statement.json").order == stated


def test_too_few_reports_in_one_column_release_nothing(tmp_path):
    rows = [[person, cheated, hours if number < 9 else ""] for number, (person, cheated, hours) in enumerate(ROWS)]
    with pytest.raises(BatchTooSmallError):
        run(task(missing="drop", release={"delta": 1e-6, "minimum_batch": 10}), tmp_path, rows=rows)
    assert not (tmp_path / "out" / "statement.json").exists()


def test_a_wrong_answer_is_never_shown(tmp_path):
    with pytest.raises(InputDataError) as caught:
        run(task(), tmp_path, rows=[*ROWS, [MARK, "No", MARK]])
    assert MARK not in str(caught.value)


def test_earlier_releases_add_to_those_of_all_columns(tmp_path):
    run(task(CHEATED), tmp_path, name="first")
    first = tmp_path / "first" / "statement.json"
    second = task(people={"earlier": [task(CHEATED).sha256]})
    with pytest.raises(InvalidParameterError, match="--earlier"):
        run(second, tmp_path, name="refused")
    outcome = run(second, tmp_path, name="second", earlier=[first])
    headline, local = outcome.statements[0], epsilons(outcome.statements, LocalDP)
    mine, theirs = (part.statement.guarantee.epsilon for part in headline.parts)
    assert theirs == EarlierRelease.read(first).headline.guarantee.epsilon
    models = [column.model for column in outcome.columns.values()]
    together = compose_releases([*models, models[0]], delta=5e-7).guarantee
    assert headline.guarantee == together
    assert max(mine, theirs) < together.epsilon < mine + theirs
    assert local == pytest.approx([2.5], abs=1e-5)
    again = EarlierRelease.read(tmp_path / "second" / "statement.json")
    assert again.headline == outcome.statements[0]
    assert outcome.columns["hours"].statements == outcome.statements


def test_missing_as_a_category_is_for_categories_only():
    assert task(CHEATED, missing="category").columns[0].missing is Missing.CATEGORY
    with pytest.raises(InvalidParameterError, match="where answers are averaged"):
        task(missing="category")


def test_every_one_of_three_columns_adds_its_loss(tmp_path):
    columns = [
        {"column": name, "randomizer": {**CHEATED["randomizer"], "epsilon0": epsilon0}}
        for name, epsilon0 in (("person", 0.5), ("cheated", 1.0), ("hours", 2.0))
    ]
    outcome = run(task(*columns), tmp_path, rows=[["No", "Yes", "No"]] * 3000)
    headlines = [column.release.statements[0].guarantee for column in outcome.columns.values()]
    assert len({each.epsilon for each in headlines}) == 3
    models = [column.model for column in outcome.columns.values()]
    assert outcome.statements[0].guarantee == compose_releases(models, delta=5e-7).guarantee
    assert outcome.statements[-1].guarantee.epsilon == pytest.approx(3.5, abs=1e-4)
