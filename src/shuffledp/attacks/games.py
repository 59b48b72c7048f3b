"""Distinguishing games: scores of a protocol's visible part on one of two neighboring data sets."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.audit_statistics import Event, best_event, clopper_pearson, loss
from shuffledp.attacks.findings import Evidence
from shuffledp.attacks.likelihood_scores import (
    DIGITS,
    SCORES,
    NeighboringInputs,
    report_scores,
    view_scores,
    worst_inputs,
)
from shuffledp.core.flow import Progress, Randomizer, Reports, Shuffler, View
from shuffledp.core.local_models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.table import Floats
from shuffledp.randomizers import KaryRandomizedResponseModel
from shuffledp.randomness.sources import RandomSource

Scorer = Callable[[Sequence[View]], NDArray[np.float64]]  # from views to their scores, shape (views, scores)
Scores = tuple[NDArray[np.float64], NDArray[np.float64]]

LOOKS = (0.1, 1.0)  # shares of the held-out runs after which claims may be refuted; each has its part of the confidence

MOST_TRIALS = 10_000_000  # the scores of all runs are held in memory: hundreds of MiB, at most a few GiB

_REPORTS_AT_A_TIME = 1 << 16
_VIEWS_AT_A_TIME = 1 << 8
LARGEST_CHANNEL = 256  # most answers of a randomizer whose matrix is written out
_RUNS_AT_A_TIME = 1 << 14


@runtime_checkable
class RandomizerAndShuffler(Protocol):
    """Interface of a pipeline to audit: any object with a randomizer and a shuffler."""

    @property
    def randomizer(self) -> Randomizer:
        """Randomizer, which runs on a person's device."""

    @property
    def shuffler(self) -> Shuffler:
        """Shuffler, which makes the view."""


