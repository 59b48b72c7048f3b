"""Earlier releases about the same people: read, checked, and matched with what a task names."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from shuffledp.errors import InvalidParameterError
from shuffledp.statements import Basis, PrivacyStatement, Trust
from shuffledp.tasks.budget import by_observer
from shuffledp.tasks.joint import JointTask
from shuffledp.tasks.section import one_line
from shuffledp.tasks.task import Task, digest

__all__ = ["EarlierRelease", "read_earlier"]

_LOCAL = {"local-dp", "local-randomizer"}  # what holds without any shuffle


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRelease:
    """What an earlier release states about the people who took part in it.

    Args:
        name: of its task.
        task_sha256: of its task.
        headline: its first statement, about everything released; it covers the releases that its own task names.
        local: what all reports of one person guarantee by themselves; None if it does not say.
    """

    name: str
    task_sha256: str
    headline: PrivacyStatement
    local: PrivacyStatement | None

    @classmethod
    def read(cls, path: Path) -> Self:
        """The release whose ``statement.json`` this is.

        Raises:
            InvalidParameterError: if the file cannot be read, is not one, names another task than it describes, or
                promises nothing: its first statement is withdrawn, or no upper bound, or needs less trust than there is
                in any statement like it.
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
        if headline.withdrawn is not None:
            raise _refused(path, f"promise something; its first statement is withdrawn, because {_reason(headline)}")
        if not headline.kind.promises:
            raise _refused(path, f"begin with an upper bound; it begins with a statement of kind {headline.kind}")
        local = next((each for each in by_observer(statements)[1] if each.kind.promises), None)
        for statement in filter(None, (headline, local)):
            _check_trust(path, statement)
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
