"""How well an inference attack does: success beside guessing and beside a control group, and who is vulnerable."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import _validate
from shuffledp._described import Described
from shuffledp._validate import invalid
from shuffledp.attacks.intervals import clopper_pearson
from shuffledp.attacks.side_information import InferenceAttack, SideInformation
from shuffledp.flow import Randomizer, Shuffler
from shuffledp.randomness import resolve_source

if TYPE_CHECKING:
    from shuffledp.randomness import RandomSource

__all__ = ["InferenceEvaluation", "evaluate"]

Integers = NDArray[np.int64]
Progress = Callable[[int, int | None], None]  # (runs done, runs in all)


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceEvaluation(Described):
    """What an inference attack achieved over fresh randomizations and shuffles of the same answers.

    Errors are about this randomness; the people are these people.

    Args:
        success: share of right guesses, over all people and runs.
        success_error: its standard error over runs.
        success_limits: Clopper-Pearson limits of it, from one person drawn at random in each run, so that runs are
            independent trials: wide, and exact.
        naive: what guessing everybody's commonest answer gets right, which takes no view; also the share of people whom
            it makes vulnerable.
        control: share of right guesses about people whose reports were replaced by those of a random other person's
            answer: what of the success does not come from their own reports.
        control_error: its standard error over runs.
        vulnerable: rho, the share of people whose answer is guessed right in at least ``vulnerable_from`` of the runs
            of a repetition, on average over repetitions.
        vulnerable_error: its standard error over repetitions; 0 if there is only one.
        vulnerable_from: the share of right guesses that makes a person vulnerable.
        level: coverage of the limits.
        num_runs: runs of each repetition.
        repetitions: how often rho was measured.
        seeded: True if the runs can be repeated by whoever knows the seed.
    """

    success: float
    success_error: float
    success_limits: tuple[float, ...]
    naive: float
    control: float
    control_error: float
    vulnerable: float
    vulnerable_error: float
    vulnerable_from: float
    level: float
    num_runs: int
    repetitions: int
    seeded: bool

    def __str__(self) -> str:
        return (
            f"The attack guesses {self.success:.2%} of answers right (standard error {self.success_error:.2%}), beside "
            f"{self.naive:.2%} by always guessing the commonest one and {self.control:.2%} for people whose reports "
            f"are somebody else's. {self.vulnerable:.2%} of people (standard error {self.vulnerable_error:.2%}) are "
            f"guessed right in at least {self.vulnerable_from:.0%} of {self.num_runs} runs."
        )


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
    control_share: float = 0.05,
    level: float = 0.95,
    source: "RandomSource | None" = None,
    progress: Progress | None = None,
) -> InferenceEvaluation:
    """Play an inference attack against fresh randomizations and shuffles of the same answers.

    The attack sees views and side information only. 33,000 people take some 20 s with the vote, and some minutes with
    slower attacks.

    Args:
        attack: what guesses.
        randomizer: runs on everybody's device.
        shuffler: makes the view.
        answers: everybody's true answer, numbers from 0 on, shape (people,).
        side_information: of the same people.
        num_runs: of each repetition, 1 or more; 50 in [MRCJ22].
        repetitions: 1 or more.
        vulnerable_from: above 0, at most 1.
        control_share: of the people that are left out of the control runs, of which there are ``num_runs``; above 0, at
            most 1/2.
        level: of the limits, strictly between 0 and 1.
        source: randomness of everything; None is the cryptographic source.
        progress: told how many runs are done, and how many there are.

    Raises:
        InvalidParameterError: if an argument is out of range.

    References:
        [MRCJ22] Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Section 5.
    """
    truth = np.asarray(answers)
    _validate.integer_at_least(1, num_runs=num_runs, repetitions=repetitions)
    _validate.open_probability(level=level)
    _check(truth, vulnerable_from, control_share)
    source, runs = resolve_source(source), int(num_runs)
    draw = np.random.Generator(cast("np.random.BitGenerator", source.substream("evaluation").bit_generator))
    total, done = runs * (int(repetitions) + 1), 0

    def right(sent: Integers) -> NDArray[np.bool_]:
        nonlocal done
        view = shuffler.shuffle(randomizer.randomize(sent, source=source), source=source)
        found: NDArray[np.bool_] = attack.infer(view, side_information) == truth
        done += 1
        if progress is not None:
            progress(done, total)
        return found

    shares, thinned, vulnerable = [], 0, []
    for _ in range(int(repetitions)):
        times = np.zeros(truth.size, dtype=np.int64)
        for _ in range(runs):
            hits = right(truth)
            times += hits
            shares.append(float(hits.mean()))
            thinned += int(hits[draw.integers(truth.size)])
        vulnerable.append(float((times >= vulnerable_from * runs - 1e-9).mean()))
    controls = []
    for _ in range(runs):
        outside, sent = _without(truth, control_share, draw)
        controls.append(float(right(sent)[outside].mean()))
    lower, upper = clopper_pearson(thinned, len(shares), tail=(1 - level) / 2)
    return InferenceEvaluation(
        **_mean_and_error("success", shares),
        success_limits=(float(lower), float(upper)),
        naive=float(np.bincount(truth).max() / truth.size),
        **_mean_and_error("control", controls),
        **_mean_and_error("vulnerable", vulnerable),
        vulnerable_from=float(vulnerable_from),
        level=float(level),
        num_runs=runs,
        repetitions=int(repetitions),
        seeded=source.reproducible,
    )


def _without(truth: Integers, share: float, draw: np.random.Generator) -> tuple[Integers, Integers]:
    """Some people, and what is sent if each of them sends a random person's answer in place of their own."""
    outside, sent = draw.permutation(truth.size)[: max(1, round(share * truth.size))], truth.copy()
    sent[outside] = truth[draw.integers(truth.size, size=outside.size)]
    return outside, sent


def _check(truth: NDArray[np.int64], vulnerable_from: float, control_share: float) -> None:
    for name, value, most in (("vulnerable_from", vulnerable_from, 1), ("control_share", control_share, 0.5)):
        if not 0 < value <= most:
            raise invalid(f"above 0 and at most {most}", **{name: value})
    if truth.ndim != 1 or truth.dtype.kind not in "iu" or truth.size < 2:
        raise invalid("numbers of values, of two people or more", shape_of_answers=truth.shape)


def _mean_and_error(name: str, values: list[float]) -> dict[str, float]:
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return {name: float(np.mean(values)), f"{name}_error": error}
