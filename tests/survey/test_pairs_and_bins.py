"""Tasks of two columns that are randomized jointly, and of numbers in bins: keys, canonical form and refusals."""

import json

import pytest

from cli.running import task_with
from shuffledp import CrossTableAnalyzer, HistogramAnalyzer
from shuffledp.core.errors import InvalidParameterError
from shuffledp.survey import NumberInBins, PairOfChoices, Task, plan

YES_NO = [["No", "Yes"], ["No", "Yes"]]
NAMES = ["smokes", "drinks"]


def pair(**changes):
    randomizer = {"categories": YES_NO, **changes.pop("randomizer", {})}
    return Task.from_dict(task_with(**{"value": None, "columns": NAMES, "randomizer": randomizer, **changes}))


def binned(**keys):
    table = {"categories": None, "kind": "oue", "lower": 0, "upper": 100, "bins": 20, **keys}
    return Task.from_dict(task_with(value="age", randomizer=table))


def in_blocks(*blocks):
    release = {"delta": 1e-6}
    return Task.from_dict({"name": "x", "value": list(blocks), "release": release})


PAIR_BLOCK = {"columns": NAMES, "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": YES_NO}}
SMOKES = {"column": "smokes", "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}}


def test_two_columns_are_one_answer_of_all_pairs():
    column = pair().column
    assert isinstance(column.randomizer, PairOfChoices)
    assert (column.value, column.inputs) == ("smokes and drinks", ("smokes", "drinks"))
    assert column.targets == ("No, No", "No, Yes", "Yes, No", "Yes, Yes")
    pipeline = column.pipeline()
    assert pipeline.randomizer.model.domain_size == 4
    assert pipeline.randomizer.model.epsilon0 == pytest.approx(2.0, abs=1e-6)
    assert pipeline.analyzer == CrossTableAnalyzer(categories=YES_NO, columns=("smokes", "drinks"))
    assert pair(missing="category").column.targets[-1] == "(missing)"
    assert pair(missing="category").column.pipeline().randomizer.model.domain_size == 5


def test_a_number_in_bins_is_one_answer_of_as_many_categories():
    column = binned(bins=4, quantiles=[0.5]).column
    assert isinstance(column.randomizer, NumberInBins)
    assert column.targets == ("0 to 25", "25 to 50", "50 to 75", "75 to 100")
    assert column.pipeline().analyzer == HistogramAnalyzer(edges=(0, 25, 50, 75, 100), quantiles=(0.5,))
    edges = binned(lower=None, upper=None, bins=None, edges=[0, 18, 65, 120]).column
    assert edges.targets == ("0 to 18", "18 to 65", "65 to 120")
    assert edges.randomizer.quantiles == (0.25, 0.5, 0.75)


@pytest.mark.parametrize(
    "task",
    [
        pair(),
        pair(missing="category", public=["town"]),
        binned(),
        binned(lower=None, upper=None, bins=None, edges=[0, 1.5, 2], out_of_range="clip", quantiles=[]),
        in_blocks(PAIR_BLOCK, SMOKES),
    ],
    ids=["pair", "pair and missing", "bins", "edges", "blocks"],
)
def test_a_task_survives_being_written_and_read(task):
    written = json.loads(json.dumps(task.to_dict()))
    assert Task.from_dict(written) == task
    assert Task.from_dict(written).sha256 == task.sha256
    for column in task.columns:
        assert type(column).from_dict(json.loads(json.dumps(column.to_dict()))) == column


def test_keys_are_written_only_where_they_say_something():
    assert "columns" not in Task.from_dict(task_with()).to_dict()
    assert "value" not in pair().to_dict()
    assert pair().to_dict()["columns"] == NAMES
    assert {"edges", "quantiles"} & set(binned().to_dict()["randomizer"]) == {"quantiles"}
    block, single = in_blocks(PAIR_BLOCK, SMOKES).to_dict()["value"]
    assert (set(block), set(single)) == ({"columns", "randomizer"}, {"column", "randomizer"})


def test_a_pair_and_one_of_its_columns_may_be_two_questions():
    task = in_blocks(PAIR_BLOCK, SMOKES)
    assert task.folders == ("smokes_and_drinks", "smokes")
    assert [column.inputs for column in task.columns] == [("smokes", "drinks"), ("smokes",)]


def test_other_kinds_of_randomizers_are_tried_on_the_same_pairs_and_bins():
    for task, size in ((pair(), 4), (binned(), 20)):
        found = plan(task, 5000).columns[0]
        assert {option.kind for option in found.options} >= {"k-rr", "oue", "sue", "hadamard", "subset"}
        assert found.chosen.error.at == f"a frequency of 1/{size}"
        reasons = {each.kind: each.reason for each in found.unfit}
        assert "how the errors of categories go together is not worked out for 'olh'" in reasons["olh"]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"value": "smokes"}, "must have the key 'value', or 'columns' in its place; got both"),
        ({"columns": ["a", "b", "c"]}, r"must have two columns .* jointly, .*; got columns = \['a', 'b', 'c'\]"),
        ({"columns": ["a"]}, r"must have two columns whose answers are randomized jointly, or one as 'value'; got"),
        ({"columns": "a"}, "must have two columns whose answers"),
        ({"columns": ["a", "a"]}, "columns must be different columns for value, public and people.id"),
        ({"columns": ["a", ""]}, "value must be text that is not empty"),
        ({"public": ["drinks"]}, "columns must be different columns for value, public and people.id"),
        ({"missing_values": ["", "No"]}, "missing_values must be texts that are no categories"),
        ({"randomizer": {"categories": ["No", "Yes"]}}, "categories must be two lists, one for each of the columns"),
        ({"randomizer": {"categories": [*YES_NO, ["x", "y"]]}}, r"\[randomizer\] categories must be .*; got 3 lists"),
        ({"randomizer": {"categories": [["No"], ["No", "Yes"]]}}, r"\[randomizer\] categories must be two or more"),
        ({"randomizer": {"categories": [["No", 1], ["No", "Yes"]]}}, "must be all of one type"),
        (
            {"randomizer": {"categories": [["a", "a, b"], ["c", "b, c"]]}},
            "must be all different; got more than once: 'a, b, c'",
        ),
        ({"randomizer": {"categories": [[f"{i}" for i in range(40)]] * 2}}, "at most 1,000 pairs; got 1,600"),
        ({"randomizer": {"kind": "olh"}}, r"\[randomizer\] kind must be another one where shares are added up"),
        ({"randomizer": {"kind": "laplace-mean"}}, r"kind must be one of (.*, )?hadamard, k-rr, .*oue, .*subset, sue"),
        ({"randomizer": {"epsilon0": -1}}, r"\[randomizer\] epsilon0 must be"),
        ({"randomizer": {"hash_range": 3}}, r"\[randomizer\] must have only the keys kind, epsilon0, .*categories"),
    ],
)
def test_pairs_that_do_not_fit_are_refused_by_name(changes, match):
    with pytest.raises(InvalidParameterError, match=match):
        pair(**changes)


