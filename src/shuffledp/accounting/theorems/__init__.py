"""The theorems that the accountant knows: one module per paper, and one line here for each theorem."""

from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.approximate import ApproximateFMT21, ApproximateStrongPair
from shuffledp.accounting.theorems.balle19 import BennettBalle19, HoeffdingBalle19
from shuffledp.accounting.theorems.binary import BinaryAllEqual, LdpWitness
from shuffledp.accounting.theorems.channel import BlanketChannel, HomogeneousChannel
from shuffledp.accounting.theorems.efmrtt19 import ClosedFormEFMRTT19
from shuffledp.accounting.theorems.fmt21 import ClosedFormFMT21, PairFMT21
from shuffledp.accounting.theorems.fmt23 import ClosedFormFMT23, StrongPair
from shuffledp.accounting.theorems.laplace import BlanketLaplace, HomogeneousLaplace
from shuffledp.accounting.theorems.local import LocalOnly
from shuffledp.accounting.theorems.network import NetworkAll, NetworkSingle
from shuffledp.accounting.theorems.network_limits import NetworkFirstHop, NetworkHistogram
from shuffledp.accounting.theorems.network_parts import NetworkParts
from shuffledp.accounting.theorems.oblivious import ObliviousShuffle
from shuffledp.accounting.theorems.personalized import BlanketPersonalized
from shuffledp.accounting.theorems.split_and_mix import SplitAndMixRounds
from shuffledp.accounting.theorems.swap_cost import SwapCost
from shuffledp.accounting.theorems.two_level import BlanketTwoLevel, OthersEqual, ThirdValue
from shuffledp.accounting.theorems.variation_ratio import VariationRatioCorrected

__all__ = ["THEOREMS"]

THEOREMS: tuple[Theorem, ...] = (
    LocalOnly(),
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
    LdpWitness(),
    BlanketTwoLevel(),
    BlanketLaplace(),
    BlanketChannel(),
    SwapCost(),
    SplitAndMixRounds(),
    ObliviousShuffle(),
    NetworkAll(),
    NetworkSingle(),
    NetworkParts(),
    BlanketPersonalized(),
    ThirdValue(),
    OthersEqual(),
    HomogeneousLaplace(),
    HomogeneousChannel(),
    NetworkHistogram(),
    NetworkFirstHop(),
)
