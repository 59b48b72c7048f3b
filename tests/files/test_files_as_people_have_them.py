"""Tables as spreadsheets and colleagues write them: tabs, decimal commas, blanks around answers, misspelt columns."""

import dataclasses

import pytest

from cli.running import refused, shuffledp, task_with, write_task
from shuffledp.core.errors import InputDataError
from shuffledp.distributed.engine import counted_flow
from shuffledp.distributed.kernels import ShareFacts
from shuffledp.files import reading
from shuffledp.files.randomizing import RandomizedReports
from shuffledp.files.reading import CsvInMemory, ProgressListener
from shuffledp.survey import DataFlow, Task
from shuffledp.testing import SeededSource

SECRET = str(987654321)
RANGE = {"kind": "laplace-mean", "epsilon0": 1.0, "lower": 0, "upper": 5000, "out_of_range": "clip", "categories": None}


class Told(ProgressListener):
    def __init__(self):
        self.commas = {}

    def decimals(self, column, commas, points):
        self.commas[column] = (commas, points)


def answers(content, **changes):
    """The answers that are kept of a table in CSV, and what is told of commas."""
    watch, column = Told(), Task.from_dict(task_with(**changes)).column
    content = content if isinstance(content, bytes) else content.encode()
    made = RandomizedReports(column, CsvInMemory(content), SeededSource(1), watch)
    return [each for values, _ in made.people() for each in values.tolist()], watch.commas


def message(content, **changes):
    with pytest.raises(InputDataError) as caught:
        answers(content, **changes)
    assert SECRET not in str(caught.value)
    return str(caught.value)


# ---- tabs, and columns by another name ------------------------------------------------------------------------------


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_fields_are_separated_by_commas_semicolons_or_tabs(between):
    rows = [["other, one", "cheated"], ["x", "Yes"], ["y", "No"]]
    rows[0][0] = "other" if between == "," else rows[0][0]
    assert answers("\r\n".join(between.join(row) for row in rows))[0] == [1, 0]


def test_only_columns_that_are_truly_absent_are_named_and_the_nearest_beside_them():
    text = message("Region;Depression;Age\nA;Yes;3\n", value="Depresion", public=["Region"])
    assert text.endswith(
        "it lacks 'Depresion'. Perhaps 'Depression' in place of 'Depresion' is meant. Its columns are 'Region', "
        "'Depression', 'Age'."
    )
    assert "'region ' in place of 'Region' is meant" in message("cheated\tregion \nYes\tA\n", public=["Region"])


def test_many_columns_are_listed_in_part_and_long_names_cut():
    names = ["cheated", "x" * 100, *(f"c{number}" for number in range(50))]
    text = message(",".join(names) + "\n" + ",".join("1" * len(names)), public=["gone"])
    assert "... (52 in all)." in text
    assert len(text) < 700


@pytest.mark.parametrize(
    "first", [f"Yes;{SECRET};A", f"cheatet;{SECRET};A", f"cheatet;;{SECRET}x", f"cheatet;cheatet;{SECRET}x"]
)
def test_a_first_line_that_may_hold_answers_is_not_shown(first):
    text = message(f"{first}\nNo;1;B\n")
    assert text.endswith("it lacks 'cheated'. Its first line has 3 fields, not shown here, since they may be answers.")


def test_of_a_line_that_looks_like_names_the_nearest_alone_is_shown():
    text = message(f"Cheated ;other {SECRET}\nYes;1\n")
    assert "Perhaps 'Cheated ' in place of 'cheated' is meant." in text


@pytest.mark.parametrize(("value", "first"), [("diabetes", "Berlin,No diabetes"), ("smoker", "Anna Meier;Non-smoker")])
def test_an_answer_that_is_like_the_name_of_a_column_is_not_shown(value, first):
    text = message(f"{first}\nParis,{value};{value}\n", value=value)
    assert text.endswith(f"it lacks {value!r}. Its first line has 2 fields, not shown here, since they may be answers.")


def test_names_of_a_table_in_memory_are_listed():
    with pytest.raises(InputDataError, match=r"it lacks 'cheated'\. Perhaps 'Cheated' .* columns are 'Cheated', 'b'\."):
        Task.from_dict(task_with()).run({"Cheated": ["Yes"], "b": ["x"]})


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_is_refused_with_what_to_do(encoding):
    text = message(f"cheated;Straße {SECRET}\nYes;Zürich {SECRET}\n".encode(encoding), value="cheated")
    assert "not UTF-8 text; save it as CSV in UTF-8, or convert it, such as by iconv -f WINDOWS-1252 -t UTF-8" in text


# ---- decimal commas -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", [";", "\t"])
def test_decimal_commas_are_read_where_they_separate_no_fields(between):
    rows = ["3101,30", "7", "-0,5", ",25", "1e3", "nan", "2,5E1"]
    content = "\n".join(f"x{between}{row}" for row in rows)
    found, told = answers(f"a{between}cheated\n{content}\n", randomizer=RANGE, missing="drop")
    assert found == [3101.3, 7, 0, 0.25, 1000, 25]
    assert told == {"cheated": (4, 0)}


def test_where_commas_separate_fields_they_are_not_read_and_a_hint_says_so():
    text = message('a,cheated\nx,"3101,30"\ny,"7"\n', randomizer=RANGE)
    assert "1 of 2 answers are something else: row 1 (" in text
    assert text.endswith(
        "1 of them would be numbers with a decimal comma, which is read only in CSV whose fields are separated by "
        "semicolons or tabs: write points."
    )
    with pytest.raises(InputDataError, match="write points"):
        Task.from_dict(task_with(randomizer=RANGE)).run({"cheated": ["1,5"]})


