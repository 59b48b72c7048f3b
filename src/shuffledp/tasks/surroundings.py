"""What a task's shuffler needs besides the task: groups of people, or graphs."""

from shuffledp.flow import Shuffler
from shuffledp.tasks.groups import Grouping
from shuffledp.tasks.network import Graphs, NetworkSection
from shuffledp.tasks.network_rounds import walking
from shuffledp.tasks.task import Task

__all__ = ["shuffler_of"]


def shuffler_of(part: Task, grouping: Grouping | None = None, graphs: Graphs | None = None) -> Shuffler:
    """The shuffler of a private column as a run has it.

    Args:
        part: a task of one private column.
        grouping: of the people, for a shuffle inside groups.
        graphs: of the rounds, for walks along a graph; rounds that the task leaves open are worked out.

    Raises:
        InvalidParameterError: if what the shuffler is about is not given, or no number of rounds does.
    """
    section = part.shuffler
    if graphs is None or not isinstance(section, NetworkSection):
        return section.shuffler(grouping)
    return walking(section, graphs, part.randomizer.randomizer(), part.release.delta)
