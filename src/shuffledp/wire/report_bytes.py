"""One report as bytes: for every randomizer a layout of fixed length, which follows from its model alone."""

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
    """The columns of a report one after the other, each number with its most significant byte first.

    A report is one message: the messages of a person who sends several are sealed one by one, since whoever could open
    them together would know that they belong together.

    Guarantees:
        1. All reports of a model have one length, so that nothing is learned from the length of what hides them.
        2. What is decoded are reports by ``model.check``; others are told apart one by one.

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
        """The layout of this model's reports: that of the columns that its randomizer makes for nobody.

        Raises:
            UnsupportedModelError: if the model is a description from which no reports can be made.
        """
        dimension = getattr(model, "dimension", 1)
        nobody = model.randomizer().randomize(np.empty((0, dimension) if dimension > 1 else 0, dtype=np.int64))
        return cls(
            model,
            np.dtype([(name, each.dtype.newbyteorder(">"), each.shape[1:]) for name, each in nobody.columns.items()]),
        )

    @property
    def length(self) -> int:
        """Bytes of each report."""
        return self.dtype.itemsize

    def encode(self, reports: Reports) -> list[bytes]:
        """The bytes of each report.

        Raises:
            InvalidParameterError: if they are reports of another model.
        """
        if reports.model != self.model:
            raise InvalidParameterError("reports must be of the model that the layout is for; they are of another.")
        rows = np.empty(len(reports), dtype=self.dtype)
        for name, column in reports.columns.items():
            rows[name] = column
        joined = rows.tobytes()
        return [joined[at : at + self.length] for at in range(0, len(joined), self.length)]

    def decode(self, blobs: Sequence[bytes]) -> tuple[Reports, NDArray[np.intp]]:
        """The reports among these bytes, in their order, and the places of the malformed ones, ascending.

        Bytes are malformed if they are of another length, or `LocalModel.check` refuses what they say.
        """
        fits = np.fromiter((len(blob) == self.length for blob in blobs), dtype=np.bool_, count=len(blobs))
        places = np.flatnonzero(fits)
        rows = np.frombuffer(b"".join([blob for blob, fit in zip(blobs, fits, strict=True) if fit]), dtype=self.dtype)
        columns = {name: rows[name].astype(rows[name].dtype.newbyteorder("=")) for name in self.dtype.names or ()}
        fits[places[self._refused(columns, 0, len(rows))]] = False
        kept = fits[places]
        return Reports({name: column[kept] for name, column in columns.items()}, self.model), np.flatnonzero(~fits)

    def _refused(self, columns: dict[str, NDArray[Any]], start: int, stop: int) -> list[int]:
        """The rows from ``start`` to before ``stop`` that are no reports, found by halving where there are some."""
        try:
            self.model.check({name: column[start:stop] for name, column in columns.items()})
        except InvalidParameterError:
            if stop - start <= 1:
                return [start]
        else:
            return []
        middle = (start + stop) // 2
        return self._refused(columns, start, middle) + self._refused(columns, middle, stop)
