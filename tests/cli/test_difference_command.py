"""The command `difference`, and what a task compares by itself: from released numbers alone, and each counted once."""

import json
import random
import re

import pytest
from jsonschema import Draft202012Validator

from cli.running import refused, shuffledp, stub_pages, toml, write_csv
from docs.test_schema import SCHEMA
from shuffledp.documents.comparison_document import comparison_section
from shuffledp.documents.plans.plan_document import plan_document
from shuffledp.survey import Task, plan

DIFFERENCES = Draft202012Validator({"$ref": "#/$defs/differences", "$defs": SCHEMA["$defs"]})
CAR = {"kind": "k-rr", "epsilon0": 3.0, "categories": ["car", "bus", "bike"]}
SPORT = {"kind": "k-rr", "epsilon0": 3.0, "categories": ["No", "Yes"]}
TICKS = 'column = "pets"\nkind = "multi-select"\noptions = ["cat", "dog", "fish"]\nat_most = 3'
SEVERAL = f"""
name = "a street"
public = ["side"]
[[value]]
column = "way"
randomizer = {{kind = "k-rr", epsilon0 = 3.0, categories = ["car", "bus", "bike"]}}
[[value]]
{TICKS}
randomizer = {{kind = "columns", epsilon0 = 3.0}}
[[value]]
column = "hours"
randomizer = {{kind = "laplace-mean", epsilon0 = 1.0, lower = 0, upper = 60}}
[[value]]
columns = ["sport", "side"]
randomizer = {{kind = "k-rr", epsilon0 = 3.0, categories = [["No", "Yes"], ["north", "south"]]}}
[release]
delta = 1e-6
compare = ["options", "independence"]
""".replace('public = ["side"]\n', "")


