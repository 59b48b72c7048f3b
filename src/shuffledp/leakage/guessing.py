"""A best guess about one person for everything that can be seen, where that can be listed."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp._described import Described
from shuffledp.leakage.scores import checked_gain, checked_prior, matrix_of
from shuffledp.leakage.strong import data_sets
from shuffledp.leakage.target import channel_of, check_supported
from shuffledp.models import ProtocolModel

__all__ = ["MOST_LISTED", "BestGuess", "best_guesses"]

MOST_LISTED = 60
_TIED = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class BestGuess(Described):
    """What to guess after seeing something.

    Args:
        seen: how many reports of each kind are seen; of one kind and no other, where it is known which report is the
            target's.
        probability: how likely that is to be seen.
        guess: the number of the first guess that is best.
        worth: its expected gain then; with the gain of a right guess, the probability that it is right.
        tied: the numbers of all further guesses that are as good, up to rounding.
    """

    seen: tuple[int, ...]
    probability: float
    guess: int
    worth: float
    tied: tuple[int, ...] = ()


def best_guesses(
    model: ProtocolModel, *, prior: ArrayLike | None = None, gain: ArrayLike | None = None
) -> tuple[BestGuess, ...] | None:
    """A best guess for everything that an uninformed adversary can see, in the order of the kinds of reports.

    Args:
        model: the randomizer and the shuffler, with the number of users.
        prior: a probability for each value; None is uniform.
        gain: what each guess (row) is worth for each value (column); None is 1 for the right value and 0 otherwise.

    Returns:
        One for each histogram of reports after a uniform shuffle, or for each report where nothing is shuffled. None
        for other shuffles, and where there are more than 60.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if the randomizer is not written out as a table.

    Example:
        >>> from shuffledp import KaryRandomizedResponse, ProtocolModel, UniformShuffler
        >>> local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
        >>> for each in best_guesses(ProtocolModel(local=local, shuffle=UniformShuffler().model(2))):
        ...     print(each.seen, round(each.probability, 4), each.guess, each.tied, round(each.worth, 4))
        (2, 0) 0.25 0 () 0.7311
        (1, 1) 0.5 0 (1,) 0.5
        (0, 2) 0.25 1 () 0.7311
    """
    _validate.instance_of(ProtocolModel, model=model)
    check_supported(model)
    alone = [law.counts for law in model.shuffle.position_laws()] == [(1,)]
    people = 1 if alone else model.num_users
    if not (model.shuffle.is_uniform or alone) or people > MOST_LISTED:
        return None
    matrix = matrix_of(channel_of(model.local)).astype(np.float64)
    belief = checked_prior(prior, len(matrix)).astype(np.float64)
    worth = checked_gain(gain, len(matrix)).astype(np.float64)
    if math.comb(people + matrix.shape[1] - 1, people) > MOST_LISTED:
        return None
    law, joint = belief @ matrix, (worth * belief) @ matrix
    found = (_after(np.array(seen), law, joint) for seen in list(data_sets(matrix.shape[1], people))[::-1])
    return tuple(guess for guess in found if guess.probability > 0)


def _after(seen: NDArray[Any], law: NDArray[np.float64], joint: NDArray[np.float64]) -> BestGuess:
    """By Bayes' rule: the mean, over the reports seen, of what each is worth to each guess if it is the target's."""
    comes = seen > 0
    ways = math.factorial(int(seen.sum())) // math.prod(math.factorial(count) for count in seen.tolist())
    probability = ways * float(np.prod(law[comes] ** seen[comes]))
    if probability == 0:
        return BestGuess(seen=tuple(seen.tolist()), probability=0.0, guess=0, worth=0.0)
    means = (joint[:, comes] / law[comes]) @ seen[comes] / seen.sum()
    first, *tied = np.flatnonzero(means >= means.max() - _TIED * np.abs(means).max()).tolist()
    return BestGuess(
        seen=tuple(seen.tolist()), probability=probability, guess=first, worth=float(means[first]), tied=tuple(tied)
    )
