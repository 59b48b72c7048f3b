"""Plan in words of a question with several answers: all ways of asking it, at the same central loss."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import Block, Column, Role, Table, Text, told
from shuffledp.documents.plans.column_plan_document import ColumnPlanDocument
from shuffledp.documents.words import NOTHING
from shuffledp.planning.tick_comparison import TickWay, TickWays

_CLEARLY = 0.99  # ratio of errors from which on another way is said to err less


@dataclass(frozen=True, slots=True)
class TickPlanDocument(ColumnPlanDocument):
    """Words about the plan of a question with several answers."""

    @property
    def ways(self) -> TickWays:
        """Comparison of the ways of asking, the least error first."""
        return cast(TickWays, self.column.of_question)

    @property
    def own(self) -> TickWay:
        """The way of asking that the task uses."""
        return next(each for each in self.ways.ways if each.chosen)

    @property
    def message(self) -> str:
        """All messages of one person, in words."""
        return "a report" if self.own.messages == 1 else f"{count_of(self.own.messages, 'message')} of each person"

    def advice(self) -> Text:
        """Text on whether another way errs less at the same loss, and on the local loss of all messages."""
        best, own = self.ways.ways[0], self.own
        alone = (
            f"All that one person sends loses at most epsilon0 = {in_digits(own.local, 'exactly')} without the shuffle."
        )
        if best.standard_error >= _CLEARLY * own.standard_error:
            return Text(f"{alone} No other way errs less at this loss of everything released.")
        less = 1 - best.standard_error / own.standard_error
        return Text(f"{alone} {best.way} would err {less:.1%} less, and lose {in_digits(best.local, 'exactly')} alone.")

    def further(self) -> Iterable[Block]:
        """Table of all ways of asking, beside a trusted curator, at the same central loss."""
        rows, curator = [], self.column.curator
        if curator is not None:
            rows.append(("trusted curator", f"{curator.standard_error:.3g}", *(NOTHING,) * 3))
        own = frozenset(len(rows) + place for place, each in enumerate(self.ways.ways) if each.chosen)
        rows += [
            (
                f"{each.way}{' (yours)' if each.chosen else ''}",
                f"{each.standard_error:.3g}",
                f"{each.messages:,}",
                f"{each.epsilon0:.3g}",
                f"{each.local:.3g}",
            )
            for each in self.ways.ways
        ]
        heads = map(Column, ("error", "messages", "epsilon0 of one", "of all"))
        yield Table("", (Column("way", left=True), *heads), tuple(rows), own=own)
        crowded = [f"{each.sets:,} sets are too many for so few people." for each in self.ways.ways if each.is_crowded]
        about = f"Each way loses about epsilon = {self.ways.central:.3g} in all; all-sets tells pairs of options too."
        yield from told(" ".join([about, *crowded]), role=Role.NOTE)
