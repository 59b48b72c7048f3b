"""One command for several private columns: what it prints, what it writes, and what it replaces."""

import re

import pytest

from cli.running import refused, shuffledp, without_operator, write_csv

TASK = """
name = "habits"
[[value]]
column = "smokes"
randomizer = {kind = "k-rr", epsilon0 = 1.0, categories = ["No", "Yes"]}
[[value]]
column = "two\\nlines"
randomizer = {kind = "k-rr", epsilon0 = 1.0, categories = ["No", "Yes"]}
[release]
delta = 1e-6
"""


def prepared(folder):
    (folder / "both.toml").write_text(TASK)
    write_csv(folder / "both.csv", ["smokes", "two\nlines"], [["No", "Yes"]] * 500)
    return ("run", "both.toml", "--input", "both.csv", "--output", "out")


def test_a_run_says_what_one_person_loses_and_then_what_came_of_each_column(folder):
    brief = shuffledp(*prepared(folder))
    assert (brief.code, brief.err) == (0, "")
    assert brief.out.startswith("habits   epsilon <= 0.2664   delta 1e-06   2 columns, together epsilon0 = 2\n")
    assert brief.out.endswith("\nPage about all columns: out/release.html\n")
    result = shuffledp(*prepared(folder), "--force", "-v")
    text = " ".join(result.out.split())
    assert "One person answers in 2 columns" in text
    assert r"two\nlines takes epsilon = " in text
    assert text.index("One person") < text.index("local-dp upper-bound") < text.index("Page: out/smokes/release.html")
    assert "Page about all columns: out/release.html" in text
    assert text.endswith("Statement about one person, over all columns: out/statement.json")


@pytest.mark.parametrize("command", ["run", "plan"])
def test_every_lower_bound_says_of_which_column_it_is(folder, command):
    run = prepared(folder)
    arguments = run if command == "run" else ("plan", "both.toml", "--users", 500)
    text = " ".join(shuffledp(*arguments, "-v").out.split())
    bounds = re.findall(
        r"central-dp lower-bound: epsilon = [0-9.e-]+[^(]*\([a-z-]+\)\. (\S+) alone loses at least", text
    )
    assert bounds == ["smokes", r"two\nlines"]
    assert text.count("lower-bound") == 2


def test_an_account_is_of_one_column_and_says_so(folder):
    prepared(folder)
    text = refused(2, "account", "both.toml", "--users", 500)
    assert "--value COLUMN must be given for a task of several private columns ('smokes', 'two\\nlines')" in text
    assert "`shuffledp plan` says what one person loses over all of them." in text
    told = " ".join(shuffledp("account", "both.toml", "--users", 500, "--value", "smokes").out.split())
    assert "About column 'smokes' alone, whose loss is a part of what one person loses; `shuffledp plan`" in told
    planned = shuffledp("plan", "both.toml", "--users", 500, "--json").json
    share = planned["columns"][0]["statements"][0]["guarantee"]["epsilon"]
    accounted = shuffledp("account", "both.toml", "--users", 500, "--value", "smokes", "--json").json
    assert accounted["statements"][0]["guarantee"]["epsilon"] == share
    assert "About column" not in shuffledp("account", "task.toml", "--users", 500).out
    assert "--value must be one of 'cheated'" in refused(2, "account", "task.toml", "--users", 9, "--value", "x")
    assert "--value must be left out without a task file" in refused(
        2, "account", "--epsilon0", 1, "--users", 9, "--delta", 1e-6, "--value", "x"
    )


def test_what_is_learned_from_one_column_is_not_all(folder):
    prepared(folder)
    for more in ((), ("--compare",)):
        told = " ".join(shuffledp("leakage", "both.toml", "--users", 100, "--value", "smokes", *more).out.split())
        assert "About column 'smokes' alone, to which the other columns may add: the same person answers" in told
        assert told.index("About column") < told.index("After seeing")
    assert "About column" not in shuffledp("leakage", "task.toml", "--users", 100).out


def test_json_names_all_files(folder):
    result = shuffledp(*prepared(folder), "--json").json
    found = {path.relative_to("out").as_posix() for path in (folder / "out").relative_to(folder).rglob("*.*")}
    assert set(result["files"]) == found
    assert [column["folder"] for column in result["columns"]] == ["smokes", "two_lines"]


