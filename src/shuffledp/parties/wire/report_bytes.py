"""Encoding of one report as bytes: the randomizer's model alone fixes length and layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import LocalModel


@dataclass(frozen=True, slots=True)
class ReportLayout:
    """Encoding of a report: its columns in sequence, each number with its most significant byte first.

    A report is one message: several messages of one person are sealed one by one, since a party that opens
    them together would know that they come from one person.

    Guarantees:
        1. All reports of a model have one length, so that the length of a ciphertext tells nothing.
        2. Decoded reports pass ``model.check``; each malformed report is named by its position.

    Args:
        model: the description of the randomizer.
        dtype: the columns, as a structured type of numpy without gaps.

    Example:
        >>> from shuffledp import KaryRandomizedResponse
        >>> randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=1000)
        >>> layout = ReportLayout.of(randomizer.model)
        >>> layout.length, [blob.hex() for blob in layout.encode(Reports({"value": [258, 3]}, randomizer.model))]
        (2, ['0102', '0003'])
    """

    model: LocalModel
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, model: LocalModel) -> Self:
        """Layout of the model's reports, taken from the columns of an empty set of reports.

        Raises:
            UnsupportedModelError: if the model is a description that cannot make reports.
        """
        dimension = getattr(model, "dimension", 1)
        nobody = model.randomizer().randomize(np.empty((0, dimension) if dimension > 1 else 0, dtype=np.int64))
        return cls(
            model,
            np.dtype([(name, each.dtype.newbyteorder(">"), each.shape[1:]) for name, each in nobody.columns.items()]),
        )

    @property
    def length(self) -> int:
        """Length of each report in bytes."""
        return self.dtype.itemsize

    def encode(self, reports: Reports) -> list[bytes]:
        """Bytes of each report.

        Raises:
            InvalidParameterError: if the reports are of another model.
        """
        if reports.model != self.model:
            raise InvalidParameterError("reports must be of the model that the layout is for; they are of another.")
        rows = np.empty(len(reports), dtype=self.dtype)
        for name, column in reports.columns.items():
            rows[name] = column
        joined = rows.tobytes()
        return [joined[at : at + self.length] for at in range(0, len(joined), self.length)]

    def decode(self, blobs: Sequence[bytes]) -> tuple[Reports, NDArray[np.intp]]:
        """Well-formed reports in their order, and the positions of malformed reports, ascending.

        Bytes are malformed if they have another length, or `LocalModel.check` refuses their content.
        """
        fits = np.fromiter((len(blob) == self.length for blob in blobs), dtype=np.bool_, count=len(blobs))
        places = np.flatnonzero(fits)
        rows = np.frombuffer(b"".join([blob for blob, fit in zip(blobs, fits, strict=True) if fit]), dtype=self.dtype)
        columns = {name: rows[name].astype(rows[name].dtype.newbyteorder("=")) for name in self.dtype.names or ()}
        fits[places[self._refused(columns, 0, len(rows))]] = False
        kept = fits[places]
        return Reports({name: column[kept] for name, column in columns.items()}, self.model), np.flatnonzero(~fits)

    def _refused(self, columns: dict[str, NDArray[Any]], start: int, stop: int) -> list[int]:
        """Numbers of the malformed reports from ``start`` to before ``stop``, found by repeated halving."""
        try:
            self.model.check({name: column[start:stop] for name, column in columns.items()})
        except InvalidParameterError:
            if stop - start <= 1:
                return [start]
        else:
            return []
        middle = (start + stop) // 2
        return self._refused(columns, start, middle) + self._refused(columns, middle, stop)
