"""Adversaries of re-identification, who know all answers and name the slots of given people's reports.

`shuffledp.protocols.d_sigma.attacks.reidentification_game` plays them, and counts how often they are right.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shuffledp.attacks.likelihood_scores import NeighboringInputs, worst_inputs
from shuffledp.core import validate
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import View
from shuffledp.core.local_models import LocalModel
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.protocols.d_sigma.attacks.side_information import SlotShuffler, reports_by_slot
from shuffledp.randomness.sources import RandomSource, resolve_source

_MOST_ENUMERATED = 50_000_000  # permutations times outputs times slots
_NEVER = 1e-300
_ROUNDING = 1e-9
_MOST_KEPT = 2_000_000  # people times draws of the simulation
_ENOUGH = 30.0  # effective draws that are needed
_MOST_SHARED = 5  # most targets for which all assignments to slots are summed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownAnswers:
    """Knowledge of the adversary of Theorem 4.2 beside the view: everything except the randomness.

    Args:
        answers: everybody's answer, as the randomizer takes them, one row per person.
        targets: who is looked for: one person or more, each once.

    Raises:
        InvalidParameterError: if there are no such people, or an answer is no finite number.
    """

    answers: NDArray[Any]
    targets: Integers

    def __repr__(self) -> str:
        return f"KnownAnswers({len(self.answers)} answers, {self.targets.size} targets; not shown)"

    def __post_init__(self) -> None:
        validate.unmasked(answers=self.answers, targets=self.targets)
        try:
            answers, targets = np.array(self.answers), np.atleast_1d(np.array(self.targets))
        except ValueError:
            raise InvalidParameterError("answers and targets must have rows of one length.") from None
        if answers.ndim < 1 or answers.dtype.kind not in "iuf" or targets.dtype.kind not in "iu" or not targets.size:
            raise InvalidParameterError("answers and targets must be numbers, one answer per person.")
        if not np.isfinite(answers).all():
            raise InvalidParameterError("answers must be finite numbers.")
        distinct = targets.ndim == 1 and np.unique(targets).size == targets.size
        if not distinct or not 0 <= targets.min() <= targets.max() < len(answers):
            raise invalid(f"distinct people out of {len(answers)}", num_targets=targets.size)
        for name, array in (("answers", answers), ("targets", targets.astype(np.int64))):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def worst(
        cls, model: LocalModel, *, num_users: int, targets: Sequence[int], inputs: NeighboringInputs | None = None
    ) -> "KnownAnswers":
        """Answers that make the targets stand out: targets give the first of two answers, others the second.

        Args:
            model: the randomizer's.
            num_users: people in the batch.
            targets: whom to look for; all different.
            inputs: the two answers; None is the worst ones known for the randomizer.

        Raises:
            InvalidParameterError: if there are no such people.
            UnsupportedModelError: if no answers are known that are the worst.
        """
        validate.integer_at_least(1, num_users=num_users)
        pairs = (inputs,) if inputs is not None else worst_inputs(model)
        if not pairs:
            raise UnsupportedModelError(f"no worst answers are known for {model.kind!r} reports; give some as inputs.")
        others = np.array([pairs[0].second] * num_users)
        known = cls(answers=others, targets=np.array(targets))
        others[known.targets] = pairs[0].first
        return cls(answers=others, targets=known.targets)


@runtime_checkable
class Adversary(Protocol):
    """Adversary who names slots, from the view and the known answers alone."""

    def infer(self, view: View, known: KnownAnswers) -> Integers:
        """Guessed slots of the targets' reports, all different, in any order."""


