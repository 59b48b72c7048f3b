"""Processes of their own: what is imported when, how the command is started, and how it is stopped."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from cli.running import shuffledp, stub_page, write_answers, write_csv, write_task
from shuffledp._version import __version__
from shuffledp.documents import page
from shuffledp.files import writing

HEAVY = {"numpy", "scipy", "numba", "pyarrow", "matplotlib", "jinja2", "pandas"}


def imported_by(code: str) -> set[str]:
    """Which of the heavy packages a program has imported in the end."""
    program = f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stderr.split())


def test_importing_the_package_imports_nothing_heavy():
    assert imported_by("import shuffledp") == set()


def test_the_command_line_works_in_one_thread_unless_its_user_asks_for_more():
    """Mutant: as many threads as cores, which wait for each other and take twice the processor time."""
    asked = {"OPENBLAS_NUM_THREADS": "3"}
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    program = (
        "import os, sys; sys.argv = ['shuffledp', '--version']\n"
        "from shuffledp.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.stderr.write(' '.join(os.environ[name] for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS')))"
    )
    done = subprocess.run([sys.executable, "-c", program], env=kept | asked, capture_output=True, text=True, check=True)
    assert done.stderr.endswith("1 3")


CALLS = [["--help"], ["-h"], ["--version"], ["run", "--help"], ["demo", "--help"], ["run", "--seed", "x"]]
HELP = f"""
from shuffledp.cli import main
for arguments in {CALLS}:
    sys.argv = ["shuffledp", *arguments]
    try: main()
    except SystemExit: pass
"""


def test_help_and_version_import_nothing_heavy():
    assert imported_by(HELP) == set()


ACCOUNT = ["account", "--epsilon0", 1, "--users", 10_000, "--delta", 1e-6]
LEAKAGE = ["leakage", "--epsilon0", 1, "--users", 20, "--categories", 3]
AUDIT = ["audit", "small.toml", "--trials", 3, "--statistics"]
NO_PICTURE = {"matplotlib", "jinja2"}
# For each command the most modules of this library that it may import, and what it must not.
# Folders that are a docstring, and the doors of families, which are names.
FLOORS = re.compile(
    r"shuffledp\.(protocols(\.\w+){0,2}|documents\.(charts|plans|collections)|survey\.(ledgers|planning))"
)
LEAN = {
    "help": (["--help"], 30, {*HEAVY, "shuffledp.accounting", "shuffledp.survey"}),
    "account": (ACCOUNT, 147, {"scipy", "numba", "pyarrow", *NO_PICTURE, "shuffledp.attacks", "shuffledp.files"}),
    "plan": (["plan", "task.toml", "--users", 50], 221, {"scipy.stats", *NO_PICTURE, "shuffledp.attacks"}),
    "run": (
        ["run", "task.toml", "--input", "answers.csv", "--output", "out", "--no-figures"],
        239,
        {"scipy.stats", "shuffledp.attacks", "matplotlib"},
    ),
    "leakage": (LEAKAGE, 210, {"scipy.stats", *NO_PICTURE, "shuffledp.attacks"}),
    "audit": (AUDIT, 269, NO_PICTURE),
    "graph": (["graph", "inspect", "edges.csv"], 203, {"scipy.stats", *NO_PICTURE, "shuffledp.attacks"}),
}
CALL = """
import runpy, sys
sys.argv = ["shuffledp", *{arguments!r}]
try: runpy.run_module("shuffledp", run_name="__main__")
except SystemExit: pass
sys.stderr.write(" ".join(sys.modules))
"""


@pytest.mark.parametrize("name", LEAN)
def test_a_command_imports_little_more_than_it_needs(tmp_path, name):
    write_answers(tmp_path, ["No", "No", "Yes"] * 20)
    write_task(tmp_path, people={"expected": 4}, release={"delta": 0.01}).rename(tmp_path / "small.toml")
    write_task(tmp_path)
    write_csv(tmp_path / "edges.csv", ["a", "b"], [[person, (person + 1) % 5] for person in range(5)])
    arguments, most, never = LEAN[name]
    program = CALL.format(arguments=list(map(str, arguments)))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    modules = set(done.stderr.split())
    assert never & modules == set()
    ours = {each for each in modules if each.startswith("shuffledp") and not FLOORS.fullmatch(each)}
    assert len(ours) <= most, sorted(ours)


def test_naming_a_mechanism_needs_no_file_format_and_no_picture():
    assert imported_by("import shuffledp\nshuffledp.KaryRandomizedResponse") <= {"numpy", "scipy"}


def test_the_package_can_be_run_as_a_module():
    done = subprocess.run([sys.executable, "-m", "shuffledp", "--version"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"shuffledp {__version__}\n", "")


def test_a_reader_who_has_left_is_no_error_to_complain_about(tmp_path):
    reports = tmp_path / "reports.parquet"
    answers = write_answers(tmp_path, ["No", "Yes"])
    command = ["randomize", write_task(tmp_path), "--input", answers, "--output", reports, "--json"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "shuffledp", *command], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert done.stderr == b""
    assert reports.is_file()


ENDINGS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDINGS)
def test_a_process_that_is_told_to_end_takes_its_output_away(tmp_path, monkeypatch, number):
    def be_stopped(document, folder, name, **_):
        stub_page(document, folder, name)
        os.kill(os.getpid(), number)

    def clean_up(folder, **options):
        for each in ENDINGS:
            os.kill(os.getpid(), each)  # whoever waits presses the key again
        remove(folder, **options)

    remove = shutil.rmtree
    monkeypatch.setattr(page, "write_page", be_stopped)
    monkeypatch.setattr(writing.shutil, "rmtree", clean_up)
    answers, task = write_answers(tmp_path, ["No", "Yes"]), write_task(tmp_path)
    before = {each: signal.signal(each, signal.SIG_DFL) for each in ENDINGS}  # the tests may run in the background
    try:
        result = shuffledp("run", task, "--input", answers, "--output", tmp_path / "out")
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert result.code == 128 + number
    assert result.err == ""
    assert {path.name for path in tmp_path.iterdir()} == {"answers.csv", "task.toml"}


def test_a_process_that_must_outlive_its_terminal_does(tmp_path, monkeypatch):
    def hang_up(document, folder, name, **_):
        os.kill(os.getpid(), signal.SIGHUP)
        return stub_page(document, folder, name)

    monkeypatch.setattr(page, "write_page", hang_up)
    answers, task = write_answers(tmp_path, ["No", "Yes"]), write_task(tmp_path)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
    try:
        assert shuffledp("run", task, "--input", answers, "--output", tmp_path / "out").code == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (tmp_path / "out" / "release.html").is_file()


def test_an_interrupt_while_the_commands_are_imported_shows_no_trace():
    program = """
