"""Joint privacy loss of the same people, over the private columns of a task and over several releases.

What is released composes by the protocols themselves, at one delta (`shuffledp.accounting.compose_releases`). That
holds for releases planned beforehand; where earlier results decided on later releases, only epsilons and deltas add up,
since a curve that is filled up release by release is no filter (docs/limitations.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shuffledp.accounting import account, compose_pure, compose_releases, epsilon_of
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.guarantees import CentralDP, DifferentialPrivacy, DSigmaPrivacy, LocalDP
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.statements import Part, PrivacyStatement, combined, compose
from shuffledp.core.text import in_digits, sum_rounded_up
from shuffledp.core.tick_models import loss_in_parts
from shuffledp.protocols.family import families
from shuffledp.randomizers import LdpModel
from shuffledp.shufflers import IdentityShuffleModel
from shuffledp.survey.columns import Column
from shuffledp.survey.task import Task

if TYPE_CHECKING:
    from shuffledp.survey.earlier import EarlierRelease


Statements = tuple[PrivacyStatement, ...]
Models = tuple[ProtocolModel, ...]

_ROUNDING = 1e-6  # relative, of stated losses
_NO_GAIN = 1e-3  # relative gain of epsilon below which no remainder is stated
_ADDING_RESPONSES = ("adding-losses", "composition of responses; Kairouz, Oh, Viswanath 2015")
_ADDING_ORDERS = ("adding-orders", "losses of each group added up over releases, and then the worst group taken")
_SAME_ROWS = ", as long as the rows of all releases are the same people in the same order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The share of one column or release in a joint loss: its own statement and its protocols."""

    part: Part
    models: Models


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderShare:
    """Losses of one column or release: parts about the order inside groups, and parts about its reports.

    The reports of one person are ``sent``; ``orders`` is empty if nothing is said of them.
    """

    label: str
    sent: tuple[Part, ...]
    orders: tuple[Part, ...] = ()

    @property
    def groups_digest(self) -> str | None:
        """Digest of the groups of ``orders``; None without orders."""
        return _groups_of(self.orders[0].statement) if self.orders else None

    def losses(self, groups_digest: str, largest_group: int) -> tuple[Part, ...] | None:
        """Losses about the order inside the given groups, as stated or else by randomizing; None if unknown."""
        if self.groups_digest == groups_digest:
            return self.orders
        if largest_group < 1:
            return None
        (order_of,) = (each.beside.of_reports for each in families() if each.beside.of_reports is not None)
        found = [
            (part.label, order_of(part.statement, groups_digest=groups_digest, largest_group=largest_group))
            for part in self.sent
        ]
        known = tuple(Part(label=label, statement=own) for label, own in found if own is not None)
        return known if len(known) == len(found) else None


def by_observer(statements: Sequence[PrivacyStatement]) -> tuple[Statements, Statements]:
    """Statements in two tuples: about the release, and about the reports that leave a device."""
    local = [isinstance(statement.claimed or statement.guarantee, LocalDP) for statement in statements]
    pairs = list(zip(statements, local, strict=True))
    return tuple(each for each, is_local in pairs if not is_local), tuple(each for each, is_local in pairs if is_local)


def composed_columns(
    columns: Sequence[Column],
    statements: Sequence[Statements],
    models: Sequence[ProtocolModel],
    *,
    largest_group: int = 0,
    same_people: bool = True,
) -> Statements:
    """Statements for one person over all private columns; the column's own statements if there is only one.

    Args:
        columns: of one task, one or more.
        statements: for each what is stated of it: headline first, and what is about devices.
        models: for each its protocol.
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
        f"{label} takes {loss_in_words(released[0])} ({loss_in_parts(model.local)})"
        for label, model, (released, _) in zip(labels, models, observed, strict=True)
    )
    headline = composed(
        [
            Share(part=Part(label=label, statement=released[0]), models=(model,))
            for label, (released, _), model in zip(labels, observed, models, strict=True)
        ],
        delta=columns[0].release.delta,
    ).remarking(f"One person answers in {len(columns)} columns, {_kept_apart(columns)}. By itself {shares}.")
    lower = [each for label, both in zip(labels, observed, strict=True) for each in _seen_in(label, both[0])]
    owns = [_own_share(label, *both) for label, both in zip(labels, observed, strict=True)]
    delta = columns[0].release.delta
    order, unknown = orders_together(owns, largest_group, delta=delta, same_people=same_people)
    sent = compose([devices[0] for _, devices in observed], labels=labels)
    sent = sent.remarking("This is about the reports of all columns.")
    return (headline.remarking(*unknown), *lower, *order, sent)


def _kept_apart(columns: Sequence[Column]) -> str:
    """A clause about how the reports of one person in several columns are kept apart."""
    if all(column.shuffler.is_uniform for column in columns):
        return "each randomized and shuffled by itself, so that nobody can link them"
    if any(column.shuffler.kind == "none" for column in columns):
        return "each randomized by itself and not shuffled, so that everybody can link them"
    return "each randomized and shuffled by itself"


def composed_with(
    task: Task,
    earlier: "Sequence[EarlierRelease]",
    statements: Sequence[PrivacyStatement],
    models: Sequence[ProtocolModel],
    *,
    largest_group: int = 0,
) -> Statements:
    """The statements of a release, composed with statements of earlier releases about the same people.

    The statements are those of the release, headline first, and what is about devices, ``models`` the protocols of its
    columns; ``largest_group`` is 0 if it has no groups. Without earlier releases nothing changes; else it is as
    `composed_columns`, for releases in place of columns: this one first, and each once.
    """
    if not earlier:
        return tuple(statements)
    released, devices = by_observer(statements)
    label = f"this release of task {task.sha256[:12]} ({task.name})"
    mine = Share(part=Part(label=label, statement=released[0]), models=tuple(models))
    shares = list(dict.fromkeys([mine, *(share for release in earlier for share in release.released)]))
    together = composed(shares, delta=task.release.delta)
    own = _own_share(label, released, devices)
    others = [release.order_share for release in earlier] if own.orders else []
    delta = task.release.delta
    order, unknown = orders_together([own, *others], largest_group, delta=delta, condition=_SAME_ROWS)
    local = [share for release in earlier for share in release.shares(release.local)]
    sent = added_up(list(dict.fromkeys([Part(label=label, statement=devices[0]), *local]))).remarking(
        "This is about all that one person sent, for this release and the earlier ones."
    )
    remarks = (*_about_releases(together), *unknown)
    return (together.remarking(*remarks), *_seen_in(label, released), *order, sent)


def _about_releases(together: PrivacyStatement) -> tuple[str, ...]:
    """Remarks on each release's loss, and on the sum of losses, which holds for adaptive releases."""
    parts = together.parts
    shares = "; ".join(f"{part.label} takes {loss_in_words(part.statement)}" for part in parts)
    each = f"The same people are in {len(parts)} releases. By itself {shares}."
    added = added_up(parts)
    if together.basis.theorem == added.basis.theorem:
        return (each,)
    return (
        each,
        "This holds for releases planned beforehand: which ones, how many, and what each may lose. If results of one "
        "decided any of that for another one, only what all add up to holds, within a limit set beforehand: "
        f"{loss_in_words(added)}.",
    )


# ---- the composition of protocols -----------------------------------------------------------------------------------


def composed(shares: Sequence[Share], *, delta: float) -> PrivacyStatement:
    """Joint loss of shares fixed beforehand, at one delta, or the sum of their losses if that is no larger.

    Args:
        shares: of columns or releases, each shuffled by itself.
        delta: of all together; remainders of shares of which only a pair is known (`pair_of`) come on top.
    """
    parts = tuple(share.part for share in shares)
    added = added_up(parts)
    claim = added.claimed or added.guarantee
    if len(parts) == 1 or claim.is_trivial:
        return added
    try:
        whole = _whole(tuple(model for share in shares for model in share.models), delta)
    except UnsupportedModelError:  # a protocol may have no bound at so small a part of delta
        count = sum(len(share.models) for share in shares)
        whole = _whole(tuple(model for share in shares for model in _composable(share, delta / count)), delta)
    found: Any = whole.guarantee
    if isinstance(claim, CentralDP) and claim.delta <= found.delta:
        gain = _NO_GAIN if claim.delta < found.delta else _ROUNDING
        if claim.epsilon <= found.epsilon * (1 + gain):
            return added
    return combined(parts, found, theorem=whole.basis.theorem, citation=whole.basis.citation)


