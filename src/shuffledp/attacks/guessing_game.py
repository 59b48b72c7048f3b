"""Guessing game: guesses of one person's answer from views, and their success rate against a claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.attacks.findings import Success, check_counting, counted
from shuffledp.attacks.games import RandomizerAndShuffler, views_at_a_time
from shuffledp.attacks.likelihood_scores import DIGITS, log_likelihood_of, log_sum_per_view, stacked
from shuffledp.attacks.place_games import (
    everybody,
    log_shares,
    looks_even,
    place_chances,
    place_counts,
    probes_for,
    surest_of,
)
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import DISTINCT_LABELS, Progress, Shuffler, View
from shuffledp.core.local_models import FrequencyModel, LocalModel
from shuffledp.core.table import Floats
from shuffledp.randomness.sources import RandomSource, resolve_source
from shuffledp.shufflers import IdentityShuffler

DEFAULT_GUESSES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Guessing(Success):
    """Success rate of guesses of one person's answer.

    Args:
        person: whose answer.
        exact: whether what is claimed is the success of the best guess, and not only the most that it can be.
        optimal: whether no attack on these views is right more often, as far as is known: that the shuffle is uniform
            is what its model says, and rows look even, which an order that keeps neighbors together may do as well.
    """

    person: int
    exact: bool
    optimal: bool

    def __str__(self) -> str:
        relation = "exactly" if self.exact else "at most"
        return (
            f"{self.verdict.upper()}: the best guess about one person is right with a probability of {relation} "
            f"{self.claimed:.6g}. This attack was right in {self.measured}; without the view it would be in "
            f"{self.by_chance:.4g} of all."
        )


def guess_answers(
    pipeline: RandomizerAndShuffler,
    claimed: float,
    *,
    num_users: int,
    exact: bool = False,
    prior: ArrayLike | None = None,
    others: int | None = None,
    person: int | None = None,
    trials: int = DEFAULT_GUESSES,
    confidence: float = 0.99,
    source: RandomSource | None = None,
    progress: Progress | None = None,
) -> Guessing:
    """Success rate of guesses of one person's answer from views, compared with a claimed vulnerability.

    The answer is drawn from the prior; those of others are too, or all are ``others``. The guess is the likeliest
    answer given all reports, each weighed by the chance that it is this person's: learned from shuffles of marked
    reports by labels where there are any, else by rows; and the same for all where the shuffle is said to be uniform
    and no place looks likelier than others.

    Guarantees:
        1. A true claim is called consistent (or not audited) with probability ``confidence`` at least, however bad the
           attack.
        2. Where the attack is the best there is, less success refutes a claim that is said to be exact, as more does.
        3. Attacks see the view and public models only.

    Args:
        pipeline: a `shuffledp.Pipeline` for categories, or anything with its ``randomizer`` and ``shuffler``.
        claimed: the claimed probability of a right guess, such as the value, or if it is no exact one the upper bound,
            of `shuffledp.leakage.target_vulnerability`.
        num_users: people in the batch.
        exact: whether the claim is said to be exact.
        prior: a probability for each answer; None is uniform.
        others: the answer of everybody else, which the attacker then knows; None draws theirs from the prior.
        person: about whom; matters where people are not mixed alike. None is the one whose place is the surest, looked
            for among 1,024 people at most, and else the first.
        trials: independent runs, 2 or more.
        confidence: strictly between 0 and 1.
        source: randomness; None is the cryptographic source.
        progress: told how many runs are done, and how many there are.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if reports are not of categories, people send several, or reports walk.

    References:
        Jurado, Gonze, Alvim, Palamidessi 2023 (what is claimed); the attack is Bayes' rule.

    Example:
        >>> from shuffledp import FrequencyAnalyzer, KaryRandomizedResponse, Pipeline, UniformShuffler
        >>> pipeline = Pipeline(
        ...     randomizer=KaryRandomizedResponse(epsilon0=1.0, domain_size=2),
        ...     shuffler=UniformShuffler(),
        ...     analyzer=FrequencyAnalyzer(),
        ... )
        >>> guess_answers(pipeline, 0.51, num_users=3, trials=2000).verdict.value
        'refuted'
    """
    validate.instance_of(RandomizerAndShuffler, pipeline=pipeline)
    validate.integer_at_least(1, num_users=num_users)
    if person is not None:
        validate.integer_at_least(0, person=person)
        if person >= num_users:
            raise validate.invalid(f"one of num_users={num_users} people", person=person)
    check_counting(claimed, trials, confidence)
    pipeline = getattr(pipeline, "in_numbers", pipeline)
    model, source = pipeline.randomizer.model, resolve_source(source)
    law = _checked_prior(prior, _size_of(model))
    if others is not None:
        validate.integer_at_least(0, others=others)
        if others >= law.size:
            raise validate.invalid(f"an answer, below {law.size}", others=others)
    person, places, optimal = _followed(pipeline.shuffler, num_users, person, trials, source)
    # Drawn from the source itself: a named substream would give all games that share a source the same answers.
    draw = np.random.Generator(cast("np.random.BitGenerator", source.bit_generator))
    game = _Game(pipeline, law, others, num_users, person, draw, source)
    guessers = [_Guesser(model, law, others, places)]
    if places is not None and not isinstance(pipeline.shuffler, IdentityShuffler):
        # Places of marked reports may not carry over, as after sorting: other runs decide whether to use them.
        guessers.append(_Guesser(model, law, others, None))
        won = game.wins(guessers, probes_for(trials // 2), None)
        guessers = [guessers[int(won.argmax())]]
    (wins,) = game.wins(guessers, trials, progress).tolist()
    return Guessing(
        **counted(wins, trials, claimed=claimed, confidence=confidence, both_ways=exact and optimal),
        by_chance=float(law.max()),
        seeded=source.reproducible,
        person=int(person),
        exact=bool(exact),
        optimal=optimal,
    )


@dataclass(frozen=True, slots=True)
class _Game:
    """Runs of a pipeline on random answers, with the number of right guesses about one person."""

    pipeline: RandomizerAndShuffler
    prior: Floats
    others: int | None  # the answer of all others; None if drawn from the prior
    num_users: int
    person: int
    draw: np.random.Generator  # draws the answers
    source: RandomSource  # feeds the pipeline

    def wins(self, guessers: "Sequence[_Guesser]", trials: int, progress: Progress | None) -> NDArray[np.int64]:
        """Number of right guesses of each guesser in the same runs."""
        won = np.zeros(len(guessers), dtype=np.int64)
        at_a_time = views_at_a_time(self.num_users)
        for start in range(0, trials, at_a_time):
            runs = min(at_a_time, trials - start)
            answers = self.draw.choice(self.prior.size, p=self.prior, size=(runs, self.num_users))
            if self.others is not None:
                answers[:, np.arange(self.num_users) != self.person] = self.others
            reports = self.pipeline.randomizer.randomize(answers.ravel(), source=self.source)
            views = [
                self.pipeline.shuffler.shuffle(reports.take(slice(first, first + self.num_users)), source=self.source)
                for first in range(0, answers.size, self.num_users)
            ]
            won += [int((each.guesses(views) == answers[:, self.person]).sum()) for each in guessers]
            if progress is not None:
                progress(start + runs, trials)
        return won


@dataclass(frozen=True, slots=True)
class _Guesser:
    """Guesser of one person's answer by Bayes' rule."""

    model: LocalModel
    prior: Floats
    others: int | None  # the answer of all others; None if drawn from the prior
    places: Floats | None  # log-chance that a label, or a row, is the person's, up to a constant; None if all are alike

    def guesses(self, views: Sequence[View]) -> NDArray[np.int64]:
        """Most likely answer after each view; for an empty view, the prior's most likely answer."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.prior)
        found = np.full(len(views), int(self.prior.argmax()))
        filled, columns, labels, starts = stacked(views)
        if not filled:
            return found
        logs = np.array([log_likelihood_of(self.model, columns, answer) for answer in range(self.prior.size)])
        crowd = np.logaddexp.reduce(logs + log_prior[:, None]) if self.others is None else logs[self.others]
        weights = logs - crowd
        if self.places is not None:
            weights = weights + self.places[np.minimum(labels, self.places.size - 1)]
        likely = np.array([log_sum_per_view(each, starts) for each in weights]) + log_prior[:, None]
        found[filled] = np.round(likely, DIGITS).argmax(axis=0)
        return found