def test_two_lists_of_categories_need_two_columns():
    with pytest.raises(InvalidParameterError, match="categories must be one list for the column 'cheated'; got two"):
        Task.from_dict(task_with(randomizer={"categories": YES_NO}))


def test_blocks_name_their_columns_in_refusals():
    for changes, match in (
        ({"column": "x"}, r"^\[\[value\]\] of column 'x' must have the key 'column', or 'columns' in its place; got"),
        (
            {"randomizer": PAIR_BLOCK["randomizer"] | {"epsilon0": 0}},
            r"^\[\[value\]\] of column 'smokes and drinks' \[randomizer\] epsilon0 must",
        ),
    ):
        with pytest.raises(InvalidParameterError, match=match):
            in_blocks(PAIR_BLOCK | changes, SMOKES)


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({"bins": 1}, "number must be"),
        ({"bins": 1001}, "edges must be 3 to 1,001 ascending numbers"),
        ({"bins": 2.5}, "bins must be of type int"),
        ({"edges": [0, 1, 2]}, "bins must be given by .*, or by edges alone; got lower, upper, bins, edges"),
        (
            {"upper": None},
            "bins must be given by lower, upper and bins, their number, or by edges alone; got lower, bins",
        ),
        ({"lower": 100}, "upper must be above lower"),
        ({"quantiles": [0.5, 0.25]}, "quantiles must be ascending numbers strictly between 0 and 1"),
        ({"quantiles": [1.0]}, "quantiles must be ascending numbers strictly between 0 and 1"),
        ({"out_of_range": "drop"}, "out_of_range must be one of refuse, clip"),
        ({"kind": "olh"}, "kind must be another one where shares are added up"),
        ({"kind": "one-bit-mean"}, r"kind must be one of (.*, )?hadamard, k-rr, "),
        ({"categories": ["a", "b"]}, "must have only the keys kind, epsilon0, .*; got 'categories'"),
    ],
)
def test_bins_that_are_none_are_refused_by_name(keys, match):
    with pytest.raises(InvalidParameterError, match=match):
        binned(**keys)
