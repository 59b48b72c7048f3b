"""Game about histograms: views by their sufficient statistics, drawn from the law of a uniform shuffle.

After a uniform shuffle of reports by a randomizer with few outputs, all that there is to see is how many reports have
which output; and all that tells two data sets apart is how many have which likelihoods under the three answers. These
numbers are one report's and a multinomial of the others', whatever the number of people.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.findings import Mode
from shuffledp.attacks.games import Game, RandomizerAndShuffler
from shuffledp.attacks.likelihood_scores import DIGITS, NeighboringInputs
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.local_models import FrequencyModel, LocalModel
from shuffledp.core.table import Floats
from shuffledp.randomizers import KaryRandomizedResponseModel

LARGEST_CHANNEL = 256  # answers of randomizers whose matrix is written out
_RUNS_AT_A_TIME = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Outputs of a randomizer, put together where all three answers make them equally likely.

    Args:
        first: chances of the classes under the first answer; shape (classes,).
        second: the same under the second answer.
        others: the same under everybody else's.
    """

    first: Floats
    second: Floats
    others: Floats

    def scores(self, counts: NDArray[np.int64]) -> Floats:
        """The log-likelihood ratio of views by their numbers of reports in the classes; shape (views,).

        It is the "histogram" of `shuffledp.attacks.likelihood_scores`, digit for digit.
        """
        one, other = (counts @ (law / self.others) for law in (self.first, self.second))
        return cast(Floats, np.round(np.log(one) - np.log(other), DIGITS))


def has_statistics(model: LocalModel) -> bool:
    """Whether the statistics of a randomizer are known: k-ary randomized response, or a small matrix of categories."""
    if isinstance(model, KaryRandomizedResponseModel):
        return True
    if not isinstance(model, FrequencyModel) or model.domain_size > LARGEST_CHANNEL:
        return False
    channel = model.sufficient_channel()
    return channel is not None and bool((channel.matrix > 0).all())


def classes_of(model: LocalModel, inputs: NeighboringInputs) -> Classes:
    """The classes of a randomizer that `has_statistics`, for two data sets."""
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
    """Game about a sufficient statistic: the histogram of a uniform shuffle, drawn from the randomizer's model alone.

    It puts the *claim* to the test, in any batch; whether the code does what the model says, `LocalGame` and
    `CentralGame` ask. Multinomials are numpy's, with the words of the source: exact up to the rounding of floats.
    """

    scores = ("histogram",)
    trials = 100_000

    @classmethod
    def suits(cls, pipeline: RandomizerAndShuffler, num_users: int, mode: Mode) -> bool:
        """If statistics are asked for.

        Raises:
            UnsupportedModelError: if sufficient statistics are asked for and not known.
        """
        if mode is not Mode.STATISTICS:
            return False
        local, shuffle = pipeline.randomizer.model, pipeline.shuffler.model(num_users)
        if shuffle.is_uniform and has_statistics(local):
            return True
        raise UnsupportedModelError(
            "views can be drawn by their statistics after a uniform shuffle of categories only, by k-ary randomized "
            "response or, of few categories, by another randomizer whose chances of all reports are listed; got "
            f"{local.kind!r} reports in a {shuffle.kind!r} shuffle. Leave out --statistics (mode='statistics'): the "
            "runs are then those of the pipeline itself."
        )

    def play(self, inputs: NeighboringInputs, which: str, runs: int) -> Floats:
        """See `Game.play`."""
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
