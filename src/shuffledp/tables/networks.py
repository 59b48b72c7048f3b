"""Graphs that reports walk along, at run time: from the files that the task names, or drawn."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from shuffledp.errors import InputDataError, InvalidParameterError
from shuffledp.flow import Shuffler, View
from shuffledp.graphs import Graph
from shuffledp.shufflers import RandomWalkShuffleModel, RandomWalkShuffler
from shuffledp.tables.graphs import read_graph
from shuffledp.tables.reading import Progress
from shuffledp.tasks import Graphs, NetworkSection, Task, Walked, along, plan_network
from shuffledp.testing import SeededSource

__all__ = ["WalkedView", "read_graphs"]


def read_graphs(section: NetworkSection, num_users: int | None, folder: Path) -> Graphs:
    """The graphs of the rounds.

    Args:
        section: names files, or says how to draw a graph.
        num_users: people of the input; None, for files only, is as many as they name.
        folder: that of the task file, which paths in it are relative to.

    Raises:
        InvalidParameterError: if a file is absent, or has another digest than the task says; or there is no such graph.
        InputDataError: if a file does not fit the people.
    """
    if section.degree is not None:
        return (_drawn(section, num_users),)
    section.pinned(folder)
    found: list[Graph] = []
    for name in section.files:
        path = folder / name
        try:
            graph = read_graph(path, num_users=num_users)
            _require_neighbors(graph)
        except InvalidParameterError as error:
            reason = str(error)
        else:
            found.append(graph)
            num_users = graph.num_users
            continue
        people = "" if num_users is None else f" the {num_users} people of the input"
        raise InputDataError(f"{path} must fit{people or ' whoever walks along it'}: {reason}")
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WalkedView:
    """A view of reports that walked along a graph, and the graph.

    Args:
        task: the task.
        view: the view, described as the analyst's own copy of the graph describes it.
        shuffler: what made it, or would have.
        graphs: as in `shuffledp.tasks.network`.
    """

    task: Task
    view: View
    shuffler: RandomWalkShuffler
    graphs: Graphs

    @classmethod
    def of(cls, task: Task, view: View, shuffler: Shuffler | None, folder: Path) -> "WalkedView":
        """The same with the graph beside the task file.

        Args:
            task: one of a network shuffle.
            view: the whole view.
            shuffler: what made it, if it is here.
            folder: that of the task file.

        Raises:
            InputDataError: if the view is one of walks along another graph.
        """
        section, shuffle = task.shuffler, view.shuffle
        if not isinstance(section, NetworkSection) or not isinstance(shuffle, RandomWalkShuffleModel):
            raise InputDataError("the view must be one of a 'network' shuffle.")
        graphs = read_graphs(section, shuffle.num_users, folder)
        if not isinstance(shuffler, RandomWalkShuffler):
            shuffler = along(section, graphs, task.randomizer.randomizer(), shuffle.num_rounds)
        own = shuffler.model(shuffle.num_users)
        if own.graph_digest != shuffle.graph_digest:
            raise InputDataError("the view must be one of walks along the task's graph; it is of another graph.")
        if own != shuffle:  # by digits, or by what somebody claims
            view = replace(view, shuffle=own)
        return cls(task=task, view=view, shuffler=shuffler, graphs=graphs)

    def walked(self, progress: Progress | None = None) -> Walked:
        """What there is to say of the walks."""
        planned = plan_network(
            cast(NetworkSection, self.task.shuffler),
            self.graphs,
            self.task.randomizer.randomizer(),
            self.task.release.delta,
            shuffler=self.shuffler,
            progress=progress,
        )
        held = np.bincount(cast(Any, self.view.labels), minlength=self.view.shuffle.num_users)
        return Walked(plan=planned, held=tuple(np.bincount(held).tolist()))


def _drawn(section: NetworkSection, num_users: int | None) -> Graph:
    if num_users is None:
        raise InvalidParameterError(
            f"num_users must be given (--users N), or expected in the task's table [people], to draw the graph "
            f"{section.graph!r}; got neither."
        )
    try:
        return Graph.random_regular(section.degree or 0, num_users, source=SeededSource(section.graph_seed or 0))
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"the graph {section.graph!r} cannot be drawn for {num_users} people: {reason}")


def _require_neighbors(graph: Graph) -> None:
    alone = np.flatnonzero(graph.degrees == 0)
    if alone.size:
        raise InputDataError(
            f"everybody must have a neighbor, or nothing would shuffle their reports; the person of row {alone[0]} "
            f"(counted from 0) has none, {alone.size} in all. Leave them out of the input and number the others anew."
        )