def people(week: int, number: int = 1500) -> list[list[object]]:
    rng = random.Random(week)
    return [
        [
            rng.choices(["car", "bus", "bike"], [0.6 - 0.2 * week, 0.3, 0.1 + 0.2 * week])[0],
            rng.choice(["Yes", "No"]),
            rng.choice(["north", "south"]),
            rng.choice(["cat;dog", "", "fish"]),
            rng.randrange(20 + 10 * week),
        ]
        for _ in range(number)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Releases of two weeks, of a street in several columns, and of regions."""
    folder = tmp_path_factory.mktemp("differences")
    with pytest.MonkeyPatch.context() as patched:
        stub_pages(patched)

        def run(name, task, week):
            table = write_csv(folder / "answers.csv", ["way", "sport", "side", "pets", "hours"], people(week))
            (folder / f"{name}.toml").write_text(task, encoding="utf-8")
            done = shuffledp("run", folder / f"{name}.toml", "--input", table, "--output", folder / name)
            assert done.code == 0, done.err
            (folder / f"{name}.txt").write_text(done.out, encoding="utf-8")

        one = {"name": "ways", "value": "way", "randomizer": CAR, "release": {"delta": 1e-6}}
        for week in (0, 1):
            run(f"week{week}", toml(one), week)
            run(f"street{week}", SEVERAL, week)
        by = {"by": "side", "public": ["side"], "release": {"delta": 1e-6, "compare": ["regions"]}}
        run("regions", toml(one | {"value": "sport", "randomizer": SPORT} | by), 0)
    return folder


def differences(*arguments):
    found = shuffledp("difference", *arguments, "--json")
    assert found.code == 0, found.err
    DIFFERENCES.validate(found.json)
    return found.json


def test_two_releases_are_compared_number_first(place):
    lines = shuffledp("difference", place / "week0", place / "week1", "--target", "car").out.splitlines()
    assert lines[0] == "ways, week0 less week1"
    number = re.match(r"(-?[\d.]+) percentage points \((-?[\d.]+) to (-?[\d.]+)\): car$", lines[1])
    assert number
    middle, low, high = map(float, number.groups())
    assert low < 20 < high
    assert low < middle < high
    assert "costs no privacy" in lines[-1]
    assert "say --same-people" in lines[-1]


def test_the_claim_of_the_same_people_is_repeated_and_leaves_sampling_out(place):
    """Mutant: the claim taken silently."""
    weeks = place / "week0", place / "week1"
    claimed, others = differences(*weeks, "--same-people"), differences(*weeks)
    assert (claimed["claims"], others["claims"]) == (["same people"], [])
    rows = [each["comparisons"][0]["differences"] for each in (claimed, others)]
    assert {row["about"] for row in rows[0]} == {"people asked"}
    assert all(one["upper"] - one["lower"] < other["upper"] - other["lower"] for one, other in zip(*rows, strict=True))
    assert "is claimed here, and nothing shows it" in shuffledp("difference", *weeks, "--same-people").out
    assert others["privacy_cost"] == 0


def test_everything_that_two_releases_have_in_common_is_counted(place):
    """Mutant: each column counted by itself."""
    found = differences(place / "street0", place / "street1")["comparisons"]
    counted = {each["value"]: len(each["differences"]) for each in found}
    assert counted == {"way": 3, "pets": 3, "hours": 1, "sport and side": 4}
    assert {each["num_comparisons"] for each in found} == {11}
    alone = differences(place / "street0", place / "street1", "--value", "hours")["comparisons"]
    assert [each["num_comparisons"] for each in alone] == [1]
    (hours,) = alone[0]["differences"]
    assert hours["lower"] < -5 < hours["upper"]


def test_options_and_independence_of_one_release_are_compared_as_its_task_says(place):
    """The page, the statement and the command say the same."""
    found = differences(place / "street0")["comparisons"]
    statement = json.loads((place / "street0" / "statement.json").read_text(encoding="utf-8"))
    assert [each for each in statement["comparisons"] if each["differences"] or each["independence"]] == found
    ways, pets, both = found
    assert [each["target"] for each in ways["differences"]] == ["car - bus", "car - bike", "bus - bike"]
    assert {each["about"] for each in pets["differences"]} == {"people asked"}
    assert both["independence"][0]["p_value"] > 1e-4
    assert ways["num_comparisons"] == 7
    printed = (place / "street0.txt").read_text(encoding="utf-8")
    assert "car - bus" in printed
    told = "sport and side depend on each other" if both["independence"][0]["differs"] else "is not shown"
    assert told in printed  # by chance one independent pair in twenty is told apart
    assert "7 comparisons are counted" in printed


def test_regions_are_compared_once_for_a_question_of_two_answers(place):
    (found,) = differences(place / "regions")["comparisons"]
    assert [each["target"] for each in found["differences"]] == ["Yes: north - south"]
    assert found["differences"][0]["about"] == "population"
    assert "No: " not in shuffledp("difference", place / "regions").out
    options = differences(place / "regions", "--compare", "options")["comparisons"][0]["differences"]
    assert [each["target"] for each in options] == ["No - Yes"]


def test_people_who_were_not_asked_or_did_not_answer_are_no_option_and_words_are_compared_where_both_have_them(
    tmp_path,
):
    """Mutant: "(missing)" and "(other words)" compared as if somebody could choose them."""
    task = {
        "name": "a street",
        "missing": "category",
        "value": [
            {"column": "way", "randomizer": CAR},
            {"column": "pets", "kind": "multi-select", "options": ["cat", "dog"], "at_most": 2, "after": "way = car"}
            | {"randomizer": {"kind": "columns", "epsilon0": 3.0}},
        ],
        "release": {"delta": 1e-6, "compare": ["options"], "minimum_batch": 400},
    }
    words = {
        "name": "jobs",
        "value": "job",
        "kind": "open",
        "code": "letters",
        "length": 4,
        "people": {"expected": 3000},
    }
    words |= {"randomizer": {"kind": "masked-prefix", "epsilon0": 6.5}, "release": {"delta": 1e-6}}
    ways = ["car", "bus", "", "bike"] * 600
    pets = ["cat" if way == "car" else "" for way in ways]
    tables = [
        (task, {"way": ways, "pets": pets}),
        *((words, {"job": ["cook", "smith" if week else "tech"] * 1500}) for week in (0, 1)),
    ]
    for number, (asked, answers) in enumerate(tables):
        outcome = Task.from_dict(asked).run(answers)
        (tmp_path / f"{number}.json").write_text(json.dumps(outcome.to_dict()), encoding="utf-8")
    found = differences(tmp_path / "0.json")["comparisons"]
    assert [[row["target"] for row in each["differences"]] for each in found] == [
        ["car - bus", "car - bike", "bus - bike"],
        ["cat - dog"],
    ]
    (jobs,) = differences(tmp_path / "1.json", tmp_path / "2.json")["comparisons"]
    assert [row["target"] for row in jobs["differences"]] == ["cook"]
    assert jobs["differences"][0]["lower"] < 0 < jobs["differences"][0]["upper"]
    assert "options needs" in refused(2, "difference", tmp_path / "1.json")
    said = " ".join(shuffledp("difference", tmp_path / "0.json").out.split())
    assert "cat - dog among those asked" in said
    assert found[1]["differences"][0]["estimate"] > 0.9  # of those asked all have a cat
    too_few = json.loads((tmp_path / "0.json").read_text(encoding="utf-8"))
    too_few["estimates"] = [row for row in too_few["estimates"] if "among" not in row["statistic"]]
    (tmp_path / "few.json").write_text(json.dumps(too_few), encoding="utf-8")
    said = " ".join(shuffledp("difference", tmp_path / "few.json").out.split())
    assert "Differences of shares of all people, asked or not" in said
    said = " ".join(shuffledp("difference", tmp_path / "1.json", tmp_path / "2.json").out.split())
    assert "In one of the releases only, and not compared: smit and tech." in said
    said = refused(2, "difference", tmp_path / "0.json", "--target", "bus", "--target", "car")
    assert "'pets' has no 'bus'. Name the question that has it by --value." in said


def test_what_cannot_be_compared_is_refused_in_one_line(place, tmp_path):
    week = place / "week0"
    assert "another release than A" in refused(2, "difference", week, week)
    assert "is about two" in refused(2, "difference", week, "--same-people")
    assert "statement.json that can be read" in refused(2, "difference", tmp_path)
    assert "must be one of options, regions" in refused(2, "difference", week, "--compare", "all")
    assert "two columns that are randomized jointly" in refused(2, "difference", week, "--compare", "independence")
    assert "must be left out for two" in refused(2, "difference", week, place / "week1", "--compare", "options")
    assert "in both releases" in refused(2, "difference", week, place / "regions")
    assert "'way' has no 'tram'" in refused(2, "difference", week, place / "week1", "--target", "tram")
    (tmp_path / "statement.json").write_text("[1, 2]", encoding="utf-8")
    assert "that this version can read" in refused(2, "difference", tmp_path)
    statement = json.loads((week / "statement.json").read_text(encoding="utf-8"))
    for broken in ({"num_reports": "many"}, {"estimates": []}, {"model": None}):
        (tmp_path / "statement.json").write_text(json.dumps(statement | broken), encoding="utf-8")
        assert "that this version can read" in refused(2, "difference", tmp_path)
    fewer = statement | {"num_reports": 1400, "seeded": True}
    (tmp_path / "statement.json").write_text(json.dumps(fewer), encoding="utf-8")
    assert "of as many reports, 1,500" in refused(2, "difference", week, tmp_path, "--same-people")
    assert "trial run, made with a seed" in shuffledp("difference", week, tmp_path).out


@pytest.mark.deep
@pytest.mark.parametrize("bad", [None, "x", -1, 1e308, [], {}, True])
def test_a_statement_that_was_tampered_with_is_refused_or_compared_as_it_stands_and_never_a_bug(place, tmp_path, bad):
    """Each entry of a file may be anything."""
    release = json.loads((place / "street0" / "statement.json").read_text(encoding="utf-8"))
    row, part = release["estimates"][0], release["columns"][1]
    places = [(row, key) for key in row] + [(part, key) for key in ("value", "num_reports", "model")]
    places += [(release, key) for key in ("task", "columns", "estimates", "seeded")]
    places += [(part["model"], "local"), (part["model"]["shuffle"], "num_users")]
    for table, key in places:
        kept, table[key] = table[key], bad
        (tmp_path / "statement.json").write_text(json.dumps(release), encoding="utf-8")
        for arguments in ([tmp_path], [place / "street1", tmp_path]):
            done = shuffledp("difference", *arguments)
            assert done.code in (0, 2), (key, done.err)
        table[key] = kept


def test_a_task_that_compares_what_it_does_not_have_is_refused(tmp_path):
    task = {"name": "x", "value": "way", "randomizer": CAR, "release": {"delta": 1e-6}}
    for compare, said in (
        (["regions"], "'regions' needs the key by"),
        (["independence"], "'independence' needs two columns"),
        (["pairs"], "compare"),
        (["options", "options"], "all different"),
    ):
        (tmp_path / "task.toml").write_text(toml(task | {"release": {"delta": 1e-6, "compare": compare}}))
        assert said in refused(2, "plan", tmp_path / "task.toml", "--users", 100)


def test_a_plan_says_the_least_difference_that_each_comparison_finds(tmp_path):
    """Mutant: comparisons not counted."""
    release = {"delta": 1e-6, "compare": ["options", "regions"], "minimum_batch": 500}
    task = {"name": "x", "value": "way", "by": "side", "public": ["side"], "randomizer": CAR, "release": release}
    (tmp_path / "task.toml").write_text(toml(task), encoding="utf-8")
    plan = shuffledp("plan", tmp_path / "task.toml", "--users", 4000)
    assert re.search(r"A difference of [\d.]+ percentage points between two options, at shares around 30%", plan.out)
    assert "between two regions of 2,000 people each" in plan.out
    found = shuffledp("plan", tmp_path / "task.toml", "--users", 4000, "--json").json
    Draft202012Validator({"$ref": "#/$defs/plan", "$defs": SCHEMA["$defs"]}).validate(found)
    both = found["columns"][0]["least_differences"]
    assert [each["comparisons"] for each in both] == [6, 6]
    (tmp_path / "task.toml").write_text(
        toml(task | {"randomizer": CAR | {"epsilon0": 0.2}, "release": release}), encoding="utf-8"
    )
    assert "No difference between" in shuffledp("plan", tmp_path / "task.toml", "--users", 500).out


def test_a_task_that_compares_nothing_is_written_as_before(tmp_path):
    """Digests of older tasks hold."""
    task = {"name": "x", "value": "way", "randomizer": CAR, "release": {"delta": 1e-6}}
    with_key = task | {"release": {"delta": 1e-6, "compare": []}}
    assert Task.from_dict(task).sha256 == Task.from_dict(with_key).sha256
    assert "compare" not in Task.from_dict(task).to_dict()["release"]
    other = Task.from_dict(task | {"release": {"delta": 1e-6, "compare": ["options"]}})
    assert Task.from_dict(other.to_dict()) == other
    assert other.sha256 != Task.from_dict(task).sha256


def test_bins_that_not_everybody_is_asked_about_are_compared_without_those_who_were_not(tmp_path):
    """Mutant: "(not asked)" listed as if it were one of the bins."""
    ages = {"column": "age", "after": "way = car"}
    ages |= {"randomizer": {"kind": "k-rr", "epsilon0": 3.0, "edges": [18, 40, 65, 90]}}
    release = {"delta": 1e-6, "compare": ["options"]}
    task = {"name": "x", "value": [{"column": "way", "randomizer": CAR}, ages], "release": release}
    ways = ["car", "bus", "bike"] * 200
    for number in (0, 1):
        outcome = Task.from_dict(task).run({"way": ways, "age": [30 + 40 * number, None, None] * 200})
        (tmp_path / f"{number}.json").write_text(json.dumps(outcome.to_dict()), encoding="utf-8")
    found = differences(tmp_path / "0.json", tmp_path / "1.json", "--value", "age")["comparisons"][0]["differences"]
    assert [row["target"] for row in found] == ["18 to 40", "40 to 65", "65 to 90"]
    assert "Not compared: age, where nothing fits." in " ".join(
        shuffledp("difference", tmp_path / "0.json").out.split()
    )
    page = comparison_section(next(each for each in outcome.columns.values() if each.column.value == "age").comparisons)
    assert "what the task compares does not fit this question" in str(page)
    told = str(plan_document(plan(Task.from_dict(task), 600)))
    assert "Not compared by options, which needs a choice or ticks" in told
