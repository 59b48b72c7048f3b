"""Entries of stratified shuffling in the kernel's registries."""

from collections.abc import Sequence

from shuffledp.core.flow import Shuffler
from shuffledp.protocols import strata
from shuffledp.protocols.family import Family, FirstTask, TaskPart

_BY_REGION = """\
by = $by  # an estimate for each region too, whose people are shuffled by themselves
# weight = "column"  # survey weights, by which people count
"""


def _in_batches(sizes: Sequence[int]) -> Shuffler:
    return strata.each_batch_by_itself(sizes)


FAMILY = Family(
    "strata",
    task=TaskPart(
        ("by", "weight", "weight_classes"),
        lambda section, keys: strata.inside_strata(section, **keys),
        batches=_in_batches,
        first={"regions": FirstTask("A survey by region", ("region",), _BY_REGION, in_batches=True)},
    ),
    theorems_over=lambda theorems: (strata.StrataUpper(theorems), strata.StrataLower(theorems)),
    files=lambda: strata.StrataFiles,
    document=lambda: strata.StrataDocument,
)
