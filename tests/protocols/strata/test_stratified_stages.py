"""Tasks with regions and weights, from file to file: what each stage holds of them, and what is refused."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli.running import task_with, write_csv
from files.whole import read_reports, read_view, rewrite
from shuffledp.core.errors import BatchTooSmallError, InputDataError, InvalidParameterError
from shuffledp.files import read_around, stages
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

TRUTHFUL = {"epsilon0": 25.0}
HEADER = ["region", "w", "cheated", "street"]
SHARES = {"north": 0.75, "south": 0.25}


def task_of(**changes) -> Task:
    usual = {"by": "region", "weight": "w", "randomizer": TRUTHFUL, "public": ["street"]} | changes
    return Task.from_dict(task_with(**usual, **({"weight_classes": 2} if usual["weight"] else {})))


def people() -> list[list]:
    """Of 80 people in the north 60 say yes, of 120 in the south 30; those who say yes weigh more."""
    found = []
    for region, count in (("north", 80), ("south", 120)):
        for person in range(count):
            yes = person < SHARES[region] * count
            found.append([region, (3.0 if yes else 1.0) + person * 1e-3 + 0.0123, "Yes" if yes else "No", f"s{person}"])
    return [found[place] for place in np.random.default_rng(1).permutation(len(found))]


@pytest.fixture
def folder(tmp_path):
    write_csv(tmp_path / "people.csv", HEADER, people())
    return tmp_path


def by_stages(task, folder, output, **options):
    stages.randomize(task, folder / "people.csv", folder / "reports.parquet", **options)
    (folder / output).mkdir()
    stages.shuffle(task, folder / "reports.parquet", folder / "view.parquet", **options)
    return stages.analyze(task, folder / "view.parquet", folder / output).column


def by_run(task, folder, output, **options):
    (folder / output).mkdir()
    return stages.run(task, folder / "people.csv", folder / output, **options).column


@pytest.mark.parametrize("made", [by_stages, by_run])
def test_regions_and_weights_give_weighted_estimates_of_everybody_and_of_each_region(folder, made):
    outcome = made(task_of(), folder, "out")
    rows = people()
    weights = outcome.shuffle_result.table["w"]
    assert (outcome.shuffle_result.sizes, outcome.shuffle_result.people.tolist()) == ((40, 40, 60, 60), [80, 120])
    for name, share in (("north", 60 / 80), ("south", 30 / 120)):
        own = [row for row in rows if row[0] == name]
        exact = sum(row[1] for row in own if row[2] == "Yes") / sum(row[1] for row in own)
        found = {each["target"]: each for each in outcome.rows() if each.get("where") == {"region": name}}
        assert abs(found["Yes"]["estimate"] - exact) <= outcome.model.shuffle.rounding + 1e-6
        assert abs(found["Yes"]["estimate"] - share) > 0.03  # the share without weights
        assert sum(each["estimate"] for each in found.values()) == pytest.approx(1)
    everybody = [each for each in outcome.rows() if "where" not in each]
    assert [each["statistic"] for each in everybody] == ["frequency (weighted)"] * 2
    assert weights.min() > 1


def test_stages_and_a_run_with_one_seed_estimate_alike(folder):
    first = by_stages(task_of(), folder, "stages", source=SeededSource(4))
    again = by_run(task_of(), folder, "run", source=SeededSource(4))
    assert first.model == again.model
    assert [each["target"] for each in first.rows()] == [each["target"] for each in again.rows()]
    np.testing.assert_allclose([each["estimate"] for each in first.rows()], [each["estimate"] for each in again.rows()])


def test_reports_carry_regions_and_weights_to_the_shuffler_and_nothing_else(folder):
    by_stages(task_of(), folder, "out")
    _, public, _ = read_reports(folder / "reports.parquet", task_of())
    assert list(public) == ["region", "w"]
    assert public["w"].tolist() == [row[1] for row in people()]


@pytest.mark.parametrize("made", [by_stages, by_run])
def test_no_weight_and_no_row_of_a_person_is_in_what_the_analyst_gets(folder, made):
    outcome = made(task_of(), folder, "out")
    weights = {row[1] for row in people()}
    views = [folder / "out" / "release.parquet", *([folder / "view.parquet"] if made is by_stages else [])]
    for view in views:
        assert pq.read_schema(view).names == ["label", "value"]
        labels = pq.read_table(view.with_name(f"{view.stem}.labels.parquet"))
        assert labels.num_rows == len(outcome.shuffle_result.sizes)
        assert not weights & set(labels.column("w").to_pylist())
    for name in ("estimates.csv", "statement.json"):
        text = (folder / "out" / name).read_text()
        assert not [weight for weight in weights if str(weight) in text]
        assert '"s17"' not in text


def test_a_region_is_never_beside_one_large_uniform_shuffle(folder):
    by_stages(task_of(weight=None), folder, "out")
    view, _ = read_view(folder / "view.parquet", task_of(weight=None))
    assert view.shuffle.sizes == (80, 120)
    assert np.bincount(view.labels).tolist() == [80, 120]
    rewrite(folder / "view.parquet", shuffle=UniformShuffleModel(num_users=200).to_dict())
    with pytest.raises(InputDataError, match="it describes another shuffle than the task's"):
        read_view(folder / "view.parquet", task_of(weight=None))


def test_a_view_that_claims_larger_strata_is_refused(folder):
    by_stages(task_of(), folder, "out")
    sizes = read_view(folder / "view.parquet", task_of())[0].shuffle.sizes
    rewrite(folder / "view.parquet", shuffle__sizes=[sum(sizes) - 3, 1, 1, 1])
    with pytest.raises(InputDataError, match="it describes another shuffle than the task's"):
        read_view(folder / "view.parquet", task_of())


@pytest.mark.parametrize("made", [by_stages, by_run])
def test_too_small_a_stratum_leaves_nothing(folder, made):
    task = task_of(weight=None, release={"minimum_batch": 81})
    with pytest.raises(BatchTooSmallError, match=r"1 of 2 strata has fewer, the smallest 80 \(in region 'north'\)"):
        made(task, folder, "out")
    assert not (folder / "view.parquet").exists()
    assert not list((folder / "out").glob("*"))


def test_the_analyst_refuses_too_small_a_stratum_too(folder, monkeypatch):
    task = task_of(weight=None, release={"minimum_batch": 81})
    with monkeypatch.context() as patch:
        patch.setattr("shuffledp.protocols.strata.StratifiedSection.require_batch", lambda *_, **__: None)
        by_stages(task, folder, "first")
    (folder / "second").mkdir()
    with pytest.raises(BatchTooSmallError, match="1 of 2 strata has fewer, the smallest 80"):
        stages.analyze(task, folder / "view.parquet", folder / "second")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (1, "0", "public column 'w' must hold a finite number above 0 in every row, since strata are made from it"),
        (1, "-1", "public column 'w' must hold a finite number above 0 in every row"),
        (1, "", "public column 'w' must hold a finite number above 0 in every row"),
        (1, "heavy", "public column 'w' must hold a finite number above 0 in every row"),
        (0, " ", "public column 'region' must hold a label in every row, since strata are made from it; 1 of 200 hold"),
    ],
)
@pytest.mark.parametrize("made", [by_stages, by_run])
def test_rows_without_a_region_or_a_weight_are_refused_by_their_numbers(folder, column, value, message, made):
    rows = people()
    rows[6][column] = value
    write_csv(folder / "people.csv", HEADER, rows)
    with pytest.raises(InputDataError, match=f"{message}.*row 7 \\(counted from 1"):
        made(task_of(), folder, "out")


def test_an_input_without_the_columns_is_refused(folder):
    with pytest.raises(InputDataError, match="'income'"):
        by_run(task_of(weight="income"), folder, "out")


def test_strata_are_of_those_who_answered_and_statements_say_that_it_shows(folder):
    rows = people()
    for row in rows[:50]:
        row[2] = ""
    write_csv(folder / "people.csv", HEADER, rows)
    outcome = by_run(task_of(missing="drop"), folder, "out")
    assert sum(outcome.shuffle_result.sizes) == 150
    mean = np.mean([row[1] for row in rows[50:]])
    assert np.average(outcome.shuffle_result.table["w"], weights=outcome.shuffle_result.sizes) == pytest.approx(mean)
    assert "the number of reports in each stratum is public" in str(outcome.statements[0])


def test_estimates_and_statement_files_name_regions_and_strata(folder):
    outcome = by_run(task_of(), folder, "out")
    with (folder / "out" / "estimates.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["where"] for row in rows] == ["", "", *["region: north"] * 2, *["region: south"] * 2]
    said = json.loads((folder / "out" / "statement.json").read_text())
    assert said["strata"] == outcome.shuffle_result.to_dict()
    assert [each["people"] for each in said["strata"]] == list(outcome.shuffle_result.sizes)
    assert list(said["strata"][0]["where"]) == ["region", "w"]


def test_weights_alone_are_strata_without_regions(folder):
    outcome = by_run(task_of(by=None), folder, "out")
    assert outcome.shuffle_result.estimate is None
    assert len(outcome.rows()) == 2
    with (folder / "out" / "estimates.csv").open() as file:
        assert "where" not in next(csv.reader(file))


def test_a_table_in_memory_gives_the_same(folder):
    columns = dict(zip(HEADER, map(list, zip(*people(), strict=True)), strict=True))
    source = {"source": SeededSource(9)}
    outcome = task_of().run(columns, **source).column
    with pytest.raises(InputDataError, match="'w'"):
        task_of().run({name: column for name, column in columns.items() if name != "w"})
    assert outcome.model == by_run(task_of(), folder, "out").model


def test_several_columns_are_shuffled_inside_strata_each_by_itself(folder):
    block = {"column": "cheated", "randomizer": task_with(randomizer=TRUTHFUL)["randomizer"]}
    other = {"column": "street", "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["s0", "s1"]}}
    columns = dict(zip(HEADER, zip(*people(), strict=True), strict=True))
    columns["street"] = np.where(np.arange(200) % 2, "s0", "s1").tolist()
    outcome = task_of(value=[block, other], randomizer=None, public=[]).run(
        {name: list(column) for name, column in columns.items()}
    )
    assert [part.shuffle_result.sizes for part in outcome.columns.values()] == [(40, 40, 60, 60)] * 2
    assert outcome.columns["street"].model.shuffle == outcome.columns["cheated"].model.shuffle


def test_an_input_says_which_strata_there_will_be(folder):
    strata = read_around(task_of(), folder, people=folder / "people.csv")
    assert strata.sizes == by_run(task_of(), folder, "out").shuffle_result.sizes


def test_a_later_release_about_the_same_people_counts_what_strata_lost(folder):
    task = task_of(randomizer={"epsilon0": 1.0})
    first, statement = by_run(task, folder, "first"), folder / "first" / "statement.json"
    later = task_of(name="again", randomizer={"epsilon0": 1.0}, people={"earlier": [task.sha256]})
    (folder / "later").mkdir()
    outcome = stages.run(later, folder / "people.csv", folder / "later", earlier=[statement])
    alone = first.statements[0].guarantee.epsilon
    assert alone < outcome.statements[0].guarantee.epsilon <= 2 * alone * (1 + 1e-6)
    said = json.loads(statement.read_text())
    said["model"]["shuffle"] = {"kind": "uniform", "num_users": 200}
    statement.write_text(json.dumps(said))
    with pytest.raises(InvalidParameterError, match="the protocol of its task, for as many people"):
        stages.run(later, folder / "people.csv", folder / "later", earlier=[statement])
