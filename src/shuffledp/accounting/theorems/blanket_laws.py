"""Blanket lemma of Balle et al. 2019 for a randomizer's own law: explicit channels, and Laplace noise.

Laplace noise on a range of real numbers or grid points is bounded by the blanket of all inputs and the two ends of the
range, which are the worst inputs: docs/proofs.md, "Laplace noise".
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from itertools import combinations, permutations
from typing import ClassVar

import numpy as np

from shuffledp.accounting.evaluators.report_densities import (
    LARGEST_EPSILON0,
    LawFamily,
    ReportLaw,
    channel_law,
    discrete_laplace_blanket,
    discrete_laplace_homogeneous,
    laplace_blanket,
    laplace_homogeneous,
)
from shuffledp.accounting.numerics import SMALLEST
from shuffledp.accounting.theorem import (
    COMMON_REPORTS,
    Premise,
    Theorem,
    normalized,
    several_users,
    small_channel,
    uniform_shuffle,
    users_within,
)
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Hypothesis, Kind, Status
from shuffledp.core.table import Floats

# Superseded bounds: they use less of the law, or a further inequality, so that they are never below this one.
LOOSER = (
    "efmrtt19-closed",
    "balle19-hoeffding",
    "balle19-bennett",
    "fmt21-closed",
    "fmt23-closed",
    "fmt21-pair",
    "strong-pair",
    "variation-ratio-corrected",
)

_LEAST_EPSILON0, _MOST_EPSILON0 = 1e-6, 30.0
_LEAST_DELTA, _ANY_DELTA = 1e-100, 0.5
_MOST_USERS = 10**15
_GUARD = 1e-9  # relative, of delta: bound on the effect of shares that are known to 12 digits
_MOST_INPUTS, _MOST_OUTPUTS = 32, 4096
_MOST_DATA_SETS = 12
_ALMOST_NEVER = 1e-100  # replaces a probability of 0 in a denominator
_CELLS_PER_NAT = 48
_STATED_BELOW = 1 - 1e-15  # undoes the rounding up of a grid's epsilon0: a smaller one only adds noise
_FEWEST_CELLS, _MOST_CELLS = 32, 512


class LawTheorem(Theorem):
    """Theorem evaluated from one family of report laws: a blanket bound, or the exact delta of a data set.

    Upper and lower bounds are one computation on different laws (`shuffledp.accounting.evaluators.report_densities`).
    """

    status = Status.OWN_PROOF
    is_vectorized = True
    premises = (uniform_shuffle, *COMMON_REPORTS, several_users)
    special_premises: ClassVar[tuple[Premise, ...]]  # about the randomizer's law

    @abstractmethod
    def family(self, model: ProtocolModel) -> LawFamily:
        """Report laws to evaluate for this model, if the hypotheses hold."""

    def hypotheses(self, model: ProtocolModel, *, delta: float) -> tuple[Hypothesis, ...]:
        """Hypotheses: the premises, and a moderate delta."""
        special = (premise(model) for premise in self.special_premises)
        return (*super().hypotheses(model, delta=delta), *_moderate(model, delta), *special)

    def epsilon(self, model: ProtocolModel, *, delta: float) -> float:
        """Epsilon at which the upper bound is at most delta, or the lower bound exceeds delta.

        To about six digits.
        """
        if not self.applies(model, delta=delta):
            return model.local.epsilon0 if self.kind.promises else 0.0
        family = self.family(model)
        return family.epsilon_above(delta * (1 - _GUARD)) if self.kind.promises else family.epsilon_below(delta)

    def delta(self, model: ProtocolModel, *, epsilon: float) -> float:
        """Upper or lower bound on the largest delta over the family of laws, by the theorem's kind."""
        if not self.applies(model, delta=_ANY_DELTA):
            return 1.0 if self.kind.promises else 0.0
        return self._delta(self.family(model), epsilon, tolerance=1e-4)

    def curve(self, model: ProtocolModel, *, epsilons: Floats) -> Floats:
        """Delta at many epsilons, by one pass at each epsilon.

        Mostly within a relative 1e-4 of the truth.
        """
        family = self.family(model)
        return np.array([self._delta(family, float(epsilon), tolerance=math.inf) for epsilon in epsilons])

    def limit_mu(self, model: ProtocolModel) -> float:
        """Parameter mu of this bound's Gaussian limit for many users.

        It is the root of the Fisher constant over sqrt(n).
        """
        return self.family(model).mu

    def _delta(self, family: LawFamily, epsilon: float, *, tolerance: float) -> float:
        if epsilon >= family.limit:
            return 0.0
        if self.kind.promises:  # no later epsilon has a larger delta
            bound = family.upper(min(epsilon, LARGEST_EPSILON0), tolerance=tolerance) * (1 + _GUARD)
            return min(max(bound, SMALLEST), 1.0)
        return family.lower(epsilon, tolerance=tolerance) * (1 - _GUARD) if epsilon <= LARGEST_EPSILON0 else 0.0


