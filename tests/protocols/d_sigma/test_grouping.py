"""Tasks with groups, from file to file: public columns in, groups made, slots with public columns out."""

import csv
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli.running import task_with, write_csv
from files.whole import read_view, rewrite
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.core.table import Table
from shuffledp.files import is_release, read_around, stages
from shuffledp.files.people_files import read_named_lists
from shuffledp.protocols.d_sigma.files import group_files
from shuffledp.protocols.d_sigma.files import regions as regions_module
from shuffledp.protocols.d_sigma.files.regions import regions_of
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

TRUTHFUL = {"epsilon0": 25.0}
GROUPS = {
    "column": {"column": "town"},
    "radius": {"columns": ["lat", "lon"], "metric": "haversine", "radius": 5.0},
    "neighbors": {"columns": ["lat", "lon"], "neighbors": 3},
    "graph": {"graph": "graph.csv", "hops": 1},
    "ties": {"graph": "graph.csv", "neighbors": 1},
    "lists": {"lists": "lists.csv"},
}
PEOPLE = 60


def task_of(groups, *, alpha=2.0, kind="auto", folder=None, **changes):
    task = Task.from_dict(
        task_with(
            public=["town", "lat", "lon"],
            randomizer=TRUTHFUL,
            shuffler={"kind": kind, "alpha": alpha},
            groups=groups,
            **changes,
        )
    )
    return task if folder is None else task.pinned(folder)


@pytest.fixture
def folder(tmp_path):
    """Three towns of twenty people, in only one of which people say yes; a graph and lists that join the towns."""
    towns = [("Ulm", 48.4, 10.0), ("Bonn", 50.7, 7.1), ("Kiel", 54.3, 10.1)]
    rows = []
    for person in range(PEOPLE):
        name, lat, lon = towns[person % 3]
        rows.append([name, lat + 0.001 * person, lon, "Yes" if name == "Ulm" else "No"])
    write_csv(tmp_path / "people.csv", ["town", "lat", "lon", "cheated"], rows)
    edges = [[a, a + 3, 1.0 + a] for a in range(PEOPLE - 3)]
    write_csv(tmp_path / "graph.csv", ["from", "to", "weight"], edges)
    write_csv(tmp_path / "lists.csv", ["group", "person"], [[person % 3, person] for person in range(PEOPLE)])
    return tmp_path


def run(task, folder, name="out", answers="people.csv"):
    (folder / name).mkdir()
    return stages.run(task, folder / answers, folder / name, beside=folder)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
@pytest.mark.parametrize("kind", ["mallows", "noisy-sort", "auto"])
def test_reports_stay_in_blocks_and_public_columns_stay_at_their_slots(folder, groups, kind):
    outcome = run(task_of(groups, kind=kind, folder=folder), folder)
    view, _ = read_view(folder / "out" / "release.parquet", outcome.task)
    assert view.labels.tolist() == list(range(PEOPLE))
    assert view.label_table["town"].tolist()[:3] == ["Ulm", "Bonn", "Kiel"]
    inside = view.label_table["town"][view.labels] == "Ulm"
    assert (view.reports["value"] == inside).all()  # no group reaches beyond its town
    assert outcome.column.shuffle_result.mixing.num_users == PEOPLE
    assert is_release(folder / "out")


