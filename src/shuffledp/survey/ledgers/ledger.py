"""Privacy ledger of one population: the charges of its releases, against a cap that was set beforehand.

The ledger is a *filter*: each release is charged a Gaussian pair (mu, d), sums of mu^2 and of d stay within a budget
that guarantees the cap, and so releases may be chosen by what earlier ones showed (docs/theorems.md, "A budget that is
a filter"). A reservation counts in full from before anybody is asked; a release can only lower it. Lines in, a state
out: `shuffledp.files.ledger_file` keeps the lines on the disk.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffledp.core.errors import BudgetExceededError, InvalidParameterError, LocalProtocolError
from shuffledp.core.validate import invalid
from shuffledp.survey.ledgers.ledger_lines import (
    EVERYBODY,
    VERSION,
    Charge,
    LedgerEvent,
    LedgerTerms,
    Released,
    Reserved,
    Voided,
    digest_of,
)

_FAR = 1000  # budgets, above which a share of one is told in words


@dataclass(frozen=True, slots=True)
class Entry:
    """Entry of a ledger: a reservation with its releases, or a plan from which releases are taken.

    Args:
        reserved: its first line.
        releases: of a collection that is released in several batches, each about other people, there may be many.
        taken: releases of a plan that became entries of their own.
        voided: the line that took back what was left; None if there is none.
    """

    reserved: Reserved
    releases: tuple[Released, ...] = ()
    taken: int = 0
    voided: Voided | None = None

    @property
    def is_plan(self) -> bool:
        """Whether the entry is a declared plan of several releases."""
        return self.reserved.count > 1

    @property
    def left(self) -> int:
        """Number of reserved releases still to come; 0 once the entry is void."""
        return 0 if self.voided else max(self.reserved.count - self.taken - len(self.releases), 0)

    @property
    def takes_release(self) -> bool:
        """Whether a release may be counted in this entry."""
        return not self.is_plan and not self.voided and (self.left > 0 or self.reserved.keeps)

    @property
    def counted(self) -> int:
        """Number of releases about one person, made or to come; all batches of a collection count once."""
        if self.is_plan:
            return len(self.releases) + self.left
        return 0 if self.voided and not self.releases else 1

    @property
    def charge(self) -> Charge:
        """Charge of the entry: its releases' charges, and the worst charge of each release to come."""
        each = self.reserved.charge
        if self.reserved.keeps and not self.voided:
            return each
        return sum((release.charge for release in self.releases), each.times(self.left))

    @property
    def state(self) -> str:
        """State in one word: planned, reserved, released or void."""
        if self.voided:
            return "void"
        if self.is_plan:
            return "planned"
        return "released" if self.releases else "reserved"


