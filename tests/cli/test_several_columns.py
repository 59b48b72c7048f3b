"""One command for several private columns: what it prints, what it writes, and what it replaces."""

from cli.running import refused, shuffledp, write_csv

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
    result = shuffledp(*prepared(folder))
    assert (result.code, result.err) == (0, "")
    text = " ".join(result.out.split())
    assert text.startswith("habits (task ")
    assert "One person answers in 2 columns" in text
    assert r"'two\nlines' takes epsilon = " in text
    assert text.index("One person") < text.index("local-dp upper-bound") < text.index("Page: out/smokes/release.html")
    assert text.endswith("Statement about one person, over all columns: out/statement.json")


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


def test_the_single_stages_refuse_several_columns(folder):
    prepared(folder)
    for command in ("randomize", "shuffle", "analyze"):
        text = refused(2, command, "both.toml", "--input", "both.csv", "--output", "x")
        assert "with [[value]] blocks, which `shuffledp run` and `shuffledp plan` take" in text


def test_a_plan_adds_up_all_columns(folder):
    prepared(folder)
    planned = shuffledp("plan", "both.toml", "--users", 500, "--json").json
    ran = shuffledp(*prepared(folder), "--json").json
    assert planned["statements"][0]["guarantee"] == ran["statements"][0]["guarantee"]
    assert [column["value"] for column in planned["columns"]] == ["smokes", "two\nlines"]
