"""The theorems that the accountant knows: one module per paper, and one line here for each theorem."""

from shuffledp.accounting.theorem import Theorem
from shuffledp.accounting.theorems.binary import BinaryAllEqual, LdpWitness
from shuffledp.accounting.theorems.efmrtt19 import ClosedFormEFMRTT19
from shuffledp.accounting.theorems.fmt21 import ClosedFormFMT21, PairFMT21
from shuffledp.accounting.theorems.fmt23 import ClosedFormFMT23, StrongPair
from shuffledp.accounting.theorems.local import LocalOnly

__all__ = ["THEOREMS"]

THEOREMS: tuple[Theorem, ...] = (
    LocalOnly(),
    ClosedFormEFMRTT19(),
    ClosedFormFMT21(),
    ClosedFormFMT23(),
    PairFMT21(),
    StrongPair(),
    BinaryAllEqual(),
    LdpWitness(),
)
