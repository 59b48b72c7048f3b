"""Every task that `init` makes from a table runs on that table, however messy: init, plan and run for each kind."""

import random

import pytest

from cli.running import refused, shuffledp
from shuffledp.survey import Task

ROWS = 600
HEADER = ["Nr", "Einkommen (€)", "Alter", "Depression", "Beruf", "Region", "Datum", "lat", "lon", "Kinder"]
JOBS = [f"Beruf {letter}" for letter in "ÄBCDEFGHIJKL"]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A spreadsheet's table: semicolons, a byte-order mark, decimal commas, blanks, missing answers, a small region."""
    draw, lines = random.Random(11), [";".join(HEADER)]
    for row in range(ROWS):
        region = "Zürich" if row % 30 == 0 else draw.choice(["Köln", "München", "Lübeck"])
        fields = {
            "Nr": str(row),
            "Einkommen (€)": draw.choice(["", "k.A."])
            if row % 12 == 0
            else f"{draw.uniform(900, 5000):.2f}".replace(".", ","),
            "Alter": "" if row % 17 == 0 else str(draw.randint(18, 90)),
            "Depression": draw.choice(["ja", "nein", "nein ", "Ja ", "k.A.", ""]),
            "Beruf": f'"{draw.choice(JOBS)}"',
            "Region": region,
            "Datum": f"{draw.randint(1, 28):02}.01.2026",
            "lat": f"{draw.uniform(47.2, 53.9):.4f}".replace(".", ","),
            "lon": f"{draw.uniform(6.8, 11.6):.4f}".replace(".", ","),
            "Kinder": str(draw.randint(0, 3)),
        }
        lines.append(";".join(fields[name] for name in HEADER))
    path = tmp_path_factory.mktemp("survey") / "umfrage.csv"
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")
    return path


def options(*values, **further):
    named = [part for value in values for part in ("--value", value)]
    return [*named, *(part for key, each in further.items() for one in each for part in (f"--{key}", one))]


KINDS = {
    "nothing said": options("Depression"),
    "survey": options("Depression", kind=["survey"]),
    "ages by themselves": options("Alter"),
    "several questions": options("Beruf", "Alter", "Depression"),
    "histogram": options("Einkommen (€)", kind=["histogram"]),
    "cross": options("Depression", "Kinder", kind=["cross"]),
    "mean": options("Einkommen (€)", kind=["mean"]),
    "several means": options("Einkommen (€)", "Alter", kind=["mean"]),
    "regions": options("Beruf", kind=["regions"], by=["Region"]),
    "regions of ages": options("Alter", kind=["regions"], by=["Region"]),
    "groups": options("Depression", kind=["groups"], by=["Region"]),
    "places": options("Beruf", kind=["places"], by=["lat", "lon"]),
    "walk": options("Depression", kind=["walk"]),
    "sum": options("Einkommen (€)", kind=["sum"]),
    "sum of whole numbers": options("Alter", kind=["sum"]),
}
FAST = ("nothing said", "survey", "regions", "sum")