def loss_of(models: Models, delta: float) -> float:
    """Joint epsilon of several protocols at a delta that includes their remainders; infinity if unknown.

    Where nothing is left of delta, it is the sum of what is lost without any shuffle.
    """
    left = delta - math.fsum(_remainder(model) for model in models)
    if abs(left) <= _ROUNDING * delta:
        return math.fsum(model.local.epsilon0 for model in models)
    try:
        return epsilon_of(_whole(models, left).guarantee) if left > 0 else math.inf
    except UnsupportedModelError:
        return math.inf


def pair_of(statement: PrivacyStatement) -> ProtocolModel:
    """Protocol that stands for a statement's epsilon and delta: one unshuffled response with a remainder.

    Whatever has this guarantee is post-processing of it (Kairouz, Oh, Viswanath 2015).
    """
    claim: Any = statement.claimed or statement.guarantee
    local = LdpModel(epsilon0=claim.epsilon, delta0=claim.delta)
    return ProtocolModel(local=local, shuffle=IdentityShuffleModel(num_users=1))


@lru_cache(maxsize=256)
def _whole(models: Models, delta: float) -> PrivacyStatement:
    """Composition of protocols at a delta, to which the remainders of unshuffled responses are added."""
    pure = [
        replace(model, local=LdpModel(epsilon0=model.local.epsilon0)) if _remainder(model) else model
        for model in models
    ]
    found = compose_releases(pure, delta=delta, sharp=len(pure) == 1)  # of one release what is stated beside it
    guarantee: Any = found.guarantee
    for remainder in filter(None, map(_remainder, models)):
        guarantee = guarantee.compose(CentralDP(epsilon=0.0, delta=remainder))
    return replace(found, guarantee=guarantee)


def _remainder(model: ProtocolModel) -> float:
    """Delta of an unshuffled response, the chance that it shows the answer outright; 0 if shuffled."""
    return model.local.guarantee.delta if isinstance(model.shuffle, IdentityShuffleModel) else 0.0


def _composable(share: Share, delta: float) -> Models:
    """Protocols of a share, or one response with its epsilon and delta if a protocol has no bound."""
    try:
        for model in share.models:
            account(model, delta=delta)
    except UnsupportedModelError:
        return (pair_of(share.part.statement),)
    return share.models


def _own_share(label: str, released: Statements, devices: Statements) -> OrderShare:
    """Losses of one column or release, from statements on what is released and on what devices send."""
    order = order_in(released)
    orders = () if order is None else (Part(label=label, statement=order),)
    return OrderShare(label=label, sent=(Part(label=label, statement=devices[0]),), orders=orders)


def _seen_in(label: str, released: Sequence[PrivacyStatement]) -> list[PrivacyStatement]:
    """Lower bounds of one part as lower bounds on the joint loss of all parts; upper bounds are left out."""
    seen = f"{label} alone loses at least this, and all together lose at least as much."
    return [
        replace(statement, remarks=(seen, *(f"About {label}: {remark}" for remark in statement.remarks)))
        for statement in released
        if statement.kind is Kind.LOWER_BOUND
    ]


# ---- the order of answers inside groups -----------------------------------------------------------------------------


def order_in(statements: Sequence[PrivacyStatement]) -> PrivacyStatement | None:
    """The promise about the order inside groups; None unless there is exactly one promise."""
    found = [each for each in statements if _groups_of(each) is not None and each.kind.promises]
    return found[0] if len(found) == 1 else None


