"""Theorems of the accountant, one line each, from modules by subject.

Uniform shuffles: `closed_forms`, `clone_pairs`, `blanket_laws`, `two_levels`, `binary_covers`, `separate_messages`,
`blanket_messages`, `personal_losses`, `swap_bounds`, `swap_profiles`. Other shuffles: `reductions`. Families of
protocols add theirs by their doors.
"""

from collections.abc import Iterator, Sequence

from shuffledp.accounting.theorem import LocalOnly, Theorem
from shuffledp.accounting.theorems.binary_covers import BinaryCover
from shuffledp.accounting.theorems.blanket_laws import (
    BlanketChannel,
    BlanketLaplace,
    HomogeneousChannel,
    HomogeneousLaplace,
)
from shuffledp.accounting.theorems.blanket_messages import BlanketMessages
from shuffledp.accounting.theorems.clone_pairs import (
    ApproximateFMT21,
    ApproximateStrongPair,
    PairFMT21,
    StrongPair,
    VariationRatioCorrected,
)
from shuffledp.accounting.theorems.closed_forms import (
    BennettBalle19,
    ClosedFormEFMRTT19,
    ClosedFormFMT21,
    ClosedFormFMT23,
    HoeffdingBalle19,
)
from shuffledp.accounting.theorems.personal_losses import BlanketPersonalized
from shuffledp.accounting.theorems.reductions import ObliviousShuffle, SwapCost
from shuffledp.accounting.theorems.separate_messages import SeparateMessages
from shuffledp.accounting.theorems.swap_bounds import SwapBound, SwapBoundChannel
from shuffledp.accounting.theorems.two_levels import (
    BinaryAllEqual,
    BinaryWorst,
    BlanketTwoLevel,
    LdpWitness,
    OthersEqual,
    ThirdValue,
)
from shuffledp.protocols.family import LazySequence, families

__all__ = ["SHARP_THEOREMS", "THEOREMS"]

_OF_THE_KERNEL: tuple[Theorem, ...] = (
    ClosedFormEFMRTT19(),
    HoeffdingBalle19(),
    BennettBalle19(),
    ClosedFormFMT21(),
    ClosedFormFMT23(),
    PairFMT21(),
    StrongPair(),
    VariationRatioCorrected(),
    ApproximateFMT21(),
    ApproximateStrongPair(),
    BinaryAllEqual(),
    BinaryWorst(),
    BinaryCover(),
    SeparateMessages(),
    BlanketMessages(),
    LdpWitness(),
    BlanketTwoLevel(),
    BlanketLaplace(),
    BlanketChannel(),
    SwapCost(),
    ObliviousShuffle(),
    BlanketPersonalized(),
    ThirdValue(),
    OthersEqual(),
    HomogeneousLaplace(),
    HomogeneousChannel(),
)

_SHARP: tuple[Theorem, ...] = (SwapBound(), SwapBoundChannel())


def _of_shuffles() -> Iterator[Theorem]:
    """Theorems of the kernel, each followed by the theorems that families place after it."""
    for id_, own in (*((each.id, (each,)) for each in _OF_THE_KERNEL), ("", ())):
        yield from own
        for family in families():
            if id_ in family.theorems:
                yield from family.theorems[id_]()


_OF_SHUFFLES = LazySequence(_of_shuffles)


def _all(sharp: tuple[Theorem, ...] = ()) -> Iterator[Theorem]:
    of_shuffles = (*_OF_SHUFFLES, *sharp)
    yield LocalOnly()
    yield from of_shuffles
    for family in families():
        if family.theorems_over is not None:
            yield from family.theorems_over(of_shuffles)


THEOREMS: Sequence[Theorem] = LazySequence(_all)

# With the two that are worked out only where they are asked for.
SHARP_THEOREMS: Sequence[Theorem] = LazySequence(lambda: _all(_SHARP))
