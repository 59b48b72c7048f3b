import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.table import Table, frozen

MIXED = Table(
    {
        "place": ["Ulm", "Bonn", "Graz"],
        "size": np.array([1, 2, 3], dtype=np.uint8),
        "large": np.array([2**63, 1, 2**64 - 1], dtype=np.uint64),
        "half": np.array([0.5, 1.5, 2.5], dtype=np.float32),
        "open": [True, False, True],
        "position": np.arange(6.0).reshape(3, 2),
    }
)
EMPTY = MIXED.take([])


def test_a_table_has_rows_and_named_columns():
    assert len(MIXED) == 3
    assert list(MIXED) == ["place", "size", "large", "half", "open", "position"]
    assert MIXED["place"].tolist() == ["Ulm", "Bonn", "Graz"]
    assert repr(Table({"a": [1, 2], "b": [3, 4]})) == "Table(a, b; 2 rows)"


def test_a_table_cannot_be_changed():
    with pytest.raises(AttributeError, match="Table is immutable"):
        MIXED.columns = {}
    with pytest.raises(TypeError):
        MIXED.columns["size"] = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        MIXED["size"][0] = 7


@pytest.mark.parametrize(
    "column",
    [
        lambda given: given,
        lambda given: given[:],
        lambda given: frozen(given[:]),
        memoryview,
    ],
)
def test_the_array_that_was_given_stays_writeable_and_writing_into_it_changes_no_table(column):
    given = np.array([1, 2])
    table = Table({"a": column(given)})
    given[0] = 5
    assert given.tolist() == [5, 2]
    assert table["a"].tolist() == [1, 2]


def test_the_columns_of_a_table_cannot_be_made_writeable_again():
    for table in (MIXED, MIXED.take([0, 2]), MIXED.take(slice(1)), Table.concat([MIXED, MIXED])):
        for name in table:
            assert not table[name].flags.writeable
            assert table[name].base is None or not table[name].base.flags.writeable


def test_what_nobody_can_write_into_is_not_copied():
    given = frozen(np.arange(3))
    assert np.shares_memory(Table({"a": given})["a"], given)
    assert np.shares_memory(Table({"a": given}).take(slice(2))["a"], given)


def test_masked_rows_are_refused():
    for masked in (np.ma.array([1, 2, 3], mask=[0, 1, 0]), np.ma.array(np.ones((3, 2)), mask=[[0, 0], [0, 1], [0, 0]])):
        with pytest.raises(InvalidParameterError, match=r"columns must be complete; 1 masked, first columns\[1\]"):
            Table({"a": masked})
    assert Table({"a": np.ma.array([1, 2])})["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "one or more, of one length"),
        ({"a": [1, 2], "b": [1]}, "one or more, of one length; got lengths {'a': 2, 'b': 1}"),
        ({"a": 7}, "got 0 dimensions"),
        ({"a": "secret"}, "got 0 dimensions"),
        ({"a": np.zeros((2, 2, 2))}, "got 3 dimensions"),
    ],
)
def test_what_has_no_rows_of_one_length_is_refused(columns, message):
    with pytest.raises(InvalidParameterError, match=message) as caught:
        Table(columns)
    assert "secret" not in str(caught.value)


def test_rows_are_taken_by_places_masks_and_slices_in_that_order():
    assert MIXED.take([2, 0, 0])["place"].tolist() == ["Graz", "Ulm", "Ulm"]
    assert MIXED.take(np.array([False, True, False]))["place"].tolist() == ["Bonn"]
    assert MIXED.take(slice(1, None))["position"].tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert MIXED.take([2])["position"].shape == (1, 2)


def test_no_rows_keep_their_columns_types_and_widths():
    assert len(EMPTY) == 0
    assert list(EMPTY) == list(MIXED)
    assert EMPTY["size"].dtype == np.uint8
    assert EMPTY["position"].shape == (0, 2)


def test_tables_are_equal_if_columns_and_rows_are():
    assert Table({"a": [1, 2]}) == Table({"a": [1, 2]})
    assert Table({"a": [1, 2]}) != Table({"a": [2, 1]})
    assert Table({"a": [1, 2]}) != Table({"b": [1, 2]})
    assert Table({"a": [1, 2], "b": [3, 4]}) != Table({"b": [3, 4], "a": [1, 2]})
    assert Table({"a": [1, 2]}) != "a table"
    with pytest.raises(TypeError):
        hash(MIXED)


