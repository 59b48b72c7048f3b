"""Content of the ``statement.json`` of an earlier release, and the conditions on which it is believed.

A ``statement.json`` states losses that add up with those of a task, so that a file that says too little is refused. It
must meet these conditions, in this order, and be readable JSON:

====================================================== =================================================================
name the task that it describes                        by its digest
hold statements without control characters             which are printed
promise something                                      by an upper bound first, and no statement withdrawn for a seed
begin with the sum over earlier releases               if it names some
say what reports guarantee by themselves               without any shuffle
name whom people trust                                 their own device, and others if a shuffle makes the loss smaller
state at least the provable losses                     of its randomizers and columns, if this version can read its task
describe the protocols of its task as its models       if this version wrote it, with models
====================================================== =================================================================
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

from shuffledp._version import __version__
from shuffledp.accounting import best_lower_bound, epsilon_of
from shuffledp.core.described import Described
from shuffledp.core.errors import IncomparableError, InvalidParameterError
from shuffledp.core.guarantees import DifferentialPrivacy, DSigmaPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Trust
from shuffledp.core.statements import PrivacyStatement, compose
from shuffledp.core.text import has_controls
from shuffledp.core.validate import one_line
from shuffledp.shufflers import IdentityShuffleModel
from shuffledp.survey.budget import Models, by_observer, order_in, orders_composed
from shuffledp.survey.columns import Column, digest
from shuffledp.survey.section import require_sha256
from shuffledp.survey.task import Task

_ROUNDING = 1e-6  # relative; a randomizer's loss may differ by this between versions
_LOCAL = {"local-dp", "local-randomizer", "d-sigma-local"}  # theorems that need no shuffle
_OF_NO_SHUFFLE = {
    Trust.OWN_DEVICE,
    Trust.LOCAL_NETWORK,
    Trust.PAGE_AT_SHUFFLER,
    Trust.PAGE,
    Trust.ONE_ANSWER,
    Trust.RELAY_APART,
    Trust.ISSUER,
    Trust.READY_MADE_TOKENS,
    Trust.ISSUER_AT_SHUFFLER,
    Trust.TIME_OF_ANSWER,
    Trust.OPERATOR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRelease(Described):
    """A release whose loss is part of a statement; the digest of its ``statement.json`` identifies it.

    Args:
        task_sha256: of its task.
        statement_sha256: of its ``statement.json``.
        models: the protocols that it counts by, of its columns; none if another one of those in the statement covers
            it, and None in files from before models were kept.
    """

    task_sha256: str
    statement_sha256: str
    models: Models | None = None

    def __post_init__(self) -> None:
        require_sha256(task_sha256=self.task_sha256, statement_sha256=self.statement_sha256)


@dataclass(frozen=True)
class StatementFile:
    """Unchecked content of a ``statement.json``: a release's statements, and the file's other data."""

    data: Mapping[str, Any]
    statements: Sequence[PrivacyStatement]
    headline: PrivacyStatement
    local: PrivacyStatement | None
    earlier: tuple[CountedRelease, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Unchecked content of a file; raises an error of any type if the file has another form."""
        _, task, written = data["task_sha256"], dict(data["task"]), list(data["statements"])
        one_line(name=task["name"])
        statements = [PrivacyStatement.from_dict(each) for each in written]
        earlier = tuple(CountedRelease.from_dict(each) for each in data["earlier"])
        local = next((each for each in by_observer(statements)[1] if each.kind.promises), None)
        return cls(data=data, statements=statements, headline=statements[0], local=local, earlier=earlier)

    def unmet(self) -> Iterator[str]:
        """The conditions of the module's table that the file does not meet."""
        headline, withdrawn = self.headline, self.headline.withdrawn
        if digest(dict(self.data["task"])) != self.data["task_sha256"]:
            yield "name the task that it describes; it was changed, or belongs to another task"
        if any(map(has_controls, _texts(list(self.data["statements"])))):
            yield "hold statements without control characters"
        if withdrawn is not None:
            yield f"promise something; its first statement is withdrawn, because {withdrawn.text}"
        if not headline.kind.promises:
            yield f"begin with an upper bound; it begins with a statement of kind {headline.kind}"
        if self.data.get("seeded") is not False or any(each.withdrawn for each in self.statements):
            yield "promise something; it does not say that its randomness came from no seed"
        if self.earlier and not headline.parts:
            yield "begin with the sum over the earlier releases that it names"
        if self.local is None:
            yield "say what the reports guarantee by themselves, without any shuffle"
        for counted in filter(None, (headline, self.local, self.order)):
            for each in _with_parts(counted):
                yield from _unmet_by_trust(each)
        if self.columns:
            yield from self._unmet_by_losses()
        if self.tells_models and self.models is None and self.data.get("library_version") == __version__:
            yield "describe as its model the protocol of its task, for as many people as sent its reports"

    def _unmet_by_losses(self) -> Iterator[str]:
        """Conditions that a file breaks by stating a smaller loss than any version of the library proves."""
        sent = sum(column.randomizer.randomizer().model.guarantee.epsilon for column in self.columns)
        if epsilon_of(cast(PrivacyStatement, self.local).guarantee) < sent * (1 - _ROUNDING):
            yield f"state at least the loss of its randomizers, epsilon = {sent:g}, for the reports themselves"
        try:
            counts = [each["num_reports"] for each in self._by_column]
            provable = max(_least_released(*each, self.headline) for each in zip(self.columns, counts, strict=True))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            yield "say how many reports were released"
            return
        if epsilon_of(self.headline.guarantee) < provable * (1 - _ROUNDING):
            yield f"state at least the provable loss, epsilon = {provable:g}, in its first statement"

    @property
    def order(self) -> PrivacyStatement | None:
        """Statement about the order inside groups, if one covers all columns and releases; else None."""
        order, several = order_in(self.statements), len(self.data.get("columns", ())) > 1 or bool(self.earlier)
        return None if order is None or (several and not (order.parts and is_sum(order))) else order

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the task; empty for a task that this version of the library cannot read."""
        try:
            return Task.from_dict(self.data["task"]).columns
        except InvalidParameterError:
            return ()

    @property
    def _by_column(self) -> Sequence[Mapping[str, Any]]:
        """Tables with the counts and the model of each column; for one column the whole file."""
        written: Sequence[Mapping[str, Any]] = self.data.get("columns", [self.data])
        return written

    @cached_property
    def models(self) -> Models | None:
        """Protocols of the columns; None if the file lacks them, or they do not fit the task."""
        if not self.tells_models:
            return None
        try:
            models = tuple(ProtocolModel.from_dict(each["model"]) for each in self._by_column)
            counts = [each["num_reports"] for each in self._by_column]
            return models if all(map(_is_of, self.columns, models, counts)) else None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None

    @property
    def tells_models(self) -> bool:
        """Whether the file has the protocols behind all its losses; False if it is about one column of several."""
        told = bool(self.columns) and self.data["task"].get("part_of") is None
        return told and all("model" in each for each in self._by_column)


def is_sum(statement: PrivacyStatement) -> bool:
    """Whether a statement claims the joint loss of its parts; if so, parts may be counted in its place.

    A statement about orders may also claim more.
    """
    claim, parts = statement.guarantee, statement.parts
    try:
        added = compose([part.statement for part in parts]).guarantee
    except IncomparableError:
        return False
    if not isinstance(claim, DSigmaPrivacy) or not isinstance(added, DSigmaPrivacy) or claim.delta <= added.delta:
        return claim == added
    found = orders_composed(parts, delta=claim.delta - added.delta).guarantee
    if not isinstance(found, DSigmaPrivacy) or found.groups_digest != claim.groups_digest:
        return False
    return claim.alpha >= found.alpha * (1 - _ROUNDING)


def _is_of(column: Column, model: ProtocolModel, num_reports: int) -> bool:
    """Whether a protocol fits a column and a number of reports, as far as the task defines the protocol."""
    section, local = column.shuffler, column.randomizer.randomizer().model
    if isinstance(model.shuffle, IdentityShuffleModel):  # such a model claims no gain from a shuffle
        return model.local == local
    if section.needs_groups or section.needs_graph or section.needs_strata or section.num_rows is not None:
        described = (local, column.people.fakes, False) == (model.local, model.fakes, model.shuffle.is_uniform)
        untrusted = model.shuffle.num_untrusted  # fakes among them where identities matter
        counted = section.num_rows is not None or untrusted >= model.fakes
        return described and counted and num_reports in model.shuffle.num_reports(local.num_messages)
    return model == column.model(local.num_users_of(num_reports))


def _with_parts(statement: PrivacyStatement) -> Iterator[PrivacyStatement]:
    """A statement, then its parts and their parts."""
    yield statement
    for part in statement.parts:
        yield from _with_parts(part.statement)


def _unmet_by_trust(statement: PrivacyStatement) -> Iterator[str]:
    """Trust conditions that a statement lacks, although its theorems need them."""
    if Trust.OWN_DEVICE not in statement.trust:
        yield f"say in each statement that it takes trust in {Trust.OWN_DEVICE}; one does not"
    others = set(statement.trust) - _OF_NO_SHUFFLE
    rests_on = {part.statement.basis.theorem for part in statement.leaves()} or {statement.basis.theorem}
    if not others and rests_on - _LOCAL:
        yield "say whom people must trust for the shuffle that makes its loss smaller"


def _least_released(column: Column, num_reports: int, headline: PrivacyStatement) -> float:
    """Largest lower bound on the loss of one column, at the headline's delta; 0 if none is known."""
    delta = headline.guarantee.delta if isinstance(headline.guarantee, DifferentialPrivacy) else 0.0
    local = column.randomizer.randomizer().model
    if not column.shuffler.is_uniform or not 0 < delta < 1 or num_reports == 0:
        return 0.0
    lower = best_lower_bound(column.model(local.num_users_of(num_reports)), delta)
    return 0.0 if lower is None else epsilon_of(lower.guarantee)


def _texts(data: Any) -> Iterator[str]:
    """All texts in JSON data, keys included."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)
    elif isinstance(data, dict):
        for item in (*data, *data.values()):
            yield from _texts(item)
