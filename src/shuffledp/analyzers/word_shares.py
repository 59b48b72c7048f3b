"""Words that many people wrote in open answers, with intervals from reports left out of the search.

The people of this part are those whose reports chose no word.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.analyzers.exact_intervals import chances_between
from shuffledp.analyzers.prefix_search import search
from shuffledp.core import validate
from shuffledp.core.errors import IncomparableError, UnsupportedModelError
from shuffledp.core.estimates import NO_ANSWER, NOT_ASKED, SHARES, AskedEstimate
from shuffledp.core.flow import Summary, View
from shuffledp.core.prefix_models import PrefixModel
from shuffledp.core.text_codes import TextCode
from shuffledp.core.validate import invalid

STATISTIC = "frequency of words"
OTHERS = "(other words)"  # whatever is not shown, together
_NO_WORDS = (OTHERS, NO_ANSWER, NOT_ASKED)
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WordSummary(Summary):
    """All reports so far, kept because a search reads them several times.

    Args:
        model: the randomizer's model.
        tables: columns of the reports of each part.
        num_reports: reports seen.
    """

    model: PrefixModel
    tables: tuple[Columns, ...]
    num_reports: int

    def __add__(self, other: "WordSummary") -> "WordSummary":
        if not isinstance(other, WordSummary) or self.model != other.model:
            raise IncomparableError("summaries must be of one model; they are of two.")
        return replace(self, tables=self.tables + other.tables, num_reports=self.num_reports + other.num_reports)

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns of all reports."""
        return {name: np.concatenate([table[name] for table in self.tables]) for name in self.tables[0]}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WordEstimate(AskedEstimate):
    """Shares of found and known words, the most frequent first; the last row is for all other words together.

    Args:
        num_estimating: reports that the shares are from, which chose no word.
        alpha: chance of any word that nobody wrote, at most.
        least_reports: how many reports a prefix needed at each level.
        not_spelled: codes that were found and are no word.
        cut: prefixes dropped because too many were alive.
    """

    num_estimating: int = 0
    alpha: float = 0.05
    least_reports: tuple[int, ...] = ()
    not_spelled: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WordAnalyzer:
    """Analyzer of open answers: words that many people wrote, and the shares of these people.

    Guarantees:
        1. With chance 1 - ``alpha`` or more, no word is shown that nobody wrote, but for those ``known``.
        2. Intervals hold together, for all words that are shown, with probability ``level`` or more, in the population
           that people are a random sample of: they are from reports of the part for estimates, which chose no word.
        3. No part of a word is shown, and no word that is not spelled as the code spells.
        4. The interval of all other words is what those of the words leave: it holds whenever they all do.

    Args:
        code: of the texts.
        known: texts whose shares are estimated whether they are found or not, fixed beforehand.
        alpha: chance of any false word, strictly between 0 and 1.
        follow_up: whether the empty text says that somebody was not asked; its share is estimated in any case.
        missing: whether a code that no text has says that somebody gave no answer; its share is estimated, too.
        level: of all intervals together, strictly between 0 and 1.

    References:
        Clopper and Pearson 1934, for the intervals.

    Example:
        >>> from shuffledp import MaskedPrefixes, UniformShuffler
        >>> from shuffledp.testing import SeededSource
        >>> code = TextCode("letters", 4)
        >>> randomizer = MaskedPrefixes(epsilon0=7.0, num_bits=code.num_bits)
        >>> answers = randomizer.coded(["bus"] * 1500 + ["bike"] * 500, code)
        >>> reports = randomizer.randomize(answers, source=SeededSource(1))
        >>> analyzer = WordAnalyzer(code=code)
        >>> analyzer.estimate(analyzer.summarize(UniformShuffler().shuffle(reports))).target
        ('bus', 'bike', '(other words)')
    """

    code: TextCode
    known: tuple[str, ...] = ()
    alpha: float = 0.05
    follow_up: bool = False
    missing: bool = False
    level: float = field(default=0.95)

    def __post_init__(self) -> None:
        validate.instance_of(TextCode, code=self.code)
        validate.open_probability(alpha=self.alpha, level=self.level)
        object.__setattr__(self, "known", self.code.known(self.known))
        for name in _NO_WORDS:
            if name in self.known:
                raise invalid(f"without {name!r}", known=list(self.known))

    def summarize(self, view: View) -> WordSummary:
        """Summary that holds the reports of a view.

        Raises:
            UnsupportedModelError: for other reports, or a shuffler that adds reports or loses some.
        """
        model = view.reports.model
        if not isinstance(model, PrefixModel):
            raise UnsupportedModelError(f"words need reports by masked prefixes; got reports of {model.kind!r}.")
        if view.shuffle.dummies is not None or view.shuffle.arrival_share < 1:
            raise UnsupportedModelError("words need a shuffler that adds no reports and loses none.")
        return WordSummary(model=model, tables=(dict(view.reports.columns),), num_reports=len(view.reports))

    def estimate(self, summary: WordSummary) -> WordEstimate:
        """Estimate of words with their shares, errors and intervals.

        Raises:
            InvalidParameterError: if ``summary`` is not one of ``summarize``, of codes of another length, or holds no
                report.
        """
        validate.instance_of(WordSummary, summary=summary)
        model, columns = summary.model, summary.columns
        if model.num_bits != self.code.num_bits:
            raise invalid(f"one of {model.num_bits} bits", code=f"{self.code.num_bits} bits")
        if summary.num_reports == 0:
            raise invalid("a summary of one report or more", num_reports=0)
        found = search(model, columns, alpha=self.alpha)
        spare = model.num_levels * model.prefix_bits - model.num_bits
        texts = [None if code & ((1 << spare) - 1) else self.code.text_of(code >> spare) for code in found.codes]
        texts = [None if text in _NO_WORDS else text for text in texts]
        named = {NO_ANSWER: self.code.no_answer} if self.missing else {}
        named |= {NOT_ASKED: self.code.bits_of("")} if self.follow_up else {}
        words = dict.fromkeys([*filter(None, texts), *self.known, *named])
        people = int(np.count_nonzero(columns["part"] == model.num_levels))
        codes = [(named[word] if word in named else self.code.bits_of(word)) << spare for word in words]
        counts = model.code_counts(model.prepared(columns, model.num_levels), codes)
        return self._shares(
            model,
            list(words),
            counts,
            {"num_reports": summary.num_reports, "num_estimating": people},
            {
                "least_reports": found.thresholds,
                "not_spelled": texts.count(None) - sum(code << spare in found.codes for code in named.values()),
                "cut": found.cut,
            },
        )

    def _shares(
        self,
        model: PrefixModel,
        words: list[str],
        counts: NDArray[np.int64],
        numbers: dict[str, Any],
        found: dict[str, Any],
    ) -> WordEstimate:
        """Estimate of words from counts of the reports about whole codes."""
        people, total, p, q = numbers["num_estimating"], numbers["num_reports"], model.p, model.q
        supported = counts / max(people, 1)
        shares = (supported - q) / (p - q) if people else np.zeros(len(words))
        interval = self._interval(counts, people, p, q, shares)
        inside = np.clip(shares, *SHARES)
        noise = (inside * p * (1 - p) + (1 - inside) * q * (1 - q)) / (max(people, 1) * (p - q) ** 2)
        chosen = inside * (1 - inside) * max(1 / max(people, 1) - 1 / total, 0.0)  # of those of this part among all
        order = np.argsort(-shares, kind="stable")
        rest = np.clip(1 - shares.sum(), *SHARES)
        left = np.clip(1 - interval.sum(axis=0)[::-1], *SHARES)
        left = np.array([min(left[0], rest), max(left[1], rest)])
        return WordEstimate(
            statistic=STATISTIC,
            target=(*(words[place] for place in order), OTHERS),
            estimate=np.append(shares[order], 1 - shares.sum()),
            standard_error=np.append(np.sqrt(noise + chosen)[order], math.sqrt((noise + chosen).sum())),
            sampling_error=np.append(
                np.sqrt(inside * (1 - inside) / total)[order], math.sqrt(rest * (1 - rest) / total)
            ),
            interval=np.vstack([interval[order], left]),
            possible=SHARES,
            level=self.level,
            alpha=self.alpha,
            **numbers,
            **found,
        )

    def _interval(
        self, counts: NDArray[np.int64], people: int, p: float, q: float, shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Clopper-Pearson intervals for shares, all holding together, extended to the nearest possible shares."""
        if not people:
            return np.tile([0.0, 1.0], (len(counts), 1))
        chances = chances_between(counts, people, 1 - (1 - self.level) / max(len(counts), 1))
        ends = np.clip((np.stack(chances, axis=1) - q) / (p - q), *SHARES)
        nearest = np.clip(shares, *SHARES)
        return np.stack([np.minimum(ends[:, 0], nearest), np.maximum(ends[:, 1], nearest)], axis=1)
