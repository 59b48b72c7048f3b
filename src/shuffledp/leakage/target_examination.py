"""Examination of a protocol's leakage about one person, as a value that `shuffledp leakage` prints."""

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp._version import __version__
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Kind
from shuffledp.core.upward_calls import Shown
from shuffledp.leakage.guess_scores import Slots, checked_gain, checked_prior, matrix_of
from shuffledp.leakage.informed_adversary import best_among, data_sets
from shuffledp.leakage.nonuniform_shuffle import best_at, slots_of
from shuffledp.leakage.protocol_leakage import (
    channel_of,
    check_supported,
    least_hidden,
    target_vulnerability,
    worst_exchange_vulnerability,
)
from shuffledp.leakage.release_comparison import Comparison, compare_ways
from shuffledp.leakage.uniform_shuffle import BestExcess
from shuffledp.leakage.vulnerability import Vulnerability
from shuffledp.randomness.sources import RandomSource

MOST_LISTED = 60
_TIED = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class BestGuess(Described):
    """Best guess about the target after one view.

    Args:
        seen: how many reports of each kind are seen; a single one, where it is known which report is the target's.
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
    """Best guess for every view of an uninformed adversary, in the order of the kinds of reports.

    The arguments are those of `shuffledp.leakage.target_vulnerability`.

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
    validate.instance_of(ProtocolModel, model=model)
    check_supported(model)
    model = least_hidden(model)
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
    """Best guess after some reports, by Bayes' rule.

    It is the guess with the largest mean score of these reports.
    """
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Capacity: the largest factor by which a view can improve a guess about one person.

    Args:
        value: the factor, 1 or more.
        kind: exact, upper bound, lower bound or estimate.
    """

    value: float
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TargetExamination(Shown):
    """Leakage of a protocol about one person, with its capacity, best guesses and comparison.

    Args:
        model: the protocol.
        adversary: "uninformed" or "strong".
        counts_right: whether a guess is worth 1 if it is right and 0 if not, so that values are probabilities.
        found: the vulnerability.
        capacity: the largest factor; None where it cannot be evaluated.
        guesses: a best guess for everything that can be seen; None where that is too much to list, or not known.
        worst: the most that any shuffle tells in which exchanging two people costs as much, for an imperfect shuffler
            of which the law of places is known and the adversary "uninformed"; else None.
        comparison: what each part of the protocol contributes; None if it was not asked for.
        seconds: how long it took.
    """

    model: ProtocolModel
    adversary: str
    counts_right: bool
    found: Vulnerability
    capacity: Capacity | None
    guesses: tuple[BestGuess, ...] | None
    worst: Vulnerability | None
    comparison: Comparison | None
    seconds: float

    @property
    def in_short(self) -> str:
        """Summary: the adversary, and the vulnerability before and after the release."""
        return f"{self.adversary} adversary: {self.found.in_short}"

    def to_dict(self) -> dict[str, Any]:
        """Object that `shuffledp leakage` prints with ``--json`` (``leakage`` in docs/schema.json)."""
        found, ratio = self.found, self.found.multiplicative_leakage
        return {
            "prior": float(f"{found.prior:.15g}"),  # 15 digits hide float noise
            "posterior": found.value,
            "posterior_lower": found.lower,
            "posterior_upper": found.upper if math.isfinite(found.upper) else "inf",
            "kind": found.kind.value,
            "additive_leakage": found.additive_leakage,
            "multiplicative_leakage": ratio if math.isfinite(ratio) else "inf",
            "capacity": None if self.capacity is None else self.capacity.value,
            "capacity_kind": None if self.capacity is None else self.capacity.kind.value,
            "counts_right": self.counts_right,
            "adversary": self.adversary,
            "num_users": self.model.num_users,
            "method": found.method,
            "decay": found.decay,
            "note": found.note,
            "hypotheses": list(found.hypotheses),
            "guesses": None if self.guesses is None else [guess.to_dict() for guess in self.guesses],
            "worst": None if self.worst is None else self.worst.to_dict(),
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "model": self.model.to_dict(),
            "library_version": __version__,
            "seconds": self.seconds,
        }


def examine_target(
    model: ProtocolModel,
    *,
    prior: ArrayLike | None = None,
    gain: ArrayLike | None = None,
    adversary: str = "uninformed",
    compare: bool = False,
    method: str = "auto",
    source: RandomSource | None = None,
) -> TargetExamination:
    """Examination of one person: vulnerability, leakage, capacity and, if asked, the comparison of methods.

    Best guesses are included if they are few.

    The arguments are those of `shuffledp.leakage.target_vulnerability`, and so are the errors; the strong adversary is
    that of the worst case. With ``compare`` the parts are compared too (`shuffledp.leakage.compare_ways`).

    Example:
        >>> from shuffledp import KaryRandomizedResponse, ProtocolModel, UniformShuffler
        >>> local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
        >>> found = examine_target(ProtocolModel(local=local, shuffle=UniformShuffler().model(2)))
        >>> [guess.guess for guess in found.guesses], round(found.capacity.value, 4)
        ([0, 0, 1], 1.2311)
    """
    start = time.perf_counter()
    choice: dict[str, Any] = {"method": method, "source": source}
    found = _of_honest(model, target_vulnerability(model, prior=prior, gain=gain, adversary=adversary, **choice))
    plain = prior is None and gain is None
    try:
        most = _factor_of(found) if plain else target_capacity(model, prior=prior, adversary=adversary, **choice)
    except (InvalidParameterError, UnsupportedModelError):  # the method fits only one of the two questions
        most = None
    return TargetExamination(
        model=model,
        adversary=adversary,
        counts_right=gain is None,
        found=found,
        capacity=most,
        guesses=best_guesses(model, prior=prior, gain=gain) if adversary == "uninformed" else None,
        worst=worst_like(model, prior=prior, gain=gain) if adversary == "uninformed" else None,
        comparison=compare_ways(model, prior=prior, gain=gain, **choice) if compare else None,
        seconds=time.perf_counter() - start,
    )


def _of_honest(model: ProtocolModel, found: Vulnerability) -> Vulnerability:
    """Vulnerability of honest people; hypotheses name the numbers of honest and of least hidden people."""
    least, counted = least_hidden(model), tuple[str, ...]()
    if model.fakes:
        counted = (f"of {model.num_senders:,} people the {model.shuffle.num_honest:,} honest ones alone are counted",)
    if least is not model:
        counted += (f"of these the {least.num_users:,} who are hidden least",)
    return replace(found, hypotheses=(*counted, *found.hypotheses))


def worst_like(
    model: ProtocolModel, *, prior: ArrayLike | None = None, gain: ArrayLike | None = None
) -> Vulnerability | None:
    """Largest vulnerability over all imperfect shufflers with the model's imperfection gamma.

    The shuffler's own law must be known. None for every other shuffler. The arguments are those of `examine_target`.
    """
    if not model.shuffle.imperfection or not model.shuffle.position_laws():
        return None
    return worst_exchange_vulnerability(model, prior=prior, gain=gain)


def target_capacity(
    model: ProtocolModel,
    *,
    prior: ArrayLike | None = None,
    adversary: str = "uninformed",
    method: str = "auto",
    source: RandomSource | None = None,
) -> Capacity:
    """Capacity of a protocol for one person: the largest factor by which a view improves a guess.

    It is the largest over all priors of that person's value, and over all gains that are never negative; the others'
    values still follow the given prior, or are known. A uniform belief and the gain of a right guess attain it.

    Args:
        model: the randomizer and the shuffler, with the number of users.
        prior: of everybody else's value; None is uniform. The person is taken to have a value that the prior allows.
        adversary: "uninformed" or "strong".
        method: as for `shuffledp.leakage.shuffled_vulnerability`.
        source: randomness of "monte-carlo".

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if no exact evaluation is feasible, or a prior is given for a shuffle for which the law
            of places is not known.

    References:
        *The Science of Quantitative Information Flow* 2020, Theorems 7.2 and 7.5, for the channel from one value to
        what is seen.

    Example:
        >>> from shuffledp import KaryRandomizedResponse, ProtocolModel, IdentityShuffler
        >>> local = KaryRandomizedResponse(epsilon0=1.0, domain_size=2).model
        >>> round(target_capacity(ProtocolModel(local=local, shuffle=IdentityShuffler().model(9))).value, 4)
        1.4621
    """
    validate.instance_of(ProtocolModel, model=model)
    model = least_hidden(model)
    if prior is None or adversary != "uninformed":
        return _factor_of(target_vulnerability(model, adversary=adversary, method=method, source=source))
    if not model.shuffle.position_laws():
        raise UnsupportedModelError("the capacity for a prior of the others needs the law of places.")
    matrix = matrix_of(channel_of(model.local)).astype(np.float64)
    belief = checked_prior(prior, len(matrix)).astype(np.float64)
    possible = np.flatnonzero(belief > 0)
    uniform = np.full(len(possible), 1 / len(possible))
    alike = np.eye(len(possible))

    def within(slots: Slots) -> BestExcess:
        chosen = partial(best_at, slots=slots, method=method, source=source)
        return best_among(matrix[possible], uniform, alike, belief @ matrix, chosen)

    laws = [slots_of(law) for law in model.shuffle.position_laws()]
    best = max((within(slots) for slots in laws), key=lambda each: each.excess)
    return Capacity(value=1 + len(possible) * best.excess, kind=best.kind)


def _factor_of(found: Vulnerability) -> Capacity:
    """Capacity from the vulnerability for a uniform prior and the gain of a right guess."""
    return Capacity(value=max(1.0, found.multiplicative_leakage), kind=found.kind)
