"""Doors of stratified shuffling: what the kernel's registries learn from this folder."""

from shuffledp.protocols import strata
from shuffledp.protocols.family import Family, TaskPart

FAMILY = Family(
    "strata",
    task=TaskPart(("by", "weight", "weight_classes"), lambda section, keys: strata.inside_strata(section, **keys)),
    theorems_over=lambda theorems: (strata.StrataUpper(theorems), strata.StrataLower(theorems)),
    document=lambda: strata.StrataDocument,
)