@pytest.mark.parametrize(
    "case", [case if case in FAST else pytest.param(case, marks=pytest.mark.deep) for case in KINDS]
)
def test_what_is_made_from_a_messy_table_is_planned_and_runs_on_it(survey, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    made = shuffledp("init", survey, *KINDS[case], "--output", "made.toml")
    assert made.code == 0, made.err
    beside = ["--input", survey] if {"groups", "places"} & set(KINDS[case]) else []
    planned = shuffledp("plan", "made.toml", *beside)
    assert planned.code == 0, planned.err
    run = ("run", "made.toml", "--input", survey, "--output", "out", "--no-figures")
    if "Einkommen (€)" in KINDS[case]:  # no range is read from answers: whoever asks has to set it
        assert "must hold an answer inside the task's range" in refused(3, *run)
        task = tmp_path / "made.toml"
        task.write_text(task.read_text(encoding="utf-8").replace("upper = 100", "upper = 9000"), encoding="utf-8")
    done = shuffledp(*run)
    assert done.code == 0, done.err


def made_from(survey, tmp_path, *arguments):
    made = shuffledp("init", survey, *arguments, "--output", tmp_path / "made.toml")
    assert made.code == 0, made.err
    return made, (tmp_path / "made.toml").read_text(encoding="utf-8")


def test_numbers_become_bins_unless_a_kind_is_named_and_that_is_said(survey, tmp_path):
    made, text = made_from(survey, tmp_path, "--value", "Alter")
    assert "bins = 10" in text
    assert "column 'Alter' holds many different numbers, so the task puts them into bins from 0 to 100" in made.err
    assert "read from the answers" not in made.err
    made, text = made_from(survey, tmp_path, "--value", "Alter", "--kind", "survey", "--force")
    assert 'categories = ["18", ' in text
    made, text = made_from(survey, tmp_path, "--value", "Kinder", "--force")
    assert 'categories = ["0", "1", "2", "3"]' in text


def test_answers_that_differ_by_blanks_are_one_and_those_that_differ_by_case_are_named(survey, tmp_path):
    made, text = made_from(survey, tmp_path, "--value", "Depression")
    assert 'categories = ["Ja", "ja", "nein"]' in text
    assert "strip = true  # the blanks around texts in the table are taken off" in text
    assert 'missing_values = ["", "k.A."]' in text
    assert "# alike but for their case, and yet different answers: 'Ja', 'ja'" in text
    assert "the answers 'Ja', 'ja' differ by case alone, and count as different ones: make them one" in made.err
    assert Task.read(tmp_path / "made.toml").column.targets == ("Ja", "ja", "nein")


def test_dates_are_no_categories_and_what_to_do_is_said(survey, tmp_path):
    line = refused(3, "init", survey, "--value", "Datum", "--output", tmp_path / "made.toml")
    assert "it holds dates. Put the month or the year of each into a column of its own" in line
    assert not (tmp_path / "made.toml").exists()


def test_the_smallest_region_sets_the_smallest_batch(survey, tmp_path):
    _, text = made_from(survey, tmp_path, "--value", "Beruf", "--kind", "regions", "--by", "Region")
    assert "minimum_batch = 10 " in text  # half of it, so that a few may be missing


def test_columns_that_the_table_does_not_have_are_refused_before_anything_is_written(survey, tmp_path):
    for kind, absent in (("places", "'lat', 'lon'"), ("regions", "'region'"), ("groups", "'region'")):
        table = tmp_path / "plain.csv"
        table.write_text("cheated;Region\nja;A\nnein;B\n", encoding="utf-8")
        line = refused(3, "init", table, "--value", "cheated", "--kind", kind, "--output", tmp_path / "made.toml")
        assert f"it lacks {absent}." in line
        assert "Its columns are 'cheated', 'Region'." in line
    line = refused(
        2,
        "init",
        survey,
        *options("Beruf", kind=["places"], by=["lat", "Nr"]),
        "--output",
        tmp_path / "m.toml",
    )
    assert "of latitude and longitude, in degrees; column 'Nr' has numbers beyond 180" in line
    assert not (tmp_path / "made.toml").exists()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (options("Alter", kind=["cross"]), "--value must be given twice for kind 'cross'"),
        (options("Alter", "Kinder", kind=["sum"]), "--value must be given once for kind 'sum'"),
        (options("Alter", "Alter"), "--value must be given once for each private column"),
        (options("Alter", by=["Region"]), "--by must be left out for kind 'survey'"),
        (options("Alter", kind=["places"], by=["lat"]), "--by must be given twice for kind 'places'"),
        (options("Alter", kind=["groups"], by=["lat", "lon"]), "and a radius in place of column in [groups]"),
        (
            options(),
            "--value COLUMN must be given beside a table of answers: the private column. If nobody has answered",
        ),
        ([*options("Alter", "Kinder"), "--categories", "a,b"], "--categories must be left out beside several --value"),
    ],
)
def test_what_does_not_go_together_is_refused(survey, tmp_path, given, reason):
    assert reason in refused(2, "init", survey, *given, "--output", tmp_path / "made.toml")


def test_a_table_of_public_columns_alone_is_said_to_be_for_plan(survey, tmp_path):
    absent = options("Ill", kind=["groups"], by=["Region"])
    line = refused(3, "init", survey, *absent, "--output", tmp_path / "made.toml")
    assert line.rstrip().endswith("a table of public columns alone is for plan (--input).")
    assert "If nobody has answered yet, leave the table out of init" in line


@pytest.fixture
def lists(tmp_path):
    path = tmp_path / "ways.csv"
    ways = ["bus;bicycle", "bus", "car; bus", "", "k.A.", "bicycle;"] * 50
    path.write_text("\n".join(["transport", *(f'"{way}"' for way in ways)]) + "\n", encoding="utf-8")
    return path


def test_the_options_of_ticks_are_taken_from_the_lists_of_a_column_or_named(lists, tmp_path):
    made, text = made_from(lists, tmp_path, "--value", "transport", "--kind", "ticks")
    assert 'options = ["bicycle", "bus", "car"]  # read from the answers' in text
    assert "of one message" in text
    assert "better name all that are possible" in text
    assert "range" not in made.err
    done = shuffledp("run", tmp_path / "made.toml", "--input", lists, "--output", tmp_path / "out", "--no-figures")
    assert done.code == 0, done.err
    named = ("--value", "transport", "--kind", "ticks", "--categories", "bus,bicycle,car,tram", "--force")
    assert 'options = ["bus", "bicycle", "car", "tram"]  # all that can' in made_from(lists, tmp_path, *named)[1]


def test_lists_that_become_categories_are_said_to_be_lists_without_showing_one(lists, tmp_path):
    made, _ = made_from(lists, tmp_path, "--value", "transport")
    said = " ".join(made.err.split())
    assert "column 'transport' holds lists" in said
    assert "--kind ticks takes them apart" in said
    assert "bicycle" not in said
