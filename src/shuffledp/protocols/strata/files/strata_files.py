"""Strata from the public columns of people, and views shuffled inside them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from shuffledp.core.flow import Shuffler, View
from shuffledp.core.table import Table
from shuffledp.files.family_files import CheckedParts, FamilyFiles
from shuffledp.protocols.strata.people.strata import Strata
from shuffledp.protocols.strata.shufflers.stratified import StratifiedShuffler
from shuffledp.protocols.strata.survey.stratified_section import StratifiedSection
from shuffledp.survey import Column


class StrataFiles(FamilyFiles):
    """Strata of a task, from public columns, and the check that each has enough people."""

    def around(
        self, section: StratifiedSection, public: Table | None, num_users: int | None, folder: Path
    ) -> Strata | None:
        """Strata of the people with these public columns; None without columns."""
        del num_users, folder
        return None if public is None else section.strata(public)

    def shuffler(self, column: Column, public: Table | None, num_users: int, folder: Path) -> Shuffler:
        """Shuffler inside the strata of these people; refused if a stratum has too few."""
        section = cast(StratifiedSection, column.shuffler)
        stratified = section.shuffler(self.around(section, public, num_users, folder))
        section.require_batch(stratified.model(num_users), stratified.strata.table, column)
        return stratified

    def checked(self, column: Column, views: Iterator[View], shuffler: Shuffler | None, folder: Path) -> CheckedParts:
        """Checked view in one part; refused if a stratum has too few people."""
        del shuffler, folder
        whole = next(views)
        cast(StratifiedSection, column.shuffler).require_batch(whole.shuffle, whole.label_table, column)
        return CheckedParts(views=iter([whole]), whole=whole)


def each_batch_by_itself(sizes: Sequence[int]) -> StratifiedShuffler:
    """Shuffler of several batches, with each batch as its own stratum."""
    import numpy as np

    numbers = np.repeat(np.arange(len(sizes)), sizes)
    table = Table({"batch": np.arange(1, len(sizes) + 1).astype(np.str_)})
    return StratifiedShuffler(Strata(of_person=numbers, table=table, by="batch"))
