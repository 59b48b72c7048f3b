"""Evaluation of inference attacks: success beside a control group, vulnerable people, and the majority vote."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from shuffledp.attacks.audit_statistics import clopper_pearson
from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Progress, Randomizer, Shuffler, View
from shuffledp.core.table import Floats, Integers
from shuffledp.core.upward_calls import Shown
from shuffledp.core.validate import invalid
from shuffledp.protocols.d_sigma.attacks.side_information import (
    InferenceAttack,
    SideInformation,
    needed,
    reports_by_slot,
    spread,
)
from shuffledp.randomness.sources import RandomSource, SecureSource, resolve_source

_MOST_RUNS = 10_000_000
_PERMUTATIONS = {"fresh": "a fresh permutation each", "fixed": "one permutation"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessRates(Described):
    """Shares of right guesses of an inference attack: success, control, and their difference.

    Args:
        success: share of right guesses, over all people and runs.
        success_error: its standard error over runs.
        success_limits: limits of it by Student's t over runs, from all guesses; of a single run, Clopper-Pearson limits
            from one person drawn at random.
        naive: what guessing everybody's commonest answer gets right, which takes no view; also the share of people whom
            it makes vulnerable.
        control: share of right guesses about a person whose answer is not in the data: in each control run one person,
            drawn at random, reports the answer of another one. It is what can be inferred without the person's report.
        control_error: its standard error over control runs.
        advantage: success less control, which is what people's own reports give away, whatever those of others tell.
        advantage_error: its standard error, over runs and control runs.
        advantage_limits: limits of it by Student's t, from all guesses; of single runs, from Clopper-Pearson limits of
            both shares that hold together.
    """

    success: float
    success_error: float | None
    success_limits: tuple[float, ...]
    naive: float
    control: float
    control_error: float | None
    advantage: float
    advantage_error: float | None
    advantage_limits: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class InferenceEvaluation(GuessRates, Shown):
    """Success of an inference attack over repeated randomizations and shuffles of fixed answers.

    Errors are about this randomness; the people are these people. A single run tells no error: it is None. With fixed
    permutations, "runs" in what is said of errors and limits means repetitions: only these are independent.

    Args:
        vulnerable: rho, the share of people whose answer is guessed right in at least ``vulnerable_from`` of the runs
            of a repetition, on average over repetitions.
        vulnerable_error: its standard error over repetitions.
        vulnerable_from: the share of right guesses that makes a person vulnerable.
        permutations: "fixed" if all runs of a repetition had one permutation, "fresh" if each had its own.
        level: coverage of the limits.
        num_runs: runs of each repetition.
        repetitions: how often rho was measured.
        control_runs: runs in each of which one person's report was replaced.
        seeded: True if the runs can be repeated by whoever knows the seed.
    """

    vulnerable: float
    vulnerable_error: float | None
    vulnerable_from: float
    permutations: str
    level: float
    num_runs: int
    repetitions: int
    control_runs: int
    seeded: bool

    def __str__(self) -> str:
        return (
            f"The attack guesses {self.success:.2%} of answers right ({_known(self.success_error)}, "
            f"{_between(self.success_limits, self.level)}), beside {self.naive:.2%} by always guessing the commonest "
            f"one and {self.control:.2%} ({_known(self.control_error)}) for a person whose own answer is not in the "
            f"data. People's own reports give away {self.advantage:.2%} ({_known(self.advantage_error)}, "
            f"{_between(self.advantage_limits, self.level)}). {self.vulnerable:.2%} of people "
            f"({_known(self.vulnerable_error)}) are guessed right in at least {self.vulnerable_from:.0%} of "
            f"{self.num_runs} runs with {_PERMUTATIONS[self.permutations]}."
        )


def _known(error: float | None) -> str:
    return "standard error not known" if error is None else f"standard error {error:.2%}"


def _between(limits: tuple[float, ...], level: float) -> str:
    return f"limits {limits[0]:.2%} to {limits[1]:.2%} with confidence {level:g}"


def evaluate(
    attack: InferenceAttack,
    *,
    randomizer: Randomizer,
    shuffler: Shuffler,
    answers: ArrayLike,
    side_information: SideInformation,
    num_runs: int = 50,
    repetitions: int = 10,
    vulnerable_from: float = 0.9,
    permutations: str = "fresh",
    control_runs: int | None = None,
    level: float = 0.95,
    source: RandomSource | None = None,
    progress: Progress | None = None,
) -> InferenceEvaluation:
    """Evaluation of an inference attack against repeated randomizations and shuffles of fixed answers.

    The attack sees views and side information only. 33,000 people take some 20 s with the vote, as long again for the
    control, and some minutes with slower attacks.

    Guarantees:
        1. Where a view has the same law whatever one person answers, the expected advantage is 0, whatever the attack
           makes of everybody else's reports: a person who is guessed without her own report is compared with herself,
           and nobody else's report is replaced at the same time.

    Args:
        attack: what guesses; one number of a value per person.
        randomizer: runs on everybody's device.
        shuffler: makes the view.
        answers: everybody's true answer, numbers from 0 on, shape (people,).
        side_information: of the same people.
        num_runs: of each repetition, 1 or more; 50 in [MRCJ22].
        repetitions: 1 or more; at most 10,000,000 runs in all.
        vulnerable_from: above 0, at most 1.
        permutations: "fresh" draws one for each run, so that rho is about the shuffle; "fixed" draws one for each
            repetition, as [MRCJ22] does, so that rho is about one release: larger, and above 0 after a uniform shuffle.
        control_runs: runs with one person's report replaced, 1 to 10,000,000; None is as many as the other
            runs, ``num_runs * repetitions``.
        level: of the limits, strictly between 0 and 1.
        source: randomness of everything; None is the cryptographic source.
        progress: told how many runs are done, and how many there are.

    Raises:
        InvalidParameterError: if an argument is out of range, side information is of other people, or the attack does
            not return one value for each person.

    References:
        [MRCJ22] Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Section 5.
    """
    _check_players(attack, randomizer, shuffler)
    runs, repeated, controls = _times(num_runs, repetitions, control_runs)
    _check_measure(vulnerable_from, permutations, level)
    truth, source = _answers(answers, side_information), resolve_source(source)
    draw = np.random.Generator(cast("np.random.BitGenerator", source.substream("evaluation").bit_generator))
    values, done = getattr(randomizer.model, "domain_size", None), 0

    def right(sent: Integers, kept: RandomSource | None = None) -> NDArray[np.bool_]:
        nonlocal done
        reports = randomizer.randomize(sent, source=source)
        view = shuffler.shuffle(reports, source=source if kept is None else kept.substream("permutation"))
        found: NDArray[np.bool_] = _guesses(attack.infer(view, side_information), truth.size, values) == truth
        done += 1
        if progress is not None:
            progress(done, runs * repeated + controls)
        return found

    total, trials, vulnerable = np.zeros(truth.size, dtype=np.int64), list[tuple[float, int]](), list[float]()
    for _ in range(repeated):
        kept = SecureSource(source.words(4).tobytes()) if permutations == "fixed" else None
        times, each = _repetition((right(truth, kept) for _ in range(runs)), permutations == "fixed", draw)
        total += times
        trials += each
        vulnerable.append(float((times >= vulnerable_from * runs - 1e-9).mean()))
    shares, thinned = (list(column) for column in zip(*trials, strict=True))
    left_out = draw.integers(truth.size, size=controls)
    alone = np.array([right(_replaced(truth, int(person), draw))[person] for person in left_out])
    success = _mean_and_error("success", shares)
    compared = _compared(shares, total[left_out] / (runs * repeated), alone)
    return InferenceEvaluation(
        **success,
        **compared,
        **_limits_of({**success, **compared}, thinned, alone, 1 - level),
        naive=float(np.bincount(truth).max() / truth.size),
        **_mean_and_error("vulnerable", vulnerable),
        vulnerable_from=float(vulnerable_from),
        permutations=permutations,
        level=float(level),
        num_runs=runs,
        repetitions=repeated,
        control_runs=controls,
        seeded=source.reproducible,
    )


def _repetition(
    runs: Iterable[NDArray[np.bool_]], fixed: bool, draw: np.random.Generator
) -> tuple[Integers, list[tuple[float, int]]]:
    """Right guesses by person; and by trial, the share of right guesses and one random person's result.

    Runs with one permutation are one trial. A shuffle sees no answers, so that with one key it draws one permutation.
    """
    times: Any = 0
    trials: list[tuple[float, int]] = []
    for hits in runs:
        times = times + hits
        trials.append((float(hits.mean()), int(hits[draw.integers(hits.size)])))
    return times, [(float(np.mean([share for share, _ in trials])), trials[0][1])] if fixed else trials


def _guesses(found: ArrayLike, people: int, values: int | None) -> Integers:
    """Checked guesses of an attack: one value number for each person. Error messages never show a guess."""
    validate.unmasked(guesses=found)
    try:
        guesses = np.asarray(found)
    except ValueError:
        raise InvalidParameterError(
            "the attack must return an array of one value per person; got ragged rows."
        ) from None
    if guesses.shape != (people,):
        raise InvalidParameterError(
            f"the attack must return one value per person, shape ({people},); got an array of shape {guesses.shape}."
        )
    if guesses.dtype.kind not in "iu":
        raise InvalidParameterError(
            f"the attack must return numbers of values, which are integers; got an array of type {guesses.dtype}."
        )
    outside = (guesses < 0) if values is None else (guesses < 0) | (guesses >= values)
    if outside.any():
        domain = "that are 0 or more" if values is None else f"from 0 to {values - 1}"
        raise InvalidParameterError(
            f"the attack must return numbers of values {domain}; {int(outside.sum())} of {people} guesses are not."
        )
    return guesses


def _replaced(truth: Integers, person: int, draw: np.random.Generator) -> Integers:
    """Copy of the answers, in which one person's answer is replaced by a random other person's answer."""
    other, sent = int(draw.integers(truth.size - 1)), truth.copy()
    sent[person] = truth[other + (other >= person)]
    return sent


def _compared(shares: list[float], with_own: Floats, without: NDArray[np.bool_]) -> dict[str, Any]:
    """Control and advantage, from guesses about people with and without their own report in the data.

    The mean of the differences estimates success less control without bias. That people differ in how easily they are
    guessed cancels in each difference. What is left of the success after it is kept between 0 and 1.
    """
    advantage, error = _mean_and_error("advantage", with_own - without).values()
    success, of_runs = _mean_and_error("success", shares).values()
    return {
        "control": min(max(success - advantage, 0.0), 1.0),
        "control_error": error,
        "advantage": advantage,
        "advantage_error": None if error is None or of_runs is None else math.hypot(error, of_runs),
    }


def _limits(right: int, trials: int, tail: float) -> tuple[float, float]:
    lower, upper = clopper_pearson(right, trials, tail=tail)
    return float(lower), float(upper)


def _limits_of(found: Mapping[str, Any], thinned: list[int], alone: NDArray[np.bool_], tail: float) -> dict[str, Any]:
    """Confidence limits of the success and of the advantage, each missed with probability ``tail``.

    By Student's t over runs; of single runs, and where all were alike, by one guess of each.
    """
    runs, controls, wins = len(thinned), alone.size, sum(thinned)
    success = _student(found["success"], found["success_error"], runs, tail / 2, (0.0, 1.0))
    advantage = _student(found["advantage"], found["advantage_error"], min(runs, controls), tail / 2, (-1.0, 1.0))
    apart = _apart(_limits(wins, runs, tail / 4), _limits(int(alone.sum()), controls, tail / 4))
    return {"success_limits": success or _limits(wins, runs, tail / 2), "advantage_limits": advantage or apart}


def _student(
    mean: float, error: float | None, trials: int, tail: float, within: tuple[float, float]
) -> tuple[float, float] | None:
    """Limits by Student's t of a mean over trials; None if the standard error is 0 or unknown."""
    if not error:
        return None
    reach = float(stdtrit(trials - 1, 1 - tail)) * error
    return max(mean - reach, within[0]), min(mean + reach, within[1])


