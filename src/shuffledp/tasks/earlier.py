"""Earlier releases about the same people: read, checked, and matched with what a task names."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from shuffledp._described import Described
from shuffledp.errors import IncomparableError, InvalidParameterError
from shuffledp.statements import Part, PrivacyStatement, Trust, compose
from shuffledp.tasks.budget import by_observer
from shuffledp.tasks.joint import JointTask
from shuffledp.tasks.section import one_line
from shuffledp.tasks.task import Task, digest, require_sha256

__all__ = ["CountedRelease", "EarlierRelease", "read_earlier"]

_LOCAL = {"local-dp", "local-randomizer"}  # what holds without any shuffle


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRelease(Described):
    """A release whose loss is in a statement.

    Args:
        task_sha256: of its task.
        statement_sha256: of its ``statement.json``, which tells it from other releases of the same task.
    """

    task_sha256: str
    statement_sha256: str

    def __post_init__(self) -> None:
        for name in ("task_sha256", "statement_sha256"):
            require_sha256(**{name: getattr(self, name)})


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRelease:
    """What an earlier release states about the people who took part in it.

    Args:
        name: of its task.
        task_sha256: of its task.
        file_sha256: of its ``statement.json``, which tells it from other releases of the same task.
        headline: its first statement, about everything released; it covers the releases in ``earlier``.
        local: what all reports of one person guarantee by themselves; None if it does not say.
        earlier: the releases before it whose losses are in its statements.
    """

    name: str
    task_sha256: str
    file_sha256: str
    headline: PrivacyStatement
    local: PrivacyStatement | None
    earlier: tuple["CountedRelease", ...] = ()

    @property
    def counted(self) -> tuple["CountedRelease", ...]:
        """All releases whose losses are in its statements: itself, and those before it."""
        return (CountedRelease(task_sha256=self.task_sha256, statement_sha256=self.file_sha256), *self.earlier)

    def shares(self, statement: PrivacyStatement) -> tuple[Part, ...]:
        """What each release takes that a statement of this one covers, this one first.

        Args:
            statement: the headline or the local one.
        """
        first, *others = statement.parts or (Part(label="", statement=statement),)
        if not self.earlier or not others or not _is_sum(statement):
            return (Part(label=self.label, statement=statement),)
        return (replace(first, label=self.label), *others)

    @property
    def label(self) -> str:
        """What its share is called where releases are put together."""
        return f"release {self.file_sha256[:12]} of task {self.task_sha256[:12]} ({self.name})"

    @classmethod
    def read(cls, path: Path) -> Self:
        """The release whose ``statement.json`` this is.

        Raises:
            InvalidParameterError: if the file cannot be read, is not one, names another task than it describes, or
                promises nothing: its first statement is withdrawn, or no upper bound, or needs less trust than there is
                in any statement like it.
        """
        try:
            content = path.read_bytes()
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
        if headline.withdrawn is not None:
            raise _refused(path, f"promise something; its first statement is withdrawn, because {_reason(headline)}")
        if not headline.kind.promises:
            raise _refused(path, f"begin with an upper bound; it begins with a statement of kind {headline.kind}")
        if earlier and not headline.parts:
            raise _refused(path, "begin with the sum over the earlier releases that it names")
        local = next((each for each in by_observer(statements)[1] if each.kind.promises), None)
        for statement in filter(None, (headline, local)):
            for each in (statement, *(leaf.statement for leaf in statement.leaves())):
                _check_trust(path, each)
        return cls(
            name=task["name"],
            task_sha256=sha256,
            file_sha256=hashlib.sha256(content).hexdigest(),
            headline=headline,
            local=local,
            earlier=earlier,
        )


def read_earlier(task: Task | JointTask, files: Sequence[Path]) -> tuple[EarlierRelease, ...]:
    """The earlier releases about the same people: those of tasks that a task names, and earlier ones of its own.

    A task cannot name itself: that it was run before on the same people is said by giving the earlier release alone.

    Args:
        task: the task.
        files: the ``statement.json`` of each release, in any order; of one task there may be several.

    Returns:
        The releases in the order of the files, but none whose loss is in the statements of another one of them.

    Raises:
        InvalidParameterError: if the loss of no release of a task that is named is in any of the files, or there is a
            file of a task that is not named, or the same file twice; or as `EarlierRelease.read` does.
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


def _is_sum(statement: PrivacyStatement) -> bool:
    """Whether a statement is what its parts add up to, so that they may be counted one by one."""
    try:
        return compose([part.statement for part in statement.parts]).guarantee == statement.guarantee
    except IncomparableError:
        return False


def _check_trust(path: Path, statement: PrivacyStatement) -> None:
    """Refuse a statement that asks people to trust less than every statement by its theorems does."""
    if Trust.OWN_DEVICE not in statement.trust:
        raise _refused(path, f"say in each statement that it takes trust in {Trust.OWN_DEVICE}; one does not")
    others = set(statement.trust) - {Trust.OWN_DEVICE, Trust.OPERATOR}
    rests_on = {part.statement.basis.theorem for part in statement.leaves()} or {statement.basis.theorem}
    if not others and rests_on - _LOCAL:
        raise _refused(path, "say whom people must trust for the shuffle by which its loss is smaller")


def _reason(statement: PrivacyStatement) -> str:
    return statement.withdrawn.text if statement.withdrawn else ""


def _refused(path: Path, condition: str) -> InvalidParameterError:
    return InvalidParameterError(f"the earlier release {path} must {condition.rstrip('.')}.")
