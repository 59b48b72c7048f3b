"""What every randomizer keeps: inherit `RandomizerContract`, and say what it is and which values it takes."""

import dataclasses
import json
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import nextafter
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Randomizer, Reports
from shuffledp.core.local_models import LocalModel
from shuffledp.randomizers import HadamardResponseModel, OptimizedUnaryEncodingModel
from shuffledp.testing import SeededSource

SECRET = 987654321  # occurs in inputs that must be refused, and must not occur in what is said about them


class RandomizerContract:
    """One abstract suite for all randomizers with finitely many values and reports.

    Subclasses set ``randomizer``, ``values`` (valid, not all equal, two hundred or more, so that two runs agree with
    negligible probability), and pass each kind of wrong values, which contain the digits of `SECRET`, to
    `assert_refused`.
    """

    randomizer: ClassVar[Randomizer]
    values: ClassVar[Sequence[Any]]

    def randomize(self, values: Any, seed: int = 7) -> Reports:
        return self.randomizer.randomize(values, source=SeededSource(seed))

    # ---- its model is public ----

    def test_it_has_the_interface_of_a_randomizer(self):
        assert isinstance(self.randomizer, Randomizer)

    def test_its_model_survives_json(self):
        model = self.randomizer.model
        written = json.loads(json.dumps(model.to_dict(), allow_nan=False))
        assert LocalModel.from_dict(written) == model
        assert type(model).from_dict(written).guarantee == model.guarantee

    def test_its_model_cannot_be_changed(self):
        model = self.randomizer.model
        for parameter in dataclasses.fields(model):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(model, parameter.name, getattr(model, parameter.name))

    def test_the_model_of_another_randomizer_is_refused(self):
        for other in (None, self.randomizer, type(self.randomizer.model), self.another_model):
            with pytest.raises(InvalidParameterError, match="model must be a "):
                type(self.randomizer).from_model(other)

    def test_its_model_finds_it_again(self):
        again = self.randomizer.model.randomizer()
        assert type(again) is type(self.randomizer)
        assert again.model == self.randomizer.model

    @property
    def another_model(self) -> LocalModel:
        """A model that this randomizer is not described by."""
        one = HadamardResponseModel.from_epsilon0(epsilon0=1.0, domain_size=4)
        other = OptimizedUnaryEncodingModel.from_epsilon0(epsilon0=1.0, domain_size=4)
        return other if isinstance(self.randomizer.model, HadamardResponseModel) else one

    # ---- one report per value ----

    def test_a_masked_value_is_refused(self):
        values = np.asarray(self.values)
        mask = np.zeros(values.shape, dtype=bool)
        mask[1] = True
        assert len(self.randomize(np.ma.array(values, mask=False))) == len(self.randomize(self.values))
        with pytest.raises(InvalidParameterError, match=r"values must be complete; 1 masked, first values\[1\]"):
            self.randomize(np.ma.array(values, mask=mask))

    def test_every_value_gets_its_reports_and_they_carry_the_model(self):
        reports = self.randomize(self.values)
        assert len(reports) == len(self.values) * self.randomizer.model.num_messages
        assert reports.model == self.randomizer.model

    def test_reports_say_whether_they_are_seeded(self):
        assert self.randomize(self.values[:3]).seeded is True
        assert self.randomizer.randomize(self.values[:3]).seeded is False

    def test_no_values_give_no_reports(self):
        for nothing in ([], np.array([], dtype=np.int64), pd.Series([], dtype="int64"), pa.array([], pa.int32())):
            assert len(self.randomize(nothing)) == 0

    def test_the_same_seed_gives_the_same_reports_and_another_seed_others(self):
        assert self.randomize(self.values) == self.randomize(self.values)
        assert self.randomize(self.values, seed=8) != self.randomize(self.values)

    def test_without_a_source_no_two_runs_agree(self):
        assert self.randomizer.randomize(self.values) != self.randomizer.randomize(self.values)

    def test_values_are_not_changed(self):
        values = np.array(self.values)
        self.randomize(values)
        assert values.tolist() == list(self.values)
        values.setflags(write=False)
        assert self.randomize(values) == self.randomize(self.values)

    @pytest.mark.parametrize(
        "column",
        [tuple, np.array, pd.Series, pl.Series, pa.array, lambda values: pa.chunked_array([values[:3], values[3:]])],
        ids=["tuple", "numpy", "pandas", "polars", "arrow", "arrow chunks"],
    )
    def test_any_column_of_the_same_values_gives_the_same_reports(self, column):
        assert self.randomize(column(self.values)) == self.randomize(list(self.values))

    def test_a_pandas_index_does_not_matter(self):
        shifted = pd.Series(self.values, index=np.arange(len(self.values))[::-1] + 100)
        assert self.randomize(shifted) == self.randomize(self.values)

    # ---- what it guarantees ----

    def test_the_guarantee_is_the_largest_likelihood_ratio_of_its_channel_rounded_up_to_a_float(self):
        channel, guarantee = self.randomizer.model.channel(exact=True), self.randomizer.model.guarantee
        assert channel.is_exact
        assert guarantee.delta == 0
        columns = channel.matrix.T.tolist()
        assert all(min(column) > 0 for column in columns)
        largest = max(max(column) / min(column) for column in columns)
        with localcontext() as context:
            context.prec = 60
            ratio = Decimal(largest.numerator) / Decimal(largest.denominator)
            assert ratio <= Decimal(guarantee.epsilon).exp()
            assert ratio > Decimal(nextafter(guarantee.epsilon, 0.0)).exp()

    def test_the_channel_in_floats_is_the_exact_one_rounded(self):
        exact, rounded = self.randomizer.model.channel(exact=True), self.randomizer.model.channel()
        assert (exact.inputs, exact.outputs) == (rounded.inputs, rounded.outputs)
        np.testing.assert_allclose(rounded.matrix, exact.matrix.astype(np.float64), rtol=1e-15)
        assert all(sum(row) == Fraction(1) for row in exact.matrix.tolist())

    # ---- what it refuses ----

    def assert_refused(self, values: Any) -> None:
        with pytest.raises(InvalidParameterError, match=r"^values must be ") as caught:
            self.randomize(values)
        error = caught.value
        assert str(SECRET) not in f"{error} {error.__cause__}"
        assert error.__context__ is None or error.__suppress_context__

    def test_a_source_that_is_not_one_is_refused(self):
        for source in (7, np.random.default_rng(7), "secure"):
            with pytest.raises(InvalidParameterError, match="source must be a RandomSource or None"):
                self.randomizer.randomize(self.values, source=source)


