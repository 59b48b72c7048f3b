"""What several columns or releases lose together of the order of answers inside groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.accounting import d_sigma_of_reports
from shuffledp.core.guarantees import DifferentialPrivacy, DSigmaPrivacy
from shuffledp.core.statements import Part, PrivacyStatement, compose
from shuffledp.core.text import in_digits


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderShare:
    """What one column or release tells about the order inside groups, and about reports.

    Args:
        label: what it is called where several are put together.
        sent: what all reports of one person guarantee by themselves, in parts that add up.
        orders: what it loses of the order inside groups, in parts that add up; empty if it does not say.
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


def order_in(statements: Sequence[PrivacyStatement]) -> PrivacyStatement | None:
    """What is promised about the order inside groups; None if nothing is, or it is said more than once."""
    found = [each for each in statements if _groups_of(each) is not None and each.kind.promises]
    return found[0] if len(found) == 1 else None


def orders_together(
    shares: Sequence[OrderShare], largest_group: int, *, same_people: bool = True, condition: str = ""
) -> tuple[tuple[PrivacyStatement, ...], tuple[str, ...]]:
    """What all together lose of the order inside the groups of the first that tells of groups.

    Losses about equal groups of the same people add up, since each shuffle is drawn by itself. A loss about other
    groups says nothing of these: it gives way to what randomizing alone gives for as many people as are in the largest
    of them.

    Args:
        shares: of all columns, or releases.
        largest_group: people in the largest of the groups; 0 if it is not known.
        same_people: whether equal groups are groups of the same people.
        condition: what must hold for that.

    Returns:
        The sum, if there are such groups and a loss of everyone is known; and if not, what to say of that.
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
    return (added_up(parts).remarking(added, *_by_reports(parts, largest_group)),), ()


def _by_reports(parts: Sequence[Part], largest_group: int) -> tuple[str, ...]:
    """Of which shares the shuffle is not counted."""
    labels = " and ".join(part.label for part in parts if part.statement.basis.theorem == "d-sigma-local")
    if not labels:
        return ()
    each = f"epsilon0 for each of the {largest_group:,} people of the largest group"
    return (f"Of {labels} only randomizing is counted: {each}.",)


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
