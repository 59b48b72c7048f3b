"""Sums by additive shares in words: the certificate of the shuffles, in releases and plans."""

import math
from collections.abc import Iterable
from typing import cast

from shuffledp.core.text import in_digits
from shuffledp.documents.blocks import DETAIL, Block, Role, Text, told
from shuffledp.documents.document import Section
from shuffledp.documents.family_document import FamilyDocument
from shuffledp.documents.plans.column_plan_document import ColumnPlanDocument
from shuffledp.protocols.shares.documents.counted_bits_document import CountedBitsPlanDocument, SumPlanDocument
from shuffledp.protocols.shares.documents.vector_sum_document import VectorSumPlanDocument
from shuffledp.protocols.shares.documents.ways_document import ways_section
from shuffledp.protocols.shares.planning.certified_messages import split_and_mix_certificate
from shuffledp.protocols.shares.randomizers.hosts import Hosts
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMixModel
from shuffledp.protocols.shares.survey.counted_bits_section import CountedBitsPlan
from shuffledp.protocols.shares.survey.split_and_mix_section import ProtocolPlan
from shuffledp.protocols.shares.survey.vector_sum_section import VectorSumPlan
from shuffledp.survey import ColumnOutcome, ColumnPlan, Plan

_READING = "(security_bits: the rounds are within 2^-security_bits of showing nothing but the noisy sum.)"


class SharesDocument(FamilyDocument):
    """Parts of pages about additive shares."""

    def flow_sentences(self, outcome: ColumnOutcome) -> Iterable[str]:
        """Sentences on one person's messages and, unless withdrawn, on the certificate of the shuffles."""
        local, shuffle = outcome.model.local, outcome.model.shuffle
        if not isinstance(local, SplitAndMixModel):
            return ()
        found = split_and_mix_certificate(local, shuffle)
        by_each = f"Each person sent {found.num_messages:,} messages, {found.bits_per_user:,} bits in all."
        if outcome.seeded:
            return (by_each,)
        bits = f"{_bits(found.security_bits):.1f}"
        return (
            f"{by_each} The shuffled messages are certified to be within 2^\N{MINUS SIGN}{bits} of telling nothing but "
            f"the noisy sum ({bits} bits of security), so that epsilon = {in_digits(found.epsilon, 'at most')} holds "
            f"with delta = {in_digits(found.delta, 'at most')}.",
        )

    def page_sections(self, plan: Plan, column: ColumnPlan) -> Iterable[Section | None]:
        """Section on ways to the mean of a column of numbers, with errors by number of people."""
        yield ways_section(plan, column)

    def column_plan(self, column: ColumnPlan) -> ColumnPlanDocument:
        """Words about the plan of a column with a protocol."""
        documents = {
            ProtocolPlan: ProtocolPlanDocument,
            CountedBitsPlan: CountedBitsPlanDocument,
            VectorSumPlan: VectorSumPlanDocument,
        }
        return documents.get(type(column.of_question), super().column_plan)(column)


class ProtocolPlanDocument(SumPlanDocument):
    """Words about the plan of a column for split and mix."""

    __slots__ = ()

    @property
    def protocol(self) -> ProtocolPlan:
        """Certificate and errors of the protocol."""
        return cast(ProtocolPlan, self.column.of_question)

    @property
    def rounds(self) -> bool:
        """Whether answers are rounded, so that only an upper bound on the error is known.

        The error of rounding depends on the values.
        """
        return self.chosen.error.standard_error > self.protocol.noise_error

    @property
    def relation(self) -> str:
        """Words before the expected error: "at most" before a bound, "" before a value."""
        return "at most" * self.rounds

    @property
    def message(self) -> str:
        """One person's messages, in words."""
        return f"{self.protocol.certificate.num_messages:,} messages, {self.chosen.report_bits:,} bits per person,"

    @property
    def rounding(self) -> str:
        """Words on the error by rounding to a grid, and the price of a finer grid."""
        if not self.rounds:
            return "Nothing is rounded."
        more = in_digits(100 * (self.chosen.error.standard_error / self.protocol.noise_error - 1), "at most", digits=3)
        return (
            f"Rounding to {self.protocol.certificate.precision:,} steps adds at most {more}% to the error; twice the "
            "precision costs one bit a message."
        )

    def further(self) -> Iterable[Block]:
        """Table of the certificate: messages, security and guarantee."""
        found = self.protocol.certificate
        each = "" if found.dimension == 1 else f" ({found.num_shares:,} for each of {found.dimension:,} coordinates)"
        yield from told(
            "Before shuffling a person's messages guarantee nothing: whoever sees all of them adds up the answer."
        )
        if self.protocol.hosts != Hosts():
            yield from told(self.protocol.hosts.may_fail(found.num_shares))
        yield from told(
            f"Certificate: num_messages = {found.num_messages:,}{each}, modulus = {found.modulus:,}, precision = "
            f"{found.precision:,}, security_bits = {_bits(found.security_bits):,.1f}; epsilon = "
            f"{in_digits(found.epsilon, 'at most')} with delta = {in_digits(found.delta, 'at most')}, for imperfection "
            f"{found.imperfection:g}{' in all rounds but one' * (self.protocol.hosts == Hosts())}.",
            on=DETAIL,
        )
        yield Text(_READING, Role.NOTE, on=DETAIL)


def _bits(security: float) -> float:
    """Bits of security, rounded down to a tenth."""
    return math.floor(10 * security) / 10
