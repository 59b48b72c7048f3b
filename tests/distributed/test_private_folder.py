"""The private folder of a job is gone when its process is killed, and the key with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from shuffledp.distributed.private_folder import private_folder

ROOT = Path(__file__).parents[2]
WAIT = 30  # seconds that a test waits for another process

PROGRAM = """
import sys, time
from pathlib import Path
from shuffledp.distributed.job_key import key_file
from shuffledp.distributed.private_folder import private_folder

with private_folder(Path(sys.argv[1])) as folder, key_file(folder) as key:
    (folder / "answers").mkdir()
    (folder / "answers" / "part").write_text("SECRET")
    print(key, flush=True)
    time.sleep(600)
"""


def test_a_process_that_is_killed_leaves_neither_key_nor_folder(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}"}
    ) as job:
        key = Path(job.stdout.readline().strip())
        assert key.exists()
        second = os.open(key, os.O_RDONLY)  # what was in the file, when it has no name any more
        job.send_signal(signal.SIGKILL)
    try:
        until = time.monotonic() + WAIT
        while any(tmp_path.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        assert list(tmp_path.iterdir()) == []
        assert set(os.read(second, 100)) == {0}
    finally:
        os.close(second)


def test_a_folder_is_its_owners_alone_and_gone_with_the_block(tmp_path):
    with private_folder(tmp_path) as folder:
        (folder / "part").touch()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []
