"""Numbers and guarantees in words, with the same digits in the text, tables and pictures of a page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.core.blanket_models import BlanketModel
from shuffledp.core.estimates import Estimate, normal_half_width
from shuffledp.core.guarantees import DifferentialPrivacy, Guarantee, LocalDP
from shuffledp.core.local_models import FrequencyModel, LocalModel, MeanModel, ProtocolModel
from shuffledp.core.lone_reports import lone_guess
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.sum_models import SumModel
from shuffledp.core.text import count_of, in_digits, percent, printable, shown_relation
from shuffledp.core.tick_models import TicksModel, of_one_message
from shuffledp.documents.blocks import Medium, Text, told
from shuffledp.planning.mechanism_choice import ExpectedError

if TYPE_CHECKING:
    from shuffledp.survey import Column

MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"  # in the place of a number that is not known
NO_CURATOR = (
    "No trusted curator is compared with this: where people count by weights, the noise of a curator depends on the "
    "largest weight, and its error is not worked out."
)
OUTSIDE = "Estimates are unbiased, so that one may lie outside {range}; intervals end there."
OUTSIDE_SHARES = "Estimates are unbiased, so that one may lie outside 0% to 100%; intervals end where shares do."
_WIDE = 0.05  # half-width of a share's interval from which on a warning is given
_TELLS_NOTHING = 0.5  # length above which a share's interval tells nothing
_MOST_NAMED = 3
_LONGEST_NAME = 40
_BOUGHT = 0.1  # least share of the local loss that shuffling must take off to avoid a warning
_LEAST_WRITTEN_OUT = 1e-9
_MOST_OF_ALL = 10**15
_SHORT = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**4, "k"))


def count(value: int) -> str:
    """A whole number with commas: 30,718."""
    return f"{value:,}"


def short_count(value: float) -> str:
    """A round number in short form for an axis: 1,000, 10k, 1M."""
    for size, letter in _SHORT:
        if value >= size:
            return f"{value / (1000 if letter == 'k' else size):,.0f}{letter}"
    return f"{value:,.0f}"


def number(value: float, relation: str = "") -> str:
    """A number to four digits, rounded as `in_digits` does for "at most" and "at least"."""
    if math.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    return in_digits(value, relation).replace("-", MINUS)


def sent(model: ProtocolModel, num_reports: int) -> str:
    """Reports or messages and their senders in words: "30,718 reports", or "80,000 messages of 10,000 people"."""
    if model.local.num_messages == 1:
        return count_of(num_reports, "report", "reports")
    return f"{count_of(num_reports, 'message', 'messages')} of {count_of(model.num_senders, 'person', 'people')}"


def hiding(model: ProtocolModel, one: str, many: str) -> str:
    """People who hide each other: "10,000 people", or "9,600 honest people" if others may be fake."""
    honest = "honest " * (model.shuffle.num_honest < model.num_senders)
    return count_of(model.shuffle.num_honest, f"{honest}{one}", f"{honest}{many}")


def small_sample(column: "Column", people: int, error: ExpectedError, found: Estimate | None = None) -> str:
    """A warning about wide intervals of a share for this number of people; "" without wide intervals.

    Where intervals that were ``found`` are not those of the normal law, the longest of them are meant.
    """
    local = column.randomizer.randomizer().model
    half = normal_half_width(column.release.level) * error.standard_error
    if found is not None and found.interval is not None:
        half = float((found.upper - found.lower).max()) / 2
    if not isinstance(local, FrequencyModel | TicksModel) or half < _WIDE:
        return ""
    who = count_of(people, "answer tells", "answers tell")
    points = f"\N{PLUS-MINUS SIGN}{100 * half:.0f} percentage points"
    nothing = ", which tells nothing" * (2 * half > _TELLS_NOTHING)
    return f"A small sample: {who} a share to about {points}{nothing}."


def wide_intervals(estimate: Estimate) -> str:
    """A warning about shares whose intervals are too long to be useful; "" if there are none."""
    if not estimate.statistic.startswith("frequency"):
        return ""
    long = (estimate.upper - estimate.lower > _TELLS_NOTHING).tolist()
    names = [
        f'"{shortened(name, _LONGEST_NAME)}"' for name, is_long in zip(estimate.names, long, strict=True) if is_long
    ]
    span = f"more than {100 * _TELLS_NOTHING:.0f} percentage points"
    if names and all(long):
        of_regions = " about any region" * (estimate.where is not None)
        return f"This release tells nothing{of_regions}: every interval{' there' * bool(of_regions)} spans {span}."
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    which = listed([*names[:_MOST_NAMED], *more])
    return f"This release tells nothing about {which}: an interval there spans {span}." if names else ""


def all_or_nothing(least: int, expected: int | None, stratum: str = "") -> str:
    """Sentence on the loss of all answers if too few people answer; "" if any number is enough."""
    of_whom = "" if expected is None else f" of the {count(expected)} expected"
    where = ""
    if stratum:
        of_whom, where = " people", f" in any one {stratum}"
    if least < 2:
        return ""
    return f"If fewer than {count(least)}{of_whom} answer{where}, everything is destroyed, and nothing is released."


def little_shuffled(statements: Sequence[PrivacyStatement], people: int) -> str:
    """A warning if shuffling lowers the local loss by less than a tenth; "" otherwise.

    Args:
        statements: about what is released, the headline first, and about what each person sends.
        people: whose reports are shuffled.
    """
    alone = next((each.guarantee for each in statements if isinstance(each.guarantee, LocalDP)), None)
    central = statements[0].guarantee
    if not isinstance(central, DifferentialPrivacy) or alone is None or math.isinf(alone.epsilon):
        return ""
    if central.epsilon < (1 - _BOUGHT) * alone.epsilon:
        return ""
    return (
        f"Shuffling {count_of(people, 'report', 'reports')} takes less than a tenth off epsilon0 = "
        f"{in_digits(alone.epsilon, 'exactly')}: each device's own chance alone protects."
    )


def epsilon0_of(local: LocalModel) -> str:
    """Local loss with its name, on one line; also the loss of one message, where people send several."""
    loss = f"epsilon0\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{in_digits(local.epsilon0, 'exactly')}"
    one = of_one_message(local)
    return loss if one is None else f"{loss} of all messages of a person, {in_digits(one, 'exactly')} of one"


def said_alone(local: LocalModel) -> str:
    """A note on a large loss of a single report; "" if the loss is small, or already has a warning."""
    alone = lone_guess(local)
    return alone.sentence if alone is not None and alone.is_said and not alone.warning else ""


def moved_by_one(column: "Column", local: LocalModel, people: int, *, on: Medium) -> tuple[Text, ...]:
    """Text on the largest change of a column's estimate by one false report; empty if it is unknown.

    Without a limit the text is in bold.

    People who count by weights, and reports that get lost or come with dummies, are left out.
    """
    swing, section = local.swing, column.randomizer
    if swing is None or column.shuffler.needs_strata or column.shuffler.needs_graph:
        return ()
    unit = section.unit_of(people)
    average = "the sum" if unit > 1 else "the mean"
    what = average
    if isinstance(local, FrequencyModel | BlanketModel | TicksModel):
        what = f"the estimated share of an {'option' if isinstance(local, TicksModel) else 'answer'}"
    if math.isinf(swing):
        text = (
            f"Nothing limits what a false report does: a single false share moves {what} to any number that can come "
            "out, and nothing that is seen can tell."
        )
        return (Text(text, bold=(text,), on=on),)
    if getattr(local, "dimension", 1) > 1:
        what = f"{average} of vectors, as a distance,"
    moved = in_digits(unit * swing / people, "at most", digits=3)
    if local.num_messages > 1:
        return told(
            f"False messages in place of those of one person move {what} by at most {moved}, whatever these would have "
            f"been, if nobody may send more than {local.num_messages:,}; those of f people f times as far at most.",
            on=on,
        )
    return told(
        f"One false report in place of an honest one moves {what} by at most {moved}, and f of them f times as far at "
        "most.",
        on=on,
    )


def listed(items: Sequence[str]) -> str:
    """Items joined in a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def shortened(text: str, length: int) -> str:
    """The text cut to this many characters, with an ellipsis if cut."""
    line = printable(text)
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Format of the numbers of one estimate: percentages for frequencies, plain numbers for all else.

    Args:
        factor: what a number is multiplied by before it is shown with its ``unit``.
        unit_of_errors: what errors are measured in, in words.
        decimals: digits after the point, the same in every row, so that columns line up.
        bounds: the range of the truth, in the units of the estimate, or None if it has none.
        noun: what one row is: an answer, a quantity or a coordinate.
    """

    factor: float
    unit: str
    unit_of_errors: str
    decimals: int
    bounds: tuple[float, float] | None
    noun: str = "Answer"

    @classmethod
    def of(cls, estimate: Estimate, model: LocalModel | None = None) -> "Scale":
        """Scale of an estimate: percent for frequencies, data units for means; two digits of the smallest error.

        Sums of whole numbers with whole noise are whole.
        """
        share = estimate.statistic.startswith("frequency")
        bounds, noun = ((0.0, 1.0), "Answer") if share else (None, "Quantity")
        if isinstance(model, MeanModel) and not share:
            bounds, noun = (float(model.lower), float(model.upper)), _noun(model.dimension)
        if isinstance(model, SumModel):
            unit = estimate.num_reports // model.num_messages if estimate.statistic == "sum" else 1
            bounds, noun = (unit * model.lower, unit * model.upper), _noun(model.dimension)
        factor = 100.0 if share else 1.0
        decimals = decimals_for(factor * float(error) for error in estimate.standard_error)
        whole = estimate.statistic == "sum" and bool((estimate.estimate == np.rint(estimate.estimate)).all())
        return cls(
            factor=factor,
            unit="%" if share else "",
            unit_of_errors="percentage points" if share else "",
            decimals=0 if whole else decimals,
            bounds=bounds,
            noun=noun,
        )

    @property
    def is_share(self) -> bool:
        """Whether numbers are frequencies."""
        return self.unit == "%"

    @property
    def range(self) -> str | None:
        """The range of the truth in words, such as 0% to 100%."""
        if self.bounds is None:
            return None
        return " to ".join(f"{self.factor * end:,.6g}{self.unit}".replace("-", MINUS) for end in self.bounds)

    def lies_outside(self, estimate: Estimate) -> bool:
        """Whether an estimate or an interval reaches beyond the range of the truth."""
        if self.bounds is None:
            return False
        low, high = self.bounds
        least, most = np.minimum(estimate.lower, estimate.estimate), np.maximum(estimate.upper, estimate.estimate)
        return bool((least < low).any() or (most > high).any())

    def beyond(self, estimate: Estimate) -> str:
        """A note on estimates that lie outside the range of the truth; "" if none does."""
        if not self.lies_outside(estimate):
            return ""
        if self.is_share:
            return OUTSIDE_SHARES
        return OUTSIDE.format(range=self.range)

    def text(self, value: float, *, unit: bool = True) -> str:
        """A number of the estimate with its unit, such as 12.3%."""
        return self.plain(value, unit=unit).replace("-", MINUS)

    def plain(self, value: float, *, unit: bool = True) -> str:
        """A number of the estimate with its unit, in ASCII letters."""
        shown = round(self.factor * float(value), self.decimals) + 0.0  # no negative zero
        return f"{shown:,.{self.decimals}f}{self.unit if unit else ''}"


def decimals_for(errors: Iterable[float]) -> int:
    """Number of decimals that shows two digits of the smallest error above 0: six at most, and 1 if there is none."""
    positive = [error for error in errors if error > 0]
    return min(max(1 - math.floor(math.log10(min(positive))), 0), 6) if positive else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The guarantee as a game: to guess which of two equally likely answers a person gave.

    Args:
        share: the largest chance of being right, from 0.5 to 1.
    """

    share: float

    @classmethod
    def under(cls, guarantee: DifferentialPrivacy) -> "Guess":
        """Game whose chance of a right guess is at most (exp(epsilon) + delta) / (exp(epsilon) + 1).

        This holds whatever else the guesser knows.
        """
        inverse = math.exp(-guarantee.epsilon)
        return cls(share=min((1 + guarantee.delta * inverse) / (1 + inverse), 1.0))

    @property
    def text(self) -> str:
        """The chance in percent, rounded up."""
        return percent(self.share, "at most")

    def plainly(self, *, several: bool = False) -> str:
        """Meaning of the guarantee for a person who answered, in words without terms of the field."""
        answers = "sets of answers" if several else "answers"
        return (
            f"Of two {answers} that a person might have given, a coin toss names the true one half of the time. "
            "Somebody who sees all that is released, and even knows what everybody else answered, names it at most "
            f"{self.text} of the time."
        )

    def in_short(self, *, several: bool = False) -> str:
        """Meaning of the guarantee on one line."""
        answers, sets = ("answers", "sets of answers ") if several else ("answer", "")
        return (
            f"Somebody who knows everybody else's {answers} guesses right between two {sets}at most {self.text} of the "
            "time."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The numbers of a differential privacy guarantee, as displayed."""

    epsilon: str
    epsilon_relation: str
    delta: str
    allowance: str

    @classmethod
    def of(cls, guarantee: Guarantee, relation: str) -> "Loss | None":
        """The numbers of a guarantee; None if it promises nothing, or has no epsilon."""
        if not isinstance(guarantee, DifferentialPrivacy) or guarantee.is_trivial:
            return None
        epsilon, delta = in_digits(guarantee.epsilon, relation), in_digits(guarantee.delta, relation)
        return cls(
            epsilon=epsilon,
            epsilon_relation=shown_relation(guarantee.epsilon, epsilon, relation),
            delta=f"{Decimal(delta):f}" if guarantee.delta >= _LEAST_WRITTEN_OUT else delta,
            allowance=_one_in(guarantee.delta, relation),
        )


def _one_in(delta: float, relation: str) -> str:
    """A remainder in words, as "one in ...", rounded as the relation says.

    A smaller denominator is a larger share.
    """
    if delta < 1 / _MOST_OF_ALL:
        return f"less than one in {count(_MOST_OF_ALL)}" if delta else ""
    every = 1 / Fraction(in_digits(delta, relation, digits=15).replace(",", ""))
    rounding = {"at most": math.floor, "at least": math.ceil}.get(relation, round)
    return f"one in {count(rounding(every))}"


def _noun(dimension: int) -> str:
    return "Quantity" if dimension == 1 else "Coordinate"
