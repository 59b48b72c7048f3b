"""Ticks in tables: lists of options in one column, or a column for each, and what is none of these or missing."""

import json

import pyarrow as pa
import pytest

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files import stages
from shuffledp.survey import Task
from shuffledp.testing import SeededSource

OPTIONS = ["car", "bus", "on foot"]


def task(kind="columns", epsilon0=25.0, **keys):
    table = {"name": "x", "value": "transport", "kind": "multi-select", "options": OPTIONS, "at_most": 3}
    release = {"delta": 1e-6, "minimum_batch": keys.pop("least", 1)}
    return Task.from_dict(table | {"randomizer": {"kind": kind, "epsilon0": epsilon0}, "release": release} | keys)


def counts(task, answers, tmp_path):
    """How many are estimated to have ticked each option; at so large a loss these are the numbers themselves."""
    done = task.run(answers) if not isinstance(answers, str) else None
    if done is None:
        (tmp_path / "answers.csv").write_text(answers)
        (tmp_path / "out").mkdir(exist_ok=True)
        done = stages.run(task, tmp_path / "answers.csv", tmp_path / "out")
    people = done.column.release.model.num_users
    return dict(
        zip(
            done.column.release.estimate.target,
            (done.column.release.estimate.estimate * people).round().tolist(),
            strict=True,
        )
    )


def test_texts_are_lists_of_options_and_an_empty_field_is_none_of_these(tmp_path):
    found = counts(task(), "id,transport\n1,car;bus\n2, bus ; car ;\n3,\n4,on foot\n5,car;car\n", tmp_path)
    assert found == {"car": 3, "bus": 2, "on foot": 1}


def test_another_separator_and_lists_of_arrow(tmp_path):
    with_bars = "id,transport\n1,car|bus\n2,\n3,on foot\n"
    assert counts(task(separator="|"), with_bars, tmp_path) == {"car": 1, "bus": 1, "on foot": 1}
    lists = pa.table({"transport": pa.array([["car", "bus"], [], ["on foot"]], pa.list_(pa.string()))})
    assert counts(task(), lists, tmp_path) == {"car": 1, "bus": 1, "on foot": 1}


@pytest.mark.parametrize("name", ["(none)", "(missing)", "(not asked)"])
def test_no_option_has_the_name_that_a_row_has_for_no_tick(name):
    """Mutant: of sets in files, that of this option and the empty one are the same row."""
    with pytest.raises(InvalidParameterError, match="for no tick"):
        task(options=[*OPTIONS, name])


def test_a_null_of_arrow_and_a_named_text_are_missing(tmp_path):
    lists = pa.table({"transport": pa.array([["car"], None, []], pa.list_(pa.string()))})
    with pytest.raises(InputDataError, match=r"1 of 3 are missing: row 2"):
        task().run(lists)
    assert counts(task(missing="drop"), lists, tmp_path) == {"car": 1, "bus": 0, "on foot": 0}
    category = counts(task(missing="category"), lists, tmp_path)
    assert category == {"car": 1, "bus": 0, "on foot": 0, "(missing)": 1}
    named = "id,transport\n1,car\n2,n/a\n3,\n"
    found = counts(task(missing="category", missing_values=["", "n/a"]), named, tmp_path)
    assert found == {"car": 1, "bus": 0, "on foot": 0, "(missing)": 1}


@pytest.mark.parametrize(
    "content",
    ["yes,No,1\nno,,TRUE\n", "true,false,x\n"[:0] + "1,0,on foot\n0,,on foot\n"],
)
def test_each_option_may_have_a_column_of_its_own(content, tmp_path):
    asked = task(option_columns=["c", "b", "f"])
    assert counts(asked, "c,b,f\n" + content, tmp_path) == {"car": 1, "bus": 0, "on foot": 2}


def test_columns_of_truth_values_and_numbers(tmp_path):
    asked = task(option_columns=["c", "b", "f"], missing="drop")
    table = pa.table({"c": [True, False, None], "b": [1, 0, 1], "f": [1.0, 0.0, 0.0]})
    assert counts(asked, table, tmp_path) == {"car": 1, "bus": 1, "on foot": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,transport\n1,car;plane\n2,bus\n",
            r"hold only the task's options 'car', 'bus', 'on foot', separated by ';'",
        ),
        ("id,transport\n1,car bus\n2,bus\n", r"1 of 2 rows hold something else: row 1"),
    ],
)
def test_anything_else_is_refused_by_its_row_and_never_shown(content, message, tmp_path):
    with pytest.raises(InputDataError, match=message) as refused:
        counts(task(), content, tmp_path)
    assert "plane" not in str(refused.value)