class OptimalReidentification:
    """Optimal adversary, who enumerates all permutations: for very few people only.

    Args:
        law: the law of the shuffle, as `shuffledp.laws.law_around` gives it: slot j gets the report of ``sigma[j]``.

    Raises:
        InvalidParameterError: if these are no permutations of the same people, or chances that do not add up to 1.
    """

    def __init__(self, law: Mapping[tuple[int, ...], Any]) -> None:
        validate.instance_of(Mapping, law=law)
        if not law:
            raise InvalidParameterError("law must hold one permutation or more; got none.")
        people = len(next(iter(law)))
        if not people or any(sorted(each) != list(range(people)) for each in law):
            raise InvalidParameterError("law must be of permutations, all of the same people.")
        self._permutations = np.array(list(law))
        self._chances = np.array([float(chance) for chance in law.values()])
        if not (self._chances >= 0).all() or abs(self._chances.sum() - 1) > _ROUNDING:
            raise InvalidParameterError("law must hold probabilities, 0 or more, that add up to 1.")

    def infer(self, view: View, known: KnownAnswers) -> Integers:
        """Likeliest set of slots of the targets' reports, as ascending numbers.

        Which target's report lies in which of the slots is not said.

        Args:
            view: with slots.
            known: what the adversary knows.

        Raises:
            InvalidParameterError: if the view is of other people than the law, or answers are no numbers of values.
            UnsupportedModelError: if reports are no values, or labels are not slots.
        """
        said = reports_by_slot(view, self._permutations.shape[1])
        channel = view.reports.model.channel()
        matrix = np.asarray(channel.matrix if channel else None, dtype=np.float64)
        sets, owner = self._sets(known, len(matrix))
        weights = np.bincount(owner, self._likelihoods(said[None], known, matrix)[0], minlength=len(sets))
        found: Integers = sets[int(weights.argmax())]
        return found

    def success(self, channel: Channel, known: KnownAnswers) -> float:
        """Probability that the optimal adversary names the right set of slots; the largest of any adversary.

        Args:
            channel: of the randomizer.
            known: what the adversary knows.

        Raises:
            InvalidParameterError: if there are too many outputs and permutations to write out, or answers are no
                numbers of values.
        """
        validate.instance_of(Channel, channel=channel)
        matrix = np.asarray(channel.matrix, dtype=np.float64)
        people, outputs = self._permutations.shape[1], matrix.shape[1]
        work = outputs**people * self._permutations.size
        if work > _MOST_ENUMERATED:
            raise invalid(f"at most {_MOST_ENUMERATED}", outputs_times_permutations=work)
        said = np.indices((outputs,) * people).reshape(people, -1).T
        sets, owner = self._sets(known, len(matrix))
        likely = self._likelihoods(said, known, matrix)
        by_set = np.array([likely[:, owner == number].sum(axis=1) for number in range(len(sets))])
        return float(by_set.max(axis=0).sum())

    def _sets(self, known: KnownAnswers, values: int) -> tuple[Integers, Integers]:
        """Possible sets of slots of the targets' reports, and the index of the set for each permutation."""
        _check_values(known, values)
        if known.answers.size != self._permutations.shape[1]:
            raise invalid(f"{self._permutations.shape[1]}, as the law has", num_answers=known.answers.size)
        where = np.nonzero(np.isin(self._permutations, known.targets))[1].reshape(len(self._permutations), -1)
        sets, owner = np.unique(where, axis=0, return_inverse=True)
        return sets, owner.ravel()

    def _likelihoods(self, said: Integers, known: KnownAnswers, matrix: Floats) -> Floats:
        """Joint probability Pr[permutation and outputs], shape (outputs, permutations)."""
        held = known.answers[self._permutations]
        found: Floats = np.ones((len(said), 1)) * self._chances
        for slot in range(said.shape[1]):
            found = found * matrix[held[:, slot]][:, said[:, slot]].T
        return found


def _check_values(known: KnownAnswers, values: int) -> None:
    """Check that answers are numbers of values, without showing any answer."""
    validate.instance_of(KnownAnswers, known=known)
    answers = known.answers
    if answers.ndim != 1 or answers.dtype.kind not in "iu" or answers.min() < 0 or answers.max() >= values:
        raise InvalidParameterError(f"answers must be numbers of values, from 0 to {values - 1}, one per person.")


