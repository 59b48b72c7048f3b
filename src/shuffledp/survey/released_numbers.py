"""Estimates read back from a release's ``statement.json``, with the model of its reports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from shuffledp.analyzers import (
    AMONG,
    OTHERS,
    CrossTable,
    CrossTableAnalyzer,
    Frequencies,
    FrequencyAnalyzer,
    TickAnalyzer,
    TickEstimate,
    related,
)
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.estimates import NO_ANSWER, NOT_ASKED, SHARES, Estimate
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel, ProtocolModel
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.core.sum_models import SumModel
from shuffledp.core.table import Floats
from shuffledp.core.tick_models import TicksModel
from shuffledp.core.validate import invalid
from shuffledp.survey.columns import Column
from shuffledp.survey.section import read_whole
from shuffledp.survey.task import Task

STATEMENT = "statement.json"
_LARGEST = 1 << 30  # bytes: a task may have millions of categories
_ROUNDING, _TOO_LARGE = 1e-9, 1e100


class SeparatePlaces(Estimate):
    """Estimates at places whose people are shuffled apart, so that errors at different places are uncorrelated."""

    __slots__ = ()

    def covariances(self, first: Any, second: Any) -> tuple[Floats, Floats | None]:
        """Covariances of the errors of pairs of rows about different places: 0."""
        del second
        return np.zeros(len(first)), np.zeros(len(first))

    def knows_pairs(self, rows: Any, *, population: bool) -> bool:
        """Whether the rows are about one target, and so about different places."""
        del population
        return len({self.target[row] for row in rows}) == 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedNumbers:
    """Released numbers of one private column.

    Args:
        column: the column.
        model: protocol of its reports.
        estimate: numbers for all people together.
        places: numbers by region or place; None if there are none.
        among: shares among those asked; None where everybody is asked, or too few were.
    """

    column: Column
    model: ProtocolModel
    estimate: Estimate
    places: Estimate | None
    among: Estimate | None = None

    @classmethod
    def of(cls, column: Column, model: ProtocolModel, rows: Sequence[Mapping[str, Any]], num_reports: int) -> Self:
        """Released numbers from rows as in `ColumnOutcome.rows` or in a ``statement.json``."""
        validate.integer_at_least(1, num_reports=num_reports)
        tables = _tables(rows, num_reports, model.local)
        if not tables:
            raise invalid("one row or more of each private column", estimates=column.label)
        analyzer = column.randomizer.analyzer(level=column.release.level, columns=column.inputs)
        places = next((each for each in tables.values() if each.where is not None), None)
        if places is not None and model.shuffle.labels is LabelMeaning.STRATUM:
            places = SeparatePlaces(**_own(places))
        estimate = _typed(next(iter(tables.values())), tables, analyzer, model)
        among = tables.get(f"{estimate.statistic}{AMONG}")
        own = None if among is None else related(among, estimate)
        return cls(column=column, model=model, estimate=estimate, places=places, among=own)

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of rows worth comparing: possible answers or words, but only one of two answers."""
        compared = (self.among or self.estimate).compared_targets
        offered = self.column.randomizer.offered
        return tuple(
            each for each in compared if (each in offered if offered else each not in (OTHERS, NO_ANSWER, NOT_ASKED))
        )

    @property
    def is_table(self) -> bool:
        """Whether the numbers are about two answers that were randomized together."""
        return isinstance(self.estimate, CrossTable)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedFile:
    """Content of a release's ``statement.json`` from which further numbers can be computed.

    Args:
        name: title of its task.
        columns: numbers of each private column.
        seeded: whether it is a trial run, which promises nothing.
        content: bytes of the file.
    """

    name: str
    columns: tuple[ReleasedNumbers, ...]
    seeded: bool
    content: bytes

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The release in a folder, or in the file itself.

        Raises:
            InvalidParameterError: if there is none that this version can read, or nothing was released.
        """
        path = folder / STATEMENT if folder.is_dir() else folder
        try:
            content = read_whole(path, most=_LARGEST)
        except OSError as error:
            raise InvalidParameterError(
                f"a release must be a folder with a {STATEMENT} that can be read; got {str(folder)!r}: "
                f"{error.strerror}."
            ) from None
        try:
            data = json.loads(content)
            if data.get("not_released"):
                raise InvalidParameterError(f"a release must have numbers; of {str(folder)!r} nothing was released.")
            task = Task.from_dict(data["task"])
            parts = data.get("columns", [data])
            columns = tuple(
                ReleasedNumbers.of(
                    column,
                    ProtocolModel.from_dict(part["model"]),
                    [row for row in data["estimates"] if row.get("value") == part.get("value")],
                    part["num_reports"],
                )
                for column, part in zip(task.columns, parts, strict=True)
            )
            return cls(name=task.name, columns=columns, seeded=bool(data["seeded"]), content=content)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            if isinstance(error, InvalidParameterError) and "nothing was released" in str(error):
                raise
            raise InvalidParameterError(
                f"a release must have a {STATEMENT} that this version can read; got {str(path)!r}."
            ) from None


def _tables(rows: Sequence[Mapping[str, Any]], num_reports: int, local: LocalModel) -> dict[str, Estimate]:
    """One estimate for each statistic, in the order of the rows."""
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row["statistic"], []).append(row)
    return {
        name: _estimate(name, part, num_reports, _possible(name, num_reports, local)) for name, part in parts.items()
    }


def _possible(statistic: str, num_reports: int, local: LocalModel) -> tuple[float, float] | None:
    """Smallest and largest possible value of a statistic; None for differences and quantiles.

    Its intervals end there.
    """
    if "difference" in statistic:
        return None
    if statistic.startswith("frequency"):
        return SHARES
    if not isinstance(local, MeanModel | SumModel):
        return None
    people = num_reports // local.num_messages if statistic.startswith("sum") else 1
    return people * local.lower, people * local.upper


def _estimate(
    statistic: str, rows: Sequence[Mapping[str, Any]], num_reports: int, possible: tuple[float, float] | None
) -> Estimate:
    """Estimate from rows of a file; intervals that are not normal are taken from the rows."""
    found = {
        key: np.array([row[key] for row in rows], dtype=np.float64)
        for key in ("estimate", "standard_error", "lower", "upper")
    }
    for row in rows:
        validate.instance_of(str, statistic=row["statistic"], target=row["target"])
        validate.instance_of(Mapping, where=row.get("where", {}))
    sampling = [row["sampling_error"] for row in rows]
    numbers = [*found.values(), *([] if None in sampling else [np.array(sampling, dtype=np.float64)])]
    if not all((np.abs(each) < _TOO_LARGE).all() for each in numbers) or (found["standard_error"] < 0).any():
        raise invalid(f"below {_TOO_LARGE:g}, and no error below 0", numbers=statistic)
    normal = Estimate(
        statistic=statistic,
        target=tuple(row["target"] for row in rows),
        estimate=found["estimate"],
        standard_error=found["standard_error"],
        sampling_error=None if None in sampling else np.array(sampling, dtype=np.float64),
        possible=possible,
        level=rows[0]["level"],
        where=tuple(row["where"] for row in rows) if all("where" in row for row in rows) else None,
        num_reports=num_reports,
    )
    off = np.abs(np.stack([normal.lower - found["lower"], normal.upper - found["upper"]]))
    if off.max() <= _ROUNDING * max(1.0, float(np.abs(found["estimate"]).max())):
        return normal
    ends = np.minimum(found["lower"], normal.nearest), np.maximum(found["upper"], normal.nearest)
    return Estimate(**_own(normal) | {"interval": np.stack(ends, axis=1)})


def _typed(estimate: Estimate, tables: Mapping[str, Estimate], analyzer: Any, model: ProtocolModel) -> Estimate:
    """Estimate in the class that the analyzer uses, which knows how the errors of its rows are correlated."""
    own, local, shuffle = _own(estimate), model.local, model.shuffle
    if isinstance(analyzer, TickAnalyzer) and isinstance(local, TicksModel):
        return TickEstimate(**own, model=local)
    if shuffle.dummies is not None or shuffle.arrival_share < 1 or not isinstance(local, FrequencyModel):
        return estimate
    if isinstance(analyzer, FrequencyAnalyzer) and estimate.statistic == "frequency":
        return Frequencies(**own, model=local)
    if isinstance(analyzer, CrossTableAnalyzer) and len(tables) >= 4:
        margins, shares, differences = list(tables.values())[1:4]
        return CrossTable(
            **own,
            columns=analyzer.columns,
            categories=analyzer.categories,  # type: ignore[arg-type]  # names, as it made them
            margins=margins,
            row_shares=shares,
            differences=differences,
        )
    return estimate


def _own(estimate: Estimate) -> dict[str, Any]:
    """Fields of an estimate that are common to all kinds of estimates."""
    return {each.name: getattr(estimate, each.name) for each in fields(Estimate)}
