"""Models, shufflers and analyzers in the shape of systems to come, each made without an edit of ``src``.

Kinds begin with "test-", so that they never take the name of a real sibling.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import Randomizer, Reports, Summary, View
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.local_models import LocalModel
from shuffledp.core.shuffle_models import DummyReports, LabelMeaning, ShuffleModel
from shuffledp.core.table import Table
from shuffledp.randomness.sources import RandomSource, bernoulli, resolve_source, uniform_integers

# ---- shuffle models -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotShuffleModel(ShuffleModel):
    """As of a d_sigma-private shuffler: each report ends in some person's slot, not far from its own."""

    kind: ClassVar[str] = "test-slots"
    labels: ClassVar[LabelMeaning] = LabelMeaning.SLOT
    num_users: int
    concentration: float = 0.0

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users)
        validate.nonnegative(concentration=self.concentration)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterShuffleModel(ShuffleModel):
    """As of network shuffling: after a walk each report is handed in by somebody, and dummies fill the gaps."""

    kind: ClassVar[str] = "test-submitters"
    labels: ClassVar[LabelMeaning] = LabelMeaning.SUBMITTER
    num_users: int
    added: DummyReports | None = None

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users)

    @property
    def dummies(self) -> DummyReports | None:
        return self.added

    def num_reports(self, num_messages: int) -> range:
        return range(self.num_users * num_messages, 2 * self.num_users * num_messages + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundShuffleModel(ShuffleModel):
    """As of split-and-mix: one uniform shuffle for each of the messages that everybody sends."""

    kind: ClassVar[str] = "test-rounds"
    labels: ClassVar[LabelMeaning] = LabelMeaning.ROUND
    num_users: int
    num_rounds: int

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_users=self.num_users, num_rounds=self.num_rounds)

    @property
    def num_labels(self) -> int:
        return self.num_rounds


# ---- shufflers ------------------------------------------------------------------------------------------------------


