"""Earlier releases about the same people: read, checked, and matched with what a task names."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from shuffledp.accounting import account_all
from shuffledp.errors import InvalidParameterError
from shuffledp.guarantees import DifferentialPrivacy
from shuffledp.models import ProtocolModel
from shuffledp.statements import Basis, Kind, PrivacyStatement, Trust
from shuffledp.tasks.budget import by_observer
from shuffledp.tasks.joint import JointTask
from shuffledp.tasks.section import is_garbled, one_line
from shuffledp.tasks.task import Task, digest, has_blocks

__all__ = ["EarlierRelease", "read_earlier"]

_ROUNDING = 1e-6  # of the loss of a randomizer, between versions
_LOCAL = {"local-dp", "local-randomizer"}  # what holds without any shuffle


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRelease:
    """What an earlier release states about the people who took part in it.

    Args:
        name: of its task.
        task_sha256: of its task.
        headline: its first statement, about everything released; it covers the releases that its own task names.
        local: what all reports of one person guarantee by themselves.
    """

    name: str
    task_sha256: str
    headline: PrivacyStatement
    local: PrivacyStatement

    @classmethod
    def read(cls, path: Path) -> Self:
        """The release whose ``statement.json`` this is.

        Raises:
            InvalidParameterError: if the file cannot be read, is not one, names another task than it describes, or
                promises nothing: it is seeded, its first statement is withdrawn, or no upper bound, or needs less trust
                than there is in any statement like it; if it does not say what reports guarantee by themselves, or says
                less than the randomizers of its task lose; or if a text in it has control characters.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise _refused(path, f"be readable: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise _refused(path, "be JSON, as a release's statement.json is") from None
        try:
            task, sha256, written = dict(data["task"]), data["task_sha256"], list(data["statements"])
            one_line(name=task["name"])
            statements = [PrivacyStatement.from_dict(each) for each in written]
            headline = statements[0]
        except InvalidParameterError as error:
            raise _refused(path, f"hold the statements of a release: {error}") from None
        except (LookupError, TypeError, ValueError):
            raise _refused(path, "be the statement.json of a release") from None
        if digest(task) != sha256:
            raise _refused(path, "name the task that it describes; it was changed, or belongs to another task")
        if any(map(is_garbled, _texts(written))):
            raise _refused(path, "hold statements without control characters")
        if headline.withdrawn is not None:
            raise _refused(path, f"promise something; its first statement is withdrawn, because {_reason(headline)}")
        if not headline.kind.promises:
            raise _refused(path, f"begin with an upper bound; it begins with a statement of kind {headline.kind}")
        if data.get("seeded") is not False or any(each.withdrawn for each in statements):
            raise _refused(path, "promise something; it does not say that its randomness came from no seed")
        local = next((each for each in by_observer(statements)[1] if each.kind.promises), None)
        if local is None:
            raise _refused(path, "say what the reports guarantee by themselves, without any shuffle")
        for statement in (headline, local):
            _check_trust(path, statement)
        _check_loss(path, data, headline, local)
        return cls(name=task["name"], task_sha256=sha256, headline=headline, local=local)


def read_earlier(task: Task | JointTask, files: Sequence[Path]) -> tuple[EarlierRelease, ...]:
    """The earlier releases that a task names, in its order.

    Args:
        task: the task.
        files: a ``statement.json`` for each of them, in any order.

    Raises:
        InvalidParameterError: if there is not exactly one file for each task that is named, and none for any other; or
            as `EarlierRelease.read` does.
    """
    wanted = task.people.earlier
    releases: dict[str, EarlierRelease] = {}
    for path in files:
        release = EarlierRelease.read(path)
        if release.task_sha256 not in wanted:
            raise _refused(path, f"be of a task named in [people] earlier; it is of {release.task_sha256[:12]}")
        if release.task_sha256 in releases:
            raise _refused(path, f"be the only one of its task; there is another one of {release.task_sha256[:12]}")
        releases[release.task_sha256] = release
    absent = [sha256[:12] for sha256 in wanted if sha256 not in releases]
    if absent:
        raise InvalidParameterError(
            "--earlier FILE must be given once for each task in [people] earlier, with the statement.json of its "
            f"release; none is given of {', '.join(absent)}."
        )
    return tuple(releases[sha256] for sha256 in wanted)


def _check_trust(path: Path, statement: PrivacyStatement) -> None:
    """Refuse a statement that asks people to trust less than every statement by its theorems does."""
    if Trust.OWN_DEVICE not in statement.trust:
        raise _refused(path, f"say in each statement that it takes trust in {Trust.OWN_DEVICE}; one does not")
    others = set(statement.trust) - {Trust.OWN_DEVICE, Trust.OPERATOR}
    if not others and any(theorem not in _LOCAL for theorem in _theorems(statement.basis)):
        raise _refused(path, "say whom people must trust for the shuffle by which its loss is smaller")


def _check_loss(path: Path, data: Mapping[str, Any], headline: PrivacyStatement, local: PrivacyStatement) -> None:
    """Refuse losses below what the task, which its digest fixes, costs anybody: no version can have proven less."""
    task = data["task"]
    try:
        parts = (JointTask if has_blocks(task) else Task).from_dict(task).parts()
    except InvalidParameterError:
        return  # of another version, whose tasks this one cannot read
    sent = sum(part.randomizer.randomizer().model.guarantee.epsilon for part in parts)
    if _epsilon(local) < sent * (1 - _ROUNDING):
        raise _refused(
            path, f"state no less than its randomizers lose, epsilon = {sent:g}, about the reports themselves"
        )
    try:
        counts = [part["num_reports"] for part in data.get("columns", [data])]
        released = max(_least_released(part, count, headline) for part, count in zip(parts, counts, strict=True))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise _refused(path, "say how many reports were released") from None
    if _epsilon(headline) < released * (1 - _ROUNDING):
        raise _refused(path, f"state no less than can be proven to be lost, epsilon = {released:g}, at the beginning")


def _epsilon(statement: PrivacyStatement) -> float:
    return statement.guarantee.epsilon if isinstance(statement.guarantee, DifferentialPrivacy) else math.inf


def _least_released(part: Task, num_reports: int, headline: PrivacyStatement) -> float:
    """The largest lower bound on what one column loses, at the delta of the headline."""
    delta = headline.guarantee.delta if isinstance(headline.guarantee, DifferentialPrivacy) else 0.0
    local = part.randomizer.randomizer().model
    if not part.shuffler.is_uniform or not 0 < delta < 1:
        return 0.0
    model = ProtocolModel(local=local, shuffle=part.shuffler.shuffler().model(local.num_users_of(num_reports)))
    lower = [each for each in account_all(model, delta=delta) if each.kind is Kind.LOWER_BOUND]
    return max(map(_epsilon, lower), default=0.0)


def _texts(data: Any) -> Iterator[str]:
    """Every text in what was read from JSON, keys included."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)
    elif isinstance(data, dict):
        for item in (*data, *data.values()):
            yield from _texts(item)


def _theorems(basis: Basis) -> Iterator[str]:
    """What a statement rests on, under all that was put together."""
    if not basis.parts:
        yield basis.theorem
    for part in basis.parts:
        yield from _theorems(part)


def _reason(statement: PrivacyStatement) -> str:
    return statement.withdrawn.text if statement.withdrawn else ""


def _refused(path: Path, condition: str) -> InvalidParameterError:
    return InvalidParameterError(f"the earlier release {path} must {condition.rstrip('.')}.")
