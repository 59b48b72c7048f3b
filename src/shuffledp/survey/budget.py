"""How losses of the same people add up: over the private columns of a task, and over releases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shuffledp.accounting import d_sigma_of_reports
from shuffledp.core.guarantees import DifferentialPrivacy, DSigmaPrivacy, LocalDP
from shuffledp.core.statement_terms import Kind
from shuffledp.core.statements import Part, PrivacyStatement, compose
from shuffledp.core.text import in_digits
from shuffledp.survey.columns import Column
from shuffledp.survey.task import Task

if TYPE_CHECKING:
    from shuffledp.survey.earlier import EarlierRelease


Statements = tuple[PrivacyStatement, ...]

_SAME_ROWS = ", as long as the rows of all releases are the same people in the same order"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderShare:
    """What one column or release tells about the order inside groups, and about reports, in parts that add up.

    The reports of one person are ``sent``; ``orders`` is empty if nothing is said of them.
    """

    label: str
    sent: tuple[Part, ...]
    orders: tuple[Part, ...] = ()

    @property
    def groups_digest(self) -> str | None:
        """Of the groups that ``orders`` are about."""
        return _groups_of(self.orders[0].statement) if self.orders else None

    def losses(self, groups_digest: str, largest_group: int) -> tuple[Part, ...] | None:
        """Its loss about these groups: what it says of them, else what randomizing gives; None if nothing is known."""
        if self.groups_digest == groups_digest:
            return self.orders
        if largest_group < 1:
            return None
        found = [
            (part.label, d_sigma_of_reports(part.statement, groups_digest=groups_digest, largest_group=largest_group))
            for part in self.sent
        ]
        known = tuple(Part(label=label, statement=own) for label, own in found if own is not None)
        return known if len(known) == len(found) else None


def by_observer(statements: Sequence[PrivacyStatement]) -> tuple[Statements, Statements]:
    """Statements about what is released, and those about what leaves a person's device."""
    local = [isinstance(statement.claimed or statement.guarantee, LocalDP) for statement in statements]
    pairs = list(zip(statements, local, strict=True))
    return tuple(each for each, is_local in pairs if not is_local), tuple(each for each, is_local in pairs if is_local)


def composed_columns(
    columns: Sequence[Column], statements: Sequence[Statements], *, largest_group: int = 0, same_people: bool = True
) -> Statements:
    """What holds for one person, over all private columns; of a single column what is stated of it.

    Args:
        columns: of one task, one or more.
        statements: for each what is stated of it: headline first, and what is about devices.
        largest_group: people in the largest of the groups that they are about; 0 if there are none.
        same_people: whether the same people answered in all columns.

    Returns:
        The composition of the headlines; the lower bounds of columns, which bound all of them; what all lose of the
        order inside groups, if that is known; and the composition of the local guarantees.
    """
    if len(columns) == 1:
        return statements[0]
    observed, labels = [by_observer(each) for each in statements], [column.label for column in columns]
    shares = "; ".join(
        f"{label} takes {loss_in_words(released[0])} (epsilon0 = {column.randomizer.randomizer().model.epsilon0:.4g})"
        for label, column, (released, _) in zip(labels, columns, observed, strict=True)
    )
    headline = compose([released[0] for released, _ in observed], labels=labels).remarking(
        f"One person answers in {len(columns)} columns, {_kept_apart(columns)}; their losses add up: {shares}."
    )
    lower = [each for label, both in zip(labels, observed, strict=True) for each in _seen_in(label, both[0])]
    owns = [_own_share(label, *both) for label, both in zip(labels, observed, strict=True)]
    order, unknown = orders_together(owns, largest_group, same_people=same_people)
    sent = compose([devices[0] for _, devices in observed], labels=labels)
    sent = sent.remarking("This is about the reports of all columns.")
    return (headline.remarking(*unknown), *lower, *order, sent)


def _kept_apart(columns: Sequence[Column]) -> str:
    """How the reports of one person in several columns are kept apart, if they are."""
    if all(column.shuffler.is_uniform for column in columns):
        return "each randomized and shuffled by itself, so that nobody can link them"
    if any(column.shuffler.kind == "none" for column in columns):
        return "each randomized by itself and not shuffled, so that everybody can link them"
    return "each randomized and shuffled by itself"


def composed_with(
    task: Task, earlier: "Sequence[EarlierRelease]", statements: Sequence[PrivacyStatement], *, largest_group: int = 0
) -> Statements:
    """The statements of a release, with what holds for it and the earlier ones together.

    The statements are those of the release, headline first, and what is about devices; ``largest_group`` is 0 if it has
    no groups. Without earlier releases nothing changes; else it is as `composed_columns`, for releases in place of
    columns: this one first, and each once.
    """
    if not earlier:
        return tuple(statements)
    released, devices = by_observer(statements)
    label = f"this release of task {task.sha256[:12]} ({task.name})"
    parts = _parts(label, released[0], [(release, release.headline) for release in earlier])
    shares = "; ".join(f"{part.label} takes {loss_in_words(part.statement)}" for part in parts)
    remark = f"The same people are in {len(parts)} releases, whose losses add up: {shares}."
    own = _own_share(label, released, devices)
    others = [release.order_share for release in earlier] if own.orders else []
    order, unknown = orders_together([own, *others], largest_group, condition=_SAME_ROWS)
    sent = added_up(_parts(label, devices[0], [(release, release.local) for release in earlier])).remarking(
        "This is about all that one person sent, for this release and the earlier ones."
    )
    return (added_up(parts).remarking(remark, *unknown), *_seen_in(label, released), *order, sent)