def test_concatenated_tables_hold_all_rows_one_after_the_other():
    assert Table.concat([MIXED.take([0]), EMPTY, MIXED.take([1, 2])]) == MIXED


@pytest.mark.parametrize("parts", [[], [Table({"a": [1]}), Table({"b": [1]})]])
def test_tables_with_other_columns_or_none_at_all_are_not_concatenated(parts):
    with pytest.raises(InvalidParameterError, match="parts must"):
        Table.concat(parts)


@pytest.mark.parametrize("table", [MIXED, EMPTY], ids=["rows", "no rows"])
def test_a_table_survives_json_with_types_and_widths(table):
    read = Table.from_dict(json.loads(json.dumps(table.to_dict(), allow_nan=False)))
    assert read == table
    assert read.to_dict() == table.to_dict()
    assert read["large"].tolist() == table["large"].tolist()
    assert read["position"].shape == table["position"].shape


@pytest.mark.parametrize("table", [MIXED, EMPTY], ids=["rows", "no rows"])
def test_a_table_survives_arrow_with_types_and_widths(table):
    read = Table.from_arrow(table.to_arrow())
    assert read == table
    assert {name: column.dtype.kind for name, column in read.columns.items()} == {
        name: column.dtype.kind for name, column in table.columns.items()
    }
    assert read["position"].shape == table["position"].shape


@pytest.mark.parametrize("table", [Table({"a": ["b", "half \ud83d"]}), Table({"\ud800": [1]})])
def test_lone_surrogates_which_no_file_holds_are_refused_on_the_way_to_one(table):
    with pytest.raises(InvalidParameterError, match="columns must have names and texts without lone surrogates"):
        table.to_arrow()


def test_chunks_and_slices_of_arrow_are_read_in_order():
    arrow = pa.concat_tables([MIXED.to_arrow().slice(1), MIXED.to_arrow().slice(0, 1)])
    assert Table.from_arrow(arrow) == MIXED.take([1, 2, 0])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"place": ["Ulm", "Bonn"], "size": [3, 4]}),
        pd.DataFrame({"place": ["x", "Ulm", "Bonn"], "size": [0, 3, 4]}).iloc[1:],
        pd.DataFrame({"place": ["Ulm", "x", "Bonn"], "size": [3, 0, 4]}).query("size > 0"),
        pl.DataFrame({"place": ["Ulm", "Bonn"], "size": [3, 4]}),
    ],
    ids=["pandas", "pandas slice", "pandas filtered", "polars"],
)
def test_frames_of_pandas_and_polars_are_read_through_arrow_without_their_index(frame):
    table = Table.from_arrow(frame)
    assert table == Table({"place": ["Ulm", "Bonn"], "size": [3, 4]})
    assert Table.from_dict(json.loads(json.dumps(table.to_dict()))) == table


@pytest.mark.parametrize(
    "column",
    [
        {"dtype": "uint8", "width": None, "values": [0.5]},
        {"dtype": "uint8", "width": None, "values": [300]},
        {"dtype": "uint8", "width": None, "values": ["7"]},
        {"dtype": "int64", "width": 2, "values": [[1, 2], [3]]},
        {"dtype": "int64", "width": 3, "values": [[1, 2], [3, 4]]},
        {"dtype": "unheard-of", "width": None, "values": [1]},
        {"dtype": "int64", "values": [1]},
        {"dtype": "int64", "width": None, "values": [1], "more": 2},
        [1, 2],
    ],
)
def test_a_column_that_is_not_what_its_description_says_is_refused_without_showing_it(column):
    with pytest.raises(InvalidParameterError, match=r"^columns must be given as to_dict writes them") as caught:
        Table.from_dict({"columns": {"a": column}})
    assert "300" not in str(caught.value)


@pytest.mark.parametrize("data", [{}, {"columns": [1]}, {"columns": None}])
def test_what_is_not_a_table_at_all_is_refused(data):
    with pytest.raises(InvalidParameterError, match=r"^columns must be given as to_dict writes them"):
        Table.from_dict(data)


def test_a_dictionary_column_keeps_its_nulls():
    table = Table.from_arrow(pa.table({"place": pa.array(["Ulm", None, "Bonn"]).dictionary_encode()}))
    assert table["place"].tolist() == ["Ulm", None, "Bonn"]
