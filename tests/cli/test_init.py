"""Tasks to begin with: every one that is written can be planned, and none tells more of a table than it must."""

import re
import tomllib
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import refused, shuffledp, write_csv
from shuffledp.survey import Task
from shuffledp.survey.task_templates import FirstQuestion, columns_and_lists, form_of, task_text, titles

KINDS = tuple(titles())


def init(*arguments, output="made.toml"):
    return shuffledp("init", *arguments, "--output", output)


def test_each_kind_stands_in_the_help_and_others_are_refused():
    assert f"<{'|'.join(KINDS)}>" in " ".join(shuffledp("init", "--help").out.split()).replace("| ", "|")
    said = shuffledp("init", "--kind", "poll", "--output", "made.toml")
    assert said.code == 2
    assert "'poll' is not one of 'survey', 'histogram', 'cross', 'mean', 'words', 'ticks'" in " ".join(said.err.split())


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=pytest.mark.deep) if each == "groups" else each for each in KINDS]
)
def test_a_template_can_be_planned_at_once_and_every_setting_is_explained(folder, kind):
    made = init("--kind", kind, "--users", 100)
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("Written: made.toml. What it promises, and how far it errs: shuffledp plan made.toml")
    places = write_csv(folder / "p.csv", ["lat", "lon", "region"], [[45 + row / 100, 5, row % 3] for row in range(100)])
    planned = shuffledp("plan", "made.toml", *(("--input", places) if kind in ("places", "groups") else ()))
    assert planned.code == 0, planned.err
    lines = (folder / "made.toml").read_text(encoding="utf-8").splitlines()
    bare = [line for line in lines if "=" in line and "#" not in line]
    assert len(bare) <= 9
    assert max(map(len, lines)) <= 120


def test_questions_of_several_kinds_are_one_task_which_is_planned_and_asked_on_a_page(folder):
    """Mutants: one kind for all; the comment on `after` where it cannot be."""
    values = ("works", "pets:ticks", "age:histogram", "hours:mean", "job:words", "odd:name")
    found = init(*(text for each in values for text in ("--value", each)))
    assert found.code == 0, found.err
    text = (folder / "made.toml").read_text(encoding="utf-8")
    columns = Task.read("made.toml").columns
    kinds = ["category", "multi-select", "bin", "number", "open", "category"]
    assert [each.randomizer.answers for each in columns] == kinds
    assert columns[-1].value == "odd:name"
    assert shuffledp("plan", "made.toml").code == 0
    assert text.count('# after = "works = Yes"') == 3
    asked = text.replace('# after = "works = Yes"', 'missing = "category"\nafter = "works = Yes"')
    assert [each.after is not None for each in Task.from_dict(tomllib.loads(asked)).columns] == [
        *(False, True, True, False, True, False),
    ]
    assert "--kind must be left out" in init("--kind", "mean", "--value", "pets:ticks", output="other.toml").err


def test_a_single_column_may_name_its_kind(folder):
    assert init("--value", "hours:mean").code == 0
    assert Task.read("made.toml").column.randomizer.answers == "number"


def test_a_table_gives_the_column_and_the_number_of_people(folder):
    made = init("answers.csv", "--value", "cheated", "--categories", "Yes, No,Maybe")
    assert (made.code, made.err) == (0, "")
    task = Task.read(folder / "made.toml")
    assert (task.column.value, task.people.expected) == ("cheated", 200)
    assert task.column.targets == ("Yes", "No", "Maybe")
    assert "read from the answers" not in (folder / "made.toml").read_text(encoding="utf-8")
    assert shuffledp("run", "made.toml", "--input", "answers.csv", "--output", "out").code == 0


def test_categories_that_are_read_are_sorted_and_warned_of(folder):
    write_csv(folder / "table.csv", ["a b"], [["z"], [""], ["é"], ["b"], ["z"]])
    made = init("table.csv", "--value", "a b")
    assert made.code == 0
    assert made.err.startswith("shuffledp: WARNING: the categories in made.toml were read from the answers.")
    text = (folder / "made.toml").read_text(encoding="utf-8")
    assert "# read from the answers, which tells that each was given" in text
    assert 'categories = ["b", "z", "é"]' in text
    assert Task.read(folder / "made.toml").people.expected == 5
    quiet = init("table.csv", "--value", "a b", "-q", "--force")
    assert (quiet.out, quiet.err) == ("", made.err)


def test_names_with_marks_of_the_format_are_kept(folder):
    names = ['say "no"', "back\\slash", "# no comment", "[x]", "$value"]
    write_csv(folder / "table.csv", ['a "b" $people'], [[name] for name in names])
    assert init("table.csv", "--value", 'a "b" $people').code == 0
    task = Task.read(folder / "made.toml")
    assert task.column.value == 'a "b" $people'
    assert set(task.column.targets) == set(names)


