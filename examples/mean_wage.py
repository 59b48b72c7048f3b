"""A union asks for the mean wage: three institutions mix shares, none of whom can read a wage, and one breaks down.

On one machine whoever runs this could look into all of them: it protects nobody. Needs the extras `cli` and `service`.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

PROTOCOL = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 1000, "upper": 6000, "hosts": 3, "buffers": "host"}
PROTOCOL |= {"dropout_fraction": 0.25, "colluding_hosts": 1}  # 30 of 40 are enough, and one host may be a traitor
TASK = 'name = "wages"\nvalue = "wage"\npeople = {expected = 40}\nrelease = {delta = 1e-6}\n[protocol]\n'
COMMAND = [sys.executable, "-m", "shuffledp"]


def shuffledp(*arguments: str) -> None:
    """One command, as it is typed."""
    print("$ shuffledp", *arguments, flush=True)
    subprocess.run([*COMMAND, *arguments], check=True)


def serve(name: str) -> "subprocess.Popen[bytes]":
    """A mix in a process of its own, which listens when this returns."""
    process = subprocess.Popen([*COMMAND, "serve", "mix", "--config", f"{name}.toml"], stdout=subprocess.PIPE)
    print(name, process.stdout.readline() if process.stdout else b"")
    return process


os.chdir(tempfile.mkdtemp())
Path("task.toml").write_text(TASK + "".join(f"{key} = {json.dumps(value)}\n" for key, value in PROTOCOL.items()))
Path("wages.csv").write_text("wage\n" + "".join(f"{2000 + 50 * person}\n" for person in range(35)))
hosts, mixes = ["university", "church", "press"], []
for host in hosts:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    mixes += ["--mix", f"http://{address}"]
    own = f'listen = "{address}"\nstate = "{host}"\nurl = "http://{address}"\nregister = "anybody"\n'
    Path(f"{host}.toml").write_text(own)
running = {host: serve(host) for host in hosts}
try:
    shuffledp("keys", "new", "--role", "analyzer", "--output", "union.key")
    closes = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"
    made = ["--closes", closes, "--demonstration", "--output", "wages.collection"]  # so that a crowd may be made up
    shuffledp("collect", "new", "task.toml", *mixes, "--analyzer-key", "union.key.pub", *made)
    shuffledp("send", "wages.collection", "--input", "wages.csv", "--people-are-simulated")
    shuffledp("collect", "close", "wages.collection", "--key", "union.key")
    running["church"].kill()  # nothing is released before it is back, and then the sum is exact
    shuffledp("collect", "fetch", "wages.collection", "--key", "union.key", "--folder", "union", "--once")
    shuffledp("collect", "status", "wages.collection")
    running["church"] = serve("church")
    shuffledp("collect", "fetch", "wages.collection", "--key", "union.key", "--folder", "union")
    print(Path("union/release/estimates.csv").read_text(), end="")
finally:
    for process in running.values():
        process.terminate()
