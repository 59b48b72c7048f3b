"""Pairs of answers and numbers in bins as categories: their numbers and names, tables of every kind, and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shuffledp import (
    Bins,
    CrossTableAnalyzer,
    FrequencyAnalyzer,
    HadamardResponse,
    KaryRandomizedResponse,
    OptimizedLocalHashing,
    Pipeline,
    UniformShuffler,
)
from shuffledp.core.errors import InvalidParameterError
from shuffledp.randomizers import CategoryPairs

YES_NO = [["No", "Yes"], ["never", "often", "daily"]]
ANSWERS = {"smokes": ["No", "Yes", "Yes"], "drinks": ["often", "never", "daily"]}
PAIRS = CategoryPairs.of(YES_NO)


@pytest.mark.parametrize(
    "table",
    [
        ANSWERS,
        pd.DataFrame(ANSWERS),
        pd.DataFrame(ANSWERS, dtype="category"),
        pl.DataFrame(ANSWERS),
        pa.table(ANSWERS),
        pa.RecordBatch.from_pydict(ANSWERS),
        list(zip(*ANSWERS.values(), strict=True)),
        np.array(list(ANSWERS.values())).T,
    ],
    ids=lambda table: f"{type(table).__module__}.{type(table).__name__}",
)
def test_two_columns_of_any_table_are_pairs(table):
    assert PAIRS.numbers(table).tolist() == [1, 3, 5]


def test_pairs_are_named_by_both_answers_and_take_each_number_once():
    assert len(PAIRS) == len(set(PAIRS.names)) == 6
    assert PAIRS.names[1] == "No, often"
    everyone = [(one, other) for one in YES_NO[0] for other in YES_NO[1]]
    assert PAIRS.numbers(everyone).tolist() == list(range(6))
    assert PAIRS.numbers([]).tolist() == []


def test_the_pipeline_takes_a_frame_of_two_columns():
    people = pd.DataFrame({"smokes": ["No", "Yes"] * 500, "drinks": ["never", "daily"] * 500, "age": range(1000)})
    pipeline = Pipeline(
        randomizer=KaryRandomizedResponse(epsilon0=8.0, categories=YES_NO),
        shuffler=UniformShuffler(),
        analyzer=CrossTableAnalyzer(categories=YES_NO, columns=("smokes", "drinks")),
    )
    release = pipeline.run(people[["smokes", "drinks"]], delta=1e-6)
    assert release.estimate.target[0] == "No, never"
    assert release.estimate.estimate[0] == pytest.approx(0.5, abs=0.05)
    plain = Pipeline(randomizer=pipeline.randomizer, shuffler=UniformShuffler(), analyzer=FrequencyAnalyzer())
    assert plain.run(people[["smokes", "drinks"]], delta=1e-6).estimate.target == release.estimate.target
    assert repr(pipeline.randomizer).endswith("categories=[['No', 'Yes'], ['never', 'often', 'daily']])")


@pytest.mark.parametrize("randomizer", [HadamardResponse, OptimizedLocalHashing])
def test_every_randomizer_of_categories_takes_pairs_and_bins(randomizer):
    assert randomizer(epsilon0=1.0, categories=YES_NO).model.domain_size == 6
    bins = Bins((0, 1, 2, 5))
    made = randomizer(epsilon0=1.0, categories=bins)
    assert made.model.domain_size == 3
    assert made.answer_names == ("0 to 1", "1 to 2", "2 to 5")
    assert made.in_numbers.answer_names is None
    assert len(made.randomize([0, 4.9, 5])) == 3


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (pd.DataFrame(ANSWERS)[["smokes"]], "values must be two columns, of the two answers; got 1 columns"),
        (pd.DataFrame({**ANSWERS, "more": 1}), "values must be two columns, of the two answers; got 3 columns"),
        ({"a": ["No"], "b": ["daily", "never"]}, "values must be two columns of one length"),
        (["No", "Yes"], r"values must be rows of two answers, shape \(n, 2\); got shape \(2,\)"),
        ([("No", "daily"), ("No",)], "values must be rows of two answers"),
        (
            {**ANSWERS, "smokes": ["No", "secret", "No"]},
            r"values\['smokes'\] must be among .*1 are not, first values\['smokes'\]\[1\]",
        ),
        ([("No", "daily"), ("No", None)], r"values\[1\] must be complete; 1 missing, first values\[1\]\[1\]"),
    ],
)
def test_what_is_no_pair_is_refused_without_showing_it(values, match):
    with pytest.raises(InvalidParameterError, match=match) as refusal:
        PAIRS.numbers(values)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("lists", [1, 3])
def test_categories_of_another_number_of_answers_than_two_are_refused(lists):
    with pytest.raises(InvalidParameterError, match=f"two of answers that are randomized jointly; got {lists} lists"):
        KaryRandomizedResponse(epsilon0=1.0, categories=[["No", "Yes"]] * lists)


def test_a_number_at_an_edge_belongs_to_the_bin_above_it_and_the_last_edge_to_the_last_bin():
    bins = Bins.equal(lower=0, upper=1, number=10)
    assert bins.numbers(np.array(bins.edges)).tolist() == [*range(10), 9]
    below = np.nextafter(np.array(bins.edges[1:]), 0)
    assert bins.numbers(below).tolist() == list(range(10))
    assert bins.names[2:4] == ("0.2 to 0.3", "0.3 to 0.4")


def test_numbers_beyond_the_edges_are_refused_or_belong_to_the_nearest_bin():
    with pytest.raises(
        InvalidParameterError, match=r"values must be numbers from 0.0 to 100.0; 2 outside, first values\[1\]"
    ):
        Bins((0, 50, 100)).numbers([4, 101, -1])
    assert Bins((0, 50, 100), clip=True).numbers([4, 101, -1]).tolist() == [0, 1, 0]
    with pytest.raises(InvalidParameterError, match="values must be finite numbers; 1 are not"):
        Bins((0, 50, 100), clip=True).numbers([4, np.nan])


def test_names_have_as_many_digits_as_tell_edges_apart():
    assert Bins((0, 1_000_000, 1_000_001)).names == ("0 to 1000000", "1000000 to 1000001")
    assert Bins((-1, -0.0, 1)).names == ("-1 to 0", "0 to 1")


@pytest.mark.parametrize("edges", [(0, 1), (1, 0, 2), (0, 1, float("nan")), (0, 1, 1e101)])
def test_edges_that_bound_no_bins_are_refused(edges):
    with pytest.raises(InvalidParameterError, match="edges must be 3 to 1,001 ascending numbers, each from -1e"):
        Bins(edges)


def test_one_bin_and_an_empty_range_are_refused():
    with pytest.raises(InvalidParameterError, match="number must be"):
        Bins.equal(lower=0, upper=1, number=1)
    with pytest.raises(InvalidParameterError, match="upper must be above lower"):
        Bins.equal(lower=1, upper=1, number=3)
