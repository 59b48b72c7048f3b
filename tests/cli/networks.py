"""A folder with people, a graph of them, and a task whose reports walk along it."""

import random
from pathlib import Path

from cli.running import task_with, toml, write_csv

PEOPLE = 120
FEW = {"release": {"delta": 1e-2}, "randomizer": {"epsilon0": 1.0}}


def ring_with_chords(people: int, chords: int, first: int = 0) -> list[tuple[int, int]]:
    """A connected graph: a ring, and pairs of its people drawn from a fixed seed."""
    draw = random.Random(people)
    ring = [(first + one, first + (one + 1) % people) for one in range(people)]
    return ring + [tuple(first + each for each in draw.sample(range(people), 2)) for _ in range(chords)]


def write_edges(path: Path, edges) -> Path:
    return write_csv(path, ["a", "b"], edges)


def write_people(folder: Path, people: int = PEOPLE) -> Path:
    rows = [[f"town {person % 3}", "Yes" if person % 4 == 0 else "No"] for person in range(people)]
    return write_csv(folder / "people.csv", ["town", "cheated"], rows)


def write_network(folder: Path, **shuffler) -> Path:
    """The task; further keys are those of its shuffler."""
    keys = {"kind": "network", "graph": "friends.csv", "rounds": 12, **shuffler}
    path = folder / "task.toml"
    given = {key: value for key, value in keys.items() if value is not None}
    path.write_text(toml(task_with(public=["town"], shuffler=given, **FEW)), encoding="utf-8")
    return path


def make_folder(folder: Path) -> Path:
    """People, friends, and the task."""
    write_people(folder)
    write_edges(folder / "friends.csv", ring_with_chords(PEOPLE, 500))
    write_network(folder)
    return folder