import importlib.util, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
find_spec = importlib.util.find_spec
def interrupted(name, *rest):
    os.kill(os.getpid(), signal.SIGINT)
    return find_spec(name, *rest)
from shuffledp.cli import main
importlib.util.find_spec = interrupted
sys.argv = ["shuffledp", "--help"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize("number", ENDINGS)
def test_whoever_presses_the_key_again_at_any_time_sees_no_trace(number):
    program = f"""
import atexit, os, threading
from shuffledp import cli
def press():
    os.kill(os.getpid(), {number:d})
atexit.register(press)
cli._end_in_order()
threading._register_atexit(press)
try:
    press()
finally:
    press()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


def test_whoever_presses_the_key_long_after_is_rid_of_a_process_that_does_not_end():
    program = f"""
import os, time
from shuffledp import cli
cli._SECONDS_TO_END = 0.0
cli._end_in_order()
try:
    os.kill(os.getpid(), {signal.SIGTERM:d})
finally:
    time.sleep(0.01)
    os.kill(os.getpid(), {signal.SIGTERM:d})
    print("never")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, "")


def test_a_terminal_that_cannot_show_a_letter_gets_its_number(tmp_path):
    task = write_task(tmp_path, name="Umfrage Ü", randomizer={"categories": ["да", "🎲"]})
    answers = write_csv(tmp_path / "a.csv", ["cheated"], [["да"], ["🎲"]])
    result = shuffledp("run", task, "--input", answers, "--output", tmp_path / "out", encoding="ascii")
    assert result.code == 0
    assert r"Umfrage \xdc" in result.out
    assert r"\u0434\u0430" in result.out
