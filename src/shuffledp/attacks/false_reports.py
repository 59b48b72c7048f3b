"""Attack on estimates by the accepted false report that moves an estimate most."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.blanket_models import BlanketModel
from shuffledp.core.errors import UnsupportedModelError
from shuffledp.core.flow import Reports
from shuffledp.core.local_models import FrequencyModel, LocalModel
from shuffledp.core.tick_models import TicksModel
from shuffledp.randomness.sources import RandomSource

_SEARCHED = 20_000  # honest reports among which one with the support wanted is looked for
_FURTHEST = 1 << 62


def false_report(
    model: LocalModel, *, upward: bool = True, values: Sequence[int] = (0,), source: RandomSource | None = None
) -> Reports:
    """False report that moves an estimate up or down as far as one report can.

    It is all messages of a person, if people send several.

    Of categories it is the one of many honest reports that supports the most, or fewest, of the ``values``: what is
    honest from one person is false from another. Numbers are those at the end of what the model accepts, vectors point
    along the first axis, and bits are all ones, or none. Messages under a blanket all have the first of the ``values``,
    or all another; those about options are all about that one.

    Args:
        model: of the reports, which are those of one person.
        upward: whether the estimate is to rise.
        values: categories whose estimated shares are to rise together.
        source: randomness; None is the cryptographic source.

    Raises:
        UnsupportedModelError: for reports of another kind; of additive shares every one does whatever it should.
    """
    if isinstance(model, FrequencyModel):
        return _supporting(model, values, source, upward=upward)
    if isinstance(model, BlanketModel):
        same = np.full(model.num_messages, (values[0] + (not upward)) % model.domain_size)
        return Reports({"value": same}, model)
    if isinstance(model, TicksModel) and model.separate is not None:
        about, ticked = np.full(model.num_messages, values[0]), np.full(model.num_messages, int(upward))
        return Reports({"option": about, "ticked": ticked}, model)
    randomizer = cast(Any, model).randomizer()
    dimension = getattr(model, "dimension", 1)
    honest: Reports = randomizer.randomize(np.eye(1, dimension) if dimension > 1 else [cast(Any, model).lower])
    columns = {name: np.array(column) for name, column in honest.columns.items()}
    if list(columns) == ["vector"]:
        columns["vector"] = (1.0 if upward else -1.0) * np.eye(1, dimension)
    elif list(columns) == ["bit"]:
        columns["bit"] = np.full_like(columns["bit"], upward)
    elif list(columns) == ["value"]:
        columns["value"] = _furthest(model, columns, 1 if upward else -1)
    else:
        raise UnsupportedModelError(
            f"no false report is known for {model.kind!r} reports, but that each does any harm."
        )
    return Reports(columns, model)


def _supporting(model: FrequencyModel, values: Sequence[int], source: RandomSource | None, *, upward: bool) -> Reports:
    made_from = np.resize(np.arange(model.domain_size), _SEARCHED)
    reports: Reports = cast(Any, model).randomizer().randomize(made_from, source=source)
    support = np.sum([model.supports(reports.columns, value) for value in values], axis=0)
    best = int(support.argmax() if upward else support.argmin())
    return reports.take(slice(best, best + 1))


def _furthest(model: LocalModel, columns: Mapping[str, NDArray[Any]], sign: int) -> NDArray[np.int64]:
    """Smallest or largest integer that the model accepts, found by bisection; ``sign`` chooses the side."""

    def accepted(value: int) -> bool:
        try:
            model.check({"value": np.array([value])})
        except ValueError:
            return False
        return True

    inside = int(columns["value"][0])
    outside = inside + sign * _FURTHEST // 2
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if accepted(middle) else (inside, middle)
    return np.array([inside])
