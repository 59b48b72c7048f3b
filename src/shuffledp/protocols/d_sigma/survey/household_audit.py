"""Audit of a household: the least hidden people who stand together in the order are named, against what is stated."""

from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp.core.errors import HypothesisError, UnsupportedModelError
from shuffledp.pipeline import Pipeline
from shuffledp.protocols.d_sigma.attacks.reidentification_adversaries import KnownAnswers, LikeliestSlots
from shuffledp.protocols.d_sigma.attacks.reidentification_game import Naming, name_slots
from shuffledp.protocols.d_sigma.planning.households import household_chances
from shuffledp.randomness.sources import RandomSource

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
    """Naming of more than half of a household, where the stated chance is the largest; None where nothing is stated.

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