def moderate_epsilon0(model: ProtocolModel, *, or_infinite: bool = False) -> Hypothesis:
    """Hypothesis: epsilon0 is neither too small nor too large for floats."""
    epsilon0 = model.local.epsilon0
    within = _LEAST_EPSILON0 <= epsilon0 <= _MOST_EPSILON0
    requirement = f"{_LEAST_EPSILON0:g} <= epsilon0 <= {_MOST_EPSILON0:g}{', or infinite' if or_infinite else ''}"
    value = f"epsilon0={epsilon0:.6g}"
    return Hypothesis("moderate-epsilon0", requirement, value, within or (or_infinite and math.isinf(epsilon0)))


def is_moderate(model: ProtocolModel, *, delta: float) -> bool:
    """Whether report laws are evaluated at this number of people, epsilon0 and delta."""
    return all(each.holds for each in (*_moderate(model, delta), moderate_epsilon0(model)))


def _moderate(model: ProtocolModel, delta: float) -> tuple[Hypothesis, Hypothesis]:
    """Hypotheses: delta is not too small, and users are not too many.

    Beyond them sums are slow and lose digits, and simpler theorems apply.
    """
    users = users_within("moderate-users", model, f"n <= {_MOST_USERS:g}", 0, _MOST_USERS)
    return (moderate_delta(delta, least=_LEAST_DELTA), users)


def moderate_delta(delta: float, *, least: float) -> Hypothesis:
    """Hypothesis: delta is not too small to be evaluated."""
    return Hypothesis("moderate-delta", f"delta >= {least:g}", f"delta={delta:g}", delta >= least)


def _moderate_or_infinite(model: ProtocolModel) -> Hypothesis:
    return moderate_epsilon0(model, or_infinite=True)


def _own_law(model: ProtocolModel) -> Hypothesis:
    """Hypothesis: two density levels without overlap do not describe the report law.

    Other theorems cover laws of two levels without overlap.
    """
    shape = model.local.two_level
    requirement = "a law that two levels without overlap do not describe"
    value = "other reports" if shape is None else f"two levels with overlap={shape.overlap:.6g}"
    return Hypothesis("own-law", requirement, value, shape is None or shape.overlap > 0)


def _channel_from(least: float) -> Premise:
    """Premise: a small channel whose positive probabilities are all at least ``least``."""

    def small(model: ProtocolModel) -> Hypothesis:
        matrix = small_channel(model.local, most_inputs=_MOST_INPUTS)
        shape, smallest, value = (0, 0), 1.0, f"{model.local.kind!r} reports"
        if matrix is not None:
            shape, smallest = matrix.shape, float(matrix[matrix > 0].min())
            value = f"{shape[0]} inputs, {shape[1]} outputs, least {smallest:g}"
        return Hypothesis(
            name="small-channel",
            requirement=f"a channel of 2 to {_MOST_INPUTS} inputs and at most {_MOST_OUTPUTS} outputs, with no "
            f"positive probability below {least:g}",
            value=value,
            holds=2 <= shape[0] <= _MOST_INPUTS and shape[1] <= _MOST_OUTPUTS and smallest >= least,
        )

    return small


def _matrix(model: ProtocolModel) -> Floats:
    """Channel matrix of the randomizer, its rows normalized."""
    matrix = small_channel(model.local, most_inputs=_MOST_INPUTS)
    return np.ones((1, 1)) if matrix is None else normalized(matrix)


class BlanketChannel(LawTheorem):
    """Blanket bound of an explicit channel, for each ordered pair of inputs.

    The blanket has the least probability of every output. Where reports have two densities on sets without overlap,
    `BlanketTwoLevel` says the same and is left to say it. Needs no finite epsilon0: outputs that some input never gives
    are counted in full, as revealing the victim.
    """

    id = "blanket-channel"
    citation = "Balle et al. 2019, blanket lemma (arXiv 1903.02837), evaluated for an explicit channel"
    supersedes = LOOSER
    special_premises = (_moderate_or_infinite, _own_law, _channel_from(1e-60))

    def family(self, model: ProtocolModel) -> LawFamily:
        """Report laws of all ordered pairs of inputs."""
        matrix = _matrix(model)
        laws = _distinct((channel_law(*rows, matrix.min(axis=0)) for rows in permutations(matrix, 2)), digits=17)
        return LawFamily(laws, model.num_users, _limit(model))