class Game(ABC):
    """Distinguishing game for one type of guarantee: runs of a protocol with scored visible parts.

    Class attributes: ``name``, ``guarantee`` (the type of guarantee that it is about), ``scores`` (names), ``trials``
    (default of held-out runs with each data set), ``follows`` (whether there is an
    audit of the shuffler alone, see `follow`).
    """

    name: ClassVar[str]
    guarantee: ClassVar[str] = "central-dp"
    scores: ClassVar[tuple[str, ...]]
    trials: ClassVar[int]
    follows: ClassVar[bool] = False

    @classmethod
    def follow(cls, shuffler: Shuffler, **options: Any) -> Any:
        """Audit of a shuffler alone, by reports that all differ; None if the game has no such audit."""
        del shuffler, options

    def __init__(
        self, *, pipeline: RandomizerAndShuffler, num_users: int, source: RandomSource, progress: Progress | None
    ) -> None:
        self.pipeline, self.num_users, self.source = pipeline, num_users, source
        self.training = self.trials // 2  # runs with each data set on which an attack is chosen
        self._progress, self._done, self._total = progress, 0, 0

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:  # noqa: ARG003 (a game that is never too special)
        """Whether the game can be played with this shuffler and model; an audit plays the first such game."""
        return True

    @classmethod
    def worst_inputs(cls, model: LocalModel) -> Sequence[NeighboringInputs]:
        """Worst pairs of data sets known for a randomizer; empty where none are known."""
        return worst_inputs(model)

    @classmethod
    def why_unreadable(cls, model: LocalModel, reports: Sequence[tuple[NeighboringInputs, Reports]]) -> str:
        """Reason why the game cannot score a randomizer's reports, from samples of reports; else ""."""
        if model.num_messages != 1:
            return (
                f"No attack is known for people who send several reports each; here num_messages={model.num_messages}."
            )
        if not reports:
            return f"No neighboring inputs are known for {model.kind!r} reports; give some as inputs."
        if any(model.log_likelihood(sample.columns, pair.first) is None for pair, sample in reports):
            return f"No attack is known for {model.kind!r} reports, whose law is not written out in their model."
        return ""

    @classmethod
    def why_not_about(cls, claim: PrivacyStatement, shuffler: Shuffler) -> str:  # noqa: ARG003 (any claim of the type)
        """Reason why the game cannot refute this claim about this shuffler; else "".

        The claim has the game's type of guarantee.
        """
        return ""

    @classmethod
    def parts_of(cls, shuffler: Shuffler) -> Sequence[int]:  # noqa: ARG003 (everybody is in one part)
        """Sizes of the parts of a batch, where a claim may apply to one part; empty without parts."""
        return ()

    @abstractmethod
    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """Scores of independent runs with one of the two data sets, shape (runs, scores)."""

    def different(self, pairs: Sequence[NeighboringInputs]) -> Sequence[NeighboringInputs]:
        """Pairs of data sets that the game's visible part can tell apart."""
        return pairs

    def attack(
        self,
        pairs: Sequence[NeighboringInputs],
        claimed: Mapping[float, float],
        trials: int | None,
        tail: float,
        looks: Sequence[float] = LOOKS,
    ) -> dict[float, Evidence]:
        """Evidence for each delta, by events chosen on training runs and counted on held-out runs.

        The pair of data sets is chosen on training runs too. ``claimed`` is for each delta the largest loss that is
        claimed with it; ``tail``, the chance that one limit errs at one look; and after these shares of the held-out
        runs, fixed in advance, they stop if all claims are refuted.
        """
        if not claimed:
            return {}
        trials = trials or self.trials
        self.training = training = trials // 2
        pairs = self.different(pairs)
        self._done, self._total = 0, 2 * len(pairs) * (training + trials)
        scored = [self._both(pair, training) for pair in pairs]
        chosen = {}
        for delta in claimed:
            events = [best_event(*scores, delta=delta, tail=tail) for scores in scored]
            place = max(range(len(pairs)), key=lambda place: events[place][0])
            chosen[delta] = place, events[place][1]
        held_out: dict[int, Scores] = {}
        found: dict[float, Evidence] = {}
        for look in looks:
            for place in {place for place, _ in chosen.values()}:
                held_out[place] = self._more(pairs[place], held_out.get(place), math.ceil(look * trials))
            found = {
                delta: self._evidence(pairs[place], event, held_out[place], delta=delta, training=training, tail=tail)
                for delta, (place, event) in chosen.items()
            }
            if all(each.epsilon_lower > claimed[delta] for delta, each in found.items()):
                break
        return found

    def _more(self, pair: NeighboringInputs, before: Scores | None, runs: int) -> Scores:
        """Scores of ``runs`` runs with each data set, including the earlier runs."""
        if before is None:
            return self._both(pair, runs)
        more = self._both(pair, runs - len(before[0]))
        return np.concatenate([before[0], more[0]]), np.concatenate([before[1], more[1]])

    def _both(self, pair: NeighboringInputs, runs: int) -> Scores:
        return self.play(pair, "first", runs), self.play(pair, "second", runs)

    def _evidence(
        self, pair: NeighboringInputs, event: Event, held_out: Scores, *, delta: float, training: int, tail: float
    ) -> Evidence:
        trials, counts = len(held_out[0]), event.count(*held_out)
        lower, upper = clopper_pearson(counts, trials, tail=tail)
        rates = np.array(counts) / trials
        measured, least, most = (
            max(0.0, float(loss(detected, mistaken, delta=delta)))
            for detected, mistaken in ((rates[0], rates[1]), (lower[0], upper[1]), (upper[0], lower[1]))
        )
        return Evidence(
            attack=self.scores[event.column],
            inputs=pair,
            likely=event.likely,
            trials=trials,
            training_trials=training,
            true_positive_rate=float(rates[0]),
            true_positive_limits=(float(lower[0]), float(upper[0])),
            false_positive_rate=float(rates[1]),
            false_positive_limits=(float(lower[1]), float(upper[1])),
            epsilon=measured,
            epsilon_lower=least,
            epsilon_upper=most,
            roc=event.roc(*held_out),
        )

    def tick(self, runs: int) -> None:
        """Report that a number of runs are done, as progress."""
        self._done += runs
        if self._progress is not None:
            self._progress(self._done, self._total)


class LocalGame(Game):
    """Game about a local guarantee, whose visible part is the first person's report.

    The randomizer gets a column of equal answers: its reports are independent, one for each row.
    """

    name = guarantee = "local-dp"
    scores = ("own-report",)
    trials = 100_000

    def different(self, pairs: Sequence[NeighboringInputs]) -> Sequence[NeighboringInputs]:
        """Pairs that differ in the first person's answers, as no other person's report is visible."""
        answers = {(np.asarray(pair.first).tobytes(), np.asarray(pair.second).tobytes()): pair for pair in pairs}
        return tuple(answers.values())

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """Scores of independent runs; see `Game.play`."""
        randomizer = self.pipeline.randomizer
        found = np.empty((runs, 1))
        for start in range(0, runs, _REPORTS_AT_A_TIME):
            batch = found[start : start + _REPORTS_AT_A_TIME, 0]
            answers = np.array([getattr(inputs, which)] * len(batch))
            reports = randomizer.randomize(answers, source=self.source)
            batch[:] = report_scores(reports.columns, randomizer.model, inputs)
            self.tick(len(batch))
        return found