class Ledger:
    """Ledger made from its lines; `take` adds one line.

    Guarantees:
        1. All releases of a population that are charged here, chosen in whatever way, lose together at most the cap,
           unless `is_exceeded` because a release made elsewhere was added that did not fit.
        2. A line changes the charge of no entry but its own, and no charge falls below that of what was released.

    Args:
        terms: its first line.
        head: SHA-256 of that line.

    Attributes:
        entries: by id, in the order of their reservation.
        heads: SHA-256 of all lines.
        statements: SHA-256 of the ``statement.json`` of all releases that are counted.
        at: time of the latest line.
    """

    def __init__(self, terms: LedgerTerms, head: str) -> None:
        self.terms, self.budget = terms, terms.budget
        self.entries: dict[str, Entry] = {}
        self.heads: list[str] = [head]
        self.statements: set[str] = set()
        self.at = terms.at
        self._totals: dict[str, Charge] = {}

    @property
    def head(self) -> str:
        """SHA-256 of the last line."""
        return self.heads[-1]

    def total(self, population: str = EVERYBODY) -> Charge:
        """Sum of all charges about a population; by default about the population that lost most."""
        everybody = self._totals.get(EVERYBODY, Charge())
        if population != EVERYBODY:
            return everybody + self._totals.get(population, Charge())
        own = [charge for name, charge in self._totals.items() if name != EVERYBODY]
        return everybody + Charge(
            squared=max((charge.squared for charge in own), default=0),
            remainder=max((charge.remainder for charge in own), default=0),
        )

    @property
    def is_exceeded(self) -> bool:
        """Whether releases made elsewhere cost more than the budget, so that the cap no longer holds."""
        return not self.total().fits(self.budget)

    @property
    def orders(self) -> dict[str, float]:
        """Sum of the losses about the order inside groups, in nats, for each digest of groups."""
        found: dict[str, float] = {}
        for entry in self.entries.values():
            for release in entry.releases:
                if release.order_groups:
                    found[release.order_groups] = found.get(release.order_groups, 0.0) + release.order_alpha
        return found

    def planned(self, task_sha256: str, population: str = EVERYBODY) -> Entry | None:
        """Entry of a declared plan with releases left, for a task and a population; None without one."""
        for entry in self.entries.values():
            of = entry.reserved
            if entry.left and entry.is_plan and (of.task_sha256, of.population) == (task_sha256, population):
                return entry
        return None

    def releases_of(self, task_sha256: str, population: str = EVERYBODY) -> int:
        """Number of releases of a task about a population, made or reserved.

        For everybody, the population with the most releases counts.
        """
        found: Counter[str] = Counter()
        for entry in self.entries.values():
            if entry.reserved.task_sha256 == task_sha256:
                found[entry.reserved.population] += entry.counted
        everybody = found.pop(EVERYBODY, 0)
        return everybody + (max(found.values(), default=0) if population == EVERYBODY else found[population])

    def require_promised(self, task_sha256: str, population: str, *, count: int, promised: int) -> None:
        """Refuse more releases of a task than the task's promise covers, even if the cap has room.

        Raises:
            BudgetExceededError: if ``count`` more would be above the ``promised`` number.
        """
        made = self.releases_of(task_sha256, population)
        if made + count > promised:
            raise BudgetExceededError(
                f"the releases of this task about these people must be at most {promised:,}, which its promise is "
                f"about (releases); the ledger counts {made:,} of them already, and this would be {count:,} more. "
                "Another task, with more releases, promises what it says of its own releases alone. Nothing was spent."
            )

    def require_room(self, charge: Charge, population: str, what: str) -> None:
        """Refuse a charge that does not fit into the remaining budget.

        Raises:
            BudgetExceededError: if the cap would not hold any more, or does not already.
            InvalidParameterError: for a population that the ledger does not name.
        """
        if population not in (EVERYBODY, *self.terms.populations):
            named = ", ".join(self.terms.populations) or "none: its releases are about everybody"
            raise invalid(f"one that the ledger names ({named})", population=population)
        if self.is_exceeded:
            raise BudgetExceededError(
                f"{what} must be within the ledger's cap, epsilon = {self.terms.cap:g}, which holds no more: releases "
                "made elsewhere were added that did not fit. Nothing was spent."
            )
        budget, before = self.budget, self.total(population)
        after = before + charge
        if after.fits(budget):
            return
        if before.remainder + charge.remainder > budget.remainder and after.squared <= budget.squared:
            raise BudgetExceededError(
                f"{what} must leave no more of delta than the ledger has left for it: {self.terms.releases} releases "
                "are foreseen, and the part of delta that is kept for them would be used up. Nothing was spent."
            )
        if charge.promises_nothing:
            raise BudgetExceededError(
                f"{what} must promise something at the delta that the ledger foresees for each of "
                f"{self.terms.releases} releases, {self.terms.remainder_each:.2g}; it does not. A ledger of fewer "
                "--releases, or of a larger --delta, foresees more for each. Nothing was spent."
            )
        raise BudgetExceededError(
            f"{what} must fit into the ledger's cap, epsilon = {self.terms.cap:g} at delta = {self.terms.delta:g}; "
            f"{_share(budget.less(before), budget)} of the budget is left, and this would take "
            f"{_share(charge, budget)}. Nothing was spent."
        )

    def take(self, event: LedgerEvent, head: str) -> None:
        """Add one more line, whose digest is ``head``.

        Raises:
            LocalProtocolError: for a line that does not follow from those before it; then nothing changes.
        """
        changed = [self._entry_after(event)]
        plan = self.entries.get(changed[0].reserved.of_plan)
        if plan is not None and not isinstance(event, Released):
            changed.append(replace(plan, taken=plan.taken + (1 if isinstance(event, Reserved) else -1)))
        for entry in changed:
            of, before = entry.reserved.population, self.entries.get(entry.reserved.id)
            total = self._totals.get(of, Charge()) + entry.charge
            self._totals[of] = total if before is None else total.less(before.charge)
            self.entries[entry.reserved.id] = entry
        if isinstance(event, Released):
            self.statements.add(event.statement_sha256)
        self.heads.append(head)
        self.at = max(self.at, event.at)

    def _entry_after(self, event: LedgerEvent) -> Entry:
        """Entry after a new line about it; refused if the line does not follow from earlier ones."""
        entry = self.entries.get(event.id)
        match event:
            case Reserved(of_plan="") if entry is None:
                return Entry(event)
            case Reserved(count=1) if entry is None:
                plan = self.entries.get(event.of_plan)
                is_of = plan is not None and event.population == plan.reserved.population
                if plan is not None and plan.left and is_of and event.charge.fits(plan.reserved.charge):
                    return Entry(event)
            case Released() if entry is not None and entry.takes_release:
                if event.statement_sha256 not in self.statements and event.charge.fits(entry.reserved.charge):
                    return replace(entry, releases=(*entry.releases, event))
            case Voided() if entry is not None and not entry.voided and entry.left:
                return replace(entry, voided=event)
        raise LocalProtocolError("a line of the ledger must follow from those before it; it does not.")

    def require_void(self, id_: str, *, destroyed: bool) -> Entry:
        """Entry whose remaining releases may be taken back, since nobody can have seen their reports.

        Args:
            id_: of the entry.
            destroyed: whether the shuffler of the collection says that it destroyed all reports.

        Raises:
            InvalidParameterError: if there is no such entry, or reports may have been seen.
        """
        entry = self.entries.get(id_)
        if entry is None:
            raise invalid("an entry of the ledger", id=id_)
        if entry.voided or not entry.left:
            raise InvalidParameterError(f"entry {id_[:12]} must be reserved; it is {entry.state} already.")
        if not entry.is_plan and (entry.reserved.keeps or not destroyed):
            raise InvalidParameterError(
                f"entry {id_[:12]} must be a declared plan, or of a collection whose shuffler says that it destroyed "
                "all reports (--collection FILE), or it stays: of a run or a collection reports may have been seen. "
                "Add its statement.json, by ledger add, if there is one."
            )
        return entry


