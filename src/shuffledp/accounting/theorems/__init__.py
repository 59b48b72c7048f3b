"""Theorems of the accountant, one line for each; modules by subject, with the papers that they are from.

Uniform shuffles: `closed_forms`, `clone_pairs`, `blanket_laws`, `two_levels`, `binary_covers`, `personal_losses`,
`swap_bounds`, `swap_profiles`. Other shuffles: `smallest_stratum`, `reductions`, `meehan22` (groups),
`network_overlap`, `network_single`, `network_in_parts`, `network_colluders`, `network_gate`,
`network_constant_pattern` and `network_limits` (all over `network_walks`), `additive_shares`.
"""

from shuffledp.accounting.theorem import LocalOnly, Theorem
from shuffledp.accounting.theorems.binary_covers import BinaryCover
from shuffledp.accounting.theorems.blanket_laws import (
    BlanketChannel,
    BlanketLaplace,
    HomogeneousChannel,
    HomogeneousLaplace,
)
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
from shuffledp.accounting.theorems.swap_bounds import SwapBound, SwapBoundChannel
from shuffledp.accounting.theorems.two_levels import (
    BinaryAllEqual,
    BinaryWorst,
    BlanketTwoLevel,
    LdpWitness,
    OthersEqual,
    ThirdValue,
)
from shuffledp.protocols.network.theorems.network_colluders import NetworkColluders, NetworkOnion
from shuffledp.protocols.network.theorems.network_constant_pattern import NetworkConstantPattern
from shuffledp.protocols.network.theorems.network_gate import NetworkGate
from shuffledp.protocols.network.theorems.network_in_parts import NetworkParts
from shuffledp.protocols.network.theorems.network_limits import NetworkFirstHop, NetworkHistogram
from shuffledp.protocols.network.theorems.network_overlap import NetworkOverlap
from shuffledp.protocols.network.theorems.network_single import NetworkSingle
from shuffledp.protocols.shares.theorems.additive_shares import SplitAndMixRounds
from shuffledp.protocols.strata.theorems.smallest_stratum import Strata, StrataLower

__all__ = ["SHARP_THEOREMS", "THEOREMS"]

_OF_SHUFFLES: tuple[Theorem, ...] = (
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
    LdpWitness(),
    BlanketTwoLevel(),
    BlanketLaplace(),
    BlanketChannel(),
    SwapCost(),
    SplitAndMixRounds(),
    ObliviousShuffle(),
    NetworkOverlap(),
    NetworkSingle(),
    NetworkParts(),
    NetworkColluders(),
    NetworkOnion(),
    NetworkGate(),
    NetworkConstantPattern(
        (NetworkOverlap(), NetworkSingle(), NetworkParts(), NetworkColluders(), NetworkOnion(), NetworkGate())
    ),
    BlanketPersonalized(),
    ThirdValue(),
    OthersEqual(),
    HomogeneousLaplace(),
    HomogeneousChannel(),
    NetworkHistogram(),
    NetworkFirstHop(),
)

_SHARP: tuple[Theorem, ...] = (SwapBound(), SwapBoundChannel())
_ALL_OF_SHUFFLES: tuple[Theorem, ...] = (*_OF_SHUFFLES, *_SHARP)

THEOREMS: tuple[Theorem, ...] = (LocalOnly(), *_OF_SHUFFLES, Strata(_OF_SHUFFLES), StrataLower(_OF_SHUFFLES))

# With the two that are worked out only where they are asked for.
SHARP_THEOREMS: tuple[Theorem, ...] = (
    LocalOnly(),
    *_ALL_OF_SHUFFLES,
    Strata(_ALL_OF_SHUFFLES),
    StrataLower(_OF_SHUFFLES),
)