def test_a_column_of_other_values_is_refused(tmp_path):
    asked = task(option_columns=["c", "b", "f"])
    with pytest.raises(InputDataError, match=r"column 'b' must hold true or false, yes or no, 1 or 0"):
        counts(asked, "c,b,f\n1,maybe,0\n", tmp_path)
    with pytest.raises(InputDataError, match=r"column 'transport' must hold texts, or lists of texts"):
        task().run(pa.table({"transport": [1, 2]}))


@pytest.mark.parametrize("kind", ["columns", "one-option", "all-sets"])
def test_the_stages_one_after_the_other_are_a_run(kind, tmp_path):
    asked = task(kind, epsilon0=3.0, least=80)
    (tmp_path / "answers.csv").write_text("id,transport\n" + "1,car;bus\n2,\n3,on foot\n" * 40)
    randomized = stages.randomize(asked, tmp_path / "answers.csv", tmp_path / "reports.parquet", source=SeededSource(1))
    assert randomized.column.num_reports == (360 if kind == "columns" else 120)
    stages.shuffle(asked, tmp_path / "reports.parquet", tmp_path / "view.parquet")
    (tmp_path / "out").mkdir()
    done = stages.analyze(asked, tmp_path / "view.parquet", tmp_path / "out")
    assert done.column.release.estimate.target == tuple(OPTIONS)
    written = json.loads((tmp_path / "out" / "statement.json").read_text())
    assert written["num_reports"] == randomized.column.num_reports
    assert [each["target"] for each in written["estimates"]] == OPTIONS


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"at_most": 0}, "at_most must be"),
        ({"at_most": 4}, "at_most must be at most 3, the number of options"),
        ({"options": ["car", "b;us"]}, "without ';', which separates"),
        ({"options": ["car", "car"]}, "all different"),
        ({"options": ["car", "b\u202eus"]}, "options must be"),
        ({"separator": "; "}, "separator must be one character"),
        ({"separator": "a"}, "separator must be one character"),
        ({"option_columns": ["c"]}, "one for each of 3 options"),
        ({"pairs": True}, "nobody can tell who ticked both. Use kind = 'all-sets'"),
        ({"local_at_most": 2.0}, r"at most local_at_most=2 without the shuffle; they lose 75"),
        ({"local_at_most": 75.0, "missing": "category"}, r"'\(missing\)' count as options"),
        (
            {"shuffler": {"kind": "imperfect", "imperfection": 0.1}},
            "must be 'uniform' or 'none', without by and weight",
        ),
        ({"public": ["town"], "by": "town"}, "got kind='uniform' with by or weight"),
        ({"columns": ["a", "b"]}, "must have the key|columns must be left out"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anybody_is(keys, message):
    with pytest.raises(InvalidParameterError, match=message):
        task(**keys)


def test_one_option_needs_people_who_are_asked_about_each():
    with pytest.raises(InvalidParameterError, match="minimum_batch must be at least 80 with kind = 'one-option'"):
        task("one-option", 3.0)
    assert task("one-option", 3.0, least=80).column.targets == tuple(OPTIONS)


def test_the_usual_way_follows_from_what_is_asked_and_defaults_are_not_written():
    def way(**keys):
        release = {"delta": 1e-6, "minimum_batch": 100}
        table = {"name": "x", "value": "t", "kind": "multi-select", "options": OPTIONS, "at_most": 3}
        return Task.from_dict(table | {"randomizer": {"epsilon0": 2.0}, "release": release} | keys)

    assert way().column.randomizer.kind == "columns"
    assert way(local_at_most=3.0).column.randomizer.kind == "one-option"
    assert way(pairs=True).column.randomizer.kind == "all-sets"
    written = way().to_dict()
    assert not {"separator", "pairs", "option_columns", "local_at_most"} & set(written)
    assert Task.from_dict(json.loads(json.dumps(written))).sha256 == way().sha256
    assert way(separator="|").sha256 != way().sha256
