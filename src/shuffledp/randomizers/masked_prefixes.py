"""Masked prefixes: a report on one part of a text's code, masked by a hash of earlier parts.

An open answer has too many possible values to list. Its code of B bits is cut into L chunks of b bits. A device draws
one of L + 1 parts. In part t up to L it reports chunk t plus a hash of the chunks before it, modulo g = 2^b, by a hash
function of its own; in the last part a hash of the whole code. The value, one of g, goes through k-ary randomized
response. Whoever knows a prefix takes its hash off again, and counts what comes next.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.guarantees import LocalDP
from shuffledp.core.prefix_models import PrefixModel
from shuffledp.core.report_laws import TwoLevelLaw
from shuffledp.core.text_codes import TextCode, chunked, joined
from shuffledp.core.validate import invalid
from shuffledp.randomizers.families import Columns, Mechanism
from shuffledp.randomizers.inputs import check_categories, check_integer_columns
from shuffledp.randomizers.prefix_hashes import (
    Words,
    expanded,
    extension_counts,
    key_of,
    keys_of,
    support_counts,
    top_bits,
)
from shuffledp.randomizers.randomized_response import KaryRandomizedResponse, KaryRandomizedResponseModel
from shuffledp.randomness.sources import RandomSource, high_product, resolve_source

MOST_PREFIX_BITS = 20
MOST_CODE_BITS = 512
_SHARES = 5  # of equal size for each part: 4 of 5 are those of the levels, and the last one is that of estimates
_BATCH = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedPrefixModel(PrefixModel):
    """Public description of masked prefixes.

    Each of the L = ``num_levels`` levels is drawn with probability 4 / (5 L), and the part for estimates with 1/5, to
    2^-60; one law for all people, which does not depend on answers. All people amplify, and not those of a part alone:
    the part is in the report, and a blanket of each part makes one of the mixture.

    Args:
        num_bits: bits B of every code, from 1 to 512.
        response: randomized response on the 2^b values of a report.
    """

    kind: ClassVar[str] = "masked-prefix"
    num_bits: int
    response: KaryRandomizedResponseModel

    def __post_init__(self) -> None:
        validate.integer_at_least(1, num_bits=self.num_bits)
        if self.num_bits > MOST_CODE_BITS:
            raise invalid(f"at most {MOST_CODE_BITS}", num_bits=self.num_bits)
        validate.instance_of(KaryRandomizedResponseModel, response=self.response)
        if not 1 <= self.prefix_bits <= MOST_PREFIX_BITS or self.response.domain_size != 1 << self.prefix_bits:
            raise invalid(f"a response on 2 to 2^{MOST_PREFIX_BITS} values, a power of 2", response=self.response)

    @classmethod
    def from_epsilon0(cls, *, epsilon0: float, num_bits: int, prefix_bits: int | None = None) -> Self:
        """Model with the largest representable local loss of at most ``epsilon0``.

        Without ``prefix_bits`` chunks are about as long as that a lie is as likely as the truth, 2^b near
        exp(epsilon0), and as short as as many levels allow.
        """
        validate.positive(epsilon0=epsilon0)
        validate.integer_at_least(1, num_bits=num_bits)
        if prefix_bits is None:
            longest = min(max(math.ceil(epsilon0 / math.log(2)), 2), MOST_PREFIX_BITS, max(num_bits, 1))
            prefix_bits = -(-num_bits // -(-num_bits // longest))
        validate.integer_at_least(1, prefix_bits=prefix_bits)
        if prefix_bits > min(MOST_PREFIX_BITS, num_bits):
            raise invalid(f"at most {min(MOST_PREFIX_BITS, num_bits)}", prefix_bits=prefix_bits)
        response = KaryRandomizedResponseModel.from_epsilon0(epsilon0=epsilon0, domain_size=1 << prefix_bits)
        return cls(num_bits=int(num_bits), response=response)

    @property
    def prefix_bits(self) -> int:
        """Number b of bits of a chunk."""
        return self.response.domain_size.bit_length() - 1

    @property
    def level_share(self) -> float:
        """Probability that a report is on a given level."""
        return (_SHARES - 1) / (_SHARES * self.num_levels)

    @property
    def p(self) -> float:
        """Probability that a report's value is the true one for its part and hash function."""
        return self.response.p

    @property
    def report_bits(self) -> int:
        """Size of one report in bits: the bits of part, seed and value."""
        return self.num_levels.bit_length() + 64 + self.response.report_bits

    @property
    def guarantee(self) -> LocalDP:
        """Local guarantee of the response, for each part and seed.

        Part and seed do not depend on the answer.
        """
        return self.response.guarantee

    @property
    def two_level(self) -> TwoLevelLaw:
        """Two-level law against the uniform law of seed and value in each part.

        One value of g is the input's. Two inputs' sets are disjoint in the part where they differ first; for other
        parts it is a bound, for any hash.
        """
        return TwoLevelLaw(share=1 / self.response.domain_size, overlap=0.0, is_overlap_bound=True)

    def parts_of(self, words: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Part that each report is about, chosen by a random word.

        A level from 0 on, or the part for estimates, which comes last.
        """
        drawn = high_product(words, np.uint64(_SHARES * self.num_levels))
        parts: NDArray[np.uint8] = np.minimum(drawn // np.uint64(_SHARES - 1), np.uint64(self.num_levels)).astype(
            np.uint8
        )
        return parts

    def true_values(
        self, chunks: NDArray[np.int64], parts: NDArray[np.uint8], seeds: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """True value of each report: a chunk, masked by a hash of the chunks before it.

        In the part for estimates the hash of all chunks.
        """
        values = np.empty(len(parts), dtype=np.uint64)
        mask = np.uint64(self.response.domain_size - 1)
        for part in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == part)
            known, place = np.unique(chunks[rows, :part], axis=0, return_inverse=True)
            hashes = np.zeros(len(rows), dtype=np.uint64)
            if part:
                prefixes = [joined(row, self.prefix_bits) for row in known.tolist()]
                keys = keys_of(prefixes, part * self.prefix_bits)[place.ravel()]
                hashes = top_bits(expanded(seeds[rows]), keys, self.prefix_bits)
            own = chunks[rows, part].astype(np.uint64) if part < self.num_levels else np.uint64(0)
            values[rows] = (hashes + own) & mask
        return values

    def prepared(self, columns: Mapping[str, NDArray[Any]], part: int) -> "PartReports":
        """Reports of one part, each with its hash function."""
        rows = np.flatnonzero(columns["part"] == part)
        values, seeds = columns["value"][rows].astype(np.uint64), columns["seed"][rows].astype(np.uint64)
        return PartReports(part * self.prefix_bits, values, expanded(seeds) if part else np.empty((0, 4), np.uint64))

    def extension_counts(self, prepared: "PartReports", prefix: int) -> NDArray[np.int64]:
        """Number of reports on a level that support each extension of a prefix.

        The first level has no mask.
        """
        if not prepared.known_bits:
            return np.bincount(prepared.values.astype(np.int64), minlength=self.hash_range)
        key = key_of(prefix, prepared.known_bits)
        return extension_counts(prepared.functions, prepared.values, key, self.prefix_bits)

    def code_counts(self, prepared: "PartReports", codes: Sequence[int]) -> NDArray[np.int64]:
        """Number of ``prepared`` reports about whole codes that support each code.

        That is, whose function hashes the code to the reported value.
        """
        keys = keys_of(codes, prepared.known_bits)
        return support_counts(prepared.functions, prepared.values, keys, self.prefix_bits)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Check the integer columns ``part``, ``seed`` (any 64 bits) and ``value`` in range(g)."""
        check_integer_columns(columns, "part", "seed", "value")
        check_categories(columns["part"], self.num_levels + 1, "parts")
        check_categories(columns["seed"], 1 << 64, "seeds")
        check_categories(columns["value"], self.response.domain_size, "reports")

    def supports(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.bool_]:
        """Mask of the reports that support the code with these chunks.

        The chunks have the shape (num_levels,).
        """
        rows = np.broadcast_to(np.asarray(value, dtype=np.int64), (len(columns["part"]), self.num_levels))
        seeds = columns["seed"].astype(np.uint64)
        same: NDArray[np.bool_] = self.true_values(rows, columns["part"], seeds) == columns["value"]
        return same

    def log_likelihood(self, columns: Mapping[str, NDArray[Any]], value: Any) -> NDArray[np.float64]:
        """Log-likelihood of a code: ``epsilon0`` if the report supports it, else 0."""
        return np.where(self.supports(columns, value), self.epsilon0, 0.0)


@dataclass(frozen=True, slots=True)
class PartReports:
    """Reports of one part: values, hash functions, and the number of prefix bits that are hashed."""

    known_bits: int
    values: Words
    functions: Words


class MaskedPrefixes(Mechanism):
    """Masked prefixes, for open answers: short texts from an unknown set.

    Reports have the columns ``part``, uint8, ``seed``, uint64, and ``value``, in the smallest unsigned dtype that holds
    the 2^b values.

    Guarantees:
        1. Given part and seed, and so altogether, each report is (epsilon0, 0)-locally differentially private, exactly,
           for ``model.epsilon0``, whatever the hash; it differs from the epsilon0 asked for by less than 1e-6.
        2. Parts and seeds are drawn by the device, with one law for all, and do not depend on the answer; so all people
           who are shuffled together hide each other, and not those of one part alone.
        3. Reports have one length, and take the same steps, for every text.

    Args:
        epsilon0: local privacy loss in nats, from 1e-6 to 30.5.
        num_bits: bits of every code, from 1 to 512; answers are codes in chunks, as of `coded`.
        prefix_bits: bits of a chunk, from 1 to 20; None for a choice by epsilon0.

    Raises:
        InvalidParameterError: for parameters outside these ranges.

    References:
        Bassily, Nissim, Stemmer, Thakurta 2017 (TreeHist) and Wang, Li, Jha 2018 (PEM), for prefixes in levels; mask,
        parts that devices draw, and thresholds are this project's own.

    Example:
        >>> code = TextCode("letters", 16)
        >>> randomizer = MaskedPrefixes(epsilon0=6.62, num_bits=code.num_bits)
        >>> randomizer.model.prefix_bits, randomizer.model.num_levels, round(randomizer.model.p, 3)
        (10, 8, 0.423)
        >>> list(randomizer.randomize(randomizer.coded(["nurse", "clerk"], code)))
        ['part', 'seed', 'value']
    """

    model_type: ClassVar[type[Any]] = MaskedPrefixModel
    answers: ClassVar[str] = "open"
    shown: ClassVar[tuple[str, ...]] = ("epsilon0", "num_bits", "prefix_bits")
    best_for: ClassVar[str] = "short texts that nobody can list"
    model: MaskedPrefixModel

    def __init__(self, *, epsilon0: float, num_bits: int, prefix_bits: int | None = None) -> None:
        self.model = MaskedPrefixModel.from_epsilon0(epsilon0=epsilon0, num_bits=num_bits, prefix_bits=prefix_bits)

    def coded(self, texts: Iterable[str], code: TextCode) -> NDArray[np.int64]:
        """Codes of texts in chunks, after normalizing; texts that are too long are cut.

        Raises:
            InvalidParameterError: for a code of another number of bits, or anything but texts; the message gives places
                only.
        """
        if code.num_bits != self.model.num_bits:
            raise invalid(f"one of {self.model.num_bits} bits", code=f"{code.num_bits} bits")
        given = list(texts)
        wrong = next((place for place, text in enumerate(given) if not isinstance(text, str)), None)
        if wrong is not None:
            raise InvalidParameterError(f"texts must be texts; texts[{wrong}] is none.")
        codes = {text: code.bits_of(code.normalized(text)[0]) for text in set(given)}
        return chunked([codes[text] for text in given], self.model.num_bits, self.model.prefix_bits)

    def randomize(self, values: ArrayLike, *, source: RandomSource | None = None) -> Reports:
        """Reports, one per answer, in the order of the answers.

        Args:
            values: codes in chunks, shape (n, num_levels), as of `coded`.
            source: randomness; None is the cryptographic source.

        Raises:
            InvalidParameterError: if an answer is something else; the message gives places only.
        """
        source, chunks = resolve_source(source), self._chunks(values)
        respond = KaryRandomizedResponse.from_model(self.model.response)
        columns: Columns = {
            "part": np.empty(len(chunks), dtype=np.uint8),
            "seed": np.empty(len(chunks), dtype=np.uint64),
            "value": np.empty(len(chunks), dtype=np.min_scalar_type(self.model.response.domain_size - 1)),
        }
        for start in range(0, len(chunks), _BATCH):
            rows = slice(start, start + _BATCH)
            parts = self.model.parts_of(source.words(len(chunks[rows])))
            seeds = source.words(len(parts))
            true = self.model.true_values(chunks[rows], parts, seeds)
            columns["part"][rows], columns["seed"][rows] = parts, seeds
            columns["value"][rows] = respond.randomize(true, source=source)["value"]
        return self._reports(columns, source)

    def _chunks(self, values: ArrayLike) -> NDArray[np.int64]:
        """Codes in chunks, shape (n, num_levels)."""
        levels, size = self.model.num_levels, self.model.response.domain_size
        chunks = np.asarray(values)
        if chunks.size == 0:
            return np.empty((0, levels), dtype=np.int64)
        if chunks.ndim != 2 or chunks.shape[1] != levels or chunks.dtype.kind not in "iu":
            raise InvalidParameterError(f"values must be codes in {levels} chunks, integers of shape (n, {levels}).")
        outside = np.flatnonzero(((chunks < 0) | (chunks >= size)).any(axis=1))
        if len(outside):
            raise InvalidParameterError(f"values[{outside[0]}] is outside range({size}) in some chunk.")
        return chunks.astype(np.int64)