WRONG_CATEGORIES = {
    "too large": [0, SECRET],
    "far too large": [0, SECRET * 10**40],
    "negative": [0, -SECRET],
    "unsigned": np.array([0, 2**64 - SECRET], dtype=np.uint64),
    "fractions": [0.0, SECRET + 0.5],
    "whole floats": np.array([0.0, 1.0]),
    "not a number": [0.0, np.nan],
    "infinite": [0.0, np.inf],
    "complex": [0j, 1j],
    "truth values": [True, False],
    "text": ["0", f"{SECRET}"],
    "text among numbers": [0, f"{SECRET}"],
    "bytes": [b"0", str(SECRET).encode()],
    "missing": [0, None],
    "missing in Arrow": pa.array([0, None]),
    "missing in pandas": pd.Series([0, None], dtype="Int64"),
    "missing in polars": pl.Series([0, None]),
    "categories": pd.Series(["0", f"{SECRET}"], dtype="category"),
    "dates": np.array(["2024-01-01", "2025-01-01"], dtype="datetime64[D]"),
    "a single value": SECRET,
    "a single text": f"{SECRET}",
    "nothing at all": None,
    "two columns": [[0, 1], [1, SECRET]],
    "rows of different lengths": [[0], [1, SECRET]],
    "a set": {0, SECRET},
    "objects": [object(), object()],
}


class CategoricalRandomizerContract(RandomizerContract):
    """For randomizers of the integers 0..k-1."""

    @pytest.mark.parametrize("kind", WRONG_CATEGORIES)
    def test_wrong_values_are_refused_without_being_shown(self, kind):
        if kind == "truth values" and self.randomizer.model.domain_size == 2:
            assert len(self.randomize(WRONG_CATEGORIES[kind])) == 2  # two answers are what truth values are
            return
        self.assert_refused(WRONG_CATEGORIES[kind])

    def test_the_message_names_the_places_outside_and_nothing_else(self):
        size = self.randomizer.model.domain_size
        values = [0, size, 1, size + 1, 0]
        for column in (values, np.array(values, dtype=np.int8), np.array(values, dtype=np.uint64)):
            with pytest.raises(InvalidParameterError) as caught:
                self.randomize(column)
            assert str(caught.value) == f"values must be integers in range({size}); 2 outside, first values[1]."

    def test_reports_are_in_the_smallest_type_that_holds_the_domain(self):
        (column,) = self.randomize(self.values).columns.values()
        assert column.dtype == np.min_scalar_type(self.randomizer.model.domain_size - 1)

    def test_integers_of_every_width_give_the_same_reports(self):
        for dtype in (np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64):
            assert self.randomize(np.array(self.values, dtype=dtype)) == self.randomize(self.values)
