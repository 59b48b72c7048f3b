"""Attack on split-and-mix: likelihood-ratio scores of the shares in rounds, and their game.

All shares of one person add up to the person's place on the grid plus a share of noise, whose law modulo q is public.
What is not public is which shares are one person's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.attacks.games import CentralGame, Scorer
from shuffledp.attacks.likelihood_scores import NeighboringInputs
from shuffledp.core.flow import Reports, Shuffler, View
from shuffledp.core.local_models import LocalModel, ProtocolModel
from shuffledp.core.table import Floats
from shuffledp.protocols.shares.randomizers.split_and_mix import SplitAndMixModel

LARGEST_MODULUS = 1 << 22  # laws modulo q are written out
_MOST_COMBINED = 1 << 16  # largest modulus for which combinations are counted
_LEAST = 1e-15  # a smaller probability is a rounding error of the transform
_DIGITS = 9

Transform = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class _Laws:
    """Log-probabilities of residues under both data sets, each of shape (coordinates, modulus)."""

    first: Floats
    second: Floats
    others: Floats
    total_first: Floats
    total_second: Floats


def _total(grid: NDArray[np.int64], laws: _Laws) -> float:
    """Exact log-likelihood ratio of the noisy sum, the only thing that the analyst should learn."""
    modulus = laws.first.shape[1]
    sums = grid.sum(axis=(1, 2)) % modulus
    coordinates = np.arange(len(sums))
    return float((laws.total_first[coordinates, sums] - laws.total_second[coordinates, sums]).sum())


def _same_places(grid: NDArray[np.int64], laws: _Laws) -> float:
    """Exact log-likelihood ratio if the shares at one place of all rounds belong to one person."""
    first, second = _of_places(grid, laws)
    return float(np.logaddexp.reduce(first) - np.logaddexp.reduce(second))


def _own_place(grid: NDArray[np.int64], laws: _Laws) -> float:
    """Log-likelihood ratio of the shares at the first place of every round, as without a shuffle.

    They are the first person's shares if nothing is shuffled.
    """
    first, second = _of_places(grid, laws)
    return float(first[0] - second[0])


def _of_places(grid: NDArray[np.int64], laws: _Laws) -> tuple[Floats, Floats]:
    """Log-likelihood ratios of the shares at each place: the first person's, or another person's.

    The first array is for the first data set, the second for the second.
    """
    sums = grid.sum(axis=1) % laws.first.shape[1]
    others = np.take_along_axis(laws.others, sums, axis=1)
    first, second = (np.take_along_axis(law, sums, axis=1) - others for law in (laws.first, laws.second))
    return cast(tuple[Floats, Floats], (first.sum(axis=0), second.sum(axis=0)))


def _combinations(grid: NDArray[np.int64], laws: _Laws) -> float:
    """Score over all choices of one share from every round, each choice judged by its shares' sum.

    Each choice counts by the likelihood that its sum is the first person's. 0 where the modulus is too large.
    """
    coordinates, _, people = grid.shape
    modulus = laws.first.shape[1]
    if modulus > _MOST_COMBINED:
        return 0.0
    found = 0.0
    for coordinate in range(coordinates):
        counts = np.array([np.bincount(each, minlength=modulus) for each in grid[coordinate]]) / people
        ways = np.fft.irfft(np.fft.rfft(counts, axis=1).prod(axis=0), modulus)
        first, second = (max(float(ways @ np.exp(law[coordinate])), _LEAST**2) for law in (laws.first, laws.second))
        found += float(np.log(first) - np.log(second))
    return found


SHARE_SCORES: Mapping[str, Callable[[NDArray[np.int64], _Laws], float]] = {
    "total": _total,
    "same-places": _same_places,
    "own-place": _own_place,
    "combinations": _combinations,
}


class SharesGame(CentralGame):
    """Game about shares: the adversary sees all rounds, each in its shuffled order."""

    name = "shares"
    scores = tuple(SHARE_SCORES)

    @classmethod
    def suits(cls, shuffler: Shuffler, model: ProtocolModel) -> bool:  # noqa: ARG003 (whatever the rounds are)
        """Whether reports are shares; see `Game.suits`."""
        return isinstance(model.local, SplitAndMixModel)

    @classmethod
    def worst_inputs(cls, model: LocalModel) -> Sequence[NeighboringInputs]:
        """Worst data sets of shares; see `Game.worst_inputs` and `_worst_of_shares`."""
        return _worst_of_shares(cast(SplitAndMixModel, model))

    @classmethod
    def why_unreadable(cls, model: LocalModel, reports: Sequence[tuple[NeighboringInputs, Reports]]) -> str:  # noqa: ARG003
        """Reason why the scores cannot read the shares; see `Game.why_unreadable`."""
        modulus = cast(SplitAndMixModel, model).modulus
        if modulus <= LARGEST_MODULUS:
            return ""
        return (
            f"Attacks on shares take a modulus of at most {LARGEST_MODULUS:,}; here modulus={modulus:,}. "
            "A smaller precision, or fewer people, makes do with a smaller one."
        )

    def reading(self, inputs: NeighboringInputs) -> Scorer:
        """Function from views to their scores; see `CentralGame.reading`."""
        reader = ShareReader(cast(SplitAndMixModel, self.pipeline.randomizer.model), inputs)
        return lambda views: np.array([reader.scores(view) for view in views])


def _worst_of_shares(model: SplitAndMixModel) -> tuple[NeighboringInputs, ...]:
    """Worst data sets of shares: one answer at either end of the range.

    Others are in the middle, or like the first person's.
    """
    lower, upper = model.lower, model.upper
    middle = lower + (upper - lower) // 2 if model.integer else lower + (upper - lower) / 2
    if model.dimension == 1:
        return tuple(NeighboringInputs(first=lower, second=upper, others=others) for others in (middle, lower))
    low, half, high = ((each,) * model.dimension for each in (lower, middle, upper))
    if model.l1_bounded:
        low, high = ((upper,) + (0.0,) * (model.dimension - 1), (0.0, upper) + (0.0,) * (model.dimension - 2))
        half = (0.0,) * model.dimension
    return tuple(NeighboringInputs(first=low, second=high, others=others) for others in (half, low))


@dataclass(frozen=True, slots=True)
class ShareReader:
    """Scorer of views of shares, modulo at most ``LARGEST_MODULUS``, for two data sets."""

    model: SplitAndMixModel
    inputs: NeighboringInputs
    _known: dict[int, _Laws] = field(default_factory=dict, init=False, repr=False, compare=False)

    def scores(self, view: View) -> list[float]:
        """Scores of ``SHARE_SCORES`` for one view; 0 where rounds differ in their numbers of shares.

        The order within rounds is read as it is seen: by labels, or by rows where labels do not tell it.
        """
        model, rounds = self.model, view.reports["round"]
        people, rest = divmod(len(rounds), model.num_messages)
        counts, each = np.bincount(rounds, minlength=model.num_rounds), model.messages_per_round
        if rest or people == 0 or (counts != people * each).any():
            return [0.0] * len(SHARE_SCORES)
        order = np.argsort(rounds, kind="stable") if view.labels is None else np.lexsort((view.labels, rounds))
        residues = view.reports["residue"][order].astype(np.int64)
        in_rounds = residues.reshape(
            model.dimension, -1, people, each
        )  # a buffer that is not shuffled keeps people apart
        grid = in_rounds.swapaxes(2, 3).reshape(model.dimension, model.num_shares, people)
        if people not in self._known:
            self._known[people] = self._laws(people)
        laws = self._known[people]
        return [round(score(grid, laws), _DIGITS) for score in SHARE_SCORES.values()]

    def _laws(self, people: int) -> _Laws:
        """Laws of residues modulo q of both data sets, by Fourier transforms."""
        model = self.model
        angles = 2 * np.pi * np.arange(model.modulus // 2 + 1) / model.modulus
        rate = float(model.rate)
        # |1 - a e^(i t)|^2 = (1 - a)^2 + 4 a sin(t/2)^2 with a = exp(-rate)
        spread = np.log1p(4 * np.exp(-rate) * (np.sin(angles / 2) / np.expm1(-rate)) ** 2) / model.noise_users
        first, second, others = (
            self._placed(answer, angles) for answer in (self.inputs.first, self.inputs.second, self.inputs.others)
        )
        one, crowd = np.exp(-spread), np.exp(-people * spread) * others ** (people - 1)
        return _Laws(*map(self._logs, (first * one, second * one, others * one, first * crowd, second * crowd)))

    def _placed(self, answer: Any, angles: Floats) -> Transform:
        """Fourier transform of an answer's place on the grid, rounded at random; shape (dimension, angles)."""
        model = self.model
        places = (np.reshape(np.asarray(answer, dtype=np.float64), (-1, 1)) - model.lower) / model.step
        below = np.floor(places + _LEAST * model.precision)
        above = np.maximum(places - below, 0.0)
        return cast(Transform, np.exp(-1j * below * angles) * (1 - above + above * np.exp(-1j * angles)))

    def _logs(self, transform: Transform) -> Floats:
        law = np.fft.irfft(transform, self.model.modulus, axis=1)
        return cast(Floats, np.log(np.maximum(law, _LEAST)))
