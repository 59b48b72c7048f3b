"""The deep tier, folder by folder: what passed, what failed, and what was not run.

    uv run python tests/deep.py                       the whole tier: several hours
    uv run python tests/deep.py soundness parties      two folders of it
    uv run python tests/deep.py --minutes 90          as much as 90 minutes allow
    uv run python tests/deep.py --resume              without the tests that passed before

The outcome of each test is written down as soon as the test ends, so that a run that is stopped, by ``--minutes`` or by
Ctrl-C, can be resumed. ``.deep/`` holds these outcomes, and for each folder all that pytest printed. The exit status is
0 if every test of the folders passed or was skipped with a reason, 1 if one failed, 2 if one was not run.

This file is the pytest plugin that writes the outcomes down as well.
"""

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
FINISHED, RED, UNFINISHED = 0, 1, 2
RAN, TESTS_FAILED, NO_TESTS = 0, 1, 5  # exit codes of pytest after which all outcomes are written down
GRACE = 60  # seconds in which an interrupted pytest stops its workers
NAMED = 20  # tests that are not run and named on the screen
PYTEST = "import sys; sys.path.insert(0, sys.argv.pop(1)); import pytest; sys.exit(pytest.main())"


# ---- the plugin -----------------------------------------------------------------------------------------------------


def pytest_addoption(parser):
    parser.addoption("--outcomes", type=Path, help="append the outcome of each test to this file")
    parser.addoption("--collected", type=Path, help="write the names of all tests chosen to this file")
    parser.addoption("--leave-out", type=Path, help="leave out the tests that this file names")


def pytest_configure(config):
    if (path := config.getoption("outcomes")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(path))


def pytest_collection_modifyitems(config, items):
    if path := config.getoption("leave_out"):
        names = set(path.read_text(encoding="utf-8").splitlines())
        left_out = [item for item in items if without_group(item.nodeid) in names]
        items[:] = [item for item in items if without_group(item.nodeid) not in names]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish(session):
    if path := session.config.getoption("collected"):
        path.write_text("".join(f"{without_group(item.nodeid)}\n" for item in session.items), encoding="utf-8")


def without_group(name):
    """The name of a test without the ``@group`` that pytest-xdist appends."""
    return name.rsplit("@", 1)[0] if name.rfind("@") > name.rfind("]") else name


class Recorder:
    """Appends a line for each test that has ended: outcome, tab, name, tab, reason of a skip."""

    def __init__(self, path):
        self.path = path
        self.worst = {}

    def pytest_runtest_logreport(self, report):
        outcome, reason = self.worst.get(report.nodeid, (PASSED, ""))
        if report.failed:
            outcome = FAILED
        elif report.skipped and not hasattr(report, "wasxfail"):
            outcome, reason = SKIPPED, reason_of(report)
        self.worst[report.nodeid] = outcome, reason
        if report.failed or report.when == "teardown":
            self.write(outcome, without_group(report.nodeid), reason)

    def pytest_collectreport(self, report):
        """A file that is skipped as a whole, or cannot be read."""
        if report.failed:
            self.write(FAILED, report.nodeid, "")
        elif report.skipped:
            self.write(SKIPPED, report.nodeid, reason_of(report))

    def write(self, outcome, name, reason):
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{outcome}\t{name}\t{' '.join(reason.split())}\n")


def reason_of(report):
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


# ---- the command ----------------------------------------------------------------------------------------------------


@dataclass
class Outcomes:
    """What is known of each test: its outcome, and the state of the code that it was run with."""

    path: Path
    stamp: str
    of: dict = field(default_factory=dict)  # name: (outcome, reason, stamp)

    def read(self):
        """Take what the file holds; a failure outweighs the other lines of the same run of a test."""
        self.of.clear()
        stamp = ""
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else ():
            outcome, name, reason = [*line.split("\t"), "", ""][:3]
            if outcome == "code":
                stamp = name
            elif self.of.get(name, ("", "", ""))[::2] != (FAILED, stamp):
                self.of[name] = outcome, reason, stamp
        return self

    def begin(self, names):
        """Forget the outcomes of the tests that are run next, and note with which code they are."""
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True) if self.path.exists() else []
        kept = [line for line in lines if line.split("\t")[1] not in names]
        self.path.write_text("".join(kept) + f"code\t{self.stamp}\t\n", encoding="utf-8")
        self.read()

    def having(self, outcome, names):
        return [name for name in names if self.of.get(name, ("",))[0] == outcome]


