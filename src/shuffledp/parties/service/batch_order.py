"""Order in which reports leave the shuffler: uniformly random, or drawn by the shuffler that the task names.

Shufflers use only the number of reports and public columns; so they can permute the places of reports that
this party cannot read.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from shuffledp.core.errors import LocalProtocolError
from shuffledp.core.flow import Reports, Shuffler
from shuffledp.core.local_models import LocalModel
from shuffledp.core.table import Integers, Table
from shuffledp.files.shuffling import shuffler_for
from shuffledp.parties.service.public_columns import public_table
from shuffledp.parties.service.report_store import Draw
from shuffledp.parties.wire.grammar import Extension
from shuffledp.parties.wire.presentation import Sequence
from shuffledp.randomness.permutations import random_permutation
from shuffledp.randomness.sources import RandomSource
from shuffledp.survey import Column, Task

_PLACE = "place"
_EXTENSIONS = Sequence(2, Extension)


def encoded(extensions: tuple[Extension, ...]) -> bytes:
    """Bytes of a report's extensions, as stored and sent."""
    return _EXTENSIONS.write(extensions)


def decoded(extensions: bytes) -> tuple[Extension, ...]:
    """Extensions that `encoded` wrote."""
    return cast(tuple[Extension, ...], _EXTENSIONS.read(extensions, 0, len(extensions))[0])


def draw_for(task: Task, beside: Path, *, source: RandomSource | None = None) -> Draw:
    """Function that draws the order of a task's batches; the task's paths are relative to ``beside``.

    Guarantees:
        1. A uniform shuffle makes every choice of reports, in every order, equally likely, exactly; an imperfect one,
           whose task promises less, is uniform too.
        2. Any other shuffle is that of the task, over the people who came, all of whom are in the batch; their
           extensions stay at their places.
    """
    columns = [pool.column for pool in task.pools]

    def draw(pool: int, count: int, size: int, extensions: Callable[[], list[bytes]]) -> tuple[Integers, Integers]:
        section = columns[pool].shuffler
        if section.is_kept_by_uniform:
            chosen = random_permutation(count, source=source)[:size]
            return chosen, chosen
        if size != count:
            raise LocalProtocolError(f"a shuffle of kind {section.kind!r} must be of all reports; got {size}.")
        return np.arange(count), _origins(columns[pool], extensions(), beside, source)

    return draw


def _origins(column: Column, extensions: list[bytes], beside: Path, source: RandomSource | None) -> Integers:
    """Place before the shuffle of the report at each place of the batch."""
    public = public_table(column, [decoded(each) for each in extensions])
    shuffler: Shuffler = shuffler_for(column, public, len(extensions), beside)
    places = _Places({_PLACE: np.arange(len(extensions))}, column.randomizer.randomizer().model)
    view = shuffler.shuffle(places, public=public, source=source)
    if view.labels is None or not np.array_equal(view.labels, np.arange(len(extensions))):
        raise LocalProtocolError(f"a shuffle of kind {column.shuffler.kind!r} has no service: it has no places.")
    return view.reports[_PLACE].astype(np.int64)


class _Places(Reports):
    """Reports that contain nothing but their places."""

    __slots__ = ()

    def __init__(self, columns: Mapping[str, Any], model: LocalModel, *, seeded: bool = False) -> None:
        Table.__init__(self, columns)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "seeded", seeded)