def _apart(more: tuple[float, float], less: tuple[float, float]) -> tuple[float, float]:
    """Limits of a difference, from the limits of its two terms."""
    return more[0] - less[1], more[1] - less[0]


def _times(num_runs: int, repetitions: int, control_runs: int | None) -> tuple[int, int, int]:
    """Checked numbers of runs per repetition, of repetitions, and of control runs."""
    validate.integer_at_least(1, num_runs=num_runs, repetitions=repetitions)
    controls = num_runs * repetitions if control_runs is None else control_runs
    validate.integer_at_least(1, control_runs=controls)
    for name, count in (("num_runs * repetitions", num_runs * repetitions), ("control_runs", controls)):
        if count > _MOST_RUNS:
            raise invalid(f"at most {_MOST_RUNS}", **{name: count})
    return int(num_runs), int(repetitions), int(controls)


def _check_players(attack: InferenceAttack, randomizer: Randomizer, shuffler: Shuffler) -> None:
    validate.instance_of(InferenceAttack, attack=attack)
    validate.instance_of(Randomizer, randomizer=randomizer)
    validate.instance_of(Shuffler, shuffler=shuffler)


def _check_measure(vulnerable_from: float, permutations: str, level: float) -> None:
    validate.one_of(tuple(_PERMUTATIONS), permutations=permutations)
    validate.open_probability(level=level)
    validate.probability(vulnerable_from=vulnerable_from)
    if vulnerable_from == 0:
        raise invalid("above 0 and at most 1", vulnerable_from=vulnerable_from)


