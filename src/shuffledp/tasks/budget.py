"""How losses of the same people add up: over the private columns of a task, and over releases."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shuffledp._numerals import in_digits
from shuffledp.guarantees import DifferentialPrivacy, LocalDP
from shuffledp.statements import Part, PrivacyStatement, compose
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
        The composition of all headlines, whose parts are the releases, this one first and each once; its own lower
        bounds, which bound all of them; and the composition of the local guarantees.
    """
    if not earlier:
        return tuple(statements)
    released, devices = by_observer(statements)
    label = f"this release of task {task.sha256[:12]} ({task.name})"
    parts = _once([Part(label=label, statement=released[0]), *_shares(earlier, local=False)])
    shares = "; ".join(f"{part.label} takes {_loss(part.statement)}" for part in parts)
    remark = f"The same people are in {len(parts)} releases, whose losses add up: {shares}."
    summed = [_sum(parts).remarking(remark), *(_seen_in(label, statement) for statement in released[1:])]
    sent = _sum(_once([Part(label=label, statement=devices[0]), *_shares(earlier, local=True)]))
    return (*summed, sent.remarking("This is about all that one person sent, for this release and the earlier ones."))


def _shares(earlier: "Sequence[EarlierRelease]", *, local: bool) -> list[Part]:
    """What all releases take that the earlier ones cover, of what is released or of what devices sent."""
    pairs = [(release, release.local if local else release.headline) for release in earlier]
    return [share for release, statement in pairs if statement for share in release.shares(statement)]


def _once(parts: Sequence[Part]) -> list[Part]:
    """A release that several others cover counts once."""
    return list(dict.fromkeys(parts))


def _sum(parts: Sequence[Part]) -> PrivacyStatement:
    return compose([part.statement for part in parts], labels=[part.label for part in parts])


def _seen_in(label: str, statement: PrivacyStatement) -> PrivacyStatement:
    """A lower bound for a part, as one for all, of which nothing less can be lost."""
    theirs = [f"About {label}: {remark}" for remark in statement.remarks]
    return replace(statement, remarks=(f"So much is lost by {label} alone, and no less by all together.", *theirs))


def _loss(statement: PrivacyStatement) -> str:
    """What a statement takes of a person's budget, in a few words."""
    claim: Any = statement.claimed or statement.guarantee
    if not isinstance(claim, DifferentialPrivacy):
        return str(claim.type)
    relation = statement.kind.relation
    delta = f", delta = {in_digits(claim.delta, relation)}" if claim.delta else ""
    return f"epsilon = {in_digits(claim.epsilon, relation)}{delta}"
