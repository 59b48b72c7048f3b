"""Earlier releases about the same people: read, checked, and matched with the task's list of them.

`statement_file` says which files are believed. A file covers its own release and the earlier ones that its statements
count; what each of them takes is then counted

============================================================= ==========================================================
by the protocols of each, or what is stated if that is more   if all are known and lose no less than stated
by epsilon and delta of each                                  else, if the headline is a sum over all of them
by epsilon and delta of the headline                          else
============================================================= ==========================================================
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, cast

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.statements import Part, PrivacyStatement
from shuffledp.survey.budget import Models, OrderShare, Share, loss_of, pair_of
from shuffledp.survey.section import read_whole
from shuffledp.survey.statement_file import CountedRelease, StatementFile, is_sum
from shuffledp.survey.task import Task

_GRID = 1e-4  # relative; a joint loss may differ by this between machines
_LARGEST = 1 << 30  # bytes: a task may have millions of categories


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
        """Releases whose losses this release's statements contain: this release, then earlier ones."""
        itself = CountedRelease(
            task_sha256=self.task_sha256, statement_sha256=self.file_sha256, models=self.released[0].models
        )
        return (itself, *self.earlier)

    def shares(self, statement: PrivacyStatement) -> tuple[Part, ...]:
        """Parts of a statement, one for each release that the statement covers, this release first."""
        first, *others = statement.parts or (Part(label="", statement=statement),)
        if not self.earlier or not others or not is_sum(statement):
            return (Part(label=self.label, statement=statement),)
        return (replace(first, label=self.label), *others)

    @property
    def order_share(self) -> OrderShare:
        """Losses of the release about the order inside groups, one part for each release covered."""
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
            written = StatementFile.of(data)
        except InvalidParameterError as error:
            raise _refused(path, f"hold the statements of a release: {error}") from None
        except (LookupError, TypeError, ValueError):
            raise _refused(path, "be the statement.json of a release") from None
        for condition in written.unmet():
            raise _refused(path, condition)
        found = cls(
            name=data["task"]["name"],
            task_sha256=data["task_sha256"],
            file_sha256=hashlib.sha256(content).hexdigest(),
            headline=written.headline,
            local=cast(PrivacyStatement, written.local),
            earlier=written.earlier,
            order=written.order,
        )
        return found._counting_by(written.models)

    def _counting_by(self, own: Models | None) -> Self:
        """Copy of the release, with losses counted by protocols or else by epsilon and delta.

        Protocols do not count if any is unknown, or if they lose less than is stated.
        """
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
    """Earlier releases about the same people; a release counted in another release is left out.

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


def _by_models(release: EarlierRelease, models: Sequence[Models]) -> tuple[Share, ...] | None:
    """Shares of a release and of the releases that it counts in a joint loss, each by its protocols.

    None if the loss of the protocols is unknown, or smaller than the statements say.
    """
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
    """Share of a part in a joint loss, stated with the loss of its protocols.

    None if their loss is unknown, or below the stated loss.
    """
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


def _refused(path: Path, condition: str) -> InvalidParameterError:
    return InvalidParameterError(f"the earlier release {path} must {condition.rstrip('.')}.")