class SlotShuffler:
    """Neighbours change places or not, by a fair coin for each pair of slots 2i and 2i + 1."""

    def model(self, num_users: int) -> SlotShuffleModel:
        return SlotShuffleModel(num_users=num_users)

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: RandomSource | None = None) -> View:
        slots = np.arange(len(reports))
        changed = 2 * np.flatnonzero(bernoulli(2**63, len(reports) // 2, source=source))
        slots[changed], slots[changed + 1] = changed + 1, changed
        model = self.model(len(reports))
        return View(reports=reports, labels=slots, label_table=public, shuffle=model, source=source)


class SubmitterShuffler:
    """Everybody's report is handed in by anybody; then each user adds a dummy, made from value 0, by a fair coin."""

    def __init__(self, randomizer: Randomizer) -> None:
        self._randomizer = randomizer

    def model(self, num_users: int) -> SubmitterShuffleModel:
        validate.integer_at_least(1, num_users=num_users)
        # D ~ Bin(n, 1/2) dummies among n + D reports; by the delta method sd(D / (n + D)) = n sd(D) / (n + n/2)^2.
        fraction, error = 1 / 3, np.sqrt(num_users / 4) * num_users / (1.5 * num_users) ** 2
        added = DummyReports(fraction=fraction, standard_error=float(error), value=0)
        return SubmitterShuffleModel(num_users=num_users, added=added)

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: RandomSource | None = None) -> View:
        source, count = resolve_source(source), len(reports)
        model = self.model(count)
        adders = np.flatnonzero(bernoulli(2**63, count, source=source))
        dummies = self._randomizer.randomize(np.zeros(len(adders), dtype=np.int64), source=source)
        submitters = np.concatenate([uniform_integers(count, count, source=source), adders])
        everything = Reports.concat([reports, dummies])
        return View(reports=everything, labels=submitters, label_table=public, shuffle=model, source=source)


class RoundShuffler:
    """Message r of everybody goes through shuffler r."""

    def __init__(self, num_rounds: int) -> None:
        self._num_rounds = num_rounds

    def model(self, num_users: int) -> RoundShuffleModel:
        return RoundShuffleModel(num_users=num_users, num_rounds=self._num_rounds)

    def shuffle(self, reports: Reports, *, public: Table | None = None, source: RandomSource | None = None) -> View:
        del public  # a person's row beside a report would tell whose it is
        model = self.model(reports.num_users)
        rounds = np.tile(np.arange(self._num_rounds), model.num_users)
        return View(reports=reports, labels=rounds, shuffle=model, source=source)


# ---- local models and randomizers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidueModel(LocalModel):
    """As of split-and-mix: uniform shares that add up to the value; before shuffling they hide nothing."""

    kind: ClassVar[str] = "test-residues"
    modulus: int
    num_messages: int

    def __post_init__(self) -> None:
        validate.integer_at_least(2, modulus=self.modulus, num_messages=self.num_messages)

    @property
    def guarantee(self) -> LocalDP:
        return LocalDP(epsilon=np.inf)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        if list(columns) != ["residue"] or columns["residue"].dtype.kind not in "iu" or columns["residue"].ndim != 1:
            raise InvalidParameterError("columns must be one integer column 'residue'.")
        residues = columns["residue"]
        if len(residues) and not (residues.min() >= 0 and residues.max() < self.modulus):
            raise InvalidParameterError(f"reports must be integers in range({self.modulus}).")


class ResidueRandomizer:
    """Splits each value into ``num_messages`` shares modulo q, those of one person after each other."""

    def __init__(self, *, modulus: int, num_messages: int) -> None:
        self.model = ResidueModel(modulus=modulus, num_messages=num_messages)

    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        modulus, messages = self.model.modulus, self.model.num_messages
        answers = np.asarray(values, dtype=np.int64)
        free = uniform_integers(modulus, len(answers) * (messages - 1), source=source).reshape(len(answers), -1)
        rest = [(int(answer) - sum(row)) % modulus for answer, row in zip(answers, free.tolist(), strict=True)]
        shares = np.column_stack([free, np.array(rest, dtype=np.int64)])
        return Reports({"residue": shares.reshape(-1).astype(np.uint64)}, self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorModel(LocalModel):
    """Each coordinate x in [-1, 1] becomes +bound with probability 1/2 + x / (2 bound), else -bound."""

    kind: ClassVar[str] = "test-vector"
    width: int
    bound: float

    def __post_init__(self) -> None:
        validate.integer_at_least(1, width=self.width)
        if not self.bound > 1:
            raise validate.invalid("above 1", bound=self.bound)

    @property
    def guarantee(self) -> LocalDP:
        return LocalDP(epsilon=self.width * log((self.bound + 1) / (self.bound - 1)))

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        if list(columns) != ["vector"] or columns["vector"].dtype.kind != "f":
            raise InvalidParameterError("columns must be one float column 'vector'.")
        if columns["vector"].ndim != 2 or columns["vector"].shape[1] != self.width:
            raise InvalidParameterError(f"columns must have shape (n, {self.width}).")
        if not (np.abs(columns["vector"]) == self.bound).all():
            raise InvalidParameterError(f"reports must be vectors of plus and minus {self.bound}.")


# ---- analyzers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ModularSum(Summary):
    """The sum of all residues seen, modulo q."""

    model: ResidueModel
    total: int
    num_reports: int

    def __add__(self, other: "ModularSum") -> "ModularSum":
        if self.model != other.model:
            raise IncomparableError(f"summaries must be of one model; got {self.model!r} and {other.model!r}.")
        total = (self.total + other.total) % self.model.modulus
        return replace(self, total=total, num_reports=self.num_reports + other.num_reports)


class SumAnalyzer:
    """The sum of the values, exactly: the shares of each person cancel."""

    def summarize(self, view: View) -> ModularSum:
        model = view.reports.model
        if not isinstance(model, ResidueModel):
            raise UnsupportedModelError(f"sums need residues; got reports of {model.kind!r}.")
        total = sum(view.reports["residue"].tolist()) % model.modulus
        return ModularSum(model=model, total=total, num_reports=len(view))

    def estimate(self, summary: ModularSum) -> Estimate:
        return Estimate(
            statistic="sum",
            target=("total",),
            estimate=np.array([float(summary.total)]),
            standard_error=np.zeros(1),
            num_reports=summary.num_reports,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSum(Summary):
    """The sum of all vectors seen, as fractions: floats would make addition depend on its order."""

    model: VectorModel
    totals: tuple[Fraction, ...]
    num_reports: int

    def __add__(self, other: "VectorSum") -> "VectorSum":
        if self.model != other.model:
            raise IncomparableError(f"summaries must be of one model; got {self.model!r} and {other.model!r}.")
        totals = tuple(mine + theirs for mine, theirs in zip(self.totals, other.totals, strict=True))
        return replace(self, totals=totals, num_reports=self.num_reports + other.num_reports)


class MeanAnalyzer:
    """The mean vector; the error is the largest that the reports' variance can cause."""

    def summarize(self, view: View) -> VectorSum:
        model = view.reports.model
        if not isinstance(model, VectorModel):
            raise UnsupportedModelError(f"means need vectors; got reports of {model.kind!r}.")
        totals = tuple(sum(map(Fraction, column), Fraction(0)) for column in view.reports["vector"].T.tolist())
        return VectorSum(model=model, totals=totals, num_reports=len(view))

    def estimate(self, summary: VectorSum) -> Estimate:
        mean = np.array([float(total / summary.num_reports) for total in summary.totals])
        largest = np.sqrt(np.maximum(summary.model.bound**2 - mean**2, 0.0) / summary.num_reports)
        return Estimate(
            statistic="mean",
            target=tuple(f"coordinate {place}" for place in range(summary.model.width)),
            estimate=mean,
            standard_error=largest,
            num_reports=summary.num_reports,
        )
