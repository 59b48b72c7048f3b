"""Any randomizer with finitely many inputs and outputs: its own blanket, and data sets in which all others agree."""

from collections.abc import Iterable
from itertools import combinations, permutations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.by_law import LOOSER, LawTheorem, moderate_epsilon0
from shuffledp.accounting.evaluators.family import LawFamily
from shuffledp.accounting.evaluators.laws import ReportLaw, channel_blanket, channel_homogeneous
from shuffledp.models import FrequencyModel, LocalModel, ProtocolModel
from shuffledp.statements import Hypothesis, Kind

__all__ = ["BlanketChannel", "HomogeneousChannel"]

_MOST_INPUTS, _MOST_OUTPUTS = 32, 4096
_MOST_DATA_SETS = 12
_ALMOST_NEVER = 1e-100  # in place of a probability of 0 in a denominator

Floats = NDArray[np.float64]


class BlanketChannel(LawTheorem):
    """The blanket lemma with the least probability of every output, for each ordered pair of inputs.

    Where reports have two densities on sets without overlap, `BlanketTwoLevel` says the same and is left to say it.
    Needs no finite epsilon0: outputs that some input never gives are counted in full, as revealing the victim.
    """

    id: ClassVar[str] = "blanket-channel"
    citation: ClassVar[str] = "Balle et al. 2019, blanket lemma (arXiv 1903.02837), evaluated for an explicit channel"
    supersedes: ClassVar[tuple[str, ...]] = LOOSER

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """A small channel, which no other theorem covers as well."""
        return (moderate_epsilon0(model, or_infinite=True), _own_law(model.local), _small_channel(model.local, 1e-60))

    def family(self, model: ProtocolModel) -> LawFamily:
        """Each ordered pair of inputs."""
        matrix = _matrix(model)
        pairs = permutations(range(len(matrix)), 2)
        laws = _distinct((channel_blanket(matrix, first, second) for first, second in pairs), digits=17)
        return LawFamily(laws, model.num_users, _limit(model))


class HomogeneousChannel(LawTheorem):
    """The exact delta where all others hold one input, for the dozen choices of three inputs that tell the most.

    Of choices that tell equally much, by symmetry mostly, one is taken. For many users the worst data set is among
    all such choices: the Fisher information of a mixed one is convex in the mixture.
    """

    id: ClassVar[str] = "homogeneous-channel"
    citation: ClassVar[str] = "exact evaluation on data sets where all others hold one input"
    kind: ClassVar[Kind] = Kind.LOWER_BOUND

    def special_hypotheses(self, model: ProtocolModel) -> tuple[Hypothesis, ...]:
        """A small channel, which no other theorem covers as well."""
        return (moderate_epsilon0(model, or_infinite=True), _own_law(model.local), _small_channel(model.local, 1e-12))

    def family(self, model: ProtocolModel) -> LawFamily:
        """The choices with the largest Fisher constants."""
        matrix = _matrix(model)
        one_way = [channel_homogeneous(matrix, *inputs) for inputs in _most_telling(matrix)]
        laws = _distinct([*one_way, *(law.swapped for law in one_way)], digits=12)
        return LawFamily(laws, model.num_users, _limit(model))


def _small_channel(local: LocalModel, least: float) -> Hypothesis:
    # Of a large domain only the size is needed; its channel would take seconds and a hundred megabytes.
    large = isinstance(local, FrequencyModel) and local.domain_size > _MOST_INPUTS
    channel = None if large else local.sufficient_channel()
    shape = (0, 0) if channel is None else channel.matrix.shape
    smallest = 1.0 if channel is None else float(channel.matrix[channel.matrix > 0].min())
    return Hypothesis(
        name="small-channel",
        requirement=f"a channel of 2 to {_MOST_INPUTS} inputs and at most {_MOST_OUTPUTS} outputs, with no positive "
        f"probability below {least:g}",
        value=f"{local.kind!r} reports"
        if channel is None
        else f"{shape[0]} inputs, {shape[1]} outputs, least {smallest:g}",
        holds=2 <= shape[0] <= _MOST_INPUTS and shape[1] <= _MOST_OUTPUTS and smallest >= least,
    )


def _own_law(local: LocalModel) -> Hypothesis:
    shape = local.two_level
    return Hypothesis(
        name="own-law",
        requirement="a law that two levels without overlap do not describe",
        value="other reports" if shape is None else f"two levels with overlap={shape.overlap:.6g}",
        holds=shape is None or shape.overlap > 0,
    )


def _matrix(model: ProtocolModel) -> Floats:
    """Rows sum to 1, to the last place."""
    channel = model.local.sufficient_channel()
    matrix = np.ones((1, 1)) if channel is None else channel.matrix.astype(np.float64)
    normalized: Floats = matrix / matrix.sum(axis=1, keepdims=True)
    return normalized


def _limit(model: ProtocolModel) -> float:
    local = model.local.guarantee
    return local.epsilon if local.delta == 0 else float("inf")


def _distinct(laws: Iterable[ReportLaw], *, digits: int) -> tuple[ReportLaw, ...]:
    """One each of those that agree to so many digits: by symmetry, many pairs of inputs tell the same.

    Of lower bounds any will do. What is left out of an upper bound must be the same float by float (17 digits): between
    rows that are nearly equal, the loss is a difference of digits that come late.
    """
    found: dict[tuple[tuple[float, ...], ...], ReportLaw] = {}
    for law in laws:
        cells = (law.first, law.second, law.mass, np.sort(law.alone_first), np.sort(law.alone_second))
        key = tuple(tuple(float(f"{number:.{digits}g}") for number in part) for part in cells)
        found.setdefault(key, law)
    return tuple(found.values())


def _most_telling(matrix: Floats) -> list[tuple[int, int, int]]:
    """Triples of two inputs of the victim and one of the others, by their Fisher constants, one for each constant."""
    found: dict[str, tuple[float, int, int, int]] = {}
    for others, measure in enumerate(matrix):
        products = (matrix / np.maximum(measure, _ALMOST_NEVER)) @ matrix.T
        squares = products.diagonal()
        fisher = squares[:, np.newaxis] + squares - products - products.T
        for first, second in combinations(range(len(matrix)), 2):
            constant = float(fisher[first, second])
            found.setdefault(f"{constant:.9g}", (constant, first, second, others))
    ordered = sorted(found.values(), reverse=True)[:_MOST_DATA_SETS]
    return [(first, second, others) for _, first, second, others in ordered]
