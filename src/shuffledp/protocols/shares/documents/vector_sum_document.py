"""Sums of vectors in words: plan of a column, messages of each person, and influence of a liar."""

from collections.abc import Iterable
from typing import cast

from shuffledp.core.text import count_of
from shuffledp.documents.blocks import Block, told
from shuffledp.protocols.shares.documents.counted_bits_document import SumPlanDocument
from shuffledp.protocols.shares.randomizers.hosts import Hosts
from shuffledp.protocols.shares.survey.vector_sum_section import VectorSumPlan


class VectorSumPlanDocument(SumPlanDocument):
    """Words about the plan of a column for sums of vectors."""

    __slots__ = ()

    @property
    def protocol(self) -> VectorSumPlan:
        """Messages and errors of the protocol."""
        return cast(VectorSumPlan, self.column.of_question)

    @property
    def message(self) -> str:
        """One person's messages and bytes, in words."""
        plan = self.protocol
        of = f"block of {plan.block:,} coordinates" if plan.block > 1 else "coordinate"
        each = f"{plan.num_shares:,} for each {of}"
        return f"{plan.num_messages:,} messages per person ({each}),"

    def further(self) -> Iterable[Block]:
        """Text on the bytes sent, the dangers before the shuffles, and the subject of the guarantee."""
        plan = self.protocol
        apart = "coordinate" if plan.block == 1 else f"block of {plan.block:,} coordinates"
        yield from told(
            f"Each person sends {_kilobytes(plan.sent_bytes)}: {_kilobytes(plan.residue_bytes)} of residues, in "
            f"{plan.num_messages:,} messages of which each is sealed by itself. Every {apart} must be shuffled by "
            "itself: whole packets that are moved together tell who sent what."
        )
        yield from told(
            "Before shuffling a person's messages guarantee nothing: whoever sees all of them adds up the vector."
        )
        if plan.hosts != Hosts():
            yield from told(plan.hosts.may_fail(plan.num_shares))
        if plan.releases > 1:
            sums = count_of(plan.releases, "sum")
            yield from told(f"The loss is that of {sums} together, each of which may be chosen after the last ones.")


def _kilobytes(size: int) -> str:
    return f"{size / 1000:,.0f} kB" if size >= 10_000 else f"{size:,} bytes"
