"""Doors of stratified shuffling: what the kernel's registries learn from this folder."""

from shuffledp.protocols import strata
from shuffledp.protocols.family import Family

FAMILY = Family(
    "strata",
    theorems_over=lambda theorems: (strata.StrataUpper(theorems), strata.StrataLower(theorems)),
    document=lambda: strata.StrataDocument,
)
