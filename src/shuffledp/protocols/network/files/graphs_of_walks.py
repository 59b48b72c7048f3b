"""Graphs of a task's walks, and the views that such walks made."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.core.flow import Progress, Shuffler, View
from shuffledp.core.table import Table
from shuffledp.files.family_files import CheckedParts, FamilyFiles
from shuffledp.files.people_files import read_graph
from shuffledp.people.graphs import Graph
from shuffledp.protocols.network.people.overlays import Contacts
from shuffledp.protocols.network.shufflers.random_walk import RandomWalkShuffler
from shuffledp.protocols.network.shufflers.walk_model import RandomWalkShuffleModel
from shuffledp.protocols.network.survey.network_section import NetworkSection, WalkResult
from shuffledp.survey import Column


class GraphFiles(FamilyFiles):
    """Graphs of a task's walks, from files or drawn."""

    def around(self, section: NetworkSection, public: Table | None, num_users: int | None, folder: Path) -> Contacts:
        """The graphs of all rounds, or the overlay."""
        del public
        return read_graphs(section, num_users, folder)

    def checked(self, column: Column, views: Iterator[View], shuffler: Shuffler | None, folder: Path) -> CheckedParts:
        """Checked view in one part, with the model of the task's own walks."""
        walked = WalkedView.of(column, next(views), shuffler, folder)
        return CheckedParts(views=iter([walked.view]), shuffle=walked.view.shuffle, added=walked.walked)


def read_graphs(section: NetworkSection, num_users: int | None, folder: Path) -> Contacts:
    """Graphs of all rounds from files or drawn at random, or an overlay of the people.

    None people are as many as files name.

    Raises:
        InvalidParameterError: if a file is absent, or has another digest than the task says; or there is no such graph.
        InputDataError: if a file, or an overlay, does not fit the people.
    """
    if not section.files:
        return _for_people(section, num_users)
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
    """View after walks, with the analyst's graphs, and the shuffler on these graphs."""

    column: Column
    view: View
    shuffler: RandomWalkShuffler
    graphs: Contacts

    @classmethod
    def of(cls, column: Column, view: View, shuffler: Shuffler | None, folder: Path) -> "WalkedView":
        """View with the graph beside the task file; refused if its reports walked on another graph."""
        section, shuffle = column.shuffler, view.shuffle
        if not isinstance(section, NetworkSection) or not isinstance(shuffle, RandomWalkShuffleModel):
            raise InputDataError("the view must be one of a 'network' shuffle.")
        graphs = read_graphs(section, shuffle.num_users, folder)
        try:
            if not isinstance(shuffler, RandomWalkShuffler) or shuffle.schedule is not None:
                walk = section.along(graphs, column.randomizer.randomizer(), column.release.delta)
                planned = section.rounds if isinstance(section.rounds, int) else None
                shuffler = walk.shuffler(shuffle.num_rounds, shuffle.schedule, planned=planned)
            own = shuffler.model(shuffle.num_users)
        except InvalidParameterError as error:
            reason = str(error)
            raise InputDataError(f"the view must be one that the task's walks can have made: {reason}") from None
        if own.graph_digest != shuffle.graph_digest:
            raise InputDataError("the view must be one of walks along the task's graph; it is of another graph.")
        if own != shuffle:  # the view's numbers may be rounded, or wrong
            view = replace(view, shuffle=own)
        return cls(column=column, view=view, shuffler=shuffler, graphs=graphs)

    def walked(self, progress: Progress | None = None) -> WalkResult:
        """Result of the walks: number of reports that each person handed in, and the plan."""
        section = cast(NetworkSection, self.column.shuffler)
        planned = section.family_plan(self.column, self.graphs, self.shuffler, progress=progress)
        held = np.bincount(cast(Any, self.view.labels), minlength=self.view.shuffle.num_users)
        return WalkResult(plan=planned, held=tuple(np.bincount(held).tolist()))


def _for_people(section: NetworkSection, num_users: int | None) -> Contacts:
    """Overlay or drawn graph of this number of people.

    Refused if the number is unknown or does not fit.
    """
    drawn = f"the graph {section.graph!r}"
    what, do, done = (drawn, "draw", "drawn") if section.overlay is None else ("an overlay", "lay out", "laid out")
    if num_users is None:
        raise InvalidParameterError(
            f"num_users must be given (--users N), or expected in the task's table [people], to {do} {what}; "
            "got neither."
        )
    try:
        return cast(Contacts, section.of_people(num_users))
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"{what} cannot be {done} for {num_users} people: {reason}")


def _require_neighbors(graph: Graph) -> None:
    alone = np.flatnonzero(graph.degrees == 0)
    if alone.size:
        raise InputDataError(
            f"everybody must have a neighbor, or nothing would shuffle their reports; the person of row {alone[0]} "
            f"(counted from 0) has none, {alone.size} in all. Leave them out of the input and number the others anew."
        )