def test_estimates_by_town_are_in_every_output(folder):
    outcome = run(task_of(GROUPS["column"], folder=folder), folder)
    by_town = {
        (row["where"]["town"], row["target"]): row["estimate"]
        for row in outcome.to_dict()["estimates"]
        if "where" in row
    }
    assert by_town[("Ulm", "Yes")] == pytest.approx(1, abs=1e-6)
    assert by_town[("Bonn", "Yes")] == pytest.approx(0, abs=1e-6)
    with (folder / "out" / "estimates.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["where"] for row in rows] == ["", ""] + [
        f"town: {name}" for name in ("Bonn", "Kiel", "Ulm") for _ in "ab"
    ]
    written = json.loads((folder / "out" / "statement.json").read_text(encoding="utf-8"))
    assert written["mixing"]["kept"] == 1
    assert [each["guarantee"]["type"] for each in written["statements"]] == ["central-dp", "d-sigma", "local-dp"]


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_separate_stages_do_the_same(folder, groups):
    task = task_of(groups, folder=folder)
    stages.randomize(task, folder / "people.csv", folder / "reports.parquet")
    kept = pq.read_table(folder / "reports.parquet")
    assert kept.column("public:lat").type == ("double" if "columns" in groups else "string")
    stages.shuffle(task, folder / "reports.parquet", folder / "view.parquet", beside=folder)
    (folder / "out").mkdir()
    outcome = stages.analyze(task, folder / "view.parquet", folder / "out", beside=folder)
    whole = run(task, folder, "whole")
    assert outcome.column.shuffle_result.mixing == whole.column.shuffle_result.mixing
    assert outcome.column.shuffle_result.estimate.where == whole.column.shuffle_result.estimate.where
    assert outcome.column.model == whole.column.model


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_a_view_that_is_written_in_parts_is_the_one_of_the_same_words(folder, groups, monkeypatch):
    task = task_of(groups, kind="mallows", folder=folder)
    done = []
    for name, size in (("whole", 1 << 18), ("parts", 7)):
        for module in (group_files, regions_module):
            monkeypatch.setattr(module, "SLOTS_AT_A_TIME", size)
        (folder / name).mkdir()
        source = SeededSource(5)
        outcome = stages.run(task, folder / "people.csv", folder / name, beside=folder, source=source)
        done.append((read_view(folder / name / "release.parquet", task)[0], outcome.column))
    assert done[0][0] == done[1][0]
    assert done[0][1].rows() == done[1][1].rows()
    assert done[0][1].shuffle_result.people.tolist() == done[1][1].shuffle_result.people.tolist()


def test_several_columns_share_the_groups(folder):
    randomizer = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}
    task = Task.from_dict(
        {
            "name": "two", "public": ["town"], "release": {"delta": 1e-6},
            "value": [{"column": "cheated", "randomizer": randomizer}],
            "shuffler": {"kind": "mallows", "alpha": 1.0}, "groups": {"column": "town"},
        }
    )  # fmt: skip
    (folder / "out").mkdir()
    joint = stages.run(task, folder / "people.csv", folder / "out", beside=folder)
    assert joint.columns["cheated"].shuffle_result.mixing.num_blocks == 3


# ---- what does not fit -----------------------------------------------------------------------------------------------


