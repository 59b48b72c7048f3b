"""Audit of a household: the least hidden neighbors' slots are named, and their common answer is guessed.

Both are held against what is stated of households, in a plan and in a release.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.attacks.findings import Success, Verdict, counted
from shuffledp.core.errors import HypothesisError, UnsupportedModelError
from shuffledp.core.text import in_digits
from shuffledp.pipeline import Pipeline
from shuffledp.protocols.d_sigma.attacks.reidentification_adversaries import KnownAnswers, LikeliestSlots
from shuffledp.protocols.d_sigma.attacks.reidentification_game import Naming, name_slots
from shuffledp.protocols.d_sigma.planning.households import household_chances
from shuffledp.protocols.d_sigma.planning.person_guarantees import common_epsilons_by_rank
from shuffledp.protocols.d_sigma.planning.personal_promises import common_spread
from shuffledp.randomness.sources import RandomSource, resolve_source

_TRIALS, _DRAWS = 500, 500


def name_household(
    pipeline: Pipeline,
    num_users: int,
    people: int,
    *,
    trials: int | None,
    confidence: float,
    source: RandomSource | None,
    progress: Callable[[int, int | None], None],
) -> Naming | None:
    """Audit of the household with the largest stated chance: try to name over half of its slots.

    None if nothing is stated.

    The attacker knows all answers, which are those that make the household stand out, and the law of the shuffle.

    Args:
        pipeline: randomizer, and a shuffler near an order.
        num_users: people in the batch.
        people: of the household, who stand next to each other in the order.
        trials: runs that count; None is 500.
        confidence: of the limits.
        source: randomness; None is the cryptographic source.
        progress: told before and after.
    """
    shuffler: Any = pipeline.shuffler
    trials = trials or _TRIALS
    try:
        chances = household_chances(shuffler, pipeline.model(num_users), people)[people][0]
        first = int(np.argmax(chances))
        targets = shuffler.prepare().order[first : first + people].tolist()
        known = KnownAnswers.worst(pipeline.randomizer.model, num_users=num_users, targets=targets)
        progress(0, trials)
        found = name_slots(
            pipeline,
            float(chances[first]),
            known=known,
            at_least=people // 2 + 1,
            attack=LikeliestSlots(shuffler, num_draws=_DRAWS, source=source),
            trials=trials,
            confidence=confidence,
            source=source,
        )
    except (HypothesisError, UnsupportedModelError):
        return None
    progress(trials, trials)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CommonGuess(Success):
    """Success rate of guessing which of two answers ``people`` share, compared with a central epsilon."""

    people: tuple[int, ...]

    @property
    def reason(self) -> str:
        """Reason for the absence of a verdict; "" if there is one."""
        if self.verdict is not Verdict.NOT_AUDITED:
            return ""
        return f"No outcome of {self.trials:,} runs could refute {in_digits(self.claimed, 'at most')}."

    @property
    def weak(self) -> bool:
        """Whether the trials were too few: always False, since limits are close for chances of 1/2 or more."""
        return False

    @property
    def power(self) -> str:
        """Sentence on too few trials: always "", since ``weak`` is never True."""
        return ""

    def __str__(self) -> str:
        return (
            f"{self.verdict.upper()}: whoever knows everything but the randomness guesses right between two answers, "
            f"one of which {len(self.people)} neighbors have in common, with a probability of at most "
            f"{in_digits(self.claimed, 'at most')}. This attack did in {self.measured}; blind guessing does in half."
        )


def guess_household(
    pipeline: Pipeline,
    num_users: int,
    people: int,
    *,
    delta: float,
    trials: int | None,
    confidence: float,
    source: RandomSource | None,
    progress: Callable[[int, int | None], None],
) -> CommonGuess | None:
    """Audit by guessing the common yes or no of the neighbors with the largest epsilon.

    None without a statement.

    The attacker knows that all others say no and how likely each slot holds a report of the household, and adds up what
    each report says. Of epsilon and delta follows a chance of at most (e^epsilon + delta) / (e^epsilon + 1).

    Args:
        pipeline: randomizer, and a shuffler near an order.
        num_users: people in the batch.
        people: of the household, who stand next to each other in the order.
        delta: of the epsilon that is stated.
        trials: runs that count, half of them with each answer; None is 500.
        confidence: of the limits.
        source: randomness; None is the cryptographic source.
        progress: told before and after.
    """
    shuffler: Any = pipeline.shuffler
    local, trials, source = pipeline.randomizer.model, trials or _TRIALS, resolve_source(source)
    stated = common_spread(shuffler, pipeline.model(num_users), people, delta)
    losses = None if stated is None else common_epsilons_by_rank(shuffler, people, local.epsilon0, delta)
    if stated is None or losses is None:
        return None
    order, starts = shuffler.prepare().order, shuffler.prepare().starts
    rank = int(np.argmax(np.where(losses <= stated.most, losses, 0.0)))
    block = int(np.searchsorted(starts, rank, side="right"))
    first = max(min(rank, int(starts[block]) - people), 0)
    household = order[first : first + people]
    chances = np.zeros(num_users)
    for _ in range(_DRAWS):
        chances += np.isin(shuffler.draw(source=source), household) / _DRAWS
    gains = np.log1p(chances[:, None] * np.expm1(np.array([-local.epsilon0, local.epsilon0])))
    progress(0, trials)
    wins = 0
    for number in range(trials):
        answers = np.zeros(num_users, dtype=np.int64)
        answers[household] = number % 2
        view = shuffler.shuffle(pipeline.randomizer.randomize(answers, source=source), source=source)
        score = gains[view.labels, np.asarray(view.reports.columns["value"], dtype=np.int64)].sum()
        wins += (score > 0) == bool(number % 2)
    progress(trials, trials)
    claimed = (1 + delta * math.exp(-stated.most)) / (1 + math.exp(-stated.most))
    return CommonGuess(
        **counted(int(wins), trials, claimed=min(claimed, 1.0), confidence=confidence),
        by_chance=0.5,
        seeded=source.reproducible,
        people=tuple(household.tolist()),
    )
