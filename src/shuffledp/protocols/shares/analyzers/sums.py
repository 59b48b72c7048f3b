"""Sums and means from shares modulo q, which reveal something only when all are added up."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, InvalidParameterError, UnsupportedModelError
from shuffledp.core.estimates import Estimate
from shuffledp.core.flow import Summary, View
from shuffledp.core.sum_models import LARGEST_WRAP_PROBABILITY, ShareModel
from shuffledp.core.validate import invalid
from shuffledp.protocols.shares.analyzers.totals import TotalAnalyzer, people_of

_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShareSummary(Summary):
    """Sums of the shares so far, modulo q, with the number of shares of each round.

    Args:
        model: the randomizer's model.
        residues: sum of the shares of each coordinate, below the modulus.
        messages: how many shares each round had.

    Raises:
        InvalidParameterError: if there is not one residue for each coordinate and one count for each round.
    """

    model: ShareModel
    residues: tuple[int, ...]
    messages: tuple[int, ...]

    def __post_init__(self) -> None:
        for residue in self.residues:
            validate.integer_at_least(0, residues=residue)
            if residue >= self.model.modulus:
                raise invalid(f"below the modulus {self.model.modulus}", residues=residue)
        for count in self.messages:
            validate.integer_at_least(0, messages=count)
        if len(self.residues) != self.model.dimension:
            raise invalid(f"of length {self.model.dimension}, one per coordinate", len_residues=len(self.residues))
        if len(self.messages) != self.model.num_rounds:
            raise invalid(f"of length {self.model.num_rounds}, one per round", len_messages=len(self.messages))

    def __add__(self, other: "ShareSummary") -> "ShareSummary":
        if self.model != other.model:
            raise IncomparableError(f"summaries must be of one model; got {self.model!r} and {other.model!r}.")
        modulus = self.model.modulus
        return replace(
            self,
            residues=tuple((a + b) % modulus for a, b in zip(self.residues, other.residues, strict=True)),
            messages=tuple(a + b for a, b in zip(self.messages, other.messages, strict=True)),
        )

    @property
    def num_reports(self) -> int:  # type: ignore[override]  # a plain attribute of the base, computed here
        """Number of messages so far."""
        return sum(self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumAnalyzer(TotalAnalyzer):
    """Sums or means of numbers or vectors, for randomizers whose shares add up to them (`ShareModel`).

    One row, named "value", for numbers; one per coordinate for vectors. If fewer people came than planned, the sum and
    the mean are those of the people who came, with the noise of those people.

    Guarantees:
        1. Unbiased for the people who came, unless the noise wraps around the modulus, which happens with the
           probability that the model states (``wrap_probability``) at most.
        2. ``standard_error`` holds the noise exactly, and the most that rounding can add.
        3. Intervals are those of the law of the noise, which is not normal, and of three people or more cover the truth
           with the probability ``level`` or more: more where rounding adds less than it can, or the noise takes few
           values. Of two people, whose numbers are rounded to three places, it may be .94 in place of .95.
        4. No estimate is clipped: it may lie outside what the range allows. Intervals are around the possible value
           nearest to it, and end where the range does, for sums at so many times its ends as there are people. So they
           cover no less than intervals that are not cut.

    Args:
        statistic: "sum" or "mean".
        level: coverage of the intervals, strictly between 0 and 1.

    Example:
        >>> from shuffledp import SplitAndMix, UniformShuffler
        >>> randomizer = SplitAndMix(num_users=500, epsilon=2.0, lower=0, upper=10, num_shares=9)
        >>> analyzer = SumAnalyzer()
        >>> view = UniformShuffler().shuffle(randomizer.randomize([2.5] * 400))
        >>> estimate = analyzer.estimate(analyzer.summarize(view))
        >>> bool(abs(estimate.estimate[0] - 1000) < 200)
        True
    """

    def summarize(self, view: View) -> ShareSummary:
        """Sums of the shares in a view.

        Raises:
            UnsupportedModelError: if the reports are not shares of numbers.
        """
        model = view.reports.model
        if not isinstance(model, ShareModel):
            raise UnsupportedModelError(f"sums need shares of numbers; got reports of {model.kind!r}.")
        rounds = view.reports["round"]
        blocks = rounds // (model.num_rounds // model.num_blocks) if model.num_blocks > 1 else None
        shares = view.reports["residue"]
        columns = shares.T if shares.ndim == 2 else shares[np.newaxis]
        by_column = [_residues(column, blocks, model) for column in columns]  # each has one residue for each block
        residues = tuple(residue for block in zip(*by_column, strict=True) for residue in block)
        return ShareSummary(
            model=model,
            residues=residues[: model.dimension],
            messages=tuple(np.bincount(rounds, minlength=model.num_rounds).tolist()),
        )

    def estimate(self, summary: ShareSummary) -> Estimate:
        """Sum or mean over the participants, with standard errors and intervals.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize`` or holds no report, rounds differ in how
                many messages they had, more people came than were planned, or the noise may wrap around the modulus
                with a chance above 5%.
        """
        validate.instance_of(ShareSummary, summary=summary)
        model, people = summary.model, _people(summary)
        if model.wrap_probability > LARGEST_WRAP_PROBABILITY:
            raise InvalidParameterError(
                f"wrap_probability must be at most {LARGEST_WRAP_PROBABILITY:g}, or the sum means nothing; got "
                f"{model.wrap_probability:.2g}. Use more people or a larger epsilon."
            )
        unit, rows = self.unit(people), model.dimension
        return Estimate(
            statistic=self.statistic,
            target=("value",) if rows == 1 else tuple(str(coordinate) for coordinate in range(rows)),
            estimate=model.decode(summary.residues, people) / unit,
            standard_error=np.full(rows, model.sum_variance(people) ** 0.5 / unit),
            half_width=np.full(rows, model.sum_margin(people, self.level) / unit),
            possible=self.possible(model, people),
            level=self.level,
            num_reports=summary.num_reports,
        )


def _people(summary: ShareSummary) -> int:
    """Number of participants, from equal numbers of messages in every round."""
    least, most = min(summary.messages), max(summary.messages)
    if least != most:
        raise InvalidParameterError(
            "messages must be equally many in every round, one of each person, or the shares do not add up; "
            f"got rounds of {least} to {most}."
        )
    return people_of(summary.model, summary.num_reports)


def _residues(
    shares: NDArray[np.unsignedinteger], blocks: NDArray[np.integer] | None, model: ShareModel
) -> tuple[int, ...]:
    """Sums of the shares of each block modulo q.

    By halves of 32 bits, so that no sum overflows.
    """
    if blocks is None:
        if shares.dtype.itemsize <= 4:
            return (int(shares.sum(dtype=np.uint64)) % model.modulus,)
        words = shares.astype(np.uint64, copy=False)
        upper, lower = int((words >> _HALF).sum()), int(words.astype(np.uint32).sum(dtype=np.uint64))
        return (((upper << 32) + lower) % model.modulus,)
    order = np.argsort(blocks, kind="stable")
    ends = np.searchsorted(blocks[order], np.arange(model.num_blocks + 1))
    ordered = shares[order]
    return tuple(_residues(ordered[start:end], None, model)[0] for start, end in pairwise(ends.tolist()))
