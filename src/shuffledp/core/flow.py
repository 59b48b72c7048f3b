"""The flow of data: reports, views and summaries, and the interfaces of the three parts that make them.

Every shuffler returns a `View`, so that analysis and attacks cannot tell a simulation from a service.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.described import Described, decode, encode, require_keys
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.estimates import Estimate
from shuffledp.core.local_models import LocalModel
from shuffledp.core.shuffle_models import LabelMeaning, ShuffleModel
from shuffledp.core.table import Table, _columns_from_dict, frozen
from shuffledp.randomness.permutations import random_permutation, shuffled_together
from shuffledp.randomness.sources import RandomSource, resolve_source

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[int, int | None], None]  # (rows, runs or rounds done, how many in all if known)

_MODEL_KEY = b"shuffledp.model"
_SEEDED_KEY = b"shuffledp.seeded"
DISTINCT_LABELS = (LabelMeaning.SLOT, LabelMeaning.POSITION)  # no two reports of a view have the same label
_OF_ROUNDS = (LabelMeaning.ROUND, LabelMeaning.POSITION)  # labels that say which round a report was in
_LONG_RUN = 1000  # reports with one label, on average: then they are permuted label by label, without sorting


class Reports(Table):
    """Randomized reports, one per row, with the model of their randomizer.

    Shufflers use ``len`` and ``take`` only; what the columns mean is between randomizer and analyzer.

    Args:
        columns: as the model says, such as ``value`` for randomized response.
        model: the public description of the randomizer; estimators read their parameters from it.
        seeded: whether they were made with randomness that can be replayed, so that they are not private. What is made
            of such reports is seeded too. Equality does not look at it.

    Raises:
        InvalidParameterError: if the columns cannot be reports of this model.
    """

    __slots__ = ("model", "seeded")
    model: LocalModel
    seeded: bool

    def __init__(self, columns: Mapping[str, ArrayLike], model: LocalModel, *, seeded: bool = False) -> None:
        super().__init__(columns)
        model.check(self.columns)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "seeded", bool(seeded))

    @property
    def num_users(self) -> int:
        """Number of people behind these reports, if each person sent exactly ``num_messages`` reports.

        Raises:
            InvalidParameterError: if the reports cannot be shared out so.
        """
        return self.model.num_users_of(len(self))

    def misplaced(self, *, first: int = 0) -> int | None:
        """Row number of the first report with a wrong round; None if every round is right.

        Row ``person * num_messages + k`` is of round k // messages_per_round. Rows are counted from ``first``, the
        number of rows before a part. None also if reports do not say their round.
        """
        rounds, period, each = self.model.rounds(self.columns), self.model.num_messages, self.model.messages_per_round
        if rounds is None:
            return None
        head = (first + np.arange(min(period, len(rounds)))) % period // each
        if np.array_equal(rounds[:period], head) and np.array_equal(rounds[period:], rounds[:-period]):
            return None
        return first + int(np.argmax(rounds != (first + np.arange(len(rounds))) % period // each))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) is True and isinstance(other, Reports) and self.model == other.model

    __hash__ = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return partial(type(self), seeded=self.seeded), (dict(self.columns), self.model)

    def to_dict(self) -> dict[str, Any]:
        """Dictionary for JSON of the columns, the model and ``seeded``."""
        return super().to_dict() | {"model": self.model.to_dict(), "seeded": self.seeded}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Reports from the dictionary of ``to_dict``.

        Raises:
            InvalidParameterError: if it wrote something else.
        """
        require_keys(data, "columns", "model", "seeded")
        seeded = decode(bool, data["seeded"], "seeded")
        return cls(_columns_from_dict(data), LocalModel.from_dict(data["model"]), seeded=seeded)

    @classmethod
    def from_table(cls, table: Table, model: LocalModel, *, seeded: bool = False) -> Self:
        """Reports of a model, from a table."""
        return cls(table.columns, model, seeded=seeded)

    def to_arrow(self) -> "pa.Table":
        """The rows as an Arrow table, with the model and ``seeded`` in its metadata."""
        metadata = {_MODEL_KEY: json.dumps(self.model.to_dict()), _SEEDED_KEY: json.dumps(self.seeded)}
        return super().to_arrow().replace_schema_metadata(metadata)

    @classmethod
    def from_arrow(cls, table: "pa.Table") -> Self:
        """Reports from the table of ``to_arrow``; `from_table` reads a table without a model.

        Raises:
            InvalidParameterError: if there is no model in the metadata, or the columns cannot be its reports.
        """
        metadata = (table.schema.metadata or {}) if hasattr(table.schema, "metadata") else {}
        if _MODEL_KEY not in metadata or _SEEDED_KEY not in metadata:
            raise InvalidParameterError("table must hold a model, as to_arrow writes it; use from_table with a model.")
        model, seeded = LocalModel.from_dict(json.loads(metadata[_MODEL_KEY])), json.loads(metadata[_SEEDED_KEY])
        return cls.from_table(Table.from_arrow(table), model, seeded=decode(bool, seeded, "seeded"))

    def moved(self, moves: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> Self:
        """Reports in a new order: each pair (places, rows) moves rows to places, and every place is filled once."""
        columns = {name: np.empty_like(column) for name, column in self.columns.items()}
        for places, rows in moves:
            for name, column in self.columns.items():
                columns[name][places] = column[rows]
        return self._with({name: frozen(column) for name, column in columns.items()})

    def _shuffled_in_runs(self, starts: NDArray[np.intp], source: RandomSource | None) -> Self:
        """Rows permuted uniformly and independently inside each run of rows; runs begin at ``starts``."""
        if len(starts) == 1 and (few := shuffled_together(self.columns, source=source)):
            return self._with({name: frozen(column) for name, column in few.items()})
        columns = {name: np.empty_like(column) for name, column in self.columns.items()}
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(self)], strict=True):
            order = random_permutation(stop - start, source=source)
            for name, column in self.columns.items():
                np.take(column[start:stop], order, axis=0, out=columns[name][start:stop], mode="clip")
        return self._with({name: frozen(column) for name, column in columns.items()})

    def _with(self, columns: Mapping[str, ArrayLike]) -> Self:
        return type(self)(columns, self.model, seeded=self.seeded)

    def _joined(self, parts: Sequence[Table]) -> Self:
        reports = [part for part in parts if isinstance(part, Reports) and part.model == self.model]
        if len(reports) < len(parts):
            raise InvalidParameterError(f"parts must all be reports of one model; the first is of {self.model!r}.")
        joined = super()._joined(parts)
        object.__setattr__(joined, "seeded", any(part.seeded for part in reports))
        return joined


