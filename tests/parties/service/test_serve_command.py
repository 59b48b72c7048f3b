"""The commands that run the parties: how they start and end, and a collection on one machine from beginning to end."""

import json
import os
import signal
import subprocess
import sys

import pytest

from cli.running import shuffledp
from parties.service.processes import Place, until

ANSWERS = "smokes\n" + "Yes\nNo\nNo\n" * 100


def started(*arguments, stdin=None, **environment):
    command = [sys.executable, "-m", "shuffledp", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=stdin, stdout=pipe, stderr=pipe, text=True, env=os.environ | environment)


def test_a_shuffler_says_where_it_listens_and_ends_well_when_it_is_asked_to(tmp_path):
    where = Place(tmp_path)
    with started("serve", "shuffler", "--config", tmp_path / "shuffler.toml") as process:
        try:
            line = process.stdout.readline()
            assert line == f"Listening at 127.0.0.1:{where.ports['shuffler']} until the process is asked to end.\n"
            process.send_signal(signal.SIGTERM)
            _, logged = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert [json.loads(each)["event"] for each in logged.splitlines()] == ["started", "stopped"]


def test_a_wrong_configuration_is_a_line_and_an_exit_code(tmp_path):
    Place(tmp_path)
    path = tmp_path / "analyzer.toml"
    path.write_text(path.read_text() + "surprise = 1\n")
    with started("serve", "analyzer", "--config", path) as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert said.startswith("shuffledp: the configuration must have only the keys")
    assert said.count("\n") == 1


TASK = """
name = "survey"
value = "smokes"
[randomizer]
kind = "k-rr"
epsilon0 = 1.0
categories = ["No", "Yes"]
[release]
delta = 1e-6
minimum_batch = 200
"""


@pytest.mark.deep
@pytest.mark.parametrize("enough", [True, False])
def test_a_collection_on_one_machine_ends_with_a_page_that_names_its_operator(tmp_path, enough):
    (tmp_path / "task.toml").write_text(TASK)
    (tmp_path / "answers.csv").write_text(ANSWERS if enough else ANSWERS[:60])
    output, scratch = tmp_path / "shown", tmp_path / "scratch"
    scratch.mkdir()
    given = ("--demo", tmp_path / "task.toml", "--input", tmp_path / "answers.csv", "--output", output)
    with started("serve", "all", *given, TMPDIR=str(scratch)) as process:
        said, errors = process.communicate(timeout=120)
    assert "One operator plays all parties on this machine" in said, errors
    assert list(scratch.iterdir()) == []  # neither keys nor reports are left
    if not enough:
        assert process.returncode == 4
        assert "a release needs at least minimum_batch = 200 reports" in errors
        assert not output.exists()
        return
    assert process.returncode == 0, errors
    assert f"Page: {output / 'release.html'}" in said
    found = json.loads((output / "statement.json").read_text())
    assert found["num_reports"] == 300
    assert {"operator", "one-answer"} <= set(found["statements"][0]["trust"])
    assert until((output / "release.html").exists)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("transport", "num_links", "trusted"),
    [
        ("direct", 1, {"page-at-shuffler", "one-answer"}),
        ("token", 3, {"page-at-shuffler", "issuer"}),
        ("oblivious", 1, {"page-at-shuffler", "relay-apart"}),
    ],
)
def test_people_answer_at_the_link_of_a_demonstration_until_a_line_is_entered(
    browser, tmp_path, transport, num_links, trusted
):
    (tmp_path / "task.toml").write_text(TASK)
    (tmp_path / "answers.csv").write_text(ANSWERS)
    given = ("--demo", "--web", tmp_path / "task.toml", "--input", tmp_path / "answers.csv", "--transport", transport)
    with started("serve", "all", *given, "--output", tmp_path / "shown", stdin=subprocess.PIPE) as process:
        try:
            said = list(
                iter(
                    process.stdout.readline,
                    "It closes when you press Enter here. The release follows within a minute.\n",
                )
            )
            links = [line.split()[1] for line in said if line.startswith("Open http")]
            for link in links:
                with browser.new_context() as context:
                    tab = context.new_page()
                    tab.goto(link)
                    tab.get_by_label("Yes").check()
                    tab.get_by_role("button", name="Randomize my answer").click()
                    tab.get_by_role("button", name="Send").click()
                    tab.get_by_text("Stored by the shuffler").wait_for()
            ended, errors = process.communicate("\n", timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    assert said[0].startswith("WARNING: One operator plays all parties on this machine")
    assert len(set(links)) == num_links
    assert f"{300 + num_links} people sent a report each" in ended
    found = json.loads((tmp_path / "shown" / "statement.json").read_text())
    trust = found["statements"][0]["trust"]
    assert trust[0] == "page-at-shuffler"
    assert trusted <= set(trust)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--input", "answers.csv"], "--demo must be given"),
        (["--demo"], "--input must be a table of a simulated crowd, unless people answer at --web"),
    ],
)
def test_a_demonstration_says_that_it_is_one_and_has_somebody_who_answers(tmp_path, arguments, named):
    done = shuffledp("serve", "all", "task.toml", *arguments, "--output", tmp_path / "shown")
    assert done.code == 2
    assert named in done.err
