"""The theorems that the accountant knows: one module per paper, and one line here for each theorem."""

from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.binary import BinaryAllEqual
from shuffledp.accounting.theorems.channel import BlanketChannel, HomogeneousChannel
from shuffledp.accounting.theorems.efmrtt19 import ClosedFormEFMRTT19
from shuffledp.accounting.theorems.fmt21 import ClosedFormFMT21
from shuffledp.accounting.theorems.fmt23 import ClosedFormFMT23
from shuffledp.accounting.theorems.laplace import BlanketLaplace, HomogeneousLaplace
from shuffledp.accounting.theorems.local import LocalOnly
from shuffledp.accounting.theorems.two_level import BlanketTwoLevel, OthersEqual, ThirdValue

__all__ = ["THEOREMS"]

THEOREMS: tuple[Theorem, ...] = (
    LocalOnly(),
    ClosedFormEFMRTT19(),
    ClosedFormFMT21(),
    ClosedFormFMT23(),
    BlanketTwoLevel(),
    BlanketLaplace(),
    BlanketChannel(),
    BinaryAllEqual(),
    ThirdValue(),
    OthersEqual(),
    HomogeneousLaplace(),
    HomogeneousChannel(),
)
