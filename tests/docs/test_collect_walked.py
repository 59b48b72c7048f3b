"""The tutorial on a survey in a browser, walked from an empty folder to the release, in real processes."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys

import pytest

from docs.test_docs import ROOT, environment, fenced_blocks, matches
from parties.client.answering import RANDOMIZE, SEND, says
from parties.client.loading import watched
from parties.service.processes import free_port, until

# The last two wait for a line, and have tests of their own.
ELSEWHERE = ("pip install", "curl", "shuffledp serve all", "shuffledp survey")
NEEDS_A_RELEASE = ("shuffledp collect status", "ls -m releases")


def entries(text):
    """Each command of a console block, on one line, and what the page shows for it."""
    for entry in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, shown = entry.partition("\n")
        yield command.strip(), shown


class Walker:
    """Somebody who types what the page says, into a folder with nothing in it; background processes end with them."""

    def __init__(self, folder, ports):
        self.folder, self.ports, self.running = folder, ports, []
        self.environment = environment() | {"XDG_STATE_HOME": str(folder / "state"), "PYTHONUNBUFFERED": "1"}
        (folder / "bin").mkdir()
        for name, command in (("shuffledp", [sys.executable, "-m", "shuffledp"]), ("python3", [sys.executable])):
            program = folder / "bin" / name
            program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
            program.chmod(0o755)
        self.environment["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"

    def type(self, command, shown):
        place = {"cwd": self.folder, "env": self.environment, "text": True}
        if command.endswith("&"):
            with (self.folder / f"log-{len(self.running)}").open("wb") as log:
                exact = ["sh", "-c", f"exec {command.removesuffix('&')}"]
                self.running.append(subprocess.Popen(exact, stdout=log, stderr=log, **place))
            return ""
        done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, timeout=120, **place)
        assert done.returncode == 0, f"$ {command}\n{done.stderr}"
        said = " ".join(done.stdout.split())
        assert matches(" ".join(shown.split()), said), f"$ {command}\nthe page shows:\n{shown}\nit prints:\n{said}"
        return done.stdout

    def is_served(self):
        for port in self.ports:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)):
                    return False
        return True

    def end(self):
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            process.wait(30)


@pytest.mark.deep
def test_the_tutorial_leads_from_an_empty_folder_to_a_release(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page, ports = (ROOT / "docs" / "collect.md").read_text(encoding="utf-8"), []
    for shown in (8443, 8444, 8000):
        ports.append(free_port())
        page = page.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{ports[-1]}").replace(
            f"server {shown}", f"server {ports[-1]}"
        )
    walker, link = Walker(tmp_path, ports), None
    try:
        for block in fenced_blocks(page):
            if block.comment.startswith("file:"):
                (tmp_path / block.comment.partition(":")[2].strip()).write_text(block.text)
            elif block.language == "python":
                exec(block.text, {})  # noqa: S102
            elif block.language == "console":
                for command, shown in entries(block.text):
                    if command.startswith(ELSEWHERE):
                        continue
                    if command.startswith(NEEDS_A_RELEASE):
                        until((tmp_path / "releases" / "smoking" / "release.html").exists, 120)
                    if "--people-are-simulated" in command:
                        until(walker.is_served, 60)
                        answer(browser, link)
                    said = walker.type(command, shown)
                    link = next(iter(re.findall(r"http\S+#page=\w+", said.rpartition("Invite people")[2])), link)
    finally:
        walker.end()
    assert '"count": 261' in "".join(file.read_text() for file in tmp_path.glob("log-*"))  # the crowd, and one more


def answer(browser, link):
    """Somebody opens the link and answers."""
    with browser.new_context() as context:
        tab = context.new_page()
        wrong = watched(tab)
        tab.goto(link)
        tab.get_by_label("Sometimes").check()
        tab.get_by_role("button", name=RANDOMIZE).click()
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
        assert wrong == []
