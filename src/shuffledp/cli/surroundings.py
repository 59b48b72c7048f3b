"""Reads what a task's shuffler needs besides the task: a table of the people, or graphs."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from shuffledp.errors import InvalidParameterError
from shuffledp.tables import read_graphs, read_grouping
from shuffledp.tasks import Graphs, Grouping, JointTask, NetworkSection, Task

__all__ = ["check_people", "read_surroundings"]

Progress = Callable[[str, int, int | None], None]


def check_people(task: Task | JointTask, people: Path | None) -> None:
    """Refuse a table of the people where it is not needed, and none where it is."""
    if (task.groups is None) != (people is None):
        wanted = "left out for a task without [groups]" if task.groups is None else "given for a task with [groups]"
        raise InvalidParameterError(f"--input must be {wanted}; got {'none' if people is None else repr(str(people))}.")


def read_surroundings(
    task: Task | JointTask, folder: Path, *, users: int | None, people: Path | None, progress: Progress
) -> tuple[Grouping | None, Graphs | None]:
    """The groups, of which only public columns are read, and the graphs; None where the task has none.

    Args:
        task: the task; `check_people` has been asked.
        folder: that of the task file.
        users: how many people take part, for a graph that is drawn.
        people: a table of the people, for a task with groups.
        progress: told what is read.
    """
    grouping, graphs = None, None
    if people is not None:
        grouping = read_grouping(task, people, folder, partial(progress, "reading"))
    if isinstance(task.shuffler, NetworkSection):
        graphs = read_graphs(task.shuffler, users or task.people.expected, folder)
    return grouping, graphs
