"""The re-identification game: name the slots of given people's reports, knowing everything but the randomness."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp._described import Described
from shuffledp._numerals import in_digits
from shuffledp.attacks.findings import Verdict
from shuffledp.attacks.inputs import NeighboringInputs, worst_inputs
from shuffledp.attacks.intervals import clopper_pearson
from shuffledp.attacks.scores import report_scores
from shuffledp.errors import UnsupportedModelError
from shuffledp.flow import Randomizer, Shuffler, View
from shuffledp.models import LabelMeaning
from shuffledp.randomness import resolve_source

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["DEFAULT_NAMINGS", "Naming", "TracedPipeline", "name_slots"]

DEFAULT_NAMINGS = 2_000
_NOT_SEEN = 0.5  # counted for a slot in which training saw nobody

Floats = NDArray[np.float64]


@runtime_checkable
class TracedPipeline(Protocol):
    """What the game plays: a `shuffledp.Pipeline`, or anything else that can be simulated."""

    @property
    def randomizer(self) -> Randomizer:
        """Runs on a person's device."""

    @property
    def shuffler(self) -> Shuffler:
        """Makes the view."""

    def simulate(self, values: ArrayLike, *, source: "RandomSource | None" = None) -> Any:
        """A run of both, with a ``view`` and for each of its rows the person it came from, ``origins``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming(Described):
    """How often the slots of given people were named correctly.

    Args:
        verdict: refuted if the lower limit is above what was claimed, else consistent.
        claimed: the success that is claimed to be the most.
        targets: the people who were looked for.
        trials: runs that count.
        training_trials: runs before, from which the attacker learned where reports of these people end.
        success: the share of runs in which the slots named were theirs.
        success_limits: lower and upper limit of that chance (Clopper and Pearson), which hold together.
        by_chance: the success of naming as many slots blindly.
        confidence: of the limits.
        seeded: True if the runs can be repeated by whoever knows the seed.
    """

    verdict: Verdict
    claimed: float
    targets: tuple[int, ...]
    trials: int
    training_trials: int
    success: float
    success_limits: tuple[float, ...]
    by_chance: float
    confidence: float
    seeded: bool

    def __str__(self) -> str:
        lower, upper = (
            in_digits(limit, relation)
            for limit, relation in zip(self.success_limits, ("at least", "at most"), strict=True)
        )
        return (
            f"{self.verdict.upper()}: whoever knows everything but the randomness names the slots of "
            f"{len(self.targets)} given people with a probability of at most {in_digits(self.claimed, 'at most')}. "
            f"This attack did in {self.success:.2%} of {self.trials} runs (limits {lower} to {upper} with confidence "
            f"{self.confidence:g}); blind naming does in {self.by_chance:.2%}."
        )


def name_slots(
    pipeline: TracedPipeline,
    claimed: float,
    *,
    num_users: int,
    targets: Sequence[int],
    trials: int = DEFAULT_NAMINGS,
    confidence: float = 0.99,
    inputs: NeighboringInputs | None = None,
    source: "RandomSource | None" = None,
) -> Naming:
    """Try to name the slots that hold the reports of given people, and hold the success against a claim.

    The targets' answer is the first one, everybody else's is the second; the attacker knows it. From training runs the
    attacker learns how likely each slot holds a target's report, and then names the slots where that chance, times how
    much likelier the report is a target's than another's, is the largest. For one target no attack does better, but for
    what training leaves open.

    Guarantees:
        1. A true claim is called consistent with probability ``confidence`` at least, however bad the attack.
        2. Attacks see the view; what is known of its origins serves to train, and to count.

    Args:
        pipeline: its labels are slots.
        claimed: the success that is claimed to be the most, such as that of
            `shuffledp.accounting.reidentification_bound`; from 0 to 1.
        num_users: people in the batch.
        targets: whom to look for; all different.
        trials: runs that count, 2 or more; as many train.
        confidence: strictly between 0 and 1.
        inputs: the two answers; None is the worst ones known for the randomizer.
        source: randomness; None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range.
        UnsupportedModelError: if labels are no slots, or no attack is known on the reports.

    References:
        Meehan et al. 2022, Theorem 4.2 (what is claimed); the attack is Bayes' rule.
    """
    _validate.instance_of(TracedPipeline, pipeline=pipeline)
    _validate.probability(claimed=claimed)
    _validate.integer_at_least(2, trials=trials)
    _validate.open_probability(confidence=confidence)
    looked_for = _checked_targets(targets, num_users)
    model = pipeline.randomizer.model
    if pipeline.shuffler.model(num_users).labels is not LabelMeaning.SLOT or model.num_messages != 1:
        raise UnsupportedModelError("slots can be named where labels are slots, and people send one report each.")
    pairs = (inputs,) if inputs is not None else worst_inputs(model)
    if not pairs:
        raise UnsupportedModelError(f"no neighboring inputs are known for {model.kind!r} reports; give some as inputs.")
    pair, source = replace(pairs[0], others=pairs[0].second), resolve_source(source)
    answers = pair.answers("second", num_users)
    answers[looked_for] = pair.first
    chances = np.full(num_users, _NOT_SEEN)
    for _ in range(trials):
        chances[_slots_of(pipeline.simulate(answers, source=source), looked_for)] += 1
    wins = 0
    for _ in range(trials):
        run = pipeline.simulate(answers, source=source)
        named = _named(run.view, np.log(chances), len(looked_for), pipeline.randomizer, pair)
        wins += set(named.tolist()) == set(_slots_of(run, looked_for).tolist())
    lower, upper = (float(limit) for limit in clopper_pearson(wins, trials, tail=(1 - confidence) / 2))
    return Naming(
        verdict=Verdict.REFUTED if lower > claimed else Verdict.CONSISTENT,
        claimed=float(claimed),
        targets=tuple(looked_for.tolist()),
        trials=int(trials),
        training_trials=int(trials),
        success=wins / trials,
        success_limits=(lower, upper),
        by_chance=_by_chance(num_users, len(looked_for)),
        confidence=float(confidence),
        seeded=source.reproducible,
    )


def _checked_targets(targets: Sequence[int], num_users: int) -> NDArray[np.int64]:
    _validate.integer_at_least(1, num_users=num_users)
    for target in targets:
        _validate.integer_at_least(0, targets=target)
    if not targets or len(set(targets)) < len(targets) or max(targets) >= num_users:
        raise _validate.invalid(f"different people of num_users={num_users}, one or more", targets=list(targets))
    return np.array(targets, dtype=np.int64)


def _slots_of(run: Any, people: NDArray[np.int64]) -> NDArray[np.int64]:
    slots: NDArray[np.int64] = run.view.labels[np.isin(run.origins, people)].astype(np.int64)
    return slots


def _named(view: View, chances: Floats, number: int, randomizer: Randomizer, pair: NeighboringInputs) -> Any:
    """The slots to name: the most likely ones, in the light of what lies there."""
    labels = np.arange(len(view)) if view.labels is None else view.labels
    evidence = chances[labels] + report_scores(view.reports.columns, randomizer.model, pair)
    return labels[np.argsort(-evidence, kind="stable")[:number]]


def _by_chance(num_users: int, number: int) -> float:
    """One over the number of sets of so many slots."""
    ratios = (np.arange(number) + 1) / (num_users - np.arange(number))
    return float(np.prod(ratios))
