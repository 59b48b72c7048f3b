"""Earlier releases about the same people: read, checked, and matched with what a task names."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from shuffledp._version import __version__
from shuffledp.accounting import best_lower_bound, epsilon_of
from shuffledp.core.described import Described
from shuffledp.core.errors import IncomparableError, InvalidParameterError
from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Trust
from shuffledp.core.statements import Part, PrivacyStatement, compose
from shuffledp.core.text import has_controls
from shuffledp.core.validate import one_line
from shuffledp.shufflers import IdentityShuffleModel
from shuffledp.survey.budget import Models, OrderShare, Share, by_observer, loss_of, order_in, orders_composed, pair_of
from shuffledp.survey.columns import Column, digest
from shuffledp.survey.section import read_whole, require_sha256
from shuffledp.survey.task import Task

_ROUNDING = 1e-6  # relative; a randomizer's loss may differ by this between versions
_GRID = 1e-4  # relative; a joint loss may differ by this between machines
_LARGEST = 1 << 30  # bytes: a task may have millions of categories
_LOCAL = {"local-dp", "local-randomizer", "d-sigma-local"}  # theorems that need no shuffle
_OF_NO_SHUFFLE = {
    Trust.OWN_DEVICE,
    Trust.PAGE,
    Trust.ONE_ANSWER,
    Trust.RELAY_APART,
    Trust.ISSUER,
    Trust.READY_MADE_TOKENS,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRelease:
    """The statements of an earlier release about the people who took part in it.

    Args:
        name: of its task, with ``task_sha256``.
        file_sha256: of its ``statement.json``, which tells it from other releases of the same task.
        headline: its first statement, about everything released; it covers the releases in ``earlier``.
        local: what all reports of one person guarantee by themselves.
        earlier: the releases before it whose losses are in its statements.
        order: what all of that loses of the order inside its groups; None if it does not say, or not of all.
        released: what each release that it covers takes, itself first; if left out, it counts by its headline alone.
    """

    name: str
    task_sha256: str
    file_sha256: str
    headline: PrivacyStatement
    local: PrivacyStatement
    earlier: tuple["CountedRelease", ...] = ()
    order: PrivacyStatement | None = None
    released: tuple[Share, ...] = ()

    def __post_init__(self) -> None:
        if not self.released:
            part = Part(label=self.label, statement=self.headline)
            object.__setattr__(self, "released", (Share(part=part, models=(pair_of(self.headline),)),))

    @property
    def counted(self) -> tuple["CountedRelease", ...]:
        """All releases whose losses are in this release's statements: this one, then those before it."""
        itself = CountedRelease(
            task_sha256=self.task_sha256, statement_sha256=self.file_sha256, models=self.released[0].models
        )
        return (itself, *self.earlier)

    def shares(self, statement: PrivacyStatement) -> tuple[Part, ...]:
        """The parts of a statement, one for each release that it covers, this one first."""
        first, *others = statement.parts or (Part(label="", statement=statement),)
        if not self.earlier or not others or not _is_sum(statement):
            return (Part(label=self.label, statement=statement),)
        return (replace(first, label=self.label), *others)

    @property
    def order_share(self) -> OrderShare:
        """Its losses about the order inside groups, with one part for each release it covers."""
        orders = () if self.order is None else self.shares(self.order)
        return OrderShare(label=self.label, sent=self.shares(self.local), orders=orders)

    @property
    def label(self) -> str:
        """The name of this release in a joint statement."""
        return f"release {self.file_sha256[:12]} of task {self.task_sha256[:12]} ({self.name})"

    @classmethod
    def read(cls, path: Path) -> Self:
        """The release of a ``statement.json``.

        Raises:
            InvalidParameterError: if the file cannot be read, is not one, names another task than it describes, or
                promises nothing or less than its task can; or if a text in it has control characters.
        """
        try:
            content = read_whole(path, most=_LARGEST)
            data = json.loads(content.decode("utf-8"))
        except OSError as error:
            raise _refused(path, f"be readable: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise _refused(path, "be JSON, as a release's statement.json is") from None
        try:
            task, sha256, written = dict(data["task"]), data["task_sha256"], list(data["statements"])
            one_line(name=task["name"])
            statements = [PrivacyStatement.from_dict(each) for each in written]
            earlier = tuple(CountedRelease.from_dict(each) for each in data["earlier"])
            headline = statements[0]
        except InvalidParameterError as error:
            raise _refused(path, f"hold the statements of a release: {error}") from None
        except (LookupError, TypeError, ValueError):
            raise _refused(path, "be the statement.json of a release") from None
        if digest(task) != sha256:
            raise _refused(path, "name the task that it describes; it was changed, or belongs to another task")
        if any(map(has_controls, _texts(written))):
            raise _refused(path, "hold statements without control characters")
        _check_promise(path, data, statements)
        if earlier and not headline.parts:
            raise _refused(path, "begin with the sum over the earlier releases that it names")
        local = next((each for each in by_observer(statements)[1] if each.kind.promises), None)
        if local is None:
            raise _refused(path, "say what the reports guarantee by themselves, without any shuffle")
        order = _order(data, statements, earlier)
        for statement in (headline, local, *([] if order is None else [order])):
            for each in _with_parts(statement):
                _check_trust(path, each)
        columns = _check_loss(path, data, headline, local)
        found = cls(
            name=task["name"],
            task_sha256=sha256,
            file_sha256=hashlib.sha256(content).hexdigest(),
            headline=headline,
            local=local,
            earlier=earlier,
            order=order,
        )
        return found._counting_by(_own_models(path, data, columns))

    def _counting_by(self, own: Models | None) -> Self:
        """The release with the protocols of all it covers, or with pairs if those are unknown or lose too little."""
        models = [own, *(each.models for each in self.earlier)]
        released = None if None in models else _by_models(self, [each for each in models if each])
        if released is not None:
            return replace(self, released=released)
        parts = self.shares(self.headline)
        if len(parts) != len(models):
            parts = (Part(label=self.label, statement=self.headline),)
        shares = tuple(Share(part=part, models=(pair_of(part.statement),)) for part in parts)
        by = [share.models for share in shares[1:]] or [()] * len(self.earlier)
        earlier = tuple(replace(each, models=its) for each, its in zip(self.earlier, by, strict=True))
        return replace(self, earlier=earlier, released=shares)


def read_earlier(task: Task, files: Sequence[Path]) -> tuple[EarlierRelease, ...]:
    """Earlier releases about the same people, except those already counted in the statements of another one.

    A task cannot name itself: that it was run before on the same people is said by giving the earlier release alone.

    ``files`` are the ``statement.json`` of each release, in any order; of one task there may be several. Refuses a task
    that is named and in none of the files, a file of another task, and the same file twice.
    """
    wanted = task.people.earlier
    releases: dict[str, EarlierRelease] = {}
    for path in files:
        release = EarlierRelease.read(path)
        if release.task_sha256 not in (*wanted, task.sha256):
            raise _refused(
                path, f"be of this task or of one named in [people] earlier; it is of {release.task_sha256[:12]}"
            )
        if release.file_sha256 in releases:
            raise _refused(path, "be given once: it is the same release as another --earlier, whose loss counts once")
        releases[release.file_sha256] = release
    counted = {each.task_sha256 for release in releases.values() for each in release.counted}
    absent = [sha256[:12] for sha256 in wanted if sha256 not in counted]
    if absent:
        raise InvalidParameterError(
            "--earlier FILE must be given for each task in [people] earlier, with the statement.json of its release or "
            f"of one that counts it already; none is given of {', '.join(absent)}."
        )
    within = {each.statement_sha256 for release in releases.values() for each in release.earlier}
    return tuple(release for sha256, release in releases.items() if sha256 not in within)


def _order(
    data: Mapping[str, Any], statements: Sequence[PrivacyStatement], earlier: Sequence[CountedRelease]
) -> PrivacyStatement | None:
    """The loss of a release about the order inside its groups, if stated once, for all its columns and releases."""
    order, several = order_in(statements), len(data.get("columns", ())) > 1 or bool(earlier)
    return None if order is None or (several and not (order.parts and _is_sum(order))) else order


def _is_sum(statement: PrivacyStatement) -> bool:
    """Whether a statement is at least the joint loss of its parts, so that the parts may be counted one by one."""
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


def _by_models(release: EarlierRelease, models: Sequence[Models]) -> tuple[Share, ...] | None:
    """The share of each release by its protocols; None if these lose less than stated, for one release or for all."""
    whole = Part(label=release.label, statement=release.headline)
    first, *others = release.headline.parts if len(models) > 1 and release.headline.parts else (whole,)
    parts = [replace(first, label=release.label), *others]
    if len(parts) != len(models):
        return None
    shares = [_borne_out(part, by) for part, by in zip(parts, models, strict=True)]
    together = _borne_out(whole, tuple(model for by in models for model in by))
    found = tuple(share for share in shares if share is not None)
    return found if together is not None and len(found) == len(shares) else None


def _borne_out(part: Part, models: Models) -> Share | None:
    """A part with its protocols, stating the larger of both losses; None if the protocols lose less than stated."""
    statement, claim = part.statement, part.statement.guarantee
    if not isinstance(claim, CentralDP) or not statement.kind.promises:
        return None
    try:
        found = loss_of(models, claim.delta)
    except (ArithmeticError, ValueError):
        return None
    if math.isinf(found) or found < claim.epsilon * (1 - _GRID):
        return None
    if found > claim.epsilon * (1 + _GRID):
        part = replace(part, statement=statement.weaken(replace(claim, epsilon=found)))
    return Share(part=part, models=models)


def _own_models(path: Path, data: Mapping[str, Any], columns: Sequence[Column]) -> Models | None:
    """The protocols of a release's columns, checked against its task; None where the file does not have them.

    Other versions may describe them in another way, and the file of one of several columns states more than it is of.
    """
    written = data.get("columns", [data])
    if not columns or data["task"].get("part_of") is not None or not all("model" in each for each in written):
        return None
    try:
        models = tuple(ProtocolModel.from_dict(each["model"]) for each in written)
        counts = [each["num_reports"] for each in written]
        if all(_is_of(*each) for each in zip(columns, models, counts, strict=True)):
            return models
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass
    if data.get("library_version") != __version__:
        return None
    raise _refused(path, "describe as its model the protocol of its task, for as many people as sent its reports")


def _is_of(column: Column, model: ProtocolModel, num_reports: int) -> bool:
    """Whether a protocol fits a column and this number of reports, as far as the task tells."""
    section, local = column.shuffler, column.randomizer.randomizer().model
    if isinstance(model.shuffle, IdentityShuffleModel):  # such a model claims no gain from a shuffle
        return model.local == local
    if section.needs_groups or section.needs_graph or section.needs_strata or section.num_rows is not None:
        described = (local, column.people.fakes, False) == (model.local, model.fakes, model.shuffle.is_uniform)
        colluding = model.shuffle.num_users - model.shuffle.num_honest
        counted = section.num_rows is not None or colluding >= model.fakes  # fakes collude where identities matter
        return described and counted and num_reports in model.shuffle.num_reports(local.num_messages)
    return model == column.model(local.num_users_of(num_reports))


def _with_parts(statement: PrivacyStatement) -> Iterator[PrivacyStatement]:
    """A statement, then its parts and their parts."""
    yield statement
    for part in statement.parts:
        yield from _with_parts(part.statement)


def _check_trust(path: Path, statement: PrivacyStatement) -> None:
    """Refuse a statement that lists less trust than every statement by its theorems needs."""
    if Trust.OWN_DEVICE not in statement.trust:
        raise _refused(path, f"say in each statement that it takes trust in {Trust.OWN_DEVICE}; one does not")
    others = set(statement.trust) - _OF_NO_SHUFFLE
    rests_on = {part.statement.basis.theorem for part in statement.leaves()} or {statement.basis.theorem}
    if not others and rests_on - _LOCAL:
        raise _refused(path, "say whom people must trust for the shuffle that makes its loss smaller")


def _check_promise(path: Path, data: Mapping[str, Any], statements: Sequence[PrivacyStatement]) -> None:
    """Refuse a release whose statements promise nothing."""
    headline = statements[0]
    if headline.withdrawn is not None:
        raise _refused(path, f"promise something; its first statement is withdrawn, because {headline.withdrawn.text}")
    if not headline.kind.promises:
        raise _refused(path, f"begin with an upper bound; it begins with a statement of kind {headline.kind}")
    if data.get("seeded") is not False or any(each.withdrawn for each in statements):
        raise _refused(path, "promise something; it does not say that its randomness came from no seed")


def _check_loss(
    path: Path, data: Mapping[str, Any], headline: PrivacyStatement, local: PrivacyStatement
) -> tuple[Column, ...]:
    """The columns of the task; refuses a stated loss below the provable loss, in any version of the library."""
    try:
        columns = Task.from_dict(data["task"]).columns
    except InvalidParameterError:
        return ()  # a task of another version, which this one cannot read
    sent = sum(column.randomizer.randomizer().model.guarantee.epsilon for column in columns)
    if epsilon_of(local.guarantee) < sent * (1 - _ROUNDING):
        raise _refused(
            path, f"state at least the loss of its randomizers, epsilon = {sent:g}, for the reports themselves"
        )
    try:
        counts = [each["num_reports"] for each in data.get("columns", [data])]
        released = max(_least_released(*each, headline) for each in zip(columns, counts, strict=True))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise _refused(path, "say how many reports were released") from None
    if epsilon_of(headline.guarantee) < released * (1 - _ROUNDING):
        raise _refused(path, f"state at least the provable loss, epsilon = {released:g}, in its first statement")
    return columns


def _least_released(column: Column, num_reports: int, headline: PrivacyStatement) -> float:
    """The largest lower bound on the loss of one column, at the delta of the headline."""
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


def _refused(path: Path, condition: str) -> InvalidParameterError:
    return InvalidParameterError(f"the earlier release {path} must {condition.rstrip('.')}.")
