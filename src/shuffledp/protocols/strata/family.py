"""Entries of stratified shuffling in the kernel's registries."""

from collections.abc import Sequence

from shuffledp.core.flow import Shuffler
from shuffledp.protocols import strata
from shuffledp.protocols.family import Family, TaskPart


def _in_batches(sizes: Sequence[int]) -> Shuffler:
    return strata.each_batch_by_itself(sizes)


FAMILY = Family(
    "strata",
    task=TaskPart(
        ("by", "weight", "weight_classes"),
        lambda section, keys: strata.inside_strata(section, **keys),
        batches=_in_batches,
    ),
    theorems_over=lambda theorems: (strata.StrataUpper(theorems), strata.StrataLower(theorems)),
    files=lambda: strata.StrataFiles,
    document=lambda: strata.StrataDocument,
)
