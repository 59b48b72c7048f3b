"""What is missing for Spark is said in one line, and an error of Spark in one that quotes nothing; without Spark."""

import signal
import sys
import types

import pytest

from cli.running import refused, write_answers, write_task
from shuffledp.core.errors import EngineError
from shuffledp.distributed import session
from shuffledp.distributed.session import explained, require_spark

ANSWER = "SECRET-ANSWER-42"


@pytest.fixture
def pyspark(monkeypatch):
    """A module called pyspark, of a version."""

    def pretend(version):
        module = types.ModuleType("pyspark")
        module.__version__ = version
        module.__spec__ = types.SimpleNamespace(name="pyspark")
        monkeypatch.setitem(sys.modules, "pyspark", module)
        monkeypatch.delenv("SPARK_REMOTE", raising=False)

    return pretend


def java(folder, version):
    """A command java that says which version it is."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "java"
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    command.chmod(0o755)


def test_no_pyspark_is_said_with_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path)
    write_answers(tmp_path, ["No", "Yes"] * 50)
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    line = refused(2, "run", "task.toml", "--input", "answers.csv", "--output", "out", "--engine", "spark")
    assert 'the engine spark needs pyspark; install it: pip install "shuffledp[cli,spark]".' in line
    assert sorted(each.name for each in tmp_path.iterdir()) == ["answers.csv", "task.toml"]


@pytest.mark.parametrize("version", ["3.5.4", "4.0.1"])
def test_an_old_pyspark_is_refused_by_its_version(pyspark, version):
    pyspark(version)
    with pytest.raises(EngineError, match=rf"needs PySpark 4\.1 or later; this is {version}\."):
        require_spark()


def test_no_java_is_said_with_where_it_was_looked_for(pyspark, monkeypatch, tmp_path):
    pyspark("4.1.0")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=f"needs Java 17 or later; there is none in JAVA_HOME={tmp_path}"):
        require_spark()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="needs Java 17 or later; none is found"):
        require_spark()


@pytest.mark.parametrize(
    ("version", "fits"), [("11.0.2", False), ("1.8.0_392", False), ("17.0.15", True), ("21", True)]
)
def test_java_must_be_new_enough(pyspark, monkeypatch, tmp_path, version, fits):
    pyspark("4.3.0")
    java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if fits:
        require_spark()
        return
    with pytest.raises(EngineError, match=r"needs Java 17 or later; .* is "):
        require_spark()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"row {ANSWER}", "ValueError; its logs say more."),
        (f'Cannot run program "python9" {ANSWER}', "the workers' Python cannot be started; set PYSPARK_PYTHON"),
        (
            f"{ANSWER}\nModuleNotFoundError: No module named 'pyarrow'\n{ANSWER}",
            "the workers' Python has no module pyarrow;",
        ),
        (
            f"[PACKAGE_NOT_INSTALLED] grpcio >= 1.76.0 must be installed; however, it was not found. {ANSWER}",
            "this Python has no grpcio, or too old a one; install it (for Spark Connect:",
        ),
        (f"{ANSWER} java.io.IOException: No space left on device", "a disk is full"),
        (f"x\nshuffledp.core.errors.EngineError: a worker failed: OSError.\n{ANSWER}", "a worker failed: OSError."),
    ],
)
def test_an_error_of_spark_is_one_line_that_quotes_no_data(text, said):

    def step():
        raise ValueError(text)

    with pytest.raises(EngineError) as caught:
        explained(step)
    message = str(caught.value)
    assert message.startswith(f"Spark stopped the job: {said}")
    assert ANSWER not in message
    assert "\n" not in message
    assert caught.value.__context__ is None


@pytest.fixture
def beginning(pyspark, monkeypatch):
    """Has sessions of our own begin as it is told."""

    def begin(started):
        pyspark("4.1.0")
        active = types.SimpleNamespace(getActiveSession=lambda: None)
        monkeypatch.setitem(sys.modules, "pyspark.sql", types.SimpleNamespace(SparkSession=active))
        monkeypatch.setattr(session, "require_spark", lambda: None)
        monkeypatch.setattr(session, "_started", started)

    return begin


def test_a_session_of_our_own_spills_into_a_private_folder_that_is_gone_when_it_stops(beginning, tmp_path):
    seen = []

    def started(spills):
        (spills / "blockmgr").mkdir()
        return types.SimpleNamespace(stop=lambda: seen.append(spills.stat().st_mode & 0o777))

    beginning(started)
    with session.session_at(tmp_path):
        assert [each.name[:11] for each in tmp_path.iterdir()] == [".shuffledp-"]
    assert seen == [0o700]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ignored", [False, True])
def test_an_interruption_cancels_the_jobs_and_then_ends_as_it_did_before(beginning, tmp_path, ignored):
    done, kept = [], signal.getsignal(signal.SIGINT)
    before = signal.SIG_IGN if ignored else lambda number, _: done.append(number)
    context = types.SimpleNamespace(cancelAllJobs=lambda: done.append("cancelled"))

    def started(_):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as PySpark takes it
        return types.SimpleNamespace(sparkContext=context, stop=lambda: done.append("stopped"))

    beginning(started)
    signal.signal(signal.SIGINT, before)
    try:
        with session.session_at(tmp_path):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, kept)
    assert done == ([] if ignored else ["cancelled", signal.SIGINT]) + ["stopped"]
