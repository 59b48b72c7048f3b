"""Sums without rounding: equal to those of fractions, whatever the floats and their order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from shuffledp.analyzers import exact_sums as module
from shuffledp.analyzers.exact_sums import exact_sums
from shuffledp.errors import InvalidParameterError

TABLES = hn.arrays(
    np.float64,
    st.tuples(st.integers(0, 30), st.integers(1, 4)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@given(TABLES)
def test_sums_are_those_of_fractions(table):
    assert exact_sums(table) == tuple(sum(map(Fraction, column), Fraction(0)) for column in table.T.tolist())


@given(TABLES, st.integers(0, 30))
def test_sums_of_parts_add_up_to_the_sum_of_the_whole(table, cut):
    parts = exact_sums(table[:cut]), exact_sums(table[cut:])
    assert tuple(a + b for a, b in zip(*parts, strict=True)) == exact_sums(table)


def test_a_long_column_is_summed_in_batches_without_overflow(monkeypatch):
    values = np.full((module._BATCH + 10, 1), -(2.0**53) + 1)
    assert exact_sums(values) == (Fraction(len(values)) * (1 - 2**53),)
    monkeypatch.setattr(module, "_BATCH", 7)
    few = np.random.default_rng(0).normal(size=(50, 3))
    assert exact_sums(few) == tuple(sum(map(Fraction, column)) for column in few.T.tolist())


def test_where_floats_cancel_nothing_is_lost_and_where_numpy_adds_them_something_is():
    values = np.tile([[1e16], [1.0], [-1e16]], (1000, 1))
    assert exact_sums(values) == (Fraction(1000),)
    assert values.sum() != 1000


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(InvalidParameterError, match="values must be finite numbers"):
        exact_sums(np.array([[1.0], [value]]))
