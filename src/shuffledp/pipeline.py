"""Whole protocol in one call: randomize, shuffle, analyze, and state the guarantees."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting import account_all
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import DISTINCT_LABELS, Analyzer, Randomizer, Reports, Shuffler, Summary, View
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.statement_terms import Trust, Withdrawal
from shuffledp.core.statements import PrivacyStatement, Statements
from shuffledp.core.table import Table
from shuffledp.core.upward_calls import Saved
from shuffledp.randomness.sources import RandomSource, resolve_source

_MOST_LINES = 12  # of a release that is printed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release(Saved):
    """Publishable result: the view, the estimate, and the guarantees of both.

    Args:
        model: public description of the protocol that was run.
        num_reports: reports in the view.
        view: what the analyst received; None if it was analyzed in parts, of which nobody keeps all in memory.
        estimate: the analyzer's estimate.
        statements: the headline (an upper bound on the central loss) first, then lower bounds, then the local
            guarantee.
        seeded: True if the randomness can be replayed; then every statement is withdrawn.
    """

    model: ProtocolModel
    num_reports: int
    view: View | None
    estimate: Estimate
    statements: tuple[PrivacyStatement, ...]
    seeded: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "statements", Statements(self.statements))

    def __str__(self) -> str:
        """Text of at most twelve lines, with a note on how to print the lines left out."""
        statements = Statements(self.statements)
        danger, promised = statements.danger.splitlines(), statements.listed("release.statements").splitlines()
        lines, room = str(self.estimate).splitlines(), _MOST_LINES - 1 - len(danger) - len(promised)
        if len(lines) > room:
            left_out = len(lines) - room + 1
            lines = [*lines[: room - 1], f"  ... {left_out:,} more lines: print(release.estimate)"]
        return "\n".join([*danger, *lines, "", *promised])

    @property
    def in_short(self) -> str:
        """Estimate and headline on one line."""
        return f"{self.estimate.in_short}; {Statements(self.statements).in_short}"

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of estimates and statements in their schemas, without the view."""
        return {
            "num_reports": self.num_reports,
            "estimates": self.estimate.rows(),
            "statements": [statement.to_dict() for statement in self.statements],
            "seeded": self.seeded,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transcript:
    """Record of a whole run, secrets included. For simulations only: never publish it.

    Row i of the view came from place ``origins[i]`` in ``reports``; -1 is a dummy.
    """

    values: NDArray[Any]
    reports: Reports
    view: View
    origins: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Transcript({len(self.reports)} reports; contains secrets, not shown)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Pipeline of a randomizer, a shuffler and an analyzer that fit together.

    Args:
        randomizer: what each person's device does with the answer.
        shuffler: what becomes of all reports.
        analyzer: what is estimated from the view.
        fakes: how many of the senders of any batch may be fake, 0 or more, besides those who collude: statements count
            the others alone. None: all but one may be.
        fakes_collude: whether the shuffler counts the fake senders among its colluders already, as that of a task does.

    Raises:
        InvalidParameterError: if an argument is something else.

    Example:
        >>> from shuffledp import FrequencyAnalyzer, KaryRandomizedResponse, UniformShuffler
        >>> pipeline = Pipeline(
        ...     randomizer=KaryRandomizedResponse(epsilon0=2.0, domain_size=4),
        ...     shuffler=UniformShuffler(),
        ...     analyzer=FrequencyAnalyzer(),
        ... )
        >>> release = pipeline.run([0, 1, 2, 3] * 250, delta=1e-6)
        >>> release.statements[0].guarantee.epsilon < 2.0
        True

        With names for the answers:

        >>> randomizer = KaryRandomizedResponse(epsilon0=2.0, categories=["No", "Yes"])
        >>> pipeline = Pipeline(randomizer=randomizer, shuffler=UniformShuffler(), analyzer=FrequencyAnalyzer())
        >>> pipeline.run(["No", "Yes", "No", "No"] * 250, delta=1e-6).estimate.target
        ('No', 'Yes')
    """

    randomizer: Randomizer
    shuffler: Shuffler
    analyzer: Analyzer[Any]
    fakes: int | None = 0
    fakes_collude: bool = False

    def __post_init__(self) -> None:
        validate.instance_of(Randomizer, randomizer=self.randomizer)
        validate.instance_of(Shuffler, shuffler=self.shuffler)
        validate.instance_of(Analyzer, analyzer=self.analyzer)
        if self.fakes is not None:
            validate.integer_at_least(0, fakes=self.fakes)
        validate.instance_of(bool, fakes_collude=self.fakes_collude)

    @property
    def in_numbers(self) -> "Pipeline":
        """Pipeline whose input is category numbers instead of categories, for attacks."""
        return replace(self, randomizer=getattr(self.randomizer, "in_numbers", self.randomizer))

    def model(self, num_users: int) -> ProtocolModel:
        """Public description of the whole protocol for this number of users."""
        model = ProtocolModel(local=self.randomizer.model, shuffle=self.shuffler.model(num_users))
        return self._counted(model)

    def run(
        self, values: ArrayLike, *, delta: float, public: Table | None = None, source: RandomSource | None = None
    ) -> Release:
        """Release from one answer per person: randomize, shuffle and analyze, in turn.

        Args:
            values: one answer per person, as the randomizer takes them: a list, or a numpy, Arrow, pandas or polars
                column.
            delta: the remainder at which central guarantees are stated, strictly between 0 and 1.
            public: one row of public columns per person, for shufflers that keep them.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if a value or ``delta`` is out of range.
        """
        validate.open_probability(delta=delta)
        source = resolve_source(source)

        # Each person, on their own device.
        reports = self.randomizer.randomize(values, source=source)

        # The shuffler, who sees reports and public columns.
        view = self.shuffler.shuffle(reports, public=public, source=source)

        # The analyst, who sees the view.
        return self.analyze(view, delta=delta, seeded=source.reproducible, trust=(Trust.OPERATOR,))

    def analyze(self, view: View, *, delta: float, seeded: bool = False, trust: tuple[Trust, ...] = ()) -> Release:
        """Release from a view, made by the analyst alone: estimate and guarantees.

        Args:
            view: what came from the shuffler.
            delta: as in `run`.
            seeded: True if the view was made with randomness that can be replayed, whatever it says itself.
            trust: what must hold besides, such as that one operator ran all the steps.

        Raises:
            InvalidParameterError: if the view holds another number of reports than the model's people send.
        """
        return replace(self.analyze_parts([view], delta=delta, seeded=seeded, trust=trust), view=view)

    def analyze_parts(
        self, views: Iterable[View], *, delta: float, seeded: bool = False, trust: tuple[Trust, ...] = ()
    ) -> Release:
        """Release from a view in parts, with one part in memory at a time.

        The release holds no part of the view. The other arguments are those of `analyze`. Each part is given once: of
        reports without labels nobody could tell that one was given twice, and another not at all.

        Raises:
            InvalidParameterError: if there is no part, or parts differ in their models or share a label that is one
                report's; or as `analyze`, of all parts.
        """
        summary: Summary | None = None
        model, num_reports, seen = None, 0, _SeenLabels()
        for view in views:
            described = ProtocolModel(local=view.reports.model, shuffle=view.shuffle)
            if model not in (None, described):
                raise InvalidParameterError(f"views must all be of one model; the first is of {model!r}.")
            seen.add(view)
            part: Summary = self.analyzer.summarize(view)
            summary = part if summary is None else summary + part
            model, num_reports, seeded = described, num_reports + len(view), seeded or view.seeded
        if model is None:
            raise validate.invalid("one part of a view or more", number_of_views=0)
        return self.conclude(summary, model, num_reports, delta=delta, seeded=seeded, trust=trust)

    def conclude(
        self,
        summary: Any,
        model: ProtocolModel,
        num_reports: int,
        *,
        delta: float,
        seeded: bool = False,
        trust: tuple[Trust, ...] = (),
    ) -> Release:
        """Release from the sum of the summaries of a view's parts.

        The parts themselves may be elsewhere.

        Args:
            summary: the sum.
            model: what was run, for all people.
            num_reports: those in all parts.
            delta: as in `run`.
            seeded: as in `analyze`; so are ``trust`` and what is raised.
            trust: see there.
        """
        _require_everybody(model, num_reports)
        model = self._counted(model)
        estimate = self._named(self.analyzer.estimate(summary))
        statements = tuple(each.trusting(*trust) for each in account_all(model, delta=delta))
        if seeded:
            statements = tuple(each.withdraw(Withdrawal.SEEDED) for each in statements)
        return Release(
            model=model, num_reports=num_reports, view=None, estimate=estimate, statements=statements, seeded=seeded
        )

    def _counted(self, model: ProtocolModel) -> ProtocolModel:
        """Model of the protocol with the number of senders who may be fake."""
        fakes = model.shuffle.num_honest - 1 if self.fakes is None else self.fakes
        return model.with_fakes(fakes, among_colluders=self.fakes_collude)

    def _named(self, estimate: Estimate) -> Estimate:
        """Same estimate, with category names instead of category numbers if the randomizer knows the names."""
        answers = getattr(self.randomizer, "answer_names", None)
        if answers is None:
            return estimate
        names = {str(number): name for number, name in enumerate(answers)}
        return estimate.with_targets(tuple(names.get(target, target) for target in estimate.target))

    def simulate(
        self, values: ArrayLike, *, public: Table | None = None, source: RandomSource | None = None
    ) -> Transcript:
        """Transcript of a run, for attacks and tests: it keeps everything, secrets included."""
        source = resolve_source(source)
        reports = self.randomizer.randomize(values, source=source)
        view = self.shuffler.shuffle(TaggedReports.tag(reports), public=public, source=source)
        origins = view.reports[ORIGIN]
        # The same rows in the same order, less the tag: a new View would permute them again.
        columns = {name: view.reports[name] for name in reports}
        object.__setattr__(view, "reports", Reports(columns, reports.model, seeded=reports.seeded))
        return Transcript(values=np.asarray(values), reports=reports, view=view, origins=origins)


class _SeenLabels:
    """Labels seen so far in the parts of a view, to refuse a label that appears twice.

    Only views whose labels must all differ are checked.
    """

    def __init__(self) -> None:
        self._seen: NDArray[np.bool_] | None = None

    def add(self, view: View) -> None:
        """Refuse a part with a label that an earlier part has."""
        if view.labels is None or view.shuffle.labels not in DISTINCT_LABELS:
            return
        if self._seen is None:
            self._seen = np.zeros(view.shuffle.num_labels, dtype=np.bool_)
        if self._seen[view.labels].any():
            raise InvalidParameterError(f"views must be parts of one whole; a {view.shuffle.labels} is in two of them.")
        self._seen[view.labels] = True


def _require_everybody(model: ProtocolModel, num_reports: int) -> None:
    """Refuse a view whose number of reports does not fit the number of people in the model.

    The promise would not hold for such a view.
    """
    allowed = model.shuffle.num_reports(model.local.num_messages)
    if num_reports not in allowed:
        how_many = f"{allowed[0]}" if len(allowed) == 1 else f"{allowed[0]} to {allowed[-1]}"
        raise InvalidParameterError(
            f"views must hold {how_many} reports in all, as num_users={model.num_users} people send them; "
            f"got {num_reports}."
        )


ORIGIN = "(origin)"  # the name of no report's column


class TaggedReports(Reports):
    """Reports with their original places, to trace how any shuffler moves reports.

    It may also hold the places alone.
    """

    __slots__ = ()

    def __init__(self, columns: Mapping[str, ArrayLike], model: LocalModel, *, seeded: bool = False) -> None:
        Table.__init__(self, columns)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "seeded", seeded)

    @classmethod
    def tag(cls, reports: Reports) -> "TaggedReports":
        """Given reports, with the place of each report as a further column."""
        return cls({**reports.columns, ORIGIN: np.arange(len(reports))}, reports.model, seeded=reports.seeded)

    def _joined(self, parts: Sequence[Table]) -> "TaggedReports":
        """Joined parts; dummies, which a shuffler appends, get the place -1 (no person)."""
        nobody = {len(part): np.full(len(part), -1) for part in parts}
        tagged = [
            type(self)({**part.columns, ORIGIN: nobody[len(part)]}, part.model, seeded=part.seeded)
            if isinstance(part, Reports) and ORIGIN not in part.columns
            else part
            for part in parts
        ]
        return super()._joined(tagged)
