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

__all__ = ["by_observer", "column_label", "composed_columns", "composed_with"]

Statements = tuple[PrivacyStatement, ...]


def by_observer(statements: Sequence[PrivacyStatement]) -> tuple[Statements, Statements]:
    """Statements about what is released, and those about what leaves a person's device."""
    local = [isinstance(statement.claimed or statement.guarantee, LocalDP) for statement in statements]
    pairs = list(zip(statements, local, strict=True))
    return tuple(each for each, is_local in pairs if not is_local), tuple(each for each, is_local in pairs if is_local)


def composed_columns(parts: Sequence[Task], statements: Sequence[Statements]) -> Statements:
    """What holds for one person, over all private columns.

    Args:
        parts: the tasks of the columns, one or more.
        statements: for each what is stated of it: headline first, and what is about devices.

    Returns:
        The composition of the headlines, whose parts are what each column takes; the lower bounds of columns, which are
        lower bounds for all of them; and the composition of the local guarantees. For a single column its own.
    """
    if len(parts) == 1:
        return statements[0]
    observed, labels = [by_observer(each) for each in statements], [column_label(part) for part in parts]
    shares = "; ".join(
        f"{label} takes {_loss(released[0])} (epsilon0 = {part.randomizer.randomizer().model.epsilon0:.4g})"
        for label, part, (released, _) in zip(labels, parts, observed, strict=True)
    )
    headline = compose([released[0] for released, _ in observed], labels=labels).remarking(
        f"One person answers in {len(parts)} columns, {_kept_apart(parts)}; their losses add up: {shares}."
    )
    lower = [
        _seen_in(label, statement)
        for label, (released, _) in zip(labels, observed, strict=True)
        for statement in released[1:]
    ]
    sent = compose([devices[0] for _, devices in observed], labels=labels)
    return (headline, *lower, sent.remarking("This is about the reports of all columns."))


def column_label(task: Task) -> str:
    """What the share of a column is called where columns are put together."""
    return task.value if task.value.isprintable() else repr(task.value)


def _kept_apart(parts: Sequence[Task]) -> str:
    """How the reports of one person in several columns are kept apart, if they are."""
    if all(part.shuffler.is_uniform for part in parts):
        return "each randomized and shuffled by itself, so that nobody can link them"
    if any(part.shuffler.kind == "none" for part in parts):
        return "each randomized by itself and not shuffled, so that everybody can link them"
    return "each randomized and shuffled by itself"


def composed_with(
    task: Task | JointTask, earlier: "Sequence[EarlierRelease]", statements: Sequence[PrivacyStatement]
) -> Statements:
    """The statements of a release, with what holds for it and the earlier ones together.

    Args:
        task: of the release.
        earlier: releases about the same people; without any, nothing changes.
        statements: of the release: what is about everything released, headline first, and what is about devices.

    Returns:
        The composition of all headlines, whose parts are the releases, this one first; its own lower bounds, which are
        lower bounds for all of them; and the composition of the local guarantees, where all are known.
    """
    if not earlier:
        return tuple(statements)
    released, devices = by_observer(statements)
    labels = [f"this release of {_task(task.sha256, task.name)}", *(each.label for each in earlier)]
    headlines = [released[0], *(release.headline for release in earlier)]
    shares = "; ".join(f"{label} takes {_loss(each)}" for label, each in zip(labels, headlines, strict=True))
    first = compose(headlines, labels=labels).remarking(
        f"The same people are in {len(labels)} releases, whose losses add up: {shares}."
    )
    lower = [_seen_in(labels[0], statement) for statement in released[1:]]
    theirs = [release.local for release in earlier if release.local is not None]
    if len(theirs) < len(earlier) or not devices:
        return (first, *lower)
    sent = compose([devices[0], *theirs], labels=labels)
    remark = "This is about all that one person sent, for this release and the earlier ones."
    return (first, *lower, sent.remarking(remark))


def _seen_in(label: str, statement: PrivacyStatement) -> PrivacyStatement:
    """A lower bound for a part, as one for all, of which nothing less can be lost."""
    return statement.remarking(f"So much is lost by {label} alone, and so no less by all together.")


def _task(sha256: str, name: str) -> str:
    return f"task {sha256[:12]} ({name})"


def _loss(statement: PrivacyStatement) -> str:
    """What a statement takes of a person's budget, in a few words."""
    claim: Any = statement.claimed or statement.guarantee
    if not isinstance(claim, DifferentialPrivacy):
        return str(claim.type)
    delta = f", delta = {claim.delta:g}" if claim.delta else ""
    return f"epsilon = {in_digits(claim.epsilon, statement.kind.relation)}{delta}"
