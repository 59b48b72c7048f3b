"""Spark sessions: checks of the installation, a new session, and Spark's errors without data."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from shuffledp.core.errors import EngineError, ShuffleDPError
from shuffledp.distributed.private_folder import private_folder

Result = TypeVar("Result")

_LEAST_SPARK = (4, 1)
_LEAST_JAVA = 17
# Causes in Spark's messages, with the words shown in their place: the messages also quote paths, code and data.
_CAUSES = (
    (r"EngineError: (.*)", "{}"),
    (r"Cannot run program", "the workers' Python cannot be started; set PYSPARK_PYTHON to one that is there."),
    (r"PYTHON_VERSION_MISMATCH", "the workers' Python is of another version; set PYSPARK_PYTHON."),
    (
        r"ModuleNotFoundError: No module named '([\w.]+)'",
        'the workers\' Python has no module {}; install "shuffledp[cli,spark]" there, or set PYSPARK_PYTHON.',
    ),
    (
        r"(?:PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION)\] (\S+)",
        'this Python has no {}, or too old a one; install it (for Spark Connect: pip install "pyspark[connect]").',
    ),
    (r"No space left on device", "a disk is full (No space left on device)."),
    (r"OutOfMemoryError", "Spark ran out of memory; give its workers more (spark.executor.memory)."),
    (r"Job (?:\d+ )?cancelled", "the job was cancelled."),
)


def require_spark() -> None:
    """Refuse missing or too old versions of PySpark or Java.

    Raises:
        EngineError: with what to install.
    """
    if find_spec("pyspark") is None:
        raise EngineError('the engine spark needs pyspark; install it: pip install "shuffledp[cli,spark]".')
    import pyspark

    found = tuple(int(number) for number in re.findall(r"\d+", pyspark.__version__)[:2])
    if found < _LEAST_SPARK:
        least = ".".join(map(str, _LEAST_SPARK))
        raise EngineError(f"the engine spark needs PySpark {least} or later; this is {pyspark.__version__}.")
    if "SPARK_REMOTE" not in os.environ:  # otherwise Java runs elsewhere
        _require_java()


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        where = f"there is none in JAVA_HOME={home}" if home else "none is found"
        raise EngineError(f"the engine spark needs Java {_LEAST_JAVA} or later; {where}.")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < _LEAST_JAVA:
        is_found = version[1] if version else "of an unknown version"
        raise EngineError(f"the engine spark needs Java {_LEAST_JAVA} or later; {java} is {is_found}.")


@contextmanager
def session_at(folder: Path, *, quiet: bool = False) -> Iterator[Any]:
    """Active session of this process, or a new session that is stopped when the block ends.

    A session of our own takes Spark's settings as they are configured. Where no master is, it runs in this machine,
    listens on no other interface than the loopback, and keeps what it spills in a private folder inside ``folder``,
    which is gone even if this process and Java are both killed; ``quiet`` is without its logs.

    Raises:
        EngineError: if there is no Spark or no Java, or the session cannot be started.
    """
    require_spark()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with private_folder(folder) as spills:
        interrupted = signal.getsignal(signal.SIGINT)
        with _silent() if quiet else nullcontext():  # Java keeps the error stream of its start
            session = explained(partial(_started, spills.absolute()))
        with _interrupted_by(interrupted, session):
            try:
                yield session
            finally:
                session.stop()


def _started(folder: Path) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "SPARK_REMOTE" in os.environ:
        return SparkSession.builder.getOrCreate()
    SparkContext._ensure_initialized()  # loads the configuration
    conf = SparkConf()
    conf.setIfMissing("spark.master", "local[*]")
    ours = {"spark.app.name": "shuffledp", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    if str(conf.get("spark.master")).startswith("local"):
        here = "127.0.0.1"
        ours |= {"spark.driver.bindAddress": here, "spark.driver.host": here, "spark.local.dir": str(folder)}
    for name, value in ours.items():
        conf.setIfMissing(name, value)
    return SparkSession.builder.config(conf=conf).getOrCreate()


@contextmanager
def _interrupted_by(before: Any, session: Any) -> Iterator[None]:
    """Context in which Ctrl-C cancels the Spark jobs, then calls ``before``, the handler that PySpark replaced.

    So the process ends with the same exit code as without Spark.
    """
    if threading.current_thread() is not threading.main_thread() or before is None:  # None: not of Python
        yield
        return

    def end(number: int, frame: Any) -> None:
        try:
            session.sparkContext.cancelAllJobs()
        finally:
            before(number, frame)

    cancels = callable(before) and "connect" not in type(session).__module__  # not callable: ignored, as by `nohup`
    signal.signal(signal.SIGINT, end if cancels else before)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _silent() -> Iterator[None]:
    """Context in which this process writes nothing to the error stream.

    Processes that it starts meanwhile stay silent for good.
    """
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def explained(step: Callable[[], Result]) -> Result:
    """Result of a Spark step; Spark's errors are replaced by our own, since their text may quote data.

    Our error is raised after Spark's is gone, so that no printed or recorded error has Spark's attached.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            return step()
    except (ShuffleDPError, OSError):
        raise
    except Exception as error:
        reason = _reason(error)
    raise EngineError(f"Spark stopped the job: {reason} Nothing was released.")


def _reason(error: Exception) -> str:
    text = str(error)
    for cause, said in _CAUSES:
        found = re.search(cause, text)
        if found:
            return said.format(*found.groups())
    return f"{type(error).__name__}; its logs say more."