@pytest.mark.parametrize("size", [32, 1 << 20])
def test_commas_are_decimal_in_the_whole_column_or_nowhere_whatever_the_batches(monkeypatch, size):
    monkeypatch.setattr(reading, "_BYTES_AT_A_TIME", size)
    rows = [*["x;1,5"] * 20, *["x;7"] * 20, "x;2.5"]
    text = message("a;cheated\n" + "\n".join(rows) + "\n", randomizer=RANGE)
    assert (
        "must hold numbers with decimal commas, or with decimal points, but not both; 1 of 41 have points: row 41"
        in text
    )
    points = [row.replace(",", ".") for row in rows]
    found, told = answers("a;cheated\n" + "\n".join(points) + "\n", randomizer=RANGE)
    assert (sum(found), told) == (172.5, {"cheated": (0, 21)})


def test_commas_that_may_be_marks_of_thousands_are_refused():
    text = message(f"a;cheated\nx;1,234\n{SECRET};999\nz;-12,000\n", randomizer=RANGE)
    assert (
        "must hold numbers that are read in one way; 2 of 3 have a comma before exactly three digits: rows 1, 3" in text
    )
    assert answers("a;cheated\nx;1,234\ny;0,500\n", randomizer=RANGE)[0] == [1.234, 0.5]
    assert "are something else" in message("a;cheated\nx;1.234,50\ny;1,234,567\n", randomizer=RANGE)


def test_weights_with_decimal_commas_are_read_and_bins_too():
    bins = {"epsilon0": 1.0, "categories": None, "edges": [0, 1, 2]}
    content = "cheated;w\n" + "0,5;1,5\n1,5;0,25\n" * 30
    found, told = answers(content, randomizer=bins, weight="w")
    assert found == [0, 1] * 30
    assert told == {"cheated": (60, 0), "w": (60, 0)}
    assert "public column 'w' must hold numbers with decimal commas" in message(
        content + "1;2.5\n", randomizer=bins, weight="w"
    )


def test_shares_of_a_table_that_write_decimals_in_two_ways_are_refused_together():
    column = Task.from_dict(task_with(randomizer=RANGE)).column
    flow = DataFlow(received=2, missing=0, released=0)
    share = ShareFacts(share=0, flow=flow, num_reports=2, clipped=0, decimals={"cheated": (2, 0)})
    watch = Told()
    counted_flow(column, [share, dataclasses.replace(share, decimals={})], watch)
    assert watch.commas == {"cheated": (2, 0)}
    with pytest.raises(InputDataError, match="but not both; 2 have commas, 3 have points"):
        counted_flow(column, [share, dataclasses.replace(share, decimals={"cheated": (0, 3)})], watch)


def test_a_command_says_that_commas_are_decimal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path, randomizer=RANGE)
    (tmp_path / "answers.csv").write_text("a;cheated\n" + "x;3101,30\n" * 9, encoding="utf-8")
    done = shuffledp("randomize", "task.toml", "--input", "answers.csv", "--output", "out.parquet")
    assert done.code == 0
    assert "commas in the numbers of column 'cheated' are read as decimal points: 1,5 is 1.5." in done.err


# ---- blanks around answers ------------------------------------------------------------------------------------------

PADDED = "a, cheated\n1, Yes\n2,No\n3, No \n4,\tYes\n5, \n"


def test_blanks_around_answers_are_taken_off_only_where_the_task_says_so():
    wanted = {"value": " cheated", "missing": "drop"}
    text = message(PADDED, **wanted)
    assert text.endswith(
        "All of these would fit without the blanks around them: write strip = true in the task to take off the blanks "
        "around them."
    )
    assert answers(PADDED, **wanted, strip=True)[0] == [1, 0, 0, 1]
    assert "3 of these would fit" in message(PADDED.replace("\tYes", " yes"), **wanted)
    assert "would fit" not in message("cheated\nyes\n")


def test_blanks_are_taken_off_public_columns_and_names_of_people_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = {"by": "region", "people": {"id": "who"}, "release": {"delta": 1e-6, "minimum_batch": 4}}
    rows = "".join(f"Yes,A{' ' * (row % 2)},p{row}\n No,B ,q{row}\n" for row in range(8))
    (tmp_path / "answers.csv").write_text("cheated,region,who\n" + rows, encoding="utf-8")
    write_task(tmp_path, **task, strip=True)
    done = shuffledp("run", "task.toml", "--input", "answers.csv", "--output", "out", "--json", "--no-figures")
    assert done.code == 0, done.err
    regions = {row["where"]["region"] for row in done.json["estimates"] if row.get("where")}
    assert regions == {"A", "B"}, regions
    (tmp_path / "answers.csv").write_text("cheated,region,who\n" + rows + "No,A,p1 \n", encoding="utf-8")
    assert "1 of 17 rows repeat a person" in refused(
        3, "run", "task.toml", "--input", "answers.csv", "--output", "again"
    )


def test_the_key_is_in_the_canonical_form_only_where_it_is_set():
    plain, set_to_default, stripped = (
        Task.from_dict(task_with(**keys)) for keys in ({}, {"strip": False}, {"strip": True})
    )
    assert plain.sha256 == set_to_default.sha256 != stripped.sha256
    assert "strip" not in plain.to_dict()
    assert stripped.to_dict()["strip"] is True
    assert Task.from_dict(stripped.to_dict()) == stripped
    block = {"column": "x", "randomizer": task_with()["randomizer"]}
    several = Task.from_dict({"name": "n", "release": {"delta": 1e-6}, "value": [block], "strip": True})
    assert several.columns[0].strip
    assert several.to_dict()["strip"] is True
