"""Public data beside a report: columns in one length that shufflers keep, and a sum's set id."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shuffledp.core.errors import InputDataError, MalformedMessageError
from shuffledp.core.table import Table
from shuffledp.core.text import is_misleading
from shuffledp.parties.service.intake import Shape
from shuffledp.parties.wire.agreement_messages import SET_ID, SET_ID_BYTES
from shuffledp.parties.wire.grammar import Extension, HpkeConfig
from shuffledp.parties.wire.hpke import sealed_lengths
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.survey import Collection, Column

PUBLIC_COLUMNS = 1  # type of the extension
_BYTES_OF_COLUMN = 128  # of each public column; blanks fill it up, so that all have one length


def shapes_of(collection: Collection, config: HpkeConfig, host: int) -> tuple[Shape, ...]:
    """Form of each message of a person to one shuffler, sealed to this key.

    With several shufflers, the first message also has the set id.
    """
    shapes = [_shape(pool.column, config) for pool in collection.pools_at(host) for _ in range(pool.messages)]
    if collection.further_shufflers:
        shapes[0] = replace(shapes[0], extensions=((SET_ID, SET_ID_BYTES),), is_sound=bool)
    return tuple(shapes)


def _shape(column: Column, config: HpkeConfig) -> Shape:
    layout = ReportLayout.of(column.randomizer.randomizer().model)
    extensions = ((PUBLIC_COLUMNS, _length(column)),) if column.attached else ()
    payload = sealed_lengths(config, layout.length)[1]
    return Shape(payload=payload, extensions=extensions, is_sound=partial(is_sound, column))


def extensions_of(column: Column, public: Mapping[str, Any]) -> tuple[Extension, ...]:
    """Extensions with the public columns of a person's report; empty if the shuffler keeps no columns.

    Raises:
        InputDataError: if a column is absent, or too long; the message tells no value.
    """
    if not column.attached:
        return ()
    absent = [name for name in column.attached if name not in public]
    if absent:
        raise InputDataError(f"public columns must all be there; {', '.join(absent)} is not.")
    text = json.dumps([_plain(public[name]) for name in column.attached], separators=(",", ":"), allow_nan=False)
    data = text.encode().ljust(_length(column))
    extensions = (Extension(PUBLIC_COLUMNS, data),)
    if len(data) > _length(column) or not is_sound(column, extensions):
        raise InputDataError(
            f"public columns must be texts or numbers of together at most {_length(column)} bytes, coordinates finite "
            "numbers, and labels not empty; they are not."
        )
    return extensions


def is_sound(column: Column, extensions: Sequence[Extension]) -> bool:
    """Whether extensions of the right form hold public columns that can make groups."""
    try:
        for each in extensions:
            _row(column, each)
    except MalformedMessageError:
        return False
    return True


def public_table(column: Column, extensions: Sequence[Sequence[Extension]]) -> Table | None:
    """Table of public columns with a row for each place of a batch; None if the shuffler keeps no columns.

    Raises:
        MalformedMessageError: if an extension is absent, or holds no public columns that can make groups.
    """
    if not column.attached:
        return None
    if any([each.type for each in beside] != [PUBLIC_COLUMNS] for beside in extensions):
        raise MalformedMessageError("a report of a batch must have the public columns of its place; one has not.")
    rows = [_row(column, each) for (each,) in extensions]
    columns = zip(*rows, strict=True)
    return Table({name: np.array(values) for name, values in zip(column.attached, columns, strict=True)})


def _row(column: Column, extension: Extension) -> list[Any]:
    try:
        values = json.loads(extension.data)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or len(values) != len(column.attached):
        raise MalformedMessageError("an extension must hold the public columns of a person; it does not.")
    coordinates, labels = column.shuffler.made_from.numbers, column.shuffler.made_from.labels
    row = []
    for name, value in zip(column.attached, values, strict=True):
        fits = _is_number(value) or (name not in coordinates and _is_text(value, may_be_empty=name not in labels))
        if not fits:
            raise MalformedMessageError("an extension must hold the public columns of a person; one of them is none.")
        row.append(float(value) if name in coordinates else value)
    return row


def _is_number(value: Any) -> bool:
    """Whether a value is a number that arrays and files hold exactly."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 1 << 53
    return isinstance(value, float) and math.isfinite(value)


def _is_text(value: Any, *, may_be_empty: bool) -> bool:
    """Whether a value is a text that files hold unchanged."""
    return isinstance(value, str) and not is_misleading(value) and (may_be_empty or bool(value.strip()))


def _length(column: Column) -> int:
    return _BYTES_OF_COLUMN * len(column.attached)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