class CentralGame(Game):
    """Game about a central guarantee, in which the view is visible.

    Every run uses the real randomizer and shuffler.
    """

    name = "labels"
    scores = tuple(SCORES)
    trials = 10_000

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> NDArray[np.float64]:
        """Scores of independent runs; see `Game.play`."""
        randomizer, shuffler = self.pipeline.randomizer, self.pipeline.shuffler
        answers, read = inputs.answers(which, self.num_users), self.reading(inputs)
        found = np.empty((runs, len(self.scores)))
        at_a_time = views_at_a_time(self.num_users)
        for start in range(0, runs, at_a_time):
            batch = found[start : start + at_a_time]
            views = [
                shuffler.shuffle(randomizer.randomize(answers, source=self.source), source=self.source) for _ in batch
            ]
            batch[:] = read(views)
            self.tick(len(batch))
        return found

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """Function from views to their scores, shape (views, scores)."""
        model = self.pipeline.randomizer.model
        return lambda views: view_scores(views, model, inputs)


def views_at_a_time(num_users: int) -> int:
    """Number of views, each of ``num_users`` people, that fit in memory together."""
    return max(1, min(_VIEWS_AT_A_TIME, _REPORTS_AT_A_TIME // num_users))


# ---- views by their sufficient statistics ----------------------------------------------------------------------------
# After a uniform shuffle of reports by a randomizer with few outputs, all that there is to see is how many reports have
# which output; and all that tells two data sets apart is how many have which likelihoods under the three answers. These
# numbers are one report's and a multinomial of the others', whatever the number of people.


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Classes of outputs with equal likelihoods, and each class's chance under each of the three answers."""

    first: Floats
    second: Floats
    others: Floats

    def scores(self, counts: NDArray[np.int64]) -> Floats:
        """Histogram score of views from counts of reports by class, shape (views,).

        It equals the score "histogram" in every digit.
        """
        one, other = (counts @ (law / self.others) for law in (self.first, self.second))
        return cast(Floats, np.round(np.log(one) - np.log(other), DIGITS))


def has_statistics(model: LocalModel) -> bool:
    """Whether counts of outputs suffice to score a view.

    They do for k-ary response, and for a small matrix of categories.
    """
    if isinstance(model, KaryRandomizedResponseModel):
        return True
    if not isinstance(model, FrequencyModel) or model.domain_size > LARGEST_CHANNEL:
        return False
    channel = model.sufficient_channel()
    return channel is not None and bool((channel.matrix > 0).all())


def classes_of(model: LocalModel, inputs: NeighboringInputs) -> Classes:
    """Classes of outputs for two data sets, for a randomizer that `has_statistics`."""
    answers = (inputs.first, inputs.second, inputs.others)
    if isinstance(model, KaryRandomizedResponseModel):
        columns = {"value": np.arange(model.domain_size)}
        logs = [cast(Floats, model.log_likelihood(columns, answer)) for answer in answers]
        rows = np.exp(np.array(logs))
    else:
        channel = model.sufficient_channel()
        rows = np.zeros((3, 1)) if channel is None else np.asarray(channel.matrix, dtype=np.float64)[list(answers)]
    rows = rows / rows.sum(axis=1, keepdims=True)
    kinds, belongs = np.unique(np.round(rows, 2 * DIGITS), axis=1, return_inverse=True)
    laws = [np.bincount(belongs.ravel(), weights=row, minlength=kinds.shape[1]) for row in rows]
    first, second, others = (law / law.sum() for law in laws)
    return Classes(first=first, second=second, others=others)


class StatisticsGame(Game):
    """Game about the histogram of a uniform shuffle, which is drawn from the randomizer's model alone.

    The histogram is a sufficient statistic.

    It puts the *claim* to the test, in any batch; whether the code does what the model says, `LocalGame` and
    `CentralGame` ask. Multinomials are numpy's, with the words of the source: exact up to the rounding of floats.
    """

    name = "statistics"
    scores = ("histogram",)
    trials = 100_000

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> Floats:
        """Scores of independent runs; see `Game.play`."""
        classes = classes_of(self.pipeline.randomizer.model, inputs)
        generator = np.random.Generator(cast(Any, self.source.bit_generator))
        found = np.empty((runs, 1))
        for start in range(0, runs, _RUNS_AT_A_TIME):
            batch = found[start : start + _RUNS_AT_A_TIME, 0]
            counts = generator.multinomial(self.num_users - 1, classes.others, size=len(batch))
            counts += generator.multinomial(1, getattr(classes, which), size=len(batch))
            batch[:] = classes.scores(counts)
            self.tick(len(batch))
        return found
