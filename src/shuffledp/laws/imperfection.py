"""How far the law of a shuffle is from uniform: its imperfection, by enumeration, and laws that are composed."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from numbers import Rational

from shuffledp._validate import invalid
from shuffledp.laws.explicit import Law, Permutation, checked_law

__all__ = ["composed_law", "imperfection"]

_MOST_ITEMS = 8


def imperfection(law: Law) -> float:
    """The least gamma for which a law of permutations is gamma-imperfect.

    That is, Pr[pi] <= exp(k gamma) Pr[pi'] for all pi and pi' that are k exchanges of two items apart. It suffices to
    compare those that are one exchange apart: k of them lead from pi to pi'.

    Args:
        law: {permutation: probability} on 0, ..., n - 1 with n up to 8; what is not listed has probability 0.
            Probabilities that are fractions or integers are compared exactly.

    Returns:
        0 for the uniform law; infinity if some permutation is impossible.

    Raises:
        InvalidParameterError: if the law is none, or of more items.

    References:
        Ghazi et al. 2023, "Differentially Private Aggregation via Imperfect Shuffling", Definition of gamma-imperfect.

    Example:
        >>> round(imperfection({(0, 1): 0.75, (1, 0): 0.25}), 4)
        1.0986
    """
    num_items = checked_law(law)
    if num_items > _MOST_ITEMS:
        raise invalid(f"at most {_MOST_ITEMS} for a law that is written out", num_items=num_items)
    possible = [each for each, chance in law.items() if chance > 0]
    if len(possible) < math.factorial(num_items):
        return math.inf
    places = list(itertools.combinations(range(num_items), 2))
    return max((_log_ratio(law, each, *pair) for each in possible for pair in places), default=0.0)


def _log_ratio(law: Law, permutation: Permutation, first: int, second: int) -> float:
    """Of a permutation to that with two places exchanged."""
    exchanged = list(permutation)
    exchanged[first], exchanged[second] = exchanged[second], exchanged[first]
    here, there = law[permutation], law[tuple(exchanged)]
    if isinstance(here, Rational) and isinstance(there, Rational):
        ratio = Fraction(here) / Fraction(there)  # numerator and denominator may be beyond all floats
        return math.log(ratio.numerator) - math.log(ratio.denominator)
    return math.log(here) - math.log(there)


def composed_law(outer: Law, inner: Law) -> dict[Permutation, float | Fraction]:
    """The law of ``compose(a, b)`` for independent permutations a and b, b being applied first.

    It is no more imperfect than either of them, since Cayley's distance does not change when both permutations are
    multiplied by a third one, from whichever side (Ghazi et al. 2023, Lemma 4.7).

    Args:
        outer: the law of a.
        inner: the law of b, of as many items.

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
