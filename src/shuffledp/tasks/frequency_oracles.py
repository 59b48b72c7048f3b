"""The other randomizers of categories as ``[randomizer]`` sections: same keys, and reports as files hold them best."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shuffledp.flow import Randomizer
from shuffledp.randomizers import (
    HadamardResponse,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    SubsetSelection,
    SymmetricUnaryEncoding,
)
from shuffledp.tasks.randomizers import CategoricalSection

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "HadamardResponseSection",
    "OptimizedLocalHashingSection",
    "OptimizedUnaryEncodingSection",
    "SubsetSelectionSection",
    "SymmetricUnaryEncodingSection",
]


class _PackedBitsSection(CategoricalSection):
    """Reports of packed bits: in files, binary strings of one width, which are fast and no larger than the bits."""

    __slots__ = ()

    def named(self, reports: "pa.Table") -> "pa.Table":
        """The column ``bits`` as binary strings of one width; category v is bit v % 8 of byte v // 8."""
        import pyarrow as pa

        lists = reports.column("bits").combine_chunks()
        memory = pa.py_buffer(np.ascontiguousarray(lists.flatten()))
        binary = pa.FixedSizeBinaryArray.from_buffers(pa.binary(lists.type.list_size), len(lists), [None, memory])
        return reports.set_column(reports.column_names.index("bits"), "bits", binary)

    def numbered(self, reports: "pa.Table") -> "pa.Table":
        """Lists of bytes again; a column that `named` cannot have written stays as it is, and is no report."""
        import pyarrow as pa

        binary = reports.column("bits").combine_chunks()
        if not pa.types.is_fixed_size_binary(binary.type) or binary.null_count:
            return reports
        width = binary.type.byte_width
        memory = np.frombuffer(binary.buffers()[1] or b"", dtype=np.uint8)
        flat = memory[binary.offset * width : (binary.offset + len(binary)) * width]
        lists = pa.FixedSizeListArray.from_arrays(pa.array(flat), width)
        return reports.set_column(reports.column_names.index("bits"), "bits", lists)


class SymmetricUnaryEncodingSection(_PackedBitsSection):
    """Symmetric unary encoding on named categories; the keys are those of `CategoricalSection`."""

    __slots__ = ()
    kind: ClassVar[str] = "sue"

    def randomizer(self) -> Randomizer:
        """Symmetric unary encoding over the numbers of the categories."""
        return SymmetricUnaryEncoding(epsilon0=self.epsilon0, domain_size=self.domain_size)


class OptimizedUnaryEncodingSection(_PackedBitsSection):
    """Optimized unary encoding on named categories; the keys are those of `CategoricalSection`."""

    __slots__ = ()
    kind: ClassVar[str] = "oue"

    def randomizer(self) -> Randomizer:
        """Optimized unary encoding over the numbers of the categories."""
        return OptimizedUnaryEncoding(epsilon0=self.epsilon0, domain_size=self.domain_size)


class SubsetSelectionSection(_PackedBitsSection):
    """Subset selection on named categories; the keys are those of `CategoricalSection`."""

    __slots__ = ()
    kind: ClassVar[str] = "subset"

    def randomizer(self) -> Randomizer:
        """Subset selection over the numbers of the categories."""
        return SubsetSelection(epsilon0=self.epsilon0, domain_size=self.domain_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedLocalHashingSection(CategoricalSection):
    """Optimized local hashing on named categories; the other keys are those of `CategoricalSection`.

    Args:
        hash_range: number of hashed values, 2 or more; left out, the number that is best for epsilon0.
    """

    kind: ClassVar[str] = "olh"
    hash_range: int | None = None

    def randomizer(self) -> Randomizer:
        """Optimized local hashing of the numbers of the categories."""
        return OptimizedLocalHashing(epsilon0=self.epsilon0, domain_size=self.domain_size, hash_range=self.hash_range)


class HadamardResponseSection(CategoricalSection):
    """Hadamard response on named categories; the keys are those of `CategoricalSection`."""

    __slots__ = ()
    kind: ClassVar[str] = "hadamard"

    def randomizer(self) -> Randomizer:
        """Hadamard response over the numbers of the categories."""
        return HadamardResponse(epsilon0=self.epsilon0, domain_size=self.domain_size)