def _own_share(label: str, released: Statements, devices: Statements) -> OrderShare:
    """What a column or this release tells about the order inside groups."""
    order = order_in(released)
    orders = () if order is None else (Part(label=label, statement=order),)
    return OrderShare(label=label, sent=(Part(label=label, statement=devices[0]),), orders=orders)


def _parts(
    label: str, own: PrivacyStatement, earlier: "Sequence[tuple[EarlierRelease, PrivacyStatement]]"
) -> list[Part]:
    """This release and all that the earlier ones cover; one that several others cover counts once."""
    shares = [share for release, statement in earlier for share in release.shares(statement)]
    return list(dict.fromkeys([Part(label=label, statement=own), *shares]))


def _seen_in(label: str, released: Sequence[PrivacyStatement]) -> list[PrivacyStatement]:
    """The lower bounds for a part, as ones for all, of which nothing less can be lost; no upper bound is one."""
    seen = f"{label} alone loses at least this, and all together lose at least as much."
    return [
        replace(statement, remarks=(seen, *(f"About {label}: {remark}" for remark in statement.remarks)))
        for statement in released
        if statement.kind is Kind.LOWER_BOUND
    ]


# ---- the order of answers inside groups -----------------------------------------------------------------------------


def order_in(statements: Sequence[PrivacyStatement]) -> PrivacyStatement | None:
    """What is promised about the order inside groups; None if nothing is, or it is said more than once."""
    found = [each for each in statements if _groups_of(each) is not None and each.kind.promises]
    return found[0] if len(found) == 1 else None


def orders_together(
    shares: Sequence[OrderShare], largest_group: int, *, same_people: bool = True, condition: str = ""
) -> tuple[tuple[PrivacyStatement, ...], tuple[str, ...]]:
    """What all together lose of the order inside the groups of the first that tells of groups.

    Losses about equal groups of the same people add up, since each shuffle is drawn by itself. A loss about other
    groups gives way to what randomizing alone gives for as many people as are in the largest of them.

    The ``shares`` are of all columns, or releases, of the ``same_people`` under a ``condition`` in words, and the
    ``largest_group`` is 0 if it is not known. Returned are the sum, if there are such groups and a loss of everyone is
    known; and if not, what to say of that.
    """
    first = next((share for share in shares if share.orders), None)
    digest = None if first is None else first.groups_digest
    if digest is None:
        return (), ()
    counted = [share if same_people or share is first else replace(share, orders=()) for share in shares]
    found = [(share.label, share.losses(digest, largest_group)) for share in counted]
    unknown = " and ".join(label for label, losses in found if losses is None)
    if unknown:
        return (), (f"Of the order inside groups nothing is promised over all together: {unknown} may tell any of it.",)
    parts = list(dict.fromkeys(part for _, losses in found for part in losses or ()))
    words = "; ".join(f"{part.label} takes {loss_in_words(part.statement)}" for part in parts)
    added = f"Losses of the order inside equal groups add up{condition}: {words}."
    labels = " and ".join(part.label for part in parts if part.statement.basis.theorem == "d-sigma-local")
    each = f"epsilon0 for each of the {largest_group:,} people of the largest group"
    by_reports = [f"Of {labels} only randomizing is counted: {each}."] if labels else []
    return (added_up(parts).remarking(added, *by_reports),), ()


def added_up(parts: Sequence[Part]) -> PrivacyStatement:
    """What parts lose together, whatever they are about."""
    return compose([part.statement for part in parts], labels=[part.label for part in parts])


def loss_in_words(statement: PrivacyStatement) -> str:
    """What a statement takes of a person's budget, in a few words."""
    claim: Any = statement.claimed or statement.guarantee
    if not isinstance(claim, DifferentialPrivacy | DSigmaPrivacy):
        return str(claim.type)
    relation, letter = statement.kind.relation, "alpha" if isinstance(claim, DSigmaPrivacy) else "epsilon"
    delta = f", delta = {in_digits(claim.delta, relation)}" if claim.delta else ""
    return f"{letter} = {in_digits(getattr(claim, letter), relation)}{delta}"


def _groups_of(statement: PrivacyStatement) -> str | None:
    """Of which groups a statement is about the order; None if it is about something else."""
    claim = statement.claimed or statement.guarantee
    return claim.groups_digest if isinstance(claim, DSigmaPrivacy) else None