class LikeliestSlots:
    """Heuristic adversary for many people: likeliest set of slots in simulations of the public shuffle.

    A set is as likely as it was seen in the simulation, times how much likelier what lies in its slots is the targets'
    than others'. What is seen once is discounted as often as it does not come again (absolute discounting), in favor of
    slots that are drawn for each target by itself; for these, slots are shared out among the targets as is best. That
    each of the others' reports lies in one slot is left out, but where so few people are shuffled that the draws in
    which all reports are likely are many enough by themselves.

    Args:
        shuffler: what shuffled, public.
        num_draws: of the simulation, 1 or more.
        source: of the simulation; None is the cryptographic source.
    """

    def __init__(self, shuffler: SlotShuffler, *, num_draws: int = 1000, source: RandomSource | None = None) -> None:
        validate.instance_of(SlotShuffler, shuffler=shuffler)
        validate.integer_at_least(1, num_draws=num_draws)
        self._shuffler, self._num_draws, self._source = shuffler, int(num_draws), resolve_source(source)
        self._for: KnownAnswers | None = None
        self._where = np.zeros((0, 0), dtype=np.int64)
        self._here, self._others = np.zeros((0, 0)), np.zeros((0, 0))
        self._held: Integers | None = None

    def infer(self, view: View, known: KnownAnswers) -> Integers:
        """Likeliest slots of the targets' reports, ascending; a new ``known`` needs new simulations."""
        validate.instance_of(KnownAnswers, known=known)
        said = reports_by_slot(view, known.answers.size)
        channel = view.reports.model.channel()
        matrix = np.asarray(channel.matrix if channel else None, dtype=np.float64)
        _check_values(known, len(matrix))
        if known is not self._for:
            self._simulate(known, len(matrix))
        told = matrix[:, said]  # by answer and slot
        ratios = told[known.answers[known.targets]] / np.einsum("sv,vs->s", self._others, told)
        alone = np.log(np.maximum(self._here * ratios, _NEVER))
        assigned = np.sort(linear_sum_assignment(alone, maximize=True)[1])
        sets, owner, times = np.unique(np.sort(self._where), axis=0, return_inverse=True, return_counts=True)
        if self._held is not None:
            likely = np.log(np.maximum(told, _NEVER))[self._held, np.arange(said.size)].sum(axis=1)
            chances = np.exp(likely - likely.max())
            if chances.sum() ** 2 >= _ENOUGH * (chances**2).sum():
                return np.asarray(sets[int(np.bincount(owner.ravel(), chances).argmax())])
        once, twice = (int((times == count).sum()) for count in (1, 2))
        discount = once / max(once + 2 * twice, 1)
        seen = np.log(ratios)[np.arange(known.targets.size), self._where].sum(axis=1)
        largest = seen.max()
        weights = np.bincount(owner.ravel(), np.exp(seen - largest)) * (1 - discount / times)
        left = discount * len(sets)  # total discount, in draws
        found: Integers = np.vstack([sets, assigned])
        apart = _shared_out(alone, found) - largest
        total = np.append(weights, weights[(sets == assigned).all(axis=1)].sum()) + left * np.exp(apart)
        return found[int(total.argmax())] if total.max() > 0 else assigned

    def _simulate(self, known: KnownAnswers, values: int) -> None:
        """Simulate shuffles; store where targets' reports land, how often, and others' answers by slot."""
        people, slots = known.answers.size, np.arange(known.answers.size)
        answers, place = np.full((people, values), 0.5 / values), np.empty(people, dtype=np.int64)
        where = np.empty((self._num_draws, known.targets.size), dtype=np.int64)
        few = people * self._num_draws <= _MOST_KEPT
        held = np.empty((self._num_draws if few else 0, people), dtype=np.int64)
        for number in range(self._num_draws):
            drawn = self._shuffler.draw(source=self._source)
            if drawn.size != people:
                raise invalid(f"those of the shuffler, {drawn.size}", num_answers=people)
            if few:
                held[number] = known.answers[drawn]
            answers[slots, known.answers[drawn]] += 1
            place[drawn] = slots
            where[number] = place[known.targets]
            answers[where[number], known.answers[known.targets]] -= 1
        here = np.array([np.bincount(column, minlength=people) for column in where.T])
        self._for, self._where, self._here = known, where, here / self._num_draws
        self._held = held if few else None
        # With half a draw more, so that slots which always hold a target's report are not divided by 0.
        self._others = answers / answers.sum(axis=1, keepdims=True)


def _shared_out(scores: Floats, sets: Integers) -> Floats:
    """Logarithm of the sum of exp(score) over all assignments of each set's slots to the targets.

    Of more than a few targets, the largest score of an assignment stands in place of the sum.
    """
    count = len(scores)
    if count > _MOST_SHARED:
        best = [scores[:, each][linear_sum_assignment(scores[:, each], maximize=True)].sum() for each in sets]
        return np.array(best)
    ways = np.array(list(itertools.permutations(range(count))))
    each = scores[np.arange(count), sets[:, ways]].sum(axis=2)
    found: Floats = np.logaddexp.reduce(each, axis=1)
    return found