def read_ledger(lines: Sequence[bytes], parsed: Sequence[dict[str, Any]]) -> Ledger:
    """Ledger of all lines of a file.

    Args:
        lines: with their ends.
        parsed: content of each.

    Raises:
        InvalidParameterError: if the chain is broken; the error names the first line that does not follow.
    """
    ledger: Ledger | None = None
    previous = ""
    if parsed and not {"cap", "nonce", "version"} <= set(parsed[0]):
        raise InvalidParameterError("the ledger must be a file that `shuffledp ledger new` made; this one is not.")
    if parsed and parsed[0]["version"] != VERSION:
        raise invalid(f"{VERSION}, the only version of a ledger that this library reads", version=parsed[0]["version"])
    for number, (line, content) in enumerate(zip(lines, parsed, strict=True), start=1):
        changed = number
        try:
            if content.pop("previous") != previous:
                changed = max(number - 1, 1)  # its digest is no more what this line has seen
                raise LocalProtocolError
            previous = digest_of(line)
            if ledger is None:
                terms = LedgerTerms.from_dict(content)
                ledger = Ledger(terms, previous)
            else:
                ledger.take(LedgerEvent.from_dict(content), previous)
        except (LocalProtocolError, InvalidParameterError, LookupError, TypeError, AttributeError):
            raise InvalidParameterError(
                f"the ledger must be an unbroken chain of lines; line {changed} was changed, or the next one is of "
                "another place. Nothing was spent, and nothing was changed."
            ) from None
    if ledger is None:
        raise InvalidParameterError("the ledger must have a first line with its cap; the file is empty.")
    return ledger


def _share(charge: Charge, budget: Charge) -> str:
    if charge.squared > _FAR * budget.squared:
        return "far more than all of it"
    return f"{charge.squared / budget.squared:.2%}" if budget.squared else "all"
