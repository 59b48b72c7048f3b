"""Private folder of a job, removed when the job ends, even if its process is killed.

The key of a job must be where all workers read it. A process that is killed (``SIGKILL``) cleans nothing up, so another
small process does it: it waits for the end of a pipe whose other end only the job's process has.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIES = 50  # tenths of a second: workers that briefly outlive the job may still write there
_WARDEN = f"""
import os, shutil, sys, time
sys.stdin.buffer.read()
secrets = [each for each in os.scandir(sys.argv[1]) if each.is_file()] if os.path.exists(sys.argv[1]) else []
for each in secrets:  # the key, and whatever is as secret
    with open(each.path, "r+b") as file:
        file.write(bytes(each.stat().st_size))
        file.flush()
        os.fsync(file.fileno())
    os.unlink(each.path)
for _ in range({_TRIES}):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.exists(sys.argv[1]):
        break
    time.sleep(0.1)
"""


@contextmanager
def private_folder(beside: Path) -> Iterator[Path]:
    """Folder that only its owner may enter, removed when the block or the process ends.

    The end of the whole machine, or of all processes at once (of a container, by a power cut), leaves it.
    """
    folder = tempfile.TemporaryDirectory(prefix=".shuffledp-", dir=beside)
    with _watched_over(Path(folder.name).absolute()), folder:
        yield Path(folder.name)


@contextmanager
def _watched_over(folder: Path) -> Iterator[None]:
    """Context in which a second process removes the folder if this process ends early."""
    warden = subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", _WARDEN, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # signals to the group of this process are not for it
    )
    try:
        yield
    finally:
        warden.kill()
        warden.communicate()