def _answers(answers: ArrayLike, side_information: SideInformation) -> Integers:
    """True answers of all people in the side information, checked."""
    validate.unmasked(answers=answers)
    truth = np.asarray(answers)
    if truth.ndim != 1 or truth.dtype.kind not in "iu" or truth.size < 2:
        raise invalid("one value number for each of two or more people", shape_of_answers=truth.shape)
    if truth.min() < 0:
        raise InvalidParameterError("answers must be numbers of values, 0 or more.")
    validate.instance_of(SideInformation, side_information=side_information)
    for name in ("neighbors", "points", "features", "blocks"):
        part = getattr(side_information, name)
        if part is not None and len(part) != truth.size:
            raise invalid(f"of the {truth.size} people of answers", **{f"people_of_{name}": len(part)})
    return truth


def _mean_and_error(name: str, values: ArrayLike) -> dict[str, Any]:
    each = np.asarray(values, dtype=np.float64)
    error = float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else None
    return {name: float(each.mean()), f"{name}_error": error}


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """Majority vote: guesses each answer as the commonest report in the slots of similar people nearby.

    Ties go to the value that is said more often in the whole view, then to the smaller one; that value is also the
    guess about people of whom no slot is known.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Section 5.

    Example:
        >>> from shuffledp import IdentityShuffler, KaryRandomizedResponse
        >>> reports = KaryRandomizedResponse(epsilon0=30.0, domain_size=2).randomize([0, 0, 1])
        >>> view = IdentityShuffler().shuffle(reports)
        >>> near = SideInformation(neighbors=np.array([[0, 1, 2], [1, 2, -1], [2, -1, -1]]))
        >>> MajorityVote().infer(view, near).tolist()
        [0, 0, 1]
    """

    def infer(self, view: View, side_information: SideInformation) -> NDArray[np.int64]:
        """Guessed answers, one per person.

        Args:
            view: of randomized response, with or without slots.
            side_information: with ``neighbors``.

        Raises:
            InvalidParameterError: if ``neighbors`` is not known, or there is not one report per person.
            UnsupportedModelError: if reports are no values, or labels are not slots.
        """
        neighbors = needed(side_information, "neighbors")
        said = reports_by_slot(view, len(neighbors))
        size = int(getattr(view.reports.model, "domain_size"))  # noqa: B009
        total = np.bincount(said, minlength=size)
        votes = spread(neighbors) @ np.eye(size)[said]
        # A fraction of a vote decides ties; it never outweighs a whole one.
        guesses: NDArray[np.int64] = (votes + total / (2 * total.sum())).argmax(axis=1)
        return guesses
