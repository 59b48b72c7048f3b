"""Input of a job from an earlier stage: the listed files, and their reports by share."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from shuffledp.core.errors import InputDataError
from shuffledp.core.flow import Reports
from shuffledp.distributed.shares import Share, read_share
from shuffledp.files.file_facts import FileFacts
from shuffledp.files.parquet import reports_of
from shuffledp.files.parts_folder import PartsFolder
from shuffledp.files.reading import open_parquet
from shuffledp.survey import Column, DataFlow


@dataclass(frozen=True, slots=True)
class StageFiles:
    """Files of reports or of a view: one file, or a folder's parts in the order of its list."""

    place: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        """Paths of all files, one or more."""
        if not PartsFolder.is_at(self.place):
            return (self.place,)
        return tuple(self.place / part.name for part in PartsFolder.read(self.place).parts)

    def require_listed(self, digests: dict[Path, str]) -> None:
        """Refuse a part whose digest differs from the list.

        Raises:
            InputDataError: with the name of the part.
        """
        if PartsFolder.is_at(self.place):
            for part in PartsFolder.read(self.place).parts:
                part.require(self.place, digests[self.place / part.name], part.rows)


class StageReports:
    """Reports of a share read from an earlier stage, in place of reports made from answers."""

    names: tuple[pa.Array, ...] = ()  # names were checked by the stage that saw them
    flow = DataFlow(received=None, missing=0, released=0)  # the files state it for all shares together

    def __init__(self, column: Column, share: Share, facts: FileFacts) -> None:
        self._column, self._share, self._facts = column, share, facts
        self.num_reports = 0

    def __iter__(self) -> Iterator[tuple[Reports, None]]:
        for piece in self._share.pieces:
            first, columns = piece.first_row, open_parquet(piece.path).schema_arrow.names
            for batch in read_share(Share((piece,)), columns):
                reports = reports_of(piece.path, self._column, pa.Table.from_batches([batch]), self._facts)
                if self._facts.content == "reports" and reports.misplaced(first=first) is not None:
                    raise InputDataError(
                        f"{piece.path} must hold the reports of one person after another, each for all rounds in their "
                        "order; it does not."
                    )
                first += len(reports)
                self.num_reports += len(reports)
                yield reports, None