def _ascending(labels: NDArray[Any]) -> bool:
    """Whether the labels strictly ascend."""
    return bool((labels[:-1] < labels[1:]).all())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """The analyst's view: a multiset of (label, report), and nothing else.

    A label is a person's slot (d_sigma), a submitter of 0 or more reports (network), a round, or the place in the order
    of an imperfect shuffle (split-and-mix); a uniform shuffle has none, and its reports cannot be told apart.

    Guarantees:
        1. Among equal labels the row order is a fresh uniform permutation made here, and rows are sorted by label: the
           order of rows carries no information beyond the labels.
        2. Nothing but the label ties a report to a row of the label table.

    Args:
        reports: the reports, in any order.
        labels: one integer per report, or None if reports are indistinguishable.
        label_table: one public row per label, also for labels that hold no report; row i belongs to label i.
        shuffle: the public description of the shuffler.
        seeded: whether it was made with randomness that can be replayed; True also if its reports or ``source`` say so.
            Equality does not look at it.
        source: randomness of the permutation; None is the cryptographic source.

    Raises:
        InvalidParameterError: if labels are missing, superfluous, out of range, or repeated where each is one slot or
            place, or name another round than the report itself, or the label table has not one row per label.
    """

    reports: Reports
    labels: NDArray[np.int64] | None = None
    label_table: Table | None = None
    shuffle: ShuffleModel
    seeded: bool = False
    source: InitVar[RandomSource | None] = None

    def __post_init__(self, source: RandomSource | None) -> None:
        object.__setattr__(self, "seeded", self.seeded or self.reports.seeded or resolve_source(source).reproducible)
        if self.labels is None:
            if self.shuffle.labels is not LabelMeaning.NONE or self.label_table is not None:
                raise InvalidParameterError(
                    f"labels must be given for a {self.shuffle.kind!r} shuffle or a label table; got labels=None."
                )
            object.__setattr__(self, "reports", self.reports._shuffled_in_runs(np.zeros(1, dtype=np.intp), source))
            return
        validate.unmasked(labels=self.labels)
        labels = np.asarray(self.labels)
        self._check_labels(labels)
        labels = labels.astype(np.int64, copy=False)
        if not _ascending(labels):
            labels = self._permute(labels, source)
        self._check_rounds(labels)
        labels = labels.view()
        labels.setflags(write=False)
        object.__setattr__(self, "labels", labels)

    def _permute(self, labels: NDArray[np.int64], source: RandomSource | None) -> NDArray[np.int64]:
        """Sort rows by label, with equal labels in uniformly random order; returns the sorted labels."""
        starts = np.concatenate([[0], np.flatnonzero(labels[:-1] != labels[1:]) + 1])
        if len(labels) >= _LONG_RUN * len(starts) and (labels[starts[:-1]] < labels[starts[1:]]).all():
            object.__setattr__(self, "reports", self.reports._shuffled_in_runs(starts, source))
            return labels
        order = random_permutation(len(labels), source=source)
        order = order[np.argsort(labels[order], kind="stable")]
        object.__setattr__(self, "reports", self.reports.take(order))
        return labels[order]

    def _check_labels(self, labels: NDArray[Any]) -> None:
        meaning, count = self.shuffle.labels, len(self.reports)
        if meaning is LabelMeaning.NONE:
            raise InvalidParameterError(f"labels must be None for a {self.shuffle.kind!r} shuffle; got {count} labels.")
        if labels.shape != (count,) or labels.dtype.kind not in "iu":
            raise InvalidParameterError(
                f"labels must be one integer per report, shape ({count},); got shape {labels.shape} of {labels.dtype}."
            )
        limit = self.shuffle.num_labels
        if self.label_table is not None and len(self.label_table) != limit:
            raise InvalidParameterError(
                f"label_table must have one row per label, {limit}; got {len(self.label_table)} rows."
            )
        if count and not (labels.min() >= 0 and labels.max() < limit):
            raise InvalidParameterError(
                f"labels must be in range({limit}); got labels from {labels.min()} to {labels.max()}."
            )
        if meaning in DISTINCT_LABELS and not _ascending(labels) and len(np.unique(labels)) != count:
            distinct = len(np.unique(labels))
            raise InvalidParameterError(
                f"labels must be distinct {meaning.plural}; got {distinct} distinct of {count}."
            )

    def _check_rounds(self, labels: NDArray[np.int64]) -> None:
        """Refuse reports whose round differs from the round of their label; labels are ascending."""
        rounds = self.reports.model.rounds(self.reports.columns)
        if rounds is None or self.shuffle.labels not in _OF_ROUNDS:
            return
        each = self.shuffle.num_labels // self.shuffle.num_rounds
        ends = np.searchsorted(labels, each * np.arange(self.shuffle.num_rounds + 1)).tolist()
        for number, (start, stop) in enumerate(pairwise(ends)):
            if (rounds[start:stop] != number).any():
                raise InvalidParameterError(
                    f"labels must be of the round that each report is for; some of round {number} are not."
                )

    def __len__(self) -> int:
        return len(self.reports)

    def __repr__(self) -> str:
        labels = "no labels" if self.labels is None else f"labels are {self.shuffle.labels.plural}"
        return f"View({len(self)} reports of {self.reports.model.kind!r}, {self.shuffle.kind!r} shuffle, {labels})"

    def __eq__(self, other: object) -> bool:
        """Equality as multisets: the order of rows means nothing."""
        if not isinstance(other, View):
            return NotImplemented
        same_public = self.shuffle == other.shuffle and self.label_table == other.label_table
        same_model = self.reports.model == other.reports.model
        same_columns = list(self.reports.columns) == list(other.reports.columns)
        if not (same_public and same_model and same_columns and len(self) == len(other)):
            return False
        pairs = zip(self._sorted_rows(), other._sorted_rows(), strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[], "View"], tuple[()]]:
        """Rebuild copies and pickles by the constructor, which checks them and permutes rows afresh."""
        parts = ("reports", "labels", "label_table", "shuffle", "seeded")
        return partial(type(self), **{name: getattr(self, name) for name in parts}), ()

    def _sorted_rows(self) -> list[NDArray[Any]]:
        """Labels and reports as columns of scalars, not rounded, with rows sorted by label and content."""
        columns = [] if self.labels is None else [self.labels]
        for column in self.reports.columns.values():
            columns += [column] if column.ndim == 1 else list(column.T)
        order = np.lexsort(columns[::-1])
        return [column[order] for column in columns]

    def parts(self, size: int) -> Iterator["View"]:
        """Parts of the view with at most ``size`` reports each; their summaries add up to the view's summary."""
        validate.integer_at_least(1, size=size)
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield View(
                reports=self.reports.take(rows),
                labels=None if self.labels is None else self.labels[rows],
                label_table=self.label_table,
                shuffle=self.shuffle,
                seeded=self.seeded,
            )

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the view for JSON."""
        return {
            "reports": self.reports.to_dict(),
            "labels": encode(self.labels),
            "label_table": None if self.label_table is None else self.label_table.to_dict(),
            "shuffle": self.shuffle.to_dict(),
            "seeded": self.seeded,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "View":
        """View from the dictionary of ``to_dict``, with its rows in a new random order.

        Raises:
            InvalidParameterError: if it wrote something else.
        """
        require_keys(data, "reports", "labels", "label_table", "shuffle", "seeded")
        labels, table = data["labels"], data["label_table"]
        return cls(
            reports=Reports.from_dict(data["reports"]),
            labels=None if labels is None else decode(NDArray[np.int64], labels, "labels"),
            label_table=None if table is None else Table.from_dict(table),
            shuffle=ShuffleModel.from_dict(data["shuffle"]),
            seeded=decode(bool, data["seeded"], "seeded"),
        )


class Summary(Described):
    """Summary of a view, from which an analyzer estimates; summaries of parts add up.

    Subclasses are frozen dataclasses. ``+`` is associative and commutative, and refuses summaries of other models.
    """

    __slots__ = ()
    num_reports: int

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """Summary of both parts together."""


SummaryType = TypeVar("SummaryType", bound=Summary)


@runtime_checkable
class Randomizer(Protocol):
    """Randomizer on a person's device or, in a simulation, on a whole column of values."""

    @property
    def model(self) -> LocalModel:
        """Public description of the randomizer."""
        ...

    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        """Reports of the values in order: one report, or ``num_messages`` reports, for each value."""
        ...


@runtime_checkable
class Shuffler(Protocol):
    """Shuffler: unlinks reports from their senders, entirely or in part."""

    def model(self, num_users: int) -> ShuffleModel:
        """Public description of the shuffle for this number of users."""
        ...

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: RandomSource | None = None) -> View:
        """View of the analyst; ``public`` has one row of public columns per person."""
        ...


@runtime_checkable
class Analyzer(Protocol[SummaryType]):
    """Analyzer of views: summarizes each view, and estimates from the sum of the summaries."""

    def summarize(self, view: View) -> SummaryType:
        """Summary of a view."""
        ...

    def estimate(self, summary: SummaryType) -> Estimate:
        """Estimate from a sum of summaries."""
        ...
