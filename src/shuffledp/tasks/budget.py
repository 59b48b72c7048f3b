"""How losses of the same people add up: over the private columns of a task, and over releases."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shuffledp._numerals import in_digits
from shuffledp.guarantees import DifferentialPrivacy, LocalDP
from shuffledp.statements import PrivacyStatement, compose
from shuffledp.tasks.joint import JointTask
from shuffledp.tasks.task import Task

if TYPE_CHECKING:
    from shuffledp.tasks.earlier import EarlierRelease

__all__ = ["by_observer", "composed_columns", "composed_with", "in_front"]

Statements = tuple[PrivacyStatement, ...]


def by_observer(statements: Sequence[PrivacyStatement]) -> tuple[Statements, Statements]:
    """Statements about what is released, and those about what leaves a person's device."""
    local = [isinstance(statement.claimed or statement.guarantee, LocalDP) for statement in statements]
    pairs = list(zip(statements, local, strict=True))
    return tuple(each for each, is_local in pairs if not is_local), tuple(each for each, is_local in pairs if is_local)


def in_front(first: Sequence[PrivacyStatement], then: Sequence[PrivacyStatement]) -> Statements:
    """All of both, those about what is released before those about devices."""
    (released, devices), (also_released, also_devices) = by_observer(first), by_observer(then)
    return (*released, *also_released, *devices, *also_devices)


def composed_columns(parts: Sequence[Task], statements: Sequence[Statements]) -> Statements:
    """What holds for one person, over all private columns.

    Args:
        parts: the tasks of the columns, one or more.
        statements: for each what is stated of it: headline first, and what is about devices.

    Returns:
        The composition of the headlines, then that of the local guarantees; for a single column its own statements.
    """
    if len(parts) == 1:
        return statements[0]
    observed = [by_observer(each) for each in statements]
    shares = "; ".join(
        f"{_column(part)} takes {_loss(released[0])} (epsilon0 = {part.randomizer.randomizer().model.epsilon0:.4g})"
        for part, (released, _) in zip(parts, observed, strict=True)
    )
    apart = ", so that nobody can link them" if all(part.shuffler.is_uniform for part in parts) else ""
    remark = (
        f"One person answers in {len(parts)} columns, each randomized and shuffled by itself{apart}; their losses add "
        f"up: {shares}."
    )
    headline = compose([released[0] for released, _ in observed]).remarking(remark)
    sent = compose([devices[0] for _, devices in observed]).remarking("This is about the reports of all columns.")
    return headline, sent


def composed_with(
    task: Task | JointTask, earlier: "Sequence[EarlierRelease]", statements: Sequence[PrivacyStatement]
) -> Statements:
    """The statements of a release, with what holds for it and the earlier ones together.

    Args:
        task: of the release.
        earlier: releases about the same people; without any, nothing changes.
        statements: of the release: what is about everything released, headline first, and what is about devices.

    Returns:
        The composition of all headlines, then the release's own headline and lower bounds, then the composition of the
        local guarantees, then its own.
    """
    if not earlier:
        return tuple(statements)
    released, devices = by_observer(statements)
    parts = [
        _share(task.sha256, task.name, released[0]),
        *(_share(each.task_sha256, each.name, each.headline) for each in earlier),
    ]
    first = compose([released[0], *(release.headline for release in earlier)]).remarking(
        f"The same people are in {len(parts)} releases, whose losses add up: {'; '.join(parts)}."
    )
    sent = compose([devices[0], *(release.local for release in earlier)]).remarking(
        "This is about all that one person sent, for this release and the earlier ones."
    )
    return (first, *released, sent, *devices)


def _share(sha256: str, name: str, statement: PrivacyStatement) -> str:
    return f"task {sha256[:12]} ({name}) takes {_loss(statement)}"


def _column(part: Task) -> str:
    return part.value if part.value.isprintable() else repr(part.value)


def _loss(statement: PrivacyStatement) -> str:
    """What a statement takes of a person's budget, in a few words."""
    claim: Any = statement.claimed or statement.guarantee
    if not isinstance(claim, DifferentialPrivacy):
        return str(claim.type)
    relation = statement.kind.relation
    delta = f", delta = {in_digits(claim.delta, relation)}" if claim.delta else ""
    return f"epsilon = {in_digits(claim.epsilon, relation)}{delta}"
