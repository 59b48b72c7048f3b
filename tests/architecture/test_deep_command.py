"""The command for the deep tier loses no test: each has passed, failed, been skipped with a reason, or is left."""

import time

import pytest

import deep
from deep import FINISHED, RED, UNFINISHED, DeepTier, Outcomes, Recorder, concluded, main, run_all, without_group


class Scripted(DeepTier):
    """A tier whose tests end as a script says; a test without an outcome is one that the time did not suffice for."""

    script: dict

    def run(self, folder, left_out, outcomes):
        self.ran.append(folder)
        with outcomes.path.open("a", encoding="utf-8") as file:
            for name, outcome in self.script.items():
                if name.startswith(f"tests/{folder}/") and name not in left_out:
                    file.write(f"{outcome}\t{name}\tbecause\n")
        outcomes.read()
        return True


@pytest.fixture
def scripted(tmp_path):
    """Runs the tests of a script, where some are resumed; what is said, and the exit status."""

    def run(script, names, *, earlier=(), stamp="now", deadline=None, unread=None):
        tier = Scripted(tmp_path / "tests", tmp_path, "0", deadline, said.append)
        tier.script, tier.ran = script, []
        outcomes = Outcomes(tmp_path / "outcomes.txt", stamp).read()
        outcomes.begin(set(names) - set(earlier))
        found = {folder: [name for name in names if name.startswith(f"tests/{folder}/")] for folder in ("one", "two")}
        run_all(tier, found, outcomes)
        return concluded(tier, found, unread or {}, outcomes), tier.ran

    said = run.said = []
    return run


A, B, C = "tests/one/test_a.py::a", "tests/one/test_a.py::b", "tests/two/test_c.py::c"


def test_all_passed_is_success_and_nothing_is_left(scripted):
    assert scripted({A: "passed", B: "passed", C: "passed"}, [A, B, C]) == (FINISHED, ["one", "two"])
    assert scripted.said[0] == "3 deep tests in 2 folders"
    assert scripted.said[1].startswith("one: 2 passed; ")
    assert scripted.said[-1] == "Every test of these folders was run, or says why it cannot."


def test_a_failure_is_named_and_outweighs_a_pass_of_the_same_run(scripted):
    status, _ = scripted({A: "failed", B: "passed", C: "passed"}, [A, B, C])
    assert status == RED
    assert f"    failed: {A}" in scripted.said


def test_a_test_without_an_outcome_is_named_as_not_run(scripted):
    assert scripted({A: "passed", C: "passed"}, [A, B, C])[0] == UNFINISHED
    assert "Not run: 1 of the 2 tests of one" in scripted.said
    assert f"    {B}" in scripted.said


def test_after_the_deadline_no_folder_is_begun_and_all_are_said_to_be_left(scripted):
    assert scripted({A: "passed"}, [A, C], deadline=time.monotonic()) == (UNFINISHED, [])
    assert [line for line in scripted.said if line.startswith("Not run")] == [
        "Not run: 1 of the 1 tests of one",
        "Not run: 1 of the 1 tests of two",
    ]


def test_a_resumed_run_runs_what_is_left_and_says_what_earlier_code_passed(scripted):
    scripted({A: "passed", B: "failed"}, [A, B, C], stamp="before")
    assert scripted({B: "passed", C: "passed"}, [A, B, C], earlier=[A]) == (FINISHED, ["one", "two"])
    assert "Of these 1 were run before src or tests changed." in scripted.said
    assert scripted({}, [A, B, C], earlier=[A, B, C]) == (FINISHED, [])


def test_skips_are_counted_by_reason_and_files_that_cannot_be_read_are_failures(scripted):
    assert scripted({A: "skipped"}, [A], unread={"tests/two/test_d.py": ("failed", "", "")})[0] == RED
    assert "Skipped, 1: because" in scripted.said
    assert any(line.startswith("Cannot be collected: tests/two/test_d.py") for line in scripted.said)


@pytest.mark.parametrize(("name", "plain"), [("a.py::b@spark", "a.py::b"), ("a.py::b[x@y]", "a.py::b[x@y]")])
def test_the_group_of_a_test_is_no_part_of_its_name(name, plain):
    assert without_group(name) == plain


class Report:
    def __init__(self, when, outcome, longrepr=""):
        self.nodeid, self.when, self.longrepr = "a.py::b", when, longrepr
        self.failed, self.skipped = outcome == "failed", outcome == "skipped"


@pytest.mark.parametrize(
    ("phases", "line"),
    [
        ([("setup", "passed"), ("call", "passed"), ("teardown", "passed")], "passed\ta.py::b\t\n"),
        ([("setup", "passed"), ("call", "passed"), ("teardown", "failed")], "failed\ta.py::b\t\n"),
        ([("setup", "skipped"), ("teardown", "passed")], "skipped\ta.py::b\tno data\n"),
        ([("???", "failed")], "failed\ta.py::b\t\n"),  # a worker that died
    ],
)
def test_the_worst_phase_of_a_test_is_its_outcome(tmp_path, phases, line):
    recorder = Recorder(tmp_path / "outcomes.txt")
    for when, outcome in phases:
        recorder.pytest_runtest_logreport(Report(when, outcome, ("file", 1, "no\tdata")))
    assert recorder.path.read_text(encoding="utf-8").splitlines(keepends=True)[-1] == line


def test_a_folder_that_is_not_there_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["nowhere"], tests=tmp_path)
    assert "FOLDER must be one below tests; got nowhere" in capsys.readouterr().err


@pytest.mark.deep
def test_the_command_stops_by_the_clock_and_goes_on_from_there(tmp_path, monkeypatch):
    said, tests = [], tmp_path / "tests"
    for folder, body in (("quick", "pass"), ("slow", "time.sleep(0 if os.path.exists('awake') else 300)")):
        (tests / folder).mkdir(parents=True)
        header = "import os, time, pytest\n\n@pytest.mark.deep\n@pytest.mark.parametrize('number', range(3))\n"
        text = (
            f"{header}def test_it(number):\n    if number == 1:\n        {body}\n\ndef test_fast():\n    assert False\n"
        )
        (tests / folder / f"test_{folder}.py").write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = deep\n", encoding="utf-8")
    monkeypatch.setattr(deep, "GRACE", 20)
    assert main(["--minutes", "0.2", "-n", "0"], tests=tests, say=said.append) == UNFINISHED
    assert said[1].startswith("quick: 3 passed; ")
    assert said[2].startswith("slow: 1 passed, 2 not run; ")
    (tmp_path / "awake").touch()
    assert main(["--resume", "-n", "2"], tests=tests, say=said.append) == FINISHED
    assert "quick: 3 passed, all in earlier runs" in said
    assert said[-1] == "Every test of these folders was run, or says why it cannot."
