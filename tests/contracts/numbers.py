"""What randomizers of numbers in a range, and of unit vectors, keep: inherit one of these, and say what it is."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from contracts.randomizer import SECRET, RandomizerContract
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import MeanModel

NEVER_NUMBERS = {
    "far too large": [0, SECRET * 10**40],
    "not a number": [0.25, np.nan],
    "infinite": [0.25, np.inf],
    "minus infinite": [0.25, -np.inf],
    "complex": [0j, 1j],
    "truth values": [True, False],
    "text": ["0", f"{SECRET}"],
    "text among numbers": [0, f"{SECRET}"],
    "bytes": [b"0", str(SECRET).encode()],
    "missing": [0.25, None],
    "missing in Arrow": pa.array([0.25, None]),
    "missing in pandas": pd.Series([0.25, None], dtype="Float64"),
    "missing in polars": pl.Series([0.25, None]),
    "categories": pd.Series(["0", f"{SECRET}"], dtype="category"),
    "dates": np.array(["2024-01-01", "2025-01-01"], dtype="datetime64[D]"),
    "a single value": SECRET,
    "a single text": f"{SECRET}",
    "nothing at all": None,
    "two columns": [[0.0, 0.25], [0.25, SECRET]],
    "rows of different lengths": [[0.25], [0.25, SECRET]],
    "a set": {0, SECRET},
    "objects": [object(), object()],
}
OUTSIDE = {
    "too large": [0.25, float(SECRET)],
    "too small": [0.25, -float(SECRET)],
    "too large an integer": [0, SECRET],
    "an unsigned integer": np.array([0, 2**64 - SECRET], dtype=np.uint64),
}


class WithoutFiniteChannel:
    """Mixed in where reports are not finitely many: the tests of the channel do not apply."""

    test_the_guarantee_is_the_largest_likelihood_ratio_of_its_channel_rounded_up_to_a_float = None
    test_the_channel_in_floats_is_the_exact_one_rounded = None

    def test_there_is_no_finite_channel(self):
        assert self.randomizer.model.channel() is None
        assert self.randomizer.model.channel(exact=True) is None


class MeanRandomizerContract(RandomizerContract):
    """For randomizers whose reports average out to what they were made from."""

    def test_its_model_is_one_of_means(self):
        model = self.randomizer.model
        assert isinstance(model, MeanModel)
        assert model.lower < model.upper
        assert model.noise_curvature >= -1

    def test_contributions_are_floats_of_the_shape_of_the_values(self):
        reports = self.randomize(self.values)
        contributions = self.randomizer.model.contributions(reports.columns)
        assert contributions.dtype == np.float64
        assert contributions.shape == np.array(self.values).shape
        assert np.isfinite(contributions).all()

    def test_the_noise_variance_is_above_zero_even_for_estimates_outside_the_range(self):
        model = self.randomizer.model
        for mean in (model.lower, model.upper, model.lower - 10.0, model.upper + 10.0, 0.3):
            variance = model.noise_variance(np.full(model.dimension, mean))
            assert variance.shape == (model.dimension,)
            assert (variance > 0).all()

    def test_a_randomizer_made_from_its_model_does_the_same(self):
        twin = type(self.randomizer).from_model(self.randomizer.model)
        assert twin.model == self.randomizer.model
        assert repr(twin) == repr(self.randomizer)
        assert self.randomize(self.values) == type(self).randomize_with(twin, self.values)

    @staticmethod
    def randomize_with(randomizer, values, seed=7):
        from shuffledp.testing import SeededSource

        return randomizer.randomize(values, source=SeededSource(seed))


class NumberRandomizerContract(MeanRandomizerContract):
    """For randomizers of numbers in a range that contains 0 and 0.25; ``clipping`` is the same one with clip=True."""

    @pytest.mark.parametrize("kind", NEVER_NUMBERS | OUTSIDE)
    def test_wrong_values_are_refused_without_being_shown(self, kind):
        self.assert_refused((NEVER_NUMBERS | OUTSIDE)[kind])

    @pytest.mark.parametrize("kind", NEVER_NUMBERS)
    def test_what_is_no_finite_number_is_refused_even_where_numbers_are_clipped(self, kind):
        with pytest.raises(InvalidParameterError, match=r"^values must be ") as caught:
            self.clipping.randomize(NEVER_NUMBERS[kind])
        assert str(SECRET) not in f"{caught.value}"

    @pytest.mark.parametrize("kind", OUTSIDE)
    def test_numbers_outside_the_range_are_moved_to_its_ends_if_asked_for(self, kind):
        model, values = self.randomizer.model, np.array(OUTSIDE[kind])
        moved = np.clip(values.astype(np.float64), model.lower, model.upper)
        assert self.randomize_with(self.clipping, values) == self.randomize(moved)

    def test_the_message_names_the_places_outside_and_nothing_else(self):
        model = self.randomizer.model
        with pytest.raises(InvalidParameterError) as caught:
            self.randomize([0.0, model.upper + 1, 0.25, model.lower - 1, 0.0])
        assert str(caught.value).startswith(
            f"values must be numbers from {model.lower!r} to {model.upper!r}; 2 outside, first values[1]."
        )

    def test_numbers_of_every_width_give_the_same_reports(self):
        values = np.resize([0.0, 0.25], 300)
        for dtype in (np.float16, np.float32, np.float64, np.longdouble):
            assert self.randomize(values.astype(dtype)) == self.randomize(values)
        assert self.randomize(np.zeros(300, dtype=np.int8)) == self.randomize(np.zeros(300))


class VectorRandomizerContract(MeanRandomizerContract):
    """For randomizers of unit vectors."""

    def wrong(self) -> dict:
        size = self.randomizer.model.dimension
        unit = [1.0] + [0.0] * (size - 1)
        return {
            "too long": [unit, [float(SECRET)] + [0.0] * (size - 1)],
            "zero": [unit, [0.0] * size],
            "almost of length 1": [unit, [1.0 + 1e-5] + [0.0] * (size - 1)],
            "not a number": [unit, [np.nan] * size],
            "infinite": [unit, [np.inf] + [0.0] * (size - 1)],
            "huge": [unit, [1e200 * SECRET] * size],
            "ragged": [unit, [1.0, 0.0, float(SECRET)][: size - 1]],
            "too many coordinates": [[*unit, 0.0], [float(SECRET), *unit]],
            "numbers": [1.0, float(SECRET)],
            "a single vector": unit,
            "a single value": SECRET,
            "nothing at all": None,
            "text": [["1"] * size, [f"{SECRET}"] * size],
            "truth values": [[True] + [False] * (size - 1)],
            "missing": [unit, None],
            "missing in Arrow": pa.array([unit, None]),
            "missing inside": pa.array([unit, [None, *unit[1:]]]),
            "three dimensions": [[unit, unit]],
        }

    def test_wrong_vectors_are_refused_without_being_shown(self):
        for values in self.wrong().values():
            self.assert_refused(values)

    def test_the_message_names_the_places_and_nothing_else(self):
        size = self.randomizer.model.dimension
        unit = [1.0] + [0.0] * (size - 1)
        with pytest.raises(InvalidParameterError) as caught:
            self.randomize([unit, [2.0] * size, unit, [0.0] * size])
        assert str(caught.value) == (
            f"values must be vectors of {size} finite numbers and of length 1 (within 1e-06); 2 are not, "
            "first values[1]."
        )

    def test_integers_and_short_floats_are_taken(self):
        size = self.randomizer.model.dimension
        whole = np.eye(size, dtype=np.int64)
        assert self.randomize(whole) == self.randomize(whole.astype(np.float64))
        assert len(self.randomize(np.full((2, size), size**-0.5, dtype=np.float32))) == 2

    def test_a_fixed_size_list_column_gives_the_same_reports(self):
        values = np.array(self.values)
        column = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
        assert self.randomize(column) == self.randomize(values)
