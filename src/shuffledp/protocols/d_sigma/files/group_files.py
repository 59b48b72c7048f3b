"""Groups of people from public columns and files, and views of shuffles that hide the order inside them."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.core.flow import Progress, Reports, Shuffler, View
from shuffledp.core.table import Integers, Table
from shuffledp.files.family_files import CheckedParts, FamilyFiles, ShuffledParts
from shuffledp.files.people_files import read_graph, read_named_lists
from shuffledp.planning.family_plan import Around
from shuffledp.protocols.d_sigma.files.regions import SLOTS_AT_A_TIME, PlacesInParts
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.people.public_points import rows_of
from shuffledp.protocols.d_sigma.shufflers.reference_order import SlotShuffler
from shuffledp.protocols.d_sigma.survey.grouped_section import GroupedSection
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection
from shuffledp.protocols.d_sigma.survey.regional_result import RegionalResult
from shuffledp.randomness.sources import RandomSource
from shuffledp.survey import Column


class GroupFiles(FamilyFiles):
    """Groups of a task from public columns or a file, and its checked views in parts.

    Reports are counted by place on the way.
    """

    def around(
        self, section: GroupedSection, public: Table | None, num_users: int | None, folder: Path
    ) -> Grouping | None:
        """Groups of the people with these public columns, one row each; None if no people are known.

        Raises:
            InvalidParameterError: if the file that the task names is absent, or has another digest than the task says.
            InputDataError: if the file or the columns do not fit the people.
        """
        groups = section.groups
        if groups is None or num_users is None:
            return None
        if groups.file is not None:
            return Grouping(_from_file(groups, num_users, folder))
        columns = {} if public is None else public.columns
        try:
            if groups.column is not None:
                labels = columns[groups.column]
                return Grouping(Groups.from_labels(labels), labels=labels)
            points = rows_of([columns[name] for name in groups.columns])
            return Grouping(_from_points(groups, points), points)
        except InvalidParameterError as error:
            reason = str(error)
        raise InputDataError(f"groups cannot be made from {', '.join(groups.public_columns)}: {reason}")

    def with_households(self, around: Around | None, households: tuple[Integers, ...]) -> Around | None:
        """Groups with their households, for a plan of the chances of finding a household."""
        return replace(around, households=households) if isinstance(around, Grouping) else around

    def shuffled(
        self, column: Column, shuffler: Shuffler, reports: Reports, public: Table | None, source: RandomSource
    ) -> ShuffledParts:
        """Shuffled view of the reports, in parts."""
        del column
        slots = cast(SlotShuffler, shuffler)
        views = slots.view_parts(reports, public=public, source=source, size=SLOTS_AT_A_TIME)
        shuffle = slots.model(reports.num_users)
        return ShuffledParts(shuffle=shuffle, num_reports=len(reports), views=views, shuffler=shuffler)

    def checked(self, column: Column, views: Iterator[View], shuffler: Shuffler | None, folder: Path) -> CheckedParts:
        """Parts of the checked view, with reports counted by place on the way."""
        parts = (part for view in views for part in view.parts(SLOTS_AT_A_TIME))
        first = next(parts)
        made_by = shuffler or self.shuffler(column, first.label_table, first.shuffle.num_users, folder)
        by_place = PlacesInParts(column, first, made_by, folder)

        def added(progress: Progress | None) -> RegionalResult:
            del progress
            return by_place.regional()

        return CheckedParts(views=map(by_place.take, chain([first], parts)), added=added)


def _from_points(section: GroupsSection, points: NDArray[np.float64]) -> Groups:
    metric = section.metric or "euclidean"
    if section.radius is not None:
        return Groups.from_radius(points, section.radius, metric)
    return Groups.from_neighbors(points, int(section.neighbors or 0), metric)


def _from_file(section: GroupsSection, num_users: int, folder: Path) -> Groups:
    """Groups from the task's file, which must have the digest in the task."""
    section.pinned(folder)
    path = folder / str(section.file)
    try:
        if section.lists is not None:
            return Groups.from_lists(list(read_named_lists(path).values()), num_users)
        graph = read_graph(path, num_users=num_users)
        return Groups.from_graph(graph, hops=section.hops, neighbors=section.neighbors)
    except InvalidParameterError as error:
        reason = str(error)
    raise InputDataError(f"{path} must fit the {num_users} people of the input: {reason}")
