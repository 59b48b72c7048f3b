"""Four newcomers, each with a job, on a machine that has the installed package and the files of the examples alone.

Each starts in an empty folder, with an empty home and no variables but the path. The fast tier takes the package as it
is installed beside the tests; the deep one builds the wheel, and installs it with what it needs into a new environment.
"""

import ast
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from journeys.plan_in_a_browser import copied_task

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
DATA = ROOT / "examples" / "data" / "acs_2019.csv.gz"
HAVE_DIFFICULTY = 0.0766  # of those asked
PACKAGES = ("pandas>=3.0",)  # which the package does not require


@dataclass(frozen=True)
class Machine:
    """Where a newcomer sits: ``bin`` is on the path, ``folder`` is where they are."""

    bin: Path
    home: Path
    folder: Path
    more: tuple[tuple[str, str], ...] = ()

    @property
    def environment(self):
        return {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.home), **dict(self.more)}

    def run(self, *command):
        """What a command prints; it must end well, and complain of nothing."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, check=False, capture_output=True, text=True, timeout=300
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def planner(self):
        """The address of the planner's page while it is served."""
        command = ["shuffledp", "planner", "--no-browser"]
        start = f"trap - INT; exec {' '.join(command)}"  # whoever runs the tests may ignore interrupts
        process = subprocess.Popen(
            ["sh", "-c", start], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True
        )
        try:
            yield process.stdout.readline().split()[4]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


def installed_here(_):
    """As it is beside the tests; whoever tests a checkout that is not installed has it on their path."""
    found = Path(sys.executable).parent
    if not (found / "shuffledp").exists():
        pytest.skip("shuffledp is not installed beside this Python: `pip install -e .`")
    return found, tuple((name, os.environ[name]) for name in ("PYTHONPATH",) if name in os.environ)


def installed_from_a_wheel(tmp_path_factory):
    """A new environment with the wheel that this checkout makes."""
    folder = tmp_path_factory.mktemp("new")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "download", "hatchling", "--dest", folder], check=False).returncode:
        pytest.skip("no packages can be had here")
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder / "wheel", ROOT], check=True)
    (wheel,) = (folder / "wheel").glob("shuffledp-*.whl")
    subprocess.run([*pip, "install", f"{wheel}[cli,planner]", *PACKAGES], check=True)
    return folder / "venv" / "bin", ()


HERE_ALREADY, FROM_A_WHEEL = "installed", "wheel"
WAYS = {HERE_ALREADY: installed_here, FROM_A_WHEEL: installed_from_a_wheel}


@pytest.fixture(scope="module", params=[HERE_ALREADY, pytest.param(FROM_A_WHEEL, marks=pytest.mark.deep)])
def installed(request, tmp_path_factory):
    return WAYS[request.param](tmp_path_factory)


@pytest.fixture
def machine(installed, tmp_path):
    found, more = installed
    made = Machine(bin=found, home=tmp_path / "home", folder=tmp_path / "here", more=more)
    made.home.mkdir()
    made.folder.mkdir()
    return made


def with_files(machine, *files):
    for file in files:
        shutil.copy(file, machine.folder)


def test_a_statistician_has_a_release_after_three_commands(machine):
    with_files(machine, HERE / "three_commands.sh", DATA)
    said = machine.run("sh", "three_commands.sh")
    assert said.count("\n") <= 1 + 12 + 12
    headline = r"^A survey: walking_difficulty   epsilon <= 0\.01\d+   delta 1e-06   41,947 reports"
    assert re.search(headline, said, re.MULTILINE)
    assert said.endswith("\nPage: release/release.html\n")
    assert "walking_difficulty" in (machine.folder / "release" / "release.html").read_text(encoding="utf-8")
    with (machine.folder / "release" / "estimates.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["target"]: row for row in csv.DictReader(file)}
    error = float(rows["Yes"]["estimate"]) - HAVE_DIFFICULTY
    assert abs(error) < 6 * float(rows["Yes"]["standard_error"])


def test_a_student_has_a_table_with_intervals_after_five_lines(machine):
    with_files(machine, HERE / "five_lines.py", DATA)
    lines = ast.parse((HERE / "five_lines.py").read_text(encoding="utf-8")).body[1:]
    done = [each for each in lines if not isinstance(each, ast.Import)]
    assert [each.end_lineno - each.lineno for each in done] == [0] * 5
    head, *rows = machine.run("python", "five_lines.py").splitlines()
    assert head.split() == ["target", "estimate", "lower", "upper"]
    for row, share in zip(rows, (1 - HAVE_DIFFICULTY, HAVE_DIFFICULTY), strict=True):
        estimate, lower, upper = map(float, row.split()[2:])
        assert lower < estimate < upper
        assert abs(estimate - share) < 3 * (upper - lower)


def test_a_researcher_has_a_bracket_and_a_figure(machine):
    with_files(machine, HERE / "bracket_and_figure.sh")
    said = machine.run("sh", "bracket_and_figure.sh")
    found = re.match(r"epsilon lies between (\S+) \(.*\) and (\S+) \(.*\)\nepsilon <= (\S+) ", said)
    lower, upper, stated = map(float, found.groups())
    assert 0.03 < lower < upper == stated < 0.035
    picture = ET.parse(machine.folder / "bounds.svg").getroot()  # noqa: S314
    assert picture.tag.endswith("}svg")
    assert said.endswith("\nFigure: bounds.svg\n")


def test_a_privacy_engineer_plans_a_collection_in_the_browser_and_the_task_is_accepted(machine, browser):
    with machine.planner() as address:
        task = copied_task(browser, address, 2000)
    (machine.folder / "task.toml").write_text(task, encoding="utf-8")
    said = machine.run("shuffledp", "plan", "task.toml")
    assert re.search(r"   epsilon <= 0\.\d+   delta 1e-06   2,000 people, each epsilon0 = ", said.splitlines()[0])
