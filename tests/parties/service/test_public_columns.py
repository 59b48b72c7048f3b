"""Public columns beside a report: one length, nothing that would stop a release, and the same table as from a file."""

import json

import numpy as np
import pytest

from parties.service.given import Parties, task, task_near_an_order
from shuffledp.core.errors import InputDataError, RemoteProtocolError
from shuffledp.parties.service.public_columns import PUBLIC_COLUMNS, extensions_of, public_table, shapes_of
from shuffledp.parties.wire.grammar import Extension
from shuffledp.parties.wire.keys import AnalyzerKey

LABELLED = task_near_an_order().column
PLACED = task_near_an_order(columns=["place", "age"], radius=1.0).column


def extension(values):
    return (Extension(PUBLIC_COLUMNS, json.dumps(values).encode().ljust(256)),)


def test_a_uniform_shuffle_takes_no_public_columns_at_all():
    column = task(public=["place"]).column
    assert extensions_of(column, {"place": "Ulm"}) == ()
    assert public_table(column, [(), ()]) is None
    (shape,) = shapes_of(Parties(task()).collection, AnalyzerKey.generate().config, 0)
    assert shape.extensions == ()


def test_what_a_device_sends_is_the_table_that_the_parties_read():
    people = [{"place": "Ulm", "age": 3}, {"place": "K\u00f6ln", "age": np.int64(40)}]
    table = public_table(LABELLED, [extensions_of(LABELLED, each) for each in people])
    assert {name: table[name].tolist() for name in table} == {"place": ["Ulm", "K\u00f6ln"], "age": [3, 40]}
    placed = public_table(PLACED, [extensions_of(PLACED, {"place": 1, "age": 0.1})])
    assert [(placed[name].dtype, placed[name].tolist()) for name in placed] == [(float, [1.0]), (float, [0.1])]


def test_all_extensions_have_one_length():
    lengths = {len(extensions_of(LABELLED, {"place": "x" * size, "age": 1})[0].data) for size in (1, 30, 200)}
    (shape,) = shapes_of(Parties(task_near_an_order()).collection, AnalyzerKey.generate().config, 0)
    assert {(PUBLIC_COLUMNS, length) for length in lengths} == set(shape.extensions)


@pytest.mark.parametrize(
    "values",
    [
        ["Ulm"],
        ["Ulm", None],
        ["Ulm", True],
        ["Ulm", [1]],
        ["Ulm", "\ud800"],
        ["Ulm", "\u202eevil"],
        ["Ulm", 2**53],
        ["Ulm", float("inf")],
        ["", 1],
        ["  ", 1],
        {"place": "Ulm"},
        "Ulm",
    ],
)
def test_what_no_group_or_file_can_be_made_from_is_refused(values):
    with pytest.raises(RemoteProtocolError, match="an extension must hold"):
        public_table(LABELLED, [extension(values)])
    (shape,) = shapes_of(Parties(task_near_an_order()).collection, AnalyzerKey.generate().config, 0)
    assert not shape.is_sound(extension(values))
    assert shape.is_sound(extension(["Ulm", ""]))


@pytest.mark.parametrize("data", [b"", b"[1,", b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_text_of_values_are_refused(data):
    with pytest.raises(RemoteProtocolError):
        public_table(LABELLED, [(Extension(PUBLIC_COLUMNS, data[:60_000]),)])


def test_coordinates_must_be_numbers():
    with pytest.raises(RemoteProtocolError):
        public_table(PLACED, [extension([1.0, "3"])])


def test_a_device_is_told_what_is_wrong_and_no_value():
    with pytest.raises(InputDataError, match="age is not") as absent:
        extensions_of(LABELLED, {"place": "Secretville"})
    with pytest.raises(InputDataError, match="at most 256 bytes") as long:
        extensions_of(LABELLED, {"place": "Secretville" * 30, "age": 1})
    assert "Secretville" not in f"{absent.value}{long.value}"
