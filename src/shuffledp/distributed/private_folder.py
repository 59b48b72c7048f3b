"""The private folder of a job, which is gone when the job ends, however the process of the job ends.

The key of a job must be where all workers read it. A process that is killed (``SIGKILL``) cleans nothing up, so another
one does it: a small one that waits for the end of a pipe whose other end the job's process alone has.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIES = 50  # of a tenth of a second: workers that outlive the job for a moment may still write there
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
    """A folder that only its owner may enter, gone when the block, or the process, ends.

    What ends the whole machine, or all processes at once (the end of a container, a power cut), leaves it.
    """
    folder = tempfile.TemporaryDirectory(prefix=".shuffledp-", dir=beside)
    with _watched_over(Path(folder.name).absolute()), folder:
        yield Path(folder.name)


@contextmanager
def _watched_over(folder: Path) -> Iterator[None]:
    """Have the folder removed if this process ends before the block does."""
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
