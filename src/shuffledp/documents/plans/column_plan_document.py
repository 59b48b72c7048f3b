"""The plan of one private column in words: its expected error, and randomizers that would do better."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shuffledp.accounting import SHARP_THEOREMS
from shuffledp.core.guarantees import DifferentialPrivacy, Guarantee
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import DETAIL, Block, Column, Role, Table, Text, told
from shuffledp.documents.words import NOTHING
from shuffledp.planning.mechanism_choice import Option
from shuffledp.survey import ColumnPlan

if TYPE_CHECKING:
    from shuffledp.planning.detectable_differences import LeastDifference


@dataclass(frozen=True, slots=True)
class ColumnPlanDocument:
    """Words about the plan of a column with a randomizer on the device; families add subclasses."""

    column: ColumnPlan

    @property
    def chosen(self) -> Option:
        """The task's own randomizer, with its errors."""
        return self.column.chosen

    @property
    def relation(self) -> str:
        """Words before the expected error: "at most" before a bound, "" before a value."""
        return ""

    @property
    def message(self) -> str:
        """One person's message, in words."""
        bits = self.chosen.report_bits
        return "reports of varying size" if bits is None else f"reports of {count_of(bits, 'bit')}"

    def limits(self, expected: int) -> str:
        """Words on the randomizer's limits to the number of people, beside ``expected``; "" without any."""
        del expected
        return ""

    def further(self) -> Iterable[Block]:
        """Blocks about what the randomizer needs, after the expected error."""
        return ()

    @property
    def rounding(self) -> str:
        """Error by rounding to a grid, in words; "" by default."""
        return ""

    def what_to_expect(self) -> str:
        """One person's message, and the expected error of the estimates."""
        about, chosen = self.relation or "about", self.chosen
        error = in_digits(chosen.error.standard_error, about, digits=3)
        return (
            f"{self.column.value}: {self.message} by {chosen.kind}. For {chosen.error.at} the standard error will be "
            f"{about} {error}, beside {_error(chosen.error.sampling_error)} from sampling people."
        )

    def beside_curator(self) -> str:
        """Comparison of the error with a trusted curator's at the same loss; "" without a curator."""
        curator, about = self.column.curator, self.relation
        if curator is None:
            return ""
        ratio = in_digits(self.chosen.error.standard_error / curator.standard_error, about, digits=3)
        return (
            f"A trusted curator who adds {curator.mechanism} of the same epsilon and delta would have a standard error "
            f"of {_error(curator.standard_error)}; yours is {f'{about} ' * bool(about)}{ratio} x that."
        )

    def blocks(self, remarks: str, no_curator: str) -> Iterable[Block]:
        """Blocks on the expected results with ``remarks``, then on other randomizers.

        ``no_curator`` is the reason why no trusted curator stands beside them.
        """
        yield Text(" ".join(filter(None, [self.what_to_expect(), remarks])))
        yield from self.further()
        yield from told(*map(_found, self.column.least_differences))
        yield from told(" ".join(filter(None, [self.rounding, self.beside_curator() or no_curator])))
        yield self.advice()
        yield _options(self.column)
        yield from told(_beside(self.column), role=Role.NOTE, on=DETAIL)
        unfit = (f"  {each.kind} cannot: {each.reason}" for each in self.column.unfit)
        yield from told(*unfit, role=Role.NOTE, on=DETAIL)

    def advice(self) -> Text:
        """Text on whether another randomizer has a smaller error."""
        best, chosen = self.column.options[0], self.chosen
        if best.error.standard_error >= chosen.error.standard_error:
            return Text("No randomizer for such answers has a smaller standard error than yours.")
        less = 1 - best.error.standard_error / chosen.error.standard_error
        return Text(f"{best.kind} would have a standard error that is {less:.1%} smaller.")


def _found(least: "LeastDifference") -> str:
    """The least difference that a comparison finds, in a sentence."""
    many = count_of(least.comparisons, "comparison")
    if least.difference is None:
        return f"No difference between {least.between} is sure to be found with {many}: there are too few people."
    points = in_digits(100 * least.difference, "about", digits=3)
    return (
        f"A difference of {points} percentage points between {least.between}, at shares around {least.base:.0%}, is "
        f"found with a chance of {least.power:.0%}, with {many} at {least.level:.0%} together."
    )


def _options(column: ColumnPlan) -> Table:
    """The randomizers that fit the task, in ascending order of error."""
    rows, curator, chosen = [], column.curator, column.chosen
    if curator is not None:
        error, ratio = curator.standard_error, curator.standard_error / chosen.error.standard_error
        losses = ("unknown" if chosen.central is None else _epsilon(chosen.central, "at most"), "none")
        rows.append((f"trusted curator ({curator.mechanism})", NOTHING, _error(error), f"{ratio:.3g} x", *losses))
    own = frozenset(len(rows) + place for place, option in enumerate(column.options) if option.chosen)
    for option in column.options:
        ratio = option.error.standard_error / chosen.error.standard_error
        rows.append(
            (
                f"{option.kind}{' (yours)' if option.chosen else ''}",
                "varies" if option.report_bits is None else f"{option.report_bits:,}",
                _error(option.error.standard_error),
                "" if option.chosen else f"{ratio:.3g} x",
                "unknown" if option.central is None else _epsilon(option.central, "at most"),
                _epsilon(option.local, "exactly"),
            )
        )
    heads = (Column("randomizer", left=True), *map(Column, ("bits", "error", "vs yours", "epsilon", "local")))
    return Table("", heads, tuple(rows), own=own, on=DETAIL)


def _beside(column: ColumnPlan) -> str:
    """Note that other randomizers' losses leave out a slow bound that the task's own loss uses; else ""."""
    costly = {each.id for each in SHARP_THEOREMS if each.is_costly}
    if len(column.options) == 1 or column.statements[0].basis.theorem not in costly:
        return ""
    return (
        f"(Your epsilon, of {column.chosen.kind}, is by a bound that takes seconds. The epsilons of the others leave "
        "that bound out, and could be less with it.)"
    )


def _error(size: float) -> str:
    """An error in three digits, as thousands where it is large."""
    return in_digits(size, "about", digits=3)


def _epsilon(guarantee: Guarantee, relation: str) -> str:
    """Epsilon of a guarantee; the name of a guarantee without epsilon."""
    if not isinstance(guarantee, DifferentialPrivacy):
        return guarantee.type
    return "none" if guarantee.is_trivial else in_digits(guarantee.epsilon, relation)