def changed(folder, column, row, value):
    with (folder / "people.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    rows[row][rows[0].index(column)] = value
    return write_csv(folder / "wrong.csv", rows[0], rows[1:])


@pytest.mark.parametrize(
    ("way", "column", "value"),
    [(way, "lat", value) for way in ("radius", "neighbors") for value in ("", "nan", "inf", "north", "1,5")]
    + [("column", "town", ""), ("column", "town", "  ")],
)
def test_a_missing_public_value_is_refused_with_its_row_and_nothing_else(folder, way, column, value):
    changed(folder, column, 7, value)
    task = task_of(GROUPS[way], folder=folder)
    with pytest.raises(InputDataError) as error:
        run(task, folder, answers="wrong.csv")
    assert f"public column {column!r} must hold" in str(error.value)
    assert "1 of 60 hold none: row 7 (counted from 1, without the header)" in str(error.value)
    assert "north" not in str(error.value)
    with pytest.raises(InputDataError, match="row 7"):
        read_around(task, folder, people=folder / "wrong.csv")


def test_a_place_that_is_not_on_the_globe_is_refused(folder):
    changed(folder, "lat", 7, "123")
    with pytest.raises(InputDataError, match="groups cannot be made from lat, lon"):
        run(task_of(GROUPS["radius"], folder=folder), folder, answers="wrong.csv")


def test_public_values_of_people_who_are_dropped_are_not_needed(folder):
    changed(folder, "town", 7, "")
    with (folder / "wrong.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    rows[7][3] = ""
    write_csv(folder / "wrong.csv", rows[0], rows[1:])
    outcome = run(task_of(GROUPS["column"], missing="drop"), folder, answers="wrong.csv")
    assert outcome.column.flow.released == PEOPLE - 1
    for statement in outcome.statements:
        assert "the public columns of exactly those who answered are released" in str(statement)
        assert "the number of reports is public" not in str(statement)


LISTS = {
    "a person who is not there": ("group,person\n0,60\n", "must hold people by their numbers from 0 to 59"),
    "a negative number": ("group,person\n0,-1\n", "must hold people by their numbers"),
    "somebody missing": ("group,person\n0,0\n0,1\n", "person 2 is in none, and 58 in all"),
    "no number": ("group,person\n0,me\n", "integers in its column 'person'"),
    "a fraction": ("group,person\n0,1.5\n", "integers in its column 'person'"),
    "no group": ("group,person\n,1\n", "must name a group in every row"),
    "no groups": ("group,person\n", "has no rows"),
    "another column": ("group,people\n0,1\n", "it lacks 'person'"),
    "nothing": ("", "is empty"),
}


@pytest.mark.parametrize(("text", "message"), LISTS.values(), ids=LISTS.keys())
def test_lists_that_do_not_fit_the_people_are_refused(folder, text, message):
    (folder / "lists.csv").write_text(text)
    with pytest.raises(InputDataError) as error:
        run(task_of(GROUPS["lists"], folder=folder), folder)
    assert message in str(error.value)


def test_lists_name_groups_by_texts_or_numbers_in_any_order(tmp_path):
    path = write_csv(tmp_path / "lists.csv", ["person", "group"], [[3, "b"], [0, "a"], [1, "b"], [1, "a"]])
    assert [each.tolist() for each in read_named_lists(path).values()] == [[3, 1], [0, 1]]


def test_a_graph_that_does_not_fit_the_people_is_refused(folder):
    write_csv(folder / "graph.csv", ["from", "to"], [[0, 60]])
    with pytest.raises(
        InputDataError, match=r"must fit the 60 people of the input: edges must name nodes by their numbers"
    ):
        run(task_of(GROUPS["graph"], folder=folder), folder)
    write_csv(folder / "graph.csv", ["from", "to"], [[0, 1]])
    with pytest.raises(InputDataError, match="graph must have edge weights"):
        run(task_of(GROUPS["ties"], folder=folder), folder, "ties")


def test_a_file_that_was_changed_after_the_task_was_read_is_refused(folder):
    task = task_of(GROUPS["lists"], folder=folder)
    (folder / "lists.csv").write_text("group,person\n0,0\n")
    with pytest.raises(InvalidParameterError, match="must be the file with the sha256"):
        run(task, folder)


def test_a_view_of_other_groups_is_refused(folder):
    task = task_of(GROUPS["radius"])
    (folder / "out").mkdir()
    stages.randomize(task, folder / "people.csv", folder / "reports.parquet")
    stages.shuffle(task, folder / "reports.parquet", folder / "view.parquet")
    labels = pq.read_table(folder / "view.labels.parquet")
    moved = labels.set_column(1, "lat", [np.zeros(PEOPLE)])
    rewrite(folder / "view.labels.parquet", moved)
    digest = hashlib.sha256((folder / "view.labels.parquet").read_bytes()).hexdigest()
    rewrite(folder / "view.parquet", labels_sha256=digest)
    with pytest.raises(InputDataError, match="it describes another"):
        stages.analyze(task, folder / "view.parquet", folder / "out")


# ---- regions ---------------------------------------------------------------------------------------------------------


class Standing:
    """A shuffler that has only an order and blocks."""

    def __init__(self, blocks):
        people = sum(blocks)
        self.prepared = SimpleNamespace(order=np.arange(people), starts=np.append(0, np.cumsum(blocks)))

    def prepare(self):
        return self.prepared


def regions(groups, table, most, blocks=None):
    public = [name for name in ("town", "lat", "lon") if name in table.columns] if table is not None else []
    task = Task.from_dict(task_with(public=public, shuffler={"kind": "mallows", "alpha": 1.0}, groups=groups))
    return regions_of(task.column, table, Standing(blocks or [len(table)]), Path(), most)


def test_too_many_places_are_joined_into_cells_of_about_as_many_people():
    rng = np.random.default_rng(1)
    table = Table({"town": np.arange(5000) % 900, "lat": rng.random(5000), "lon": rng.random(5000)})
    for groups in (GROUPS["radius"], GROUPS["column"], GROUPS["lists"]):
        found = regions(groups, table, 32)
        sizes = np.bincount(found.of_slot, minlength=len(found.where))
        assert len(found.where) == 32
        assert 100 < sizes.min() <= sizes.max() < 250


def test_people_of_one_place_are_in_one_cell_and_a_line_of_one_place_is_one():
    task = Task.from_dict(
        task_with(public=["age"], shuffler={"kind": "mallows", "alpha": 1.0}, groups={"columns": ["age"], "radius": 1})
    )
    ages = np.repeat(np.arange(300.0), 3)
    found = regions_of(task.column, Table({"age": ages}), Standing([900]), Path(), 16)
    assert len(found.where) == 16
    assert all(len(np.unique(found.of_slot[ages == age])) == 1 for age in range(300))
    assert regions_of(task.column, Table({"age": np.zeros(4)}), Standing([4]), Path(), 2).where == ({"age": 0.0},)


def test_no_cell_is_wider_than_a_quarter_of_the_map_or_holds_people_who_are_alone_and_others():
    rng = np.random.default_rng(2)
    near, far = (
        rng.random((4000, 2)) + np.array([48, 9]),
        np.column_stack([np.linspace(60, 70, 20), np.linspace(-10, -40, 20)]),
    )
    lonely = rng.random((60, 2)) + np.array([48, 9])
    points = np.vstack([near, far, lonely])
    table = Table({"lat": points[:, 0], "lon": points[:, 1]})
    found = regions(GROUPS["radius"], table, 64, blocks=[4000] + 80 * [1])
    assert (found.of_slot[4000:4020] == -1).all()
    assert (found.of_slot[:4000] >= 0).all()
    mixed, alone = set(found.of_slot[:4000]), set(found.of_slot[4020:])
    assert not mixed & alone
    for number, place in enumerate(found.where):
        inside = points[found.of_slot == number]
        assert np.ptp(inside, axis=0).max() < 0.4
        assert np.abs(inside - [place["lat"], place["lon"]]).sum(axis=1).min() < 1e-3  # somebody lives there
        assert ("shuffled" in place) == (number in alone)


def test_labels_of_people_who_are_alone_are_joined_with_their_like_only():
    table = Table({"town": np.append(np.arange(1000) % 50, np.arange(50, 90))})
    found = regions(GROUPS["column"], table, 9, blocks=[1000] + 40 * [1])
    assert not set(found.of_slot[:1000]) & set(found.of_slot[1000:])
    assert [place.get("shuffled") for place in found.where].count("no") == len(set(found.of_slot[1000:]))
    assert "shuffled" not in regions(GROUPS["column"], table, 9, blocks=1040 * [1]).where[0]


def places_of(folder, groups):
    """What places.csv says, and the places of the estimates."""
    task = Task.from_dict(
        task_with(randomizer=TRUTHFUL, shuffler={"kind": "mallows", "alpha": 2.0}, groups=groups)
    ).pinned(folder)
    outcome = run(task, folder)
    assert "places.csv" in outcome.column.files
    with (folder / "out" / "places.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["person"]) for row in rows] == list(range(PEOPLE))
    with (folder / "out" / "estimates.csv").open(encoding="utf-8") as file:
        named = {row["where"] for row in csv.DictReader(file)} - {""}
    assert {row["where"] for row in rows} == named
    return [row["where"] for row in rows]


def test_lists_name_their_places_and_whoever_is_in_several_counts_for_the_largest(folder):
    rows = [[f"class {person % 3}", person] for person in range(PEOPLE)] + [["club", 1], ["club", 2], ["club", 3]]
    write_csv(folder / "lists.csv", ["group", "person"], rows)
    found = places_of(folder, GROUPS["lists"])
    assert found == [f"group: class {person % 3}" for person in range(PEOPLE)]


def test_the_cells_of_a_graph_say_who_is_in_them(folder):
    write_csv(folder / "graph.csv", ["from", "to"], [[a, a + 1] for a in range(PEOPLE - 3)])
    found = places_of(folder, GROUPS["graph"])
    assert found[-2:] == 2 * ["place: alone; shuffled: no"]
    assert set(found[:-2]) == {"place: cell 1"}