def orders_together(
    shares: Sequence[OrderShare], largest_group: int, *, delta: float, same_people: bool = True, condition: str = ""
) -> tuple[tuple[PrivacyStatement, ...], tuple[str, ...]]:
    """Joint loss of all shares about the order inside the groups of the first share that has groups.

    Losses about equal groups of the same people compose, since each shuffle is drawn by itself. A loss about other
    groups gives way to what randomizing alone gives for as many people as are in the largest of them.

    The ``shares`` are of all columns, or releases, of the ``same_people`` under a ``condition`` in words; the
    ``largest_group`` is 0 if it is not known, and ``delta`` is of all together. Returned is what all lose, if there are
    such groups and a loss of everyone is known; and if not, what to say of that.
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
    whole, added = orders_composed(parts, delta=delta), added_up(parts)
    how = f"Losses of the order inside equal groups add up{condition}: {words}."
    is_by_group = whole.basis.theorem == _ADDING_ORDERS[0]
    if whole.basis.theorem != added.basis.theorem:
        by_group = ", group by group," if is_by_group else ","
        how = (
            f"Losses of the order inside equal groups compose{by_group} for releases planned beforehand{condition}: "
            f"{words}. If results of one decided on another, only what they add up to holds: {loss_in_words(added)}."
        )
    labels = " and ".join(part.label for part in parts if part.statement.basis.theorem == "d-sigma-local")
    each = f"epsilon0 for each of the {largest_group:,} people of the largest group"
    by_reports = [f"Of {labels} only randomizing is counted: {each}."] if labels else []
    of_groups = _of_groups(parts, delta) if is_by_group else ()
    return (whole.remarking(how, *of_groups, *by_reports),), ()


def orders_composed(parts: Sequence[Part], *, delta: float) -> PrivacyStatement:
    """Joint loss of parts about the order inside groups at one delta: the best of three bounds.

    The last way is kept where no other gains much.
    Group by group, from the laws by group size that parts carry; as pure losses; or as their sum. Remainders of parts
    come on top: each is a response of its alpha that shows the order outright with that chance.
    """
    added = added_up(parts)
    claim: Any = added.claimed or added.guarantee
    if len(parts) == 1 or claim.is_trivial or claim.delta + delta >= 1:
        return added
    claims: list[Any] = [part.statement.claimed or part.statement.guarantee for part in parts]
    alpha = compose_pure([each.alpha for each in claims], delta=delta)
    by_group = max((loss for _, _, loss in _by_size(tuple(claims), delta)), default=math.inf)
    if min(alpha, by_group) > claim.alpha * (1 - _NO_GAIN):
        return added
    how = _ADDING_ORDERS if by_group < alpha else _ADDING_RESPONSES
    found = replace(claim, alpha=min(alpha, by_group), delta=sum_rounded_up(claim.delta, delta))
    return combined(tuple(parts), found, theorem=how[0], citation=how[1])


@lru_cache(maxsize=16)
def _by_size(claims: tuple[DSigmaPrivacy, ...], delta: float) -> tuple[tuple[int, int, float], ...]:
    """Ranges of group sizes with the alpha of each range; empty if parts state no losses by size."""
    (together,) = (each.beside.together for each in families() if each.beside.together is not None)
    return together(claims, delta=delta)


def _of_groups(parts: Sequence[Part], delta: float) -> tuple[str, ...]:
    """Sentences on large groups that lose less, and on the parts of which only alpha is known."""
    claims: list[Any] = [part.statement.claimed or part.statement.guarantee for part in parts]
    found, alone = _by_size(tuple(claims), delta), [part.label for part in parts if not _laws_of(part)]
    (_, _, small), (least, most, large) = found[0], found[-1]
    loses = f"Groups of {least:,} to {most:,} people" if least < most else f"Groups of {most:,} people"
    sizes = [f"{loses} lose no more than alpha = {in_digits(large, 'at most')}."] if large < small else []
    known = f"Of {' and '.join(alone)} only alpha is known, which counts for every group in full."
    return (*sizes, *([known] if alone else []))


def _laws_of(part: Part) -> bool:
    claim = part.statement.claimed or part.statement.guarantee
    return isinstance(claim, DSigmaPrivacy) and bool(claim.by_size)


def added_up(parts: Sequence[Part]) -> PrivacyStatement:
    """The sum of the losses of parts, for any kind of guarantee."""
    return compose([part.statement for part in parts], labels=[part.label for part in parts])


def loss_in_words(statement: PrivacyStatement) -> str:
    """The loss of a statement in a few words, such as "epsilon = 1, delta = 1e-06"."""
    claim: Any = statement.claimed or statement.guarantee
    if not isinstance(claim, DifferentialPrivacy | DSigmaPrivacy):
        return str(claim.type)
    relation, letter = statement.kind.relation, "alpha" if isinstance(claim, DSigmaPrivacy) else "epsilon"
    delta = f", delta = {in_digits(claim.delta, relation)}" if claim.delta else ""
    return f"{letter} = {in_digits(getattr(claim, letter), relation)}{delta}"


def _groups_of(statement: PrivacyStatement) -> str | None:
    """Digest of the groups whose order a statement is about; None for any other statement."""
    claim = statement.claimed or statement.guarantee
    return claim.groups_digest if isinstance(claim, DSigmaPrivacy) else None
