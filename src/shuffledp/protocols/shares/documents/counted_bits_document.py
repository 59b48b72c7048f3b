"""Counted bits in words: plan of a column, cost of its buffer, and influence of liars."""

from collections.abc import Iterable
from typing import ClassVar, cast

from shuffledp.core.guarantees import DifferentialPrivacy
from shuffledp.core.text import count_of, in_digits
from shuffledp.documents.blocks import DETAIL, Block, Text, told
from shuffledp.documents.plans.column_plan_document import ColumnPlanDocument
from shuffledp.protocols.shares.survey.counted_bits_section import CountedBitsPlan
from shuffledp.protocols.shares.survey.protocol_section import HostedPlan, ProtocolSection

_AS_GOOD = 0.999  # share of the epsilon asked for from which on the two are told apart by nothing


class SumPlanDocument(ColumnPlanDocument):
    """Words about the plan of a sum with a randomizer that hides nothing before the shuffle."""

    __slots__ = ()
    too_little: ClassVar[str] = "noise would be too little"
    too_many: ClassVar[str] = ", and for more there is no room"

    @property
    def loss(self) -> float:
        """Epsilon that the task requires."""
        return cast(ProtocolSection, self.column.column.randomizer).epsilon

    @property
    def relation(self) -> str:
        """Words before the expected error that mark it as an upper bound.

        It is a bound since the error of rounding depends on the values.
        """
        return "at most"

    def limits(self, expected: int) -> str:
        """Sentence on the fewest people who make enough noise, and on the most people who may answer.

        Also on the promise if only the fewest answer, where that is a weaker one.
        """
        least = cast(HostedPlan | CountedBitsPlan, self.column.of_question).least_people
        numbers = f"exactly {expected:,}" if least == expected else f"{least:,} to {expected:,}"
        stated = self.column.statements[0].guarantee
        weaker = least < expected and isinstance(stated, DifferentialPrivacy) and stated.epsilon < _AS_GOOD * self.loss
        promised = f" Of the fewest the promise is epsilon = {in_digits(self.loss, 'exactly')} at most." * weaker
        return (
            f"{self.column.value} is released only if {numbers} people answer: with fewer the {self.too_little} "
            f"({expected - least:,} may stay away, see dropout_fraction){self.too_many}.{promised}"
        )

    def advice(self) -> Text:
        """Warning that the randomizers shown beside the protocol have a different loss."""
        if len(self.column.options) == 1:
            return Text("There is no randomizer for such answers to stand beside it.", on=DETAIL)
        return Text(
            f"Beside randomizers whose every report guarantees epsilon = {self.loss:g} by "
            'itself. Shuffled like yours they lose what the column "epsilon" says; with as much to lose as yours they '
            "would err no more than this, and mostly far less.",
            on=DETAIL,
        )


class CountedBitsPlanDocument(SumPlanDocument):
    """Words about the plan of a column for counted bits."""

    __slots__ = ()
    too_little: ClassVar[str] = "coins would be too few"
    too_many: ClassVar[str] = ""

    @property
    def protocol(self) -> CountedBitsPlan:
        """Bits and errors of the protocol."""
        return cast(CountedBitsPlan, self.column.of_question)

    @property
    def message(self) -> str:
        """One person's messages, in words."""
        bits = self.protocol
        coins = count_of(bits.coins, "fair coin")
        return f"{bits.num_messages:,} messages of one bit per person ({bits.value_bits:,} of the answer, {coins}),"

    def further(self) -> Iterable[Block]:
        """Text on dangers before the shuffle, the cost of an imperfect buffer, and the influence of liars."""
        bits = self.protocol
        yield from told(
            "Before shuffling a person's messages guarantee nothing: whoever sees all of them counts the ones. All "
            "messages of all people must go through one shuffle."
        )
        added = f"A shuffle of imperfection gamma would add {bits.value_bits:,} gamma to epsilon"
        if bits.imperfection:
            loss = in_digits(bits.added_epsilon, "at most")
            added = f"The imperfect shuffle adds {bits.value_bits:,} x {bits.imperfection:g} = {loss} to epsilon"
        yield from told(f"{added}: with many bits hardly any imperfection is small.")
        one = in_digits(bits.bias_of_one, "at most", digits=3)
        many = in_digits(bits.largest_bias, "at most", digits=3)
        together = f" The {count_of(bits.liars, 'fake person', 'fake people')} together: at most {many}."
        yield from told(
            f"Whoever lies, and sends any bits, moves the {bits.statistic} by at most {one} from where an honest "
            f"report would put it on average, if nobody may send more than {bits.num_messages:,} messages."
            f"{together * bool(bits.liars)}"
        )