def _size_of(model: LocalModel) -> int:
    if not isinstance(model, FrequencyModel) or model.num_messages != 1:
        raise UnsupportedModelError(
            f"answers can be guessed where they are categories, and people send one report each; got {model.kind!r}."
        )
    return model.domain_size


def _checked_prior(prior: ArrayLike | None, size: int) -> Floats:
    try:
        law = np.full(size, 1 / size) if prior is None else np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):  # the original error quotes an entry
        raise InvalidParameterError(f"prior must be {size} probabilities; got no numbers.") from None
    if law.shape != (size,) or not (law >= 0).all() or abs(law.sum() - 1) > 1e-9:
        raise validate.invalid(f"{size} probabilities that add up to 1", prior=law)
    return cast(Floats, law / law.sum())


def _followed(
    shuffler: Shuffler, num_users: int, named: int | None, trials: int, source: RandomSource
) -> tuple[int, Floats | None, bool]:
    """Person to guess, log-chances of the person's places, and whether the guesses are optimal.

    The log-chances are None if all are alike.
    """
    if isinstance(shuffler, IdentityShuffler):
        person = named or 0
        return person, np.where(np.arange(num_users) == person, 0.0, -np.inf), True
    model = shuffler.model(num_users)
    if not model.is_uniform and model.labels not in DISTINCT_LABELS:
        raise UnsupportedModelError(
            f"answers can be guessed after uniform shuffles, or where each report has a label of its own; got a "
            f"{model.kind!r} shuffle."
        )
    # A source of its own keeps the runs the same, whichever person is sought.
    people, probing = [named or 0], source.substream("guessed-places")
    counts = place_counts(shuffler, num_users, people, probes_for(trials // 2), probing, search=named is None)
    followed = dict(zip(everybody(num_users, people) if named is None else people, counts, strict=True))
    person = surest_of(followed, 0, num_users) if named is None else named
    if not model.is_uniform:
        return person, place_chances(shuffler, num_users, person, source), False
    even = looks_even(followed[person])
    return person, None if even else log_shares(followed[person]), even