@dataclass
class DeepTier:
    """The deep tests of one tree of tests.

    Args:
        tests: the folder ``tests``.
        state: where outcomes and pytest's own words are kept.
        workers: what ``pytest -n`` is given.
        deadline: by ``time.monotonic``, or None.
        say: prints a line.
    """

    tests: Path
    state: Path
    workers: str = "auto"
    deadline: float | None = None
    say: object = print

    def collected(self, folders):
        """The names of all deep tests, by folder; and the files that are skipped as a whole, or cannot be read."""
        names, whole = self.state / "collected.txt", self.state / "collecting.txt"
        for path in (names, whole):
            path.unlink(missing_ok=True)
        wanted = [str(self.tests / folder) for folder in folders]
        options = ["--collect-only", "-q", "--collected", str(names), "--outcomes", str(whole)]
        if not self.pytest("collecting", [*options, *wanted], workers="0"):
            raise SystemExit(f"the tests were not collected: see {self.state / 'collecting.log'}")
        found = defaultdict(list)
        for name in names.read_text(encoding="utf-8").splitlines() if names.exists() else ():
            found[self.folder_of(name, folders)].append(name)
        return found, Outcomes(whole, "").read().of

    def folder_of(self, name, folders):
        path = name.split("::")[0].removeprefix(f"{self.tests.name}/")
        return next(folder for folder in folders if path == folder or path.startswith(f"{folder}/"))

    def run(self, folder, left_out, outcomes):
        """Run one folder; whether pytest came to its end."""
        passed = self.state / "passed.txt"
        passed.write_text("".join(f"{name}\n" for name in left_out), encoding="utf-8")
        options = ["--outcomes", str(outcomes.path), "--leave-out", str(passed), str(self.tests / folder)]
        ended = self.pytest(folder.replace("/", "-"), options, workers=self.workers)
        outcomes.read()
        return ended

    def pytest(self, log, options, *, workers):
        """Run pytest and keep its words; False if it was stopped, or broke off by itself."""
        command = [sys.executable, "-P", "-c", PYTEST, str(TESTS), "-p", "deep", "-m", "deep"]
        command += ["--continue-on-collection-errors", "-n", workers]
        with (self.state / f"{log}.log").open("w", encoding="utf-8") as words:
            process = subprocess.Popen(
                [*command, *options],
                cwd=self.tests.parent,
                stdout=words,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(self.seconds_left()) in {RAN, TESTS_FAILED, NO_TESTS}
            except subprocess.TimeoutExpired:
                return False
            finally:
                stop(process)

    def seconds_left(self):
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


def stop(process):
    """End a pytest that still runs, and all that it started."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with suppress(ProcessLookupError):  # nothing is left of the group
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def counted(outcomes, names):
    """Such as "12 passed, 1 failed, 3 not run"."""
    number = Counter(outcomes.of.get(name, ("not run",))[0] for name in names)
    return ", ".join(f"{number[each]:,} {each}" for each in (PASSED, FAILED, SKIPPED, "not run") if number[each])


def run_all(tier, found, outcomes):
    """Run each folder that has tests without an outcome, and say how it ended."""
    tier.say(f"{sum(map(len, found.values())):,} deep tests in {len(found)} folders")
    for folder, names in found.items():
        start = time.monotonic()
        if tier.seconds_left() == 0:
            break
        passed = [name for name in names if name in outcomes.of]
        if len(passed) < len(names):
            ended = tier.run(folder, passed, outcomes)
            minutes = (time.monotonic() - start) / 60
            tier.say(f"{folder}: {counted(outcomes, names)}; {minutes:.1f} minutes")
            for name in outcomes.having(FAILED, names):
                tier.say(f"    failed: {name}")
            if not ended and tier.seconds_left() != 0:
                tier.say(f"    pytest broke off: see {tier.state / folder.replace('/', '-')}.log")
        else:
            tier.say(f"{folder}: {counted(outcomes, names)}, all in earlier runs")


def concluded(tier, found, unread, outcomes):
    """Say what failed and what was not run; the exit status."""
    names = [name for each in found.values() for name in each]
    broken = [name for name, (outcome, _, _) in unread.items() if outcome == FAILED]
    failed = [*broken, *outcomes.having(FAILED, names)]
    missing = {folder: [name for name in each if name not in outcomes.of] for folder, each in found.items()}
    old = [name for name in names if name in outcomes.of and outcomes.of[name][2] != outcomes.stamp]
    tier.say(f"\nThe deep tier: {counted(outcomes, names) or 'no tests'}.")
    for name in broken:
        tier.say(f"Cannot be collected: {name} (see {tier.state / 'collecting.log'})")
    if old:
        tier.say(f"Of these {len(old):,} were run before src or tests changed.")
    skipped = [*((name, outcomes.of[name]) for name in outcomes.having(SKIPPED, names)), *unread.items()]
    reasons = Counter(reason for _, (outcome, reason, _) in skipped if outcome == SKIPPED)
    for reason, number in sorted(reasons.items()):
        tier.say(f"Skipped, {number:,}: {reason}")
    for folder, left in missing.items():
        if left:
            tier.say(f"Not run: {len(left):,} of the {len(found[folder]):,} tests of {folder}")
    left = [name for each in missing.values() for name in each]
    if 0 < len(left) <= NAMED:
        tier.say("".join(f"    {name}\n" for name in left).rstrip())
    if left:
        tier.say("The option --resume goes on from here.")
    else:
        tier.say("Every test of these folders was run, or says why it cannot.")
    return RED if failed else UNFINISHED if left else FINISHED


def state_of_code(*folders):
    """A digest of all Python files below these folders."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def folders_with_tests(tests):
    """Folders, and test files, directly below ``tests``."""
    return sorted(
        path.name
        for path in tests.iterdir()
        if (path.is_dir() and next(path.rglob("test_*.py"), None)) or path.match("test_*.py")
    )


def main(arguments, *, tests=TESTS, say=print):
    parser = argparse.ArgumentParser(prog="deep.py", description="Run the deep tier of tests, folder by folder.")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="below tests; all of them unless named")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--resume", action="store_true", help="leave out the tests that passed before")
    parser.add_argument("-n", dest="workers", default="auto", help="as for pytest: how many tests run at a time")
    options = parser.parse_args(arguments)
    folders = [folder.removeprefix("tests/").rstrip("/") for folder in options.folders] or folders_with_tests(tests)
    if absent := [folder for folder in folders if not (tests / folder).exists()]:
        parser.error(f"FOLDER must be one below tests; got {absent[0]}")
    if options.minutes is not None and not options.minutes > 0:
        parser.error(f"--minutes must be above 0; got {options.minutes:g}")
    state = tests.parent / ".deep"
    state.mkdir(exist_ok=True)
    deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    tier = DeepTier(tests, state, options.workers, deadline, say)
    outcomes = Outcomes(state / "outcomes.txt", state_of_code(tests, tests.parent / "src"))
    found, unread = tier.collected(folders)
    names = {name for each in found.values() for name in each}
    outcomes.read()
    outcomes.begin(names - set(outcomes.having(PASSED, names) if options.resume else ()))
    try:
        run_all(tier, found, outcomes)
    except KeyboardInterrupt:
        outcomes.read()
        say("Stopped.")
    return concluded(tier, found, unread, outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=lambda line: print(line, flush=True)))  # noqa: T201