class HomogeneousChannel(LawTheorem):
    """Exact delta of a channel where all other people hold one input, for the most telling inputs.

    A dozen triples of two inputs of the victim and one of the others, with the most information. Of choices that tell
    equally much, by symmetry mostly, one is taken. For many users the worst data set is among all such choices: the
    Fisher information of a mixed one is convex in the mixture.
    """

    id = "homogeneous-channel"
    citation = "exact evaluation on data sets where all others hold one input"
    kind = Kind.LOWER_BOUND
    special_premises = (_moderate_or_infinite, _own_law, _channel_from(1e-12))

    def family(self, model: ProtocolModel) -> LawFamily:
        """Report laws of the triples of inputs with the largest Fisher constants."""
        matrix = _matrix(model)
        one_way = [channel_law(*matrix[list(inputs)]) for inputs in _most_telling(matrix)]
        laws = _distinct([*one_way, *(law.swapped for law in one_way)], digits=12)
        return LawFamily(laws, model.num_users, _limit(model))


def _limit(model: ProtocolModel) -> float:
    local = model.local.guarantee
    return local.epsilon if local.delta == 0 else float("inf")


def _distinct(laws: Iterable[ReportLaw], *, digits: int) -> tuple[ReportLaw, ...]:
    """Report laws without duplicates, compared to this number of digits.

    By symmetry many pairs have equal laws. Of lower bounds any will do. What is left out of an upper bound must be the
    same float by float (17 digits): between rows that are nearly equal, the loss is a difference of digits that come
    late.
    """
    found: dict[tuple[tuple[float, ...], ...], ReportLaw] = {}
    for law in laws:
        cells = (law.first, law.second, law.mass, np.sort(law.alone_first), np.sort(law.alone_second))
        key = tuple(tuple(float(f"{number:.{digits}g}") for number in part) for part in cells)
        found.setdefault(key, law)
    return tuple(found.values())


def _most_telling(matrix: Floats) -> list[tuple[int, int, int]]:
    """Most telling triples of inputs: two for the victim, and one for all other people.

    The largest Fisher constant first. One for each Fisher constant.
    """
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


def _laplace_noise(model: ProtocolModel) -> Hypothesis:
    steps = model.local.laplace_steps
    value = f"{model.local.kind!r} reports" if steps is None else f"laplace_steps={steps:g}"
    return Hypothesis("laplace-noise", "inputs of a range plus Laplace noise", value, steps is not None)


class BlanketLaplace(LawTheorem):
    """Blanket bound of Laplace noise, for the two ends of the range.

    The noise is cut into cells upward in convex order. The gap to the lower bound is the lemma's: with the lemma no
    bound does better (up to 1.45 in epsilon was seen).
    """

    id = "blanket-laplace"
    citation = "Balle et al. 2019, blanket lemma (arXiv 1903.02837), evaluated for Laplace noise"
    supersedes = LOOSER
    special_premises = (_laplace_noise, moderate_epsilon0)

    def family(self, model: ProtocolModel) -> LawFamily:
        """Report law in one direction, since exchanging the two inputs changes nothing."""
        law = _laplace_law(model, laplace_blanket, discrete_laplace_blanket)
        return LawFamily((law,), model.num_users, model.local.epsilon0)


class HomogeneousLaplace(LawTheorem):
    """Exact delta under Laplace noise where all other people hold 0 and the victim holds 0 or 1.

    The noise is cut into cells by merging.
    """

    id = "homogeneous-laplace"
    citation = "exact evaluation on the data set where all others hold the least value"
    kind = Kind.LOWER_BOUND
    special_premises = (_laplace_noise, moderate_epsilon0)

    def family(self, model: ProtocolModel) -> LawFamily:
        """Report laws of both directions of the pair of inputs."""
        law = _laplace_law(model, laplace_homogeneous, discrete_laplace_homogeneous, _STATED_BELOW)
        return LawFamily((law, law.swapped), model.num_users, model.local.epsilon0)


def _laplace_law(
    model: ProtocolModel, real: Callable[..., ReportLaw], discrete: Callable[..., ReportLaw], factor: float = 1.0
) -> ReportLaw:
    """Report law of Laplace noise on real numbers or grid points, at epsilon0 times a factor."""
    epsilon0, steps = model.local.epsilon0 * factor, model.local.laplace_steps
    cells = min(max(math.ceil(_CELLS_PER_NAT * epsilon0), _FEWEST_CELLS), _MOST_CELLS)
    if steps is None or math.isinf(steps):
        return real(epsilon0=epsilon0, cells=cells)
    return discrete(epsilon0=epsilon0, steps=int(steps), cells=cells)
