"""A relay among three friends who share a folder. One person who plays all of them, as here, protects nobody."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

FRIENDS = {"ann": "Yes", "bob": "No", "cyd": "Yes"}
TASK = """\
name = "A question among friends"
value = "sleeps badly"
[randomizer]
kind = "k-rr"
epsilon0 = 1.0
categories = ["No", "Yes"]
[shuffler]
kind = "network"
overlay = {groups = [3]}
links = "constant"
[release]
delta = 1e-3
minimum_batch = 3
"""


def shuffledp(*arguments: str, beside: Path) -> "subprocess.Popen[str]":
    """A command, in a process of its own."""
    print("$ shuffledp", *arguments, flush=True)
    return subprocess.Popen([sys.executable, "-m", "shuffledp", *arguments], cwd=beside, text=True)


def done(*several: "subprocess.Popen[str]") -> None:
    """Wait until commands have ended well."""
    if sum(each.wait() for each in several):
        sys.exit("a command has failed")


with TemporaryDirectory() as name:
    here = Path(name)
    (here / "task.toml").write_text(TASK)
    (here / "shared").mkdir()
    made = [shuffledp("relay", "join", "--name", each, "--output", f"{each}.key", beside=here) for each in FRIENDS]
    for role in ("shuffler", "analyzer"):
        made.append(shuffledp("keys", "new", "--role", role, "--output", f"{role}.key", beside=here))
    done(*made)
    entries, listed = [f"{each}.key.pub" for each in FRIENDS], ("--directory", "friends.directory")
    done(shuffledp("relay", "directory", *entries, "--key", "shuffler.key", "--output", listed[1], beside=here))
    parties = [f"--{of}={value}" for of, value in {
        "shuffler": "https://post.example.org", "shuffler-key": "shuffler.key.pub",
        "analyzer": "https://office.example.org", "analyzer-key": "analyzer.key.pub",
    }.items()]  # fmt: skip
    parties += ["--closes=2099-12-31", "--output=friends.collection"]
    done(shuffledp("collect", "new", "task.toml", *listed, *parties, beside=here))
    both = ("friends.collection", *listed, "--folder", "shared")
    done(*(
        shuffledp("relay", "run", *both, "--key", f"{each}.key", "--value", answer, "--state", each, beside=here)
        for each, answer in FRIENDS.items()
    ))  # fmt: skip
    done(shuffledp("relay", "release", *both, "--key", "analyzer.key", "--output", "release", beside=here))