def test_an_output_of_several_columns_is_replaced_only_by_force(folder):
    run = prepared(folder)
    assert shuffledp(*run).code == 0
    refused(2, *run)
    assert shuffledp(*run, "--force").code == 0
    (folder / "out" / "smokes" / "notes.txt").write_text("mine")
    refused(2, *run, "--force")


def stages(*options):
    randomized = shuffledp("randomize", "both.toml", "--input", "both.csv", "--output", "reports", *options)
    shuffled = shuffledp("shuffle", "both.toml", "--input", "reports", "--output", "views", *options)
    return randomized, shuffled


def test_the_single_stages_hand_on_a_folder_with_a_file_for_each_column(folder):
    ran = shuffledp(*prepared(folder), "--json").json
    randomized, shuffled = stages()
    assert randomized.out.splitlines() == [
        f"500 reports randomized: reports/{name}.parquet." for name in ("smokes", "two_lines")
    ]
    assert shuffled.out.splitlines() == [
        f"500 reports shuffled: views/{name}.parquet." for name in ("smokes", "two_lines")
    ]
    analyzed = shuffledp("analyze", "both.toml", "--input", "views", "--output", "analyzed", "--json").json
    assert set(analyzed["files"]) == set(ran["files"])
    for ours, theirs in zip(analyzed["statements"], ran["statements"], strict=True):
        assert ours == without_operator(theirs) != theirs


def test_the_stages_print_one_object_for_all_columns(folder):
    prepared(folder)
    for stage, result in zip(("randomize", "shuffle"), stages("--json"), strict=True):
        data = result.json
        assert data["stage"] == stage
        assert [column["value"] for column in data["columns"]] == ["smokes", "two\nlines"]
        assert [list(column["files"]) for column in data["columns"]] == [["smokes.parquet"], ["two_lines.parquet"]]
        assert data["seeded"] is False


def test_a_folder_of_reports_is_replaced_only_by_force_and_only_if_it_is_one(folder):
    prepared(folder)
    stages()
    refused(2, "randomize", "both.toml", "--input", "both.csv", "--output", "reports")
    assert shuffledp("randomize", "both.toml", "--input", "both.csv", "--output", "reports", "--force").code == 0
    text = refused(2, "shuffle", "both.toml", "--input", "reports", "--output", "reports", "--force")
    assert "output must be another file than input" in text
    (folder / "reports" / "notes.txt").write_text("mine")
    refused(2, "randomize", "both.toml", "--input", "both.csv", "--output", "reports", "--force")
    assert (folder / "reports" / "notes.txt").read_text() == "mine"


def test_a_seed_in_any_stage_withdraws_the_sum(folder):
    prepared(folder)
    stages("--seed", "1")
    data = shuffledp("analyze", "both.toml", "--input", "views", "--output", "analyzed", "--json").json
    assert data["seeded"] is True
    assert {statement["withdrawn"] for statement in data["statements"]} == {"seeded"}


def test_a_stage_refuses_what_is_no_folder_with_a_file_for_each_column(folder):
    prepared(folder)
    stages()
    for wrong in ("both.csv", "nowhere", "reports/smokes.parquet"):
        text = refused(2, "shuffle", "both.toml", "--input", wrong, "--output", "x")
        assert "a folder that holds, from the stage before, smokes.parquet, two_lines.parquet" in text
    (folder / "views" / "two_lines.parquet").unlink()
    refused(2, "analyze", "both.toml", "--input", "views", "--output", "x")
    assert not (folder / "x").exists()


def test_the_file_of_another_column_is_refused(folder):
    prepared(folder)
    stages()
    (folder / "reports" / "smokes.parquet").replace(folder / "reports" / "two_lines.parquet")
    (folder / "reports" / "smokes.parquet").write_bytes((folder / "reports" / "two_lines.parquet").read_bytes())
    assert "must belong to the task" in refused(3, "shuffle", "both.toml", "--input", "reports", "--output", "x")


def test_a_plan_adds_up_all_columns(folder):
    prepared(folder)
    planned = shuffledp("plan", "both.toml", "--users", 500, "--json").json
    ran = shuffledp(*prepared(folder), "--json").json
    assert planned["statements"][0]["guarantee"] == ran["statements"][0]["guarantee"]
    assert [column["value"] for column in planned["columns"]] == ["smokes", "two\nlines"]
