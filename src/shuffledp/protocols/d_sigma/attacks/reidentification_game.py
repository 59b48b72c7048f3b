"""Re-identification game: an adversary who knows everything but the randomness names the slots of given people."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.attacks.audit_statistics import clopper_pearson
from shuffledp.attacks.findings import Success, Verdict, check_counting, counted
from shuffledp.attacks.likelihood_scores import DIGITS, labels_of, log_likelihood_of
from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError, UnsupportedModelError
from shuffledp.core.flow import Randomizer, Shuffler, View
from shuffledp.core.local_models import LocalModel
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.core.table import Floats
from shuffledp.core.text import in_digits
from shuffledp.core.validate import invalid
from shuffledp.protocols.d_sigma.attacks.reidentification_adversaries import Adversary, KnownAnswers
from shuffledp.protocols.d_sigma.laws.naming_tails import naming_tail
from shuffledp.randomness.sources import RandomSource, resolve_source

DEFAULT_NAMINGS = 2_000
_NOT_SEEN = 0.5  # count for a slot that no target reached in training


@runtime_checkable
class TracedPipeline(Protocol):
    """Pipeline that the game can simulate, such as a `shuffledp.Pipeline`."""

    @property
    def randomizer(self) -> Randomizer:
        """Randomizer, which runs on a person's device."""

    @property
    def shuffler(self) -> Shuffler:
        """Shuffler that makes the view of the pipeline."""

    def simulate(self, values: ArrayLike, *, source: RandomSource | None = None) -> Any:
        """Simulated run: its ``view``, and in ``origins`` the sender of each row."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Naming(Success):
    """Success rate of naming the slots of at least ``at_least`` of the ``targets``."""

    targets: tuple[int, ...]
    at_least: int = 0

    def __post_init__(self) -> None:
        if not self.at_least:
            object.__setattr__(self, "at_least", len(self.targets))

    @property
    def reason(self) -> str:
        """Reason for the absence of a verdict; "" if there is one."""
        if self.verdict is not Verdict.NOT_AUDITED:
            return ""
        return f"No outcome of {self.trials:,} runs could refute {in_digits(self.claimed, 'at most')}."

    @property
    def power(self) -> str:
        """Sentence that the runs were too few for a refutation; "" otherwise."""
        return "That twice the chance is true would hardly have been found in so few runs." if self.weak else ""

    @property
    def weak(self) -> bool:
        """Whether the trials were too few to refute the claim if twice its chance were true."""
        tail = (1 - self.confidence) / 2
        wins = int(min(1.0, 2 * self.claimed) * self.trials)
        lower = float(clopper_pearson(wins, self.trials, tail=tail)[0])
        return self.verdict is Verdict.CONSISTENT and lower <= self.claimed

    def __str__(self) -> str:
        some = "" if self.at_least == len(self.targets) else f"at least {self.at_least} of "
        return (
            f"{self.verdict.upper()}: whoever knows everything but the randomness names {some}the slots of "
            f"{len(self.targets)} given people with a probability of at most {in_digits(self.claimed, 'at most')}. "
            f"This attack did in {self.measured}; blind naming does in {self.by_chance:.2%}."
            f"{' ' * self.weak}{self.power}"
        )


class LearnedSlots:
    """Adversary for any randomizer, who learns the slots of the targets' reports from simulated runs.

    Named are the slots where the chance that a target's report lies there, times how much likelier what lies there is
    a target's than somebody else's, is the largest. If all others gave one answer, nobody names a single target's slot
    more often, but for what learning leaves open.

    Args:
        pipeline: what is played.
        num_runs: to learn from, 1 or more.
        source: of these runs; None is the cryptographic source.
    """

    def __init__(
        self, pipeline: TracedPipeline, *, num_runs: int = DEFAULT_NAMINGS, source: RandomSource | None = None
    ) -> None:
        validate.integer_at_least(1, num_runs=num_runs)
        self._pipeline = getattr(pipeline, "in_numbers", pipeline)
        self._num_runs, self._source = num_runs, resolve_source(source)
        self._for: KnownAnswers | None = None
        self._chances = np.zeros(0)

    def infer(self, view: View, known: KnownAnswers) -> NDArray[np.int64]:
        """Slots to name, one for each target.

        What is learned is learned anew if ``known`` is not that of the last call.

        Raises:
            InvalidParameterError: if it is no view, such as a transcript, or is of other people.
        """
        validate.instance_of(View, view=view)
        validate.instance_of(KnownAnswers, known=known)
        if len(view) != len(known.answers):
            raise invalid(f"one for each of {len(known.answers)} people", num_reports=len(view))
        if known is not self._for:
            counts = np.full(len(known.answers), _NOT_SEEN)
            for _ in range(self._num_runs):
                run = self._pipeline.simulate(known.answers, source=self._source)
                counts[_slots_of(run, known.targets)] += 1
            self._for, self._chances = known, np.log(counts)
        labels = labels_of(view)
        looked_for = np.isin(np.arange(len(known.answers)), known.targets)
        own, other = (
            _likelihood_among(self._pipeline.randomizer.model, view, known.answers[people])
            for people in (looked_for, ~looked_for if not looked_for.all() else looked_for)
        )
        evidence = self._chances[labels] + np.round(own - other, DIGITS)
        named: NDArray[np.int64] = labels[np.argsort(-evidence, kind="stable")[: known.targets.size]]
        return named


def _likelihood_among(model: LocalModel, view: View, answers: NDArray[Any]) -> Floats:
    """Log-likelihood of each report, if its sender is drawn uniformly from the people with these answers."""
    kinds, times = np.unique(answers, axis=0, return_counts=True)
    logs = [log_likelihood_of(model, view.reports.columns, kind) for kind in kinds]
    found: Floats = np.logaddexp.reduce(np.array(logs) + np.log(times / times.sum())[:, None])
    return found


def name_slots(
    pipeline: TracedPipeline,
    claimed: float = 1.0,
    *,
    known: KnownAnswers,
    at_least: int | None = None,
    attack: Adversary | None = None,
    trials: int = DEFAULT_NAMINGS,
    confidence: float = 0.99,
    source: RandomSource | None = None,
) -> Naming:
    """Re-identification game: success of naming given people's slots, compared with a claimed chance.

    Guarantees:
        1. A true claim is called consistent (or not audited) with probability ``confidence`` at least, however bad the
           attack.
        2. Attacks see the view and what is ``known``; where its reports came from serves to count.

    Args:
        pipeline: its labels are slots.
        claimed: the success that is claimed to be the most, such as that of
            `shuffledp.protocols.d_sigma.reidentification_bound`; 1 claims nothing.
        known: everybody's answers, and whom to look for; see `KnownAnswers.worst`.
        at_least: how many of the named slots must hold a target's report, from 1 to all; None is all. More than half of
            k is k // 2 + 1.
        attack: the adversary; None is `LearnedSlots`, who learns from as many runs.
        trials: runs that count, 2 or more.
        confidence: strictly between 0 and 1.
        source: randomness; None is the cryptographic source.

    Raises:
        InvalidParameterError: if an argument is out of range, or the attack does not name one slot per target.
        UnsupportedModelError: if labels are no slots, or the attack does not read such reports.

    References:
        Meehan et al. 2022, Theorem 4.2 (what is claimed); `LearnedSlots` is Bayes' rule.
    """
    validate.instance_of(TracedPipeline, pipeline=pipeline)
    validate.instance_of(KnownAnswers, known=known)
    check_counting(claimed, trials, confidence)
    pipeline = getattr(pipeline, "in_numbers", pipeline)
    num_users, targets, source = len(known.answers), known.targets, resolve_source(source)
    least = targets.size if at_least is None else at_least
    validate.integer_at_least(1, at_least=least)
    if least > targets.size:
        raise invalid(f"at most the number of targets, {targets.size}", at_least=at_least)
    messages = pipeline.randomizer.model.num_messages
    if pipeline.shuffler.model(num_users).labels is not LabelMeaning.SLOT or messages != 1:
        raise UnsupportedModelError("slots can be named where labels are slots, and people send one report each.")
    attack = LearnedSlots(pipeline, num_runs=trials, source=source) if attack is None else attack
    validate.instance_of(Adversary, attack=attack)
    wins = 0
    for _ in range(trials):
        run = pipeline.simulate(known.answers, source=source)
        named = _names(attack.infer(run.view, known), targets.size)
        wins += np.isin(named, _slots_of(run, targets)).sum() >= least
    return Naming(
        **counted(wins, trials, claimed=claimed, confidence=confidence),
        by_chance=naming_tail(num_users, int(targets.size), int(least), 0.0),
        seeded=source.reproducible,
        targets=tuple(targets.tolist()),
        at_least=int(least),
    )


def _names(found: Any, count: int) -> NDArray[np.int64]:
    """Checked guess of an attack: one slot number for each target."""
    try:
        named = np.asarray(found)
    except ValueError:  # ragged rows
        named = np.asarray(None)
    if named.shape != (count,) or named.dtype.kind not in "iu":
        raise InvalidParameterError(
            f"the attack must return numbers of slots, shape ({count},); got shape {named.shape} of type {named.dtype}."
        )
    return named


def _slots_of(run: Any, people: NDArray[np.int64]) -> NDArray[np.int64]:
    slots: NDArray[np.int64] = run.view.labels[np.isin(run.origins, people)].astype(np.int64)
    return slots