@pytest.mark.parametrize(
    ("values", "expected"), [([True, False, None], ["false", "true"]), ([3, 1, None, 2], ["1", "2", "3"])]
)
def test_answers_of_a_parquet_file_keep_their_types(folder, values, expected):
    pq.write_table(pa.table({"x": values}), folder / "table.parquet")
    assert init("table.parquet", "--value", "x").code == 0
    assert f"categories = [{', '.join(expected)}]" in (folder / "made.toml").read_text(encoding="utf-8")


def test_a_range_is_never_read_from_answers(folder):
    write_csv(folder / "table.csv", ["pay"], [[4711], [31337]])
    for kind in ("mean", "sum"):
        made = init("table.csv", "--value", "pay", "--kind", kind, "--users", "1e4", output=f"{kind}.toml")
        assert made.err == (
            "shuffledp: the range from 0 to 100 of column 'pay' is not read from the table: set lower and upper as "
            "they should be, before anybody is asked.\n"
        )
        text = (folder / f"{kind}.toml").read_text(encoding="utf-8")
        assert "4711" not in text
        assert "31337" not in text
        assert tomllib.loads(text)["people"]["expected"] == 10_000


@pytest.mark.parametrize("kind", ["histogram", "mean"])
def test_a_run_stops_if_all_answers_are_outside_the_range_of_the_task(folder, kind):
    write_csv(folder / "table.csv", ["pay"], [[1000 + row] for row in range(20)])
    made = init("table.csv", "--value", "pay", "--kind", kind)
    assert "set lower and upper" in made.err
    assert "set both" in (folder / "made.toml").read_text(encoding="utf-8")
    said = refused(3, "run", "made.toml", "--input", "table.csv", "--output", "out")
    assert "column 'pay' must hold an answer inside the task's range; all 20 are outside" in said
    assert "Set lower and upper in the task's [randomizer]." in said
    assert not (folder / "out").exists()
    write_csv(folder / "table.csv", ["pay"], [[99], *([1000 + row] for row in range(20))])
    assert shuffledp("run", "made.toml", "--input", "table.csv", "--output", "out").code == 0


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([[f"secret {row}"] for row in range(101)], "must hold at most 100 different answers if no --categories"),
        ([["secret"]] * 9, "must hold at least two different answers if no --categories are given"),
        ([["secret\x07"], ["secret"]], "must hold answers that can be categories"),
    ],
    ids=["many", "one", "control"],
)
def test_what_cannot_be_a_task_is_refused_without_an_answer(folder, rows, reason):
    write_csv(folder / "table.csv", ["x"], rows)
    line = refused(3, "init", "table.csv", "--value", "x", "--output", "made.toml")
    assert reason in line
    assert "secret" not in line
    assert not (folder / "made.toml").exists()


def test_what_is_asked_wrongly_is_said(folder):
    assert "--value COLUMN must be given beside a table" in refused(2, "init", "answers.csv", "--output", "made.toml")
    numbers = ("init", "--kind", "mean", "--categories", "a,b", "--output", "made.toml")
    assert "--categories must be left out for kind 'mean'" in refused(2, *numbers)
    assert "--users must be an integer that is 2 or more" in refused(2, "init", "--users", 0, "--output", "made.toml")
    assert "must be all different" in refused(2, "init", "--categories", "a,a", "--output", "made.toml")
    assert "categories must be two or more" in refused(2, "init", "--categories", "", "--output", "made.toml")
    assert "it lacks 'gone'" in refused(3, "init", "answers.csv", "--value", "gone", "--output", "made.toml")
    assert "task.toml" in refused(2, "init", "--output", "task.toml")
    assert init("--force", output="task.toml").code == 0
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    refused(2, "init", "--output", "notes.txt", "--force")
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_the_remainder_is_far_below_one_in_the_number_of_people(folder):
    for people, delta in ((9, "1e-6"), (99_999, "1e-6"), (100_000, "1e-7"), (10**7, "1e-9")):
        assert init("--users", people, "--force").code == 0
        found = re.search(r"^delta = (\S+)", (folder / "made.toml").read_text(encoding="utf-8"), re.MULTILINE)
        assert found[1] == delta


def test_a_task_about_any_column_is_a_task_about_that_column():
    for column in ("two\nlines", "tab\t", "bell\x07 and delete\x7f", 'x"]\n[people]', "=1+1", "$people", "$by"):
        for kind in KINDS:
            form = form_of(kind)
            num_columns, num_lists = columns_and_lists(form)
            lists = (("No", "Yes"),) * num_lists
            asked = FirstQuestion(columns=(column, "other")[:num_columns], form=form, categories=lists)
            text = task_text(kind, [asked], people=200, by=("$value by", "$people by")[: 1 + (kind == "places")])
            assert Task.from_dict(tomllib.loads(text)).column.inputs == asked.columns
            several = [replace(asked, columns=(f"{name}{column}",)) for name in "ab"]
            if kind not in ("cross", "sum"):
                text = task_text(kind, several, people=200)
                assert [each.value for each in Task.from_dict(tomllib.loads(text)).columns] == [
                    f"{x}{column}" for x in "ab"
                ]
