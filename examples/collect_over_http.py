"""A collection over HTTP: an office asks, a university shuffles, 200 people answer; each in processes of its own.

On one machine whoever runs this could look into all of them: it protects nobody. Needs the extras `cli` and `service`.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TASK = """name = "smoking"
value = "smokes"
randomizer = {kind = "k-rr", epsilon0 = 2.0, categories = ["No", "Yes"]}
release = {delta = 1e-6, minimum_batch = 100}
"""
COMMAND = [sys.executable, "-m", "shuffledp"]


def shuffledp(*arguments: str) -> None:
    """One command, as it is typed."""
    print("$ shuffledp", *arguments, flush=True)
    subprocess.run([*COMMAND, *arguments], check=True)


def serve(role: str, address: str, further: str) -> "subprocess.Popen[str]":
    """A party in a process of its own, which listens when this returns."""
    listen = address.removeprefix("http://")
    common = f'listen = "{listen}"\nstate = "{role}"\ncollections = ["smoking.collection"]\n'
    Path(f"{role}.toml").write_text(common + further)
    process = subprocess.Popen([*COMMAND, "serve", role, "--config", f"{role}.toml"], stdout=subprocess.PIPE, text=True)
    print(role.capitalize(), process.stdout.readline() if process.stdout else "", end="")
    return process


os.chdir(tempfile.mkdtemp())
Path("task.toml").write_text(TASK)
Path("answers.csv").write_text("smokes\n" + "No\n" * 150 + "Yes\n" * 50)
with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
    university, office = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in (one, other))
shuffledp("keys", "new", "--role", "analyzer", "--output", "office.key")  # at the office
shuffledp("keys", "new", "--role", "shuffler", "--output", "university.key")  # at the university
parties = ["--shuffler", university, "--shuffler-key", "university.key.pub"]
parties += ["--analyzer", office, "--analyzer-key", "office.key.pub"]
made = ["--closes", "2999-12-31", "--demonstration", "--output", "smoking.collection"]  # so that a crowd may be made up
shuffledp("collect", "new", "task.toml", *parties, *made)
shuffler = serve("shuffler", university, 'key = "university.key"\n')
analyzer = serve("analyzer", office, 'keys = ["office.key"]\nreleases = "releases"\n')
try:
    shuffledp("send", "smoking.collection", "--input", "answers.csv", "--people-are-simulated")
    shuffledp("send", "smoking.collection", "--value", "Yes", "--state", "my-phone")
    shuffledp("collect", "close", "smoking.collection", "--key", "university.key")
    while not Path("releases/smoking/release.html").exists():
        time.sleep(0.1)
    print(Path("releases/smoking/estimates.csv").read_text(), end="Page: releases/smoking/release.html\n")
finally:
    shuffler.terminate()
    analyzer.terminate()
