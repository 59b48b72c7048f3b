"""Explicit laws of permutations of a few items, to audit a shuffler by enumeration."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from numbers import Rational, Real

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Floats, Integers
from shuffledp.core.validate import invalid
from shuffledp.laws.mallows_sampling import DISTANCES
from shuffledp.randomness.permutations import compose, invert, is_permutation

Permutation = tuple[int, ...]
Law = Mapping[Permutation, float | Fraction]

MOST_ITEMS = 8
_SUM_ERROR = 1e-9
_NODES = 24
_REACH = {"laplace": 40.0, "gaussian": 10.0}  # in units of the scale: beyond it lies less than 1e-17 of the noise


def d_sigma_loss(law: Law, groups: Iterable[ArrayLike]) -> float:
    """Smallest alpha at which a shuffle of this law is (alpha, groups)-d_sigma private.

    It is the logarithm of `d_sigma_ratio`.

    The arguments are those of `d_sigma_ratio`, and so are the errors.

    Example:
        >>> round(d_sigma_loss({(0, 1): 0.75, (1, 0): 0.25}, [[0, 1]]), 4)
        1.0986
    """
    ratio = d_sigma_ratio(law, groups)
    if isinstance(ratio, Fraction):  # numerator and denominator may be beyond all floats
        return math.log(ratio.numerator) - math.log(ratio.denominator)
    return math.log(ratio)


def d_sigma_ratio(law: Law, groups: Iterable[ArrayLike]) -> float | Fraction:
    """Largest ratio of the probabilities of two neighboring permutations; infinite if only one is possible.

    Data of which the members of one group have exchanged their values give the same release by sigma* and by pi o
    sigma*, where pi moves members only: inside the list sigma*, the *labels* of the members are exchanged. (In other
    readings a private law looks otherwise, and others look private.) Distinct values are the worst case, since equal
    ones only add such probabilities up. A Fraction if all probabilities are rational, else a float.

    Args:
        law: {permutation: probability}; probabilities that are fractions or integers are compared exactly. What is not
            listed has probability 0.
        groups: for each group its members, as owners from 0 on.

    Raises:
        InvalidParameterError: if the law is empty, its keys are not permutations of one length, or its probabilities
            are negative or do not sum to 1; or if a member is not an owner, or `shuffledp.Groups` are of others.

    References:
        Meehan, Roy-Chowdhury, Chaudhuri, Jha, "Privacy Implications of Shuffling", ICLR 2022, Definitions 4.1 to 4.3.

    Example:
        >>> d_sigma_ratio({(0, 1): Fraction(3, 4), (1, 0): Fraction(1, 4)}, [[0, 1]])
        Fraction(3, 1)
    """
    num_items = checked_law(law)
    people = getattr(groups, "num_users", num_items)
    if people != num_items:
        raise InvalidParameterError(f"groups must be of the law's {num_items} owners; got groups of {people}.")
    worst: float | Fraction = Fraction(1)
    for members in [_checked_members(number, group, num_items) for number, group in enumerate(groups)]:
        classes: dict[Permutation, list[float | Fraction]] = defaultdict(list)  # that differ in members' labels only
        for permutation, chance in law.items():
            classes[tuple(-1 if item in members else item for item in permutation)].append(chance)
        for chances in classes.values():
            most, least = max(chances), min(chances)
            if most == 0:
                continue
            if len(chances) < math.factorial(len(members)) or least == 0:
                return math.inf
            exact = isinstance(most, Rational) and isinstance(least, Rational)
            worst = max(worst, Fraction(most) / Fraction(least) if exact else float(most) / float(least))
    return worst


def checked_law(law: Law) -> int:
    """Number of items in a law of permutations, after a check of the law."""
    validate.instance_of(Mapping, law=law)
    sizes = {len(permutation) for permutation in law}
    if len(sizes) != 1 or not all(is_permutation(permutation) for permutation in law):
        raise InvalidParameterError(
            "law must have permutations of 0, ..., n - 1 as its keys, at least one and of one n."
        )
    if not all(isinstance(chance, Real) and chance >= 0 for chance in law.values()):
        raise InvalidParameterError("law must have probabilities of 0 or more as its values.")
    total = sum(law.values())
    exact = isinstance(total, Rational)
    if (exact and total != 1) or not abs(float(total) - 1) <= _SUM_ERROR:
        raise InvalidParameterError("law must have probabilities that sum to 1; got another sum.")
    return sizes.pop()


def _checked_members(number: int, group: ArrayLike, num_items: int) -> frozenset[int]:
    members = np.asarray(group).tolist()
    if not isinstance(members, list) or not all(
        isinstance(member, int) and not isinstance(member, bool) and 0 <= member < num_items for member in members
    ):
        raise InvalidParameterError(f"groups must hold owners from 0 to {num_items - 1}; group {number} does not.")
    return frozenset(members)


def shuffle_around(ranks: Integers, reference_order: ArrayLike) -> Integers:
    """Shuffle sigma* = sigma_0 o w o sigma_0^-1 of owners, from a permutation w of ranks.

    In code ``sigma_star[order[k]] = order[w[k]]``: the slot of the owner at rank k gets the report of the owner at rank
    w[k], for ``released = reports[sigma_star]``. No other way of composing is private for all reference orders.

    Args:
        ranks: w, an int64 array of shape (n,).
        reference_order: sigma_0: the owner at each rank, a permutation of the same length.

    Raises:
        InvalidParameterError: if one is not a permutation, or the lengths differ.

    References:
        Meehan et al. 2022, Algorithm 1, whose products are read from left to right.

    Example:
        >>> shuffle_around(np.array([1, 0, 2]), [2, 0, 1]).tolist()
        [2, 1, 0]
    """
    return compose(compose(reference_order, ranks), invert(reference_order))


def law_around(law: Law, reference_order: ArrayLike) -> dict[Permutation, float | Fraction]:
    """Law of sigma* = sigma_0 o w o sigma_0^-1, from the law of w, a random permutation of ranks.

    The arguments are those of `shuffle_around`, a law of w in place of one w, and so are the errors.

    Example:
        >>> law_around({(1, 0, 2): 1}, [2, 0, 1])
        {(2, 1, 0): 1}
    """
    num_items = checked_law(law)
    order = np.asarray(reference_order)
    if order.size != num_items:
        raise InvalidParameterError(f"reference_order must have {num_items} owners, as law has; got {order.size}.")
    return {tuple(shuffle_around(np.array(each), order).tolist()): chance for each, chance in law.items()}


def mallows_law(
    num_items: int, concentration: float | None = None, *, ratio: Fraction | None = None, distance: str = "kendall"
) -> dict[Permutation, float | Fraction]:
    """Explicit law of `shuffledp.laws.sample_mallows`.

    Args:
        num_items: n, from 1 to 8.
        concentration: 0 or more, infinity included; or None, and
        ratio: exp(-concentration) as a fraction from 0 to 1: then all probabilities are fractions.
        distance: "kendall", "hamming" or "cayley".

    Raises:
        InvalidParameterError: if an argument is out of range, or not exactly one of the two is given.

    Example:
        >>> mallows_law(2, ratio=Fraction(1, 3))
        {(0, 1): Fraction(3, 4), (1, 0): Fraction(1, 4)}
    """
    _checked_size(num_items)
    validate.one_of(DISTANCES, distance=distance)
    if (concentration is None) == (ratio is None):
        raise InvalidParameterError("exactly one of concentration and ratio must be given.")
    if ratio is None:
        validate.nonnegative(concentration=concentration)
    else:
        validate.instance_of(Fraction, ratio=ratio)
        validate.probability(ratio=ratio)
    base: float | Fraction = math.exp(-float(concentration or 0)) if ratio is None else ratio
    measure = _MEASURES[distance]
    weights = {each: base ** measure(each) for each in itertools.permutations(range(num_items))}
    total = sum(weights.values())
    return {each: weight / total for each, weight in weights.items()}


def _inversions(permutation: Permutation) -> int:
    return sum(a > b for a, b in itertools.combinations(permutation, 2))


def _moved(permutation: Permutation) -> int:
    return sum(place != item for place, item in enumerate(permutation))


def _exchanges(permutation: Permutation) -> int:
    seen: set[int] = set()
    cycles = 0
    for start in permutation:
        cycles += start not in seen
        item = start
        while item not in seen:
            seen.add(item)
            item = permutation[item]
    return len(permutation) - cycles


_MEASURES: dict[str, Callable[[Permutation], int]] = {"kendall": _inversions, "hamming": _moved, "cayley": _exchanges}


def noisy_sort_law(
    positions: ArrayLike, *, noise: str = "laplace", scale: float = 1.0
) -> dict[Permutation, float | Fraction]:
    """Explicit law of `shuffledp.laws.sample_noisy_sort`, by integrals over the noise.

    Densities are multiplied and integrated in turn, on panels between all positions, by Gauss and Legendre's rule: the
    probabilities are right to about 1e-13. Of a key w, w[k] is the rank of the position whose key is the k-th smallest.

    Args:
        positions: n numbers, n from 1 to 8.
        noise: "laplace" or "gaussian".
        scale: of the noise, above 0: mean absolute value of Laplace noise, standard deviation of Gaussian noise.

    Raises:
        InvalidParameterError: if an argument is out of range.

    Example:
        >>> law = noisy_sort_law([0.0, 2.0])
        >>> round(law[1, 0], 6)  # (1 + 2 / 2) exp(-2) / 2
        0.135335
    """
    at = np.asarray(positions, dtype=np.float64)
    validate.one_of(tuple(_REACH), noise=noise)
    validate.positive(scale=scale)
    if at.ndim != 1 or not np.isfinite(at).all():
        raise InvalidParameterError(f"positions must be finite numbers in one dimension; got shape {at.shape}.")
    _checked_size(at.size)
    nodes, within, across = _panels(at / scale, _REACH[noise])
    distances = np.abs(nodes[None] - (at / scale)[:, None, None])
    density = np.exp(-distances) / 2 if noise == "laplace" else np.exp(-(distances**2) / 2) / math.sqrt(2 * math.pi)
    law: dict[Permutation, float | Fraction] = {}

    def extend(chosen: Permutation, below: Floats) -> None:
        """Extend the order ``chosen`` by every remaining item in turn; complete orders enter the law.

        ``below`` is the density factor below each node.
        """
        for item in set(range(at.size)).difference(chosen):
            integrand = below * density[item]
            sums = (integrand * across).sum(axis=1)
            if len(chosen) == at.size - 1:
                law[*chosen, item] = float(sums.sum())
            else:
                before = np.concatenate(([0.0], np.cumsum(sums)[:-1]))
                inside = np.einsum("ijk,ik->ij", within, integrand)
                extend((*chosen, item), before[:, None] + inside)

    extend((), np.ones_like(nodes))
    return law


def _panels(at: Floats, reach: float) -> tuple[Floats, ...]:
    """Nodes of panels of length at most 1, with weights for integrals.

    For integrals up to each node, and over each panel.
    """
    corners = np.unique(np.concatenate((at, [at.min() - reach, at.max() + reach])))
    edges = np.unique(np.concatenate([np.linspace(a, b, math.ceil(b - a) + 1) for a, b in itertools.pairwise(corners)]))
    x, weights = np.polynomial.legendre.leggauss(_NODES)
    # The integral from -1 to x of the polynomial through the nodes, by the antiderivatives of Legendre's polynomials.
    values = np.polynomial.legendre.legvander(x, _NODES)
    degrees = np.arange(_NODES)
    antiderivatives = np.empty((_NODES, _NODES))
    antiderivatives[:, 0] = x + 1
    antiderivatives[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * degrees[1:] + 1)
    coefficients = (values[:, :_NODES] * weights[:, None]).T * (degrees[:, None] + 0.5)
    halves = np.diff(edges)[:, None] / 2
    nodes = edges[:-1, None] + halves * (1 + x)
    return nodes, halves[:, :, None] * (antiderivatives @ coefficients), halves * weights


def _checked_size(num_items: int) -> None:
    validate.integer_at_least(1, num_items=num_items)
    if num_items > MOST_ITEMS:
        raise invalid(f"at most {MOST_ITEMS} for a law that is written out", num_items=num_items)


# ---- distance from the uniform law -----------------------------------------------------------------------------------


def imperfection(law: Law) -> float:
    """Smallest gamma at which a law of permutations is gamma-imperfect.

    That is, Pr[pi] <= exp(k gamma) Pr[pi'] for all pi and pi' that are k exchanges of two items apart, of which one at
    a time is compared. 0 for the uniform law; infinity if some permutation is impossible.

    Args:
        law: {permutation: probability} on 0, ..., n - 1 with n up to 8; what is not listed has probability 0.
            Probabilities that are fractions or integers are compared exactly.

    Raises:
        InvalidParameterError: if the law is none, or of more items.

    References:
        Ghazi et al. 2023, "Differentially Private Aggregation via Imperfect Shuffling", Definition of gamma-imperfect.

    Example:
        >>> round(imperfection({(0, 1): 0.75, (1, 0): 0.25}), 4)
        1.0986
    """
    num_items = checked_law(law)
    _checked_size(num_items)
    possible = [each for each, chance in law.items() if chance > 0]
    if len(possible) < math.factorial(num_items):
        return math.inf
    places = list(itertools.combinations(range(num_items), 2))
    return max((_log_ratio(law, each, *pair) for each in possible for pair in places), default=0.0)


def _log_ratio(law: Law, permutation: Permutation, first: int, second: int) -> float:
    """Log-ratio of the probabilities of a permutation before and after exchanging two places."""
    exchanged = list(permutation)
    exchanged[first], exchanged[second] = exchanged[second], exchanged[first]
    here, there = law[permutation], law[tuple(exchanged)]
    if isinstance(here, Rational) and isinstance(there, Rational):
        ratio = Fraction(here) / Fraction(there)  # numerator and denominator may be beyond all floats
        return math.log(ratio.numerator) - math.log(ratio.denominator)
    return math.log(here) - math.log(there)


def composed_law(outer: Law, inner: Law) -> dict[Permutation, float | Fraction]:
    """Law of ``compose(a, b)`` for independent permutations a and b; b is applied first.

    It is no more imperfect than either of them (Ghazi et al. 2023, Lemma 4.7).

    Raises:
        InvalidParameterError: if one is no law, or their lengths differ.

    Example:
        >>> composed_law({(1, 0): 1}, {(0, 1): Fraction(1, 4), (1, 0): Fraction(3, 4)})
        {(1, 0): Fraction(1, 4), (0, 1): Fraction(3, 4)}
    """
    num_items = checked_law(outer)
    if checked_law(inner) != num_items:
        raise invalid(f"of {num_items} items, as outer is", inner_items=checked_law(inner))
    law: dict[Permutation, float | Fraction] = defaultdict(int)
    for (a, chance_a), (b, chance_b) in itertools.product(outer.items(), inner.items()):
        law[tuple(a[item] for item in b)] += chance_a * chance_b
    return dict(law)
