"""Comparison of releases (only shuffled, only randomized, or both) by leakage and error."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.described import Described
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import FrequencyModel, ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.table import Floats
from shuffledp.core.text import count_of
from shuffledp.core.upward_calls import Shown
from shuffledp.leakage.guess_scores import Scores, check_mixtures, checked_gain, checked_prior, decay, scores
from shuffledp.leakage.protocol_leakage import (
    ADVERSARIES,
    channel_of,
    check_supported,
    least_hidden,
    seen_alone,
    seen_through,
    shows_all,
    target_vulnerability,
)
from shuffledp.leakage.uniform_shuffle import ABOUT_THE_TARGET, INDEPENDENT, as_vulnerability, best_guess
from shuffledp.leakage.vulnerability import Vulnerability
from shuffledp.randomness.sources import RandomSource

_LOST = "Not everybody's report comes out, or others do too, so this is a bound."
_NO_ERROR = "how much the estimates err, which it should match, is not known."
_NOT_UNIFORM = "it is compared with a uniform shuffle only."
_SAMPLED = "the sample is random, and nobody learns who is in it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way(Described):
    """Method of publishing a histogram, with its leakage about one person.

    Args:
        name: "randomizing", "shuffling", "sample" (shuffling a random sample without randomizing) or "both".
        people: how many people's reports are in it.
        error: the standard error of a share that it adds for these people, as a root mean square over values whose
            shares are the prior; None where it is not known.
        uninformed: what it tells somebody who knows the prior; None where that is left out.
        strong: what it tells somebody who knows everybody else's value, in the worst case; None where it is left out.
    """

    name: str
    people: int
    error: float | None
    uninformed: Vulnerability | None
    strong: Vulnerability | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Described, Shown):
    """Comparison of the methods of publishing one histogram, made by `compare_ways`.

    Args:
        prior: the expected gain of the best guess beforehand.
        num_users: people.
        ways: "randomizing", "shuffling", then "sample" where estimates have a known error, and "both".
        left_out: what is not known, with the reason, in words.
    """

    prior: float
    num_users: int
    ways: tuple[Way, ...]
    left_out: tuple[str, ...] = ()

    @property
    def in_short(self) -> str:
        """Summary in short: the methods compared and the number of people."""
        return f"{', '.join(way.name for way in self.ways)}; {count_of(self.num_users, 'person', 'people')}"

    def way(self, name: str) -> Way | None:
        """Method of publishing with this name; None if the comparison has no such method."""
        return next((way for way in self.ways if way.name == name), None)


def compare_ways(
    model: ProtocolModel,
    *,
    prior: ArrayLike | None = None,
    gain: ArrayLike | None = None,
    sampling: bool = True,
    method: str = "auto",
    source: RandomSource | None = None,
) -> Comparison:
    """Comparison of the contributions of shuffling and of randomizing, against both adversaries.

    Randomizing only and both estimate shares equally well; shuffling only is without any error. **At equal error**
    there is a fourth way: only a random sample, so small that its estimates err as much, is shuffled and published.

    Guarantees:
        1. Each value is as good as its kind says; for a strong adversary "both" is as in
           `shuffledp.leakage.worst_strong_vulnerability`.
        2. What cannot be evaluated by this method is left out with a reason, and the rest is there.

    The arguments are those of `shuffledp.leakage.target_vulnerability`; without ``sampling`` there is no sample.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if the randomizer is not written out as a table.

    References:
        Jurado et al. 2023, Section VII, for the question; the sample of equal error is our own.

    Example:
        >>> from shuffledp import KaryRandomizedResponse, UniformShuffler
        >>> local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
        >>> found = compare_ways(ProtocolModel(local=local, shuffle=UniformShuffler().model(1000)))
        >>> for way in found.ways:
        ...     print(way.name, way.people, round(way.uninformed.value, 4), round(way.strong.value, 4))
        randomizing 1000 0.7311 0.7311
        shuffling 1000 0.5126 1.0
        sample 214 0.5058 0.607
        both 1000 0.5058 0.5066
    """
    validate.instance_of(ProtocolModel, model=model)
    check_supported(model)
    model = least_hidden(model)
    asked = _ComparisonInput(model, {"prior": prior, "gain": gain}, {"method": method, "source": source})
    reasons: list[str] = []
    sample = asked.sample(reasons) if sampling else None
    ways = [asked.randomizing(), asked.shuffling(reasons), sample, asked.both(reasons)]
    return Comparison(
        prior=asked.openly.prior,
        num_users=model.num_users,
        ways=tuple(way for way in ways if way is not None),
        left_out=tuple(reasons),
    )


class _ComparisonInput:
    """Input of a comparison, with one function for each method of publishing.

    It adds reasons for what it leaves out.
    """

    def __init__(self, model: ProtocolModel, about: dict[str, Any], choice: dict[str, Any]) -> None:
        self.model, self.channel = model, channel_of(model.local)
        self.size, self.people = len(self.channel.inputs), model.num_users
        self.about, self.choice = about, choice
        self.belief = checked_prior(about["prior"], self.size).astype(np.float64)
        self.open = Channel(np.eye(self.size))
        self.openly = seen_alone(self.open, **about)
        self.error = _error(model, self.belief)

    def randomizing(self) -> Way:
        """Result for randomizing without a shuffle: the sender of each report is known.

        So no other report matters.
        """
        alone = seen_alone(self.channel, **self.about)
        return Way(name="randomizing", people=self.people, error=self.error, uninformed=alone, strong=alone)

    def shuffling(self, reasons: list[str]) -> Way:
        """Result for shuffling without randomizing.

        An adversary who knows all other values learns the last one.
        """
        found = _tried(
            "shuffling only",
            lambda: seen_through(self.model.shuffle, self.open, *self.about.values(), **self.choice),
            reasons,
        )
        error = None if self.error is None else 0.0
        strong = self.openly if shows_all(self.model.shuffle) else _at_most(self.openly)
        return Way(name="shuffling", people=self.people, error=error, uninformed=found, strong=strong)

    def sample(self, reasons: list[str]) -> Way | None:
        """Result for a shuffled random sample without randomizing; None where it cannot be compared.

        With the sampling chance the target is in the sample, else nothing is learned.
        """
        if self.error is None or not self.model.shuffle.is_uniform:
            if self.model.shuffle.kind != "none":
                reasons.append(f"a random sample: {_NO_ERROR if self.error is None else _NOT_UNIFORM}")
            return None
        spread = math.sqrt(float(self.belief @ (1 - self.belief)) / self.size)
        size = _sample_size(self.error, spread, self.people)
        share = size / self.people
        found = _tried("a random sample", lambda: self._in_sample(size, share), reasons)
        left = (self.people - size) / max(1, self.people - 1)
        return Way(
            name="sample",
            people=size,
            error=spread * math.sqrt(left / size),
            uninformed=found,
            strong=self._sample_and_strong(share),
        )

    def _in_sample(self, size: int, share: float) -> Vulnerability:
        found = scores(np.eye(self.size), self.belief, checked_gain(self.about["gain"], self.size))
        values = found.values.astype(np.float64)
        mixed = Scores(found.chances, share * values + (1 - share) * (values @ found.chances)[:, None])
        slots = ((1 / size, size),)
        check_mixtures(mixed, slots)
        best = best_guess(mixed, slots, **self.choice)
        assumed, right = (INDEPENDENT, ABOUT_THE_TARGET, _SAMPLED), self.about["gain"] is None
        return as_vulnerability(mixed, best, hypotheses=assumed, decay=decay(mixed), counts_right=right)

    def _sample_and_strong(self, share: float) -> Vulnerability:
        """Upper bound on the vulnerability to an adversary who also knows the people in the sample.

        It is exact for a uniform prior and the chance of a right guess, if all others hold one value.
        """
        exact = self.about["prior"] is None and self.about["gain"] is None
        excess = share * self.openly.additive_leakage
        prior = self.openly.prior
        return Vulnerability(
            value=prior + excess,
            lower=prior + excess if exact else prior,
            upper=prior + excess,
            kind=Kind.EXACT if exact else Kind.UPPER_BOUND,
            prior=prior,
            method="sampling",
            hypotheses=("the others' values are known", _SAMPLED),
            excess=excess,
            counts_right=self.about["gain"] is None,
        )

    def both(self, reasons: list[str]) -> Way:
        """Result for the protocol itself, which randomizes and shuffles."""
        uninformed, strong = (
            _tried(
                f"both, for the {adversary} adversary",
                partial(target_vulnerability, self.model, adversary=adversary, **self.about, **self.choice),
                reasons,
            )
            for adversary in ADVERSARIES
        )
        return Way(name="both", people=self.people, error=self.error, uninformed=uninformed, strong=strong)


def _at_most(found: Vulnerability) -> Vulnerability:
    """Upper bound made from an exact vulnerability, for reports that may be lost or mixed."""
    return replace(found, lower=found.prior, kind=Kind.UPPER_BOUND, note=_LOST)


def _tried(what: str, evaluate: Callable[[], Vulnerability], reasons: list[str]) -> Vulnerability | None:
    try:
        return evaluate()
    except UnsupportedModelError as error:
        reasons.append(f"{what}: {error}")
        return None


def _error(model: ProtocolModel, shares: Floats) -> float | None:
    """Root mean square error that randomizing adds to estimated shares; None where it is not known."""
    shuffle, local = model.shuffle, model.local
    if not isinstance(local, FrequencyModel) or shuffle.arrival_share < 1 or shuffle.dummies is not None:
        return None
    return math.sqrt(sum(local.noise_variance(share) for share in shares.tolist()) / len(shares) / model.num_users)


def _sample_size(error: float, spread: float, people: int) -> int:
    """Size m of a sample without replacement with error spread * sqrt((people - m) / (people - 1) / m)."""
    if spread == 0:
        return people
    return max(1, min(people, round(people / (1 + (people - 1) * (error / spread) ** 2))))
