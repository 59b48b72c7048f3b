"""Categories with names: what is taken for which number, and what is refused without being shown."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shuffledp import (
    FrequencyAnalyzer,
    Graph,
    Groups,
    KaryRandomizedResponse,
    MallowsShuffler,
    OptimizedLocalHashing,
    Pipeline,
    RandomWalkShuffler,
    UniformShuffler,
)
from shuffledp.attacks import Verdict, audit
from shuffledp.attacks.guessing_game import guess_answers
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.d_sigma.attacks.reidentification_adversaries import KnownAnswers
from shuffledp.protocols.d_sigma.attacks.reidentification_game import LearnedSlots, name_slots
from shuffledp.randomizers.inputs import as_numbers_of
from shuffledp.randomizers.randomizer_kinds import mechanisms, parameters_of_kind
from shuffledp.testing import SeededSource

ANSWERS = ["Yes", "No", "No", "Maybe"]
NAMES = ("No", "Yes", "Maybe")
NUMBERS = [1, 0, 0, 2]
CATEGORICAL = [each for each in mechanisms().values() if each.answers == "category"]
COLUMNS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "numpy objects": lambda values: np.array(values, dtype=object),
    "numpy strings": lambda values: np.array(values, dtype=np.dtypes.StringDType()),
    "pandas": pd.Series,
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "pandas categories": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "polars categories": lambda values: pl.Series(values, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "arrow chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "arrow chunks of dictionaries": lambda values: pa.chunked_array([values[:1], values[1:]]).dictionary_encode(),
}


@pytest.mark.parametrize("mechanism", CATEGORICAL, ids=lambda each: each.__name__)
def test_names_give_the_reports_of_their_numbers(mechanism):
    named, numbered = mechanism(epsilon0=1.0, categories=NAMES), mechanism(epsilon0=1.0, domain_size=3)
    assert named.model == numbered.model
    assert named.categories == NAMES
    reports = named.randomize(ANSWERS * 50, source=SeededSource(1))
    assert reports == numbered.randomize(NUMBERS * 50, source=SeededSource(1))
    assert len(named.randomize([])) == 0


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_any_column_of_names_is_taken(column):
    assert as_numbers_of(column(ANSWERS), NAMES).tolist() == NUMBERS


def test_whole_numbers_and_truth_values_are_categories_too_and_are_told_apart():
    for whole in ([5, 1, 2], [5.0, 1, 2.0], np.array([5, 1, 2], dtype=np.uint8), pd.Series([5, 1, 2], dtype="Int64")):
        assert as_numbers_of(whole, (1, 2, 5)).tolist() == [2, 0, 1]
    assert as_numbers_of([True, False], (False, True)).tolist() == [1, 0]
    assert as_numbers_of(pd.Series([True, False], dtype="boolean"), (True, False)).tolist() == [0, 1]
    for values, categories in (
        ([True], (1, 2)),
        ([1], (True, False)),
        (["1"], (1, 2)),
        ([1], ("1", "2")),
        ([1.5], (1, 2)),
    ):
        with pytest.raises(InvalidParameterError, match=r"values must be among .*; 1 are not, first values\[0\]"):
            as_numbers_of(values, categories)
        with pytest.raises(InvalidParameterError, match="values must be"):
            as_numbers_of(np.array(values), categories)


def test_an_answer_outside_the_categories_is_not_shown_and_the_categories_are():
    with pytest.raises(InvalidParameterError) as caught:
        as_numbers_of(["No", "SECRET", "yes"], NAMES)
    assert str(caught.value) == (
        "values must be among the categories 'No', 'Yes', 'Maybe', exactly; 2 are not, first values[1]."
    )
    many = tuple(map(str, range(40)))
    with pytest.raises(InvalidParameterError, match=r"'8', '9', \.\.\. \(40 in all\), exactly; 1 are not"):
        as_numbers_of(["SECRET"], many)


MISSING = {
    "None": ["No", None],
    "NaN": ["No", float("nan")],
    "pandas": pd.Series(["No", None]),
    "pandas NA": pd.Series(["No", pd.NA], dtype="string"),
    "pandas categories": pd.Series(["No", None], dtype="category"),
    "polars": pl.Series(["No", None]),
    "arrow": pa.array(["No", None]),
    "arrow dictionary": pa.array(["No", None]).dictionary_encode(),
    "arrow chunks of dictionaries": pa.chunked_array([["No"], [None]]).dictionary_encode(),
}


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING)
def test_missing_answers_are_refused_with_the_way_out(values):
    with pytest.raises(
        InvalidParameterError, match=r"1 missing, first values\[1\].*dropna.*or make a category of them"
    ):
        as_numbers_of(values, NAMES)


def test_nulls_of_an_arrow_dictionary_of_numbers_are_missing_too():
    randomizer = KaryRandomizedResponse(epsilon0=1.0, domain_size=2)
    for holes in (pa.array([0, None, 1]), pa.chunked_array([[0, None, 1]])):  # numpy is given an answer for the second
        with pytest.raises(InvalidParameterError, match="1 missing"):
            randomizer.randomize(holes.dictionary_encode())
    assert len(randomizer.randomize(pa.array([0, 1]).dictionary_encode())) == 2


WRONG = {
    "a text": "SECRET",
    "numbers": np.array([987654321]),
    "bytes": [b"SECRET"],
    "lists": [["SECRET"], "No"],
    "rows": [["SECRET"]],
    "a set": {"SECRET"},
    "nothing": None,
    "a table": pd.DataFrame({"SECRET": ["No"]}),
    "dates": np.array(["2024-01-01"], dtype="datetime64[D]"),
    "objects": [object()],
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG)
def test_what_is_no_column_of_names_is_refused_without_being_shown(values):
    with pytest.raises(InvalidParameterError, match=r"^values must be ") as caught:
        as_numbers_of(values, NAMES)
    assert "SECRET" not in str(caught.value)
    assert "987654321" not in str(caught.value)


def test_names_where_numbers_are_wanted_are_refused_with_the_way_out():
    with pytest.raises(InvalidParameterError, match=r"made with categories=\[\.\.\.\] takes the categories themselves"):
        KaryRandomizedResponse(epsilon0=1.0, domain_size=2).randomize(["No", "Yes"])


WRONG_CATEGORIES = [
    ({}, "domain_size must be given, or else the categories themselves; got neither"),
    ({"domain_size": 2, "categories": ["a", "b"]}, "or else the categories themselves; got both"),
    ({"categories": "ab"}, "categories must be a list, in the order of their numbers; got one of type str"),
    ({"categories": {"a", "b"}}, "got one of type set"),
    ({"categories": {"a": 1, "b": 2}}, "got one of type dict"),
    ({"categories": 2}, "got one of type int"),
    ({"categories": ["a"]}, "categories must be two or more"),
    ({"categories": ["a", "b", "a"]}, "got more than once: 'a'"),
    ({"categories": ["a", 1]}, "all of one type"),
    ({"categories": [0.5, 1.5]}, "all of one type"),
    ({"categories": ["a", None]}, "all of one type"),
    ({"categories": ["a", ""]}, "categories must be text that is not empty"),
    ({"categories": ["a", "b\n"]}, "in one line and without control characters"),
]


@pytest.mark.parametrize(("given", "message"), WRONG_CATEGORIES)
def test_what_are_no_categories_is_refused(given, message):
    with pytest.raises(InvalidParameterError, match=message):
        KaryRandomizedResponse(epsilon0=1.0, **given)


def test_categories_may_come_from_numpy_or_pandas():
    index = pd.Series(ANSWERS, dtype="category").cat.categories
    assert KaryRandomizedResponse(epsilon0=1.0, categories=index).categories == ("Maybe", "No", "Yes")
    assert KaryRandomizedResponse(epsilon0=1.0, categories=np.array([3, 4])).categories == (3, 4)
    assert all(
        type(each) is int for each in KaryRandomizedResponse(epsilon0=1.0, categories=np.array([3, 4])).categories
    )


def test_a_randomizer_shows_its_categories():
    shown = repr(OptimizedLocalHashing(epsilon0=1.0, categories=["No", "Yes"], hash_range=3))
    assert shown == "OptimizedLocalHashing(epsilon0=1.0, categories=['No', 'Yes'], hash_range=3)"
    assert repr(KaryRandomizedResponse(epsilon0=1.0, categories=range(5000))).endswith("9, ... (5000 in all)])")


def test_a_kind_of_the_registry_is_known_by_the_number_of_its_categories():
    assert parameters_of_kind("k-rr") == {"domain_size": True}
    assert parameters_of_kind("olh") == {"domain_size": True, "hash_range": False}


# ---- in a pipeline --------------------------------------------------------------------------------------------------


def named(categories=(2, 1), shuffler=None, epsilon0=25.0):
    """A pipeline whose categories, as numbers, are in another order than themselves."""
    return Pipeline(
        randomizer=KaryRandomizedResponse(epsilon0=epsilon0, categories=categories),
        shuffler=shuffler or UniformShuffler(),
        analyzer=FrequencyAnalyzer(),
    )


def test_estimates_are_named_by_the_categories():
    release = named(NAMES).run(pd.Series(["No"] * 30 + ["Maybe"] * 10), delta=1e-3)
    assert release.estimate.target == NAMES
    assert release.estimate.estimate == pytest.approx([0.75, 0, 0.25], abs=1e-6)
    assert named((True, False)).run([True] * 3 + [False], delta=0.1).estimate.target == ("true", "false")


def test_the_model_of_named_categories_is_that_of_their_number():
    numbered = Pipeline(
        randomizer=KaryRandomizedResponse(epsilon0=25.0, domain_size=3),
        shuffler=UniformShuffler(),
        analyzer=FrequencyAnalyzer(),
    )
    model = named(NAMES).model(9)
    assert model == numbered.model(9) == ProtocolModel.from_dict(model.to_dict())
    assert named(NAMES).analyze(numbered.run([0, 1, 2] * 3, delta=0.1).view, delta=0.1).estimate.target == NAMES


def test_a_simulation_takes_names_and_keeps_them():
    transcript = named().simulate([1, 2, 2])
    assert transcript.values.tolist() == [1, 2, 2]
    assert transcript.reports["value"].tolist() == [1, 0, 0]


def test_attacks_play_with_the_numbers_of_the_categories():
    groups = Groups.from_lists([list(range(4))] * 4)
    in_slots = MallowsShuffler(groups=groups, alpha=1.0, order=list(range(4)), per_block=False)
    for categories in ((2, 1), NAMES):
        pipeline = named(categories, epsilon0=4.0)
        claims = pipeline.in_numbers.run([0, 1] * 3, delta=1e-3).statements[:1]
        assert audit(pipeline, claims, num_users=6, trials=400).findings[0].verdict is not Verdict.NOT_AUDITED
        assert guess_answers(pipeline, 1.0, num_users=3, trials=50).trials == 50
        slots = named(categories, in_slots, epsilon0=4.0)
        known = KnownAnswers(answers=np.array([0, 1, 1, 1]), targets=np.array([0]))
        attack = LearnedSlots(slots, num_runs=5)
        assert name_slots(slots, known=known, trials=5, attack=attack).trials == 5


def test_dummies_of_a_walk_are_numbers_of_the_categories():
    graph = Graph.from_edges(list(itertools.combinations(range(4), 2)))
    randomizer = KaryRandomizedResponse(epsilon0=25.0, categories=[1, 0])
    shuffler = RandomWalkShuffler(
        graph=graph, num_rounds=3, protocol="padded", submissions=4, dummies=randomizer, dummy_value=1
    )
    view = shuffler.shuffle(randomizer.randomize([1] * 4), source=SeededSource(2))
    assert sorted(view.reports["value"].tolist()) == [0] * 4 + [1] * 12
