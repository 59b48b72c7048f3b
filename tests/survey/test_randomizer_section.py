"""Sections of all randomizers: what a task file may say, what it means, and reports in files as in memory."""

import json
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.analyzers import FrequencyAnalyzer, MeanAnalyzer
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.flow import Reports
from shuffledp.core.table import Table
from shuffledp.randomizers import (
    DiscreteLaplaceMean,
    HadamardResponse,
    OneBitMean,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    PrivUnit,
    RoundedMean,
    SubsetSelection,
    SymmetricUnaryEncoding,
    best_num_levels,
)
from shuffledp.survey import Question, SingleChoice, Task

KINDS = {
    "sue": SymmetricUnaryEncoding,
    "oue": OptimizedUnaryEncoding,
    "olh": OptimizedLocalHashing,
    "hadamard": HadamardResponse,
    "subset": SubsetSelection,
}
PACKED = ("sue", "oue", "subset")
CATEGORIES = [f"category {number}" for number in range(11)]


def section(kind: str, **changes: object) -> Question:
    return Question.from_dict({"kind": kind, "epsilon0": 1.5, "categories": CATEGORIES} | changes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_section_makes_the_randomizer_that_it_names(kind):
    randomizer = section(kind).randomizer()
    assert type(randomizer) is KINDS[kind]
    assert randomizer.model == KINDS[kind](epsilon0=1.5, domain_size=11).model
    assert isinstance(section(kind), SingleChoice)
    assert section(kind).analyzer(level=0.9, columns=("x",)) == FrequencyAnalyzer(level=0.9)


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_take_the_keys_of_randomized_response(kind):
    ours, theirs = section(kind), section("k-rr")
    assert ours.targets == theirs.targets == tuple(CATEGORIES)
    assert ours.categories_of_answers == theirs.categories_of_answers
    assert ours.to_dict() | {"kind": "k-rr"} == theirs.to_dict() | ({"hash_range": None} if kind == "olh" else {})
    assert Question.from_dict(json.loads(json.dumps(ours.to_dict()))) == ours
    assert ours != theirs


@pytest.mark.parametrize("kind", KINDS)
def test_people_who_did_not_answer_are_one_more_category(kind):
    with_missing = section(kind).with_missing_category()
    assert type(with_missing) is type(section(kind))
    assert with_missing.targets == (*CATEGORIES, "(missing)")
    assert with_missing.randomizer().model.domain_size == 12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("epsilon0", 0, "epsilon0 must be a finite number above 0"),
        ("epsilon0", 100.0, "epsilon0 must be from 1e-06 to"),
        ("categories", ["one"], "categories must be two or more"),
        ("categories", ["one", "one"], "categories must be all different"),
        ("categories", ["one", 2], "categories must be all of one type"),
        ("num_levels", 1, r"\[randomizer\] must have only the keys"),
    ],
)
def test_a_wrong_key_is_refused_with_the_name_of_the_section(kind, key, value, message):
    with pytest.raises(InvalidParameterError, match=r"^\[randomizer\] ") as caught:
        section(kind, **{key: value})
    assert caught.match(message)


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_in_toml_runs_from_answers_to_frequencies(kind):
    text = f'name = "n"\nvalue = "v"\nrandomizer = {{kind = "{kind}", epsilon0 = 4.0, categories = ["a", "b", "c"]}}\n'
    task = Task.from_dict(tomllib.loads(text + "release = {delta = 1e-6}\n"))
    release = task.column.pipeline().run([0, 2, 2, 2] * 1000, delta=1e-6)
    assert np.abs(release.estimate.estimate - [0.25, 0.0, 0.75]).max() < 0.1


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 500])
def test_reports_come_back_from_a_file_as_they_went(kind, count, tmp_path):
    reports = section(kind).randomizer().randomize(np.arange(count) % 11)
    pq.write_table(section(kind).named(reports.to_arrow()), tmp_path / "reports.parquet", row_group_size=97)
    read = pq.read_table(tmp_path / "reports.parquet")
    assert Reports.from_table(Table.from_arrow(section(kind).numbered(read)), reports.model) == reports


@pytest.mark.parametrize("kind", PACKED)
def test_a_slice_or_pieces_of_a_table_come_back_too(kind):
    reports = section(kind).randomizer().randomize(np.arange(300) % 11)
    named = section(kind).named(reports.to_arrow())
    for table, rows in (
        (named.slice(17, 100), slice(17, 117)),
        (pa.concat_tables([named.slice(0, 5), named.slice(5)]), slice(0, 300)),
        (section(kind).named(reports.to_arrow().slice(40, 9)), slice(40, 49)),
    ):
        numbered = Reports.from_table(Table.from_arrow(section(kind).numbered(table)), reports.model)
        assert numbered == reports.take(rows)


@pytest.mark.parametrize("kind", PACKED)
def test_packed_bits_stay_packed_in_a_file(kind, tmp_path):
    categories = [str(number) for number in range(100)]
    reports = section(kind, categories=categories).randomizer().randomize(np.arange(20_000) % 100)
    named = section(kind, categories=categories).named(reports.to_arrow())
    assert named.schema.field("bits").type == pa.binary(13)
    pq.write_table(named, tmp_path / "reports.parquet")
    assert (tmp_path / "reports.parquet").stat().st_size < 20_000 * 13 * 1.2  # unpacked, 100 / 13 times


WRONG_BITS = {
    "another width": pa.array([b"abc", b"def"], pa.binary(3)),
    "missing": pa.array([b"ab", None], pa.binary(2)),
    "of several widths": pa.array([b"ab", b"c"], pa.binary()),
    "numbers": pa.array([1, 2]),
    "text": pa.array(["ab", "cd"]),
    "lists of several lengths": pa.array([[1], [1, 2]], pa.list_(pa.uint8())),
    "a bit beyond the domain": pa.array([b"\x00\x00", b"\x00\x08"], pa.binary(2)),
}


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("wrong", WRONG_BITS)
def test_a_column_that_is_not_the_packed_bits_of_the_task_is_no_report(kind, wrong):
    table = pa.table({"bits": WRONG_BITS[wrong]})
    with pytest.raises(InvalidParameterError):
        Reports.from_table(Table.from_arrow(section(kind).numbered(table)), section(kind).randomizer().model)


def test_local_hashing_takes_the_range_of_its_hash():
    keys = {"kind": "olh", "epsilon0": 2.0, "categories": ["a", "b", "c"]}
    assert Question.from_dict(keys).randomizer().model.hash_range == 8
    assert Question.from_dict({**keys, "hash_range": 2}).randomizer().model.hash_range == 2
    with pytest.raises(InvalidParameterError, match="hash_range"):
        Question.from_dict({**keys, "hash_range": 1})


NUMBERS = {"epsilon0": 2.0, "lower": 0, "upper": 10}
SECTIONS = [
    ({"kind": "laplace-mean", **NUMBERS}, DiscreteLaplaceMean(epsilon0=2.0, lower=0, upper=10)),
    (
        {"kind": "laplace-mean", "num_steps": 7, **NUMBERS},
        DiscreteLaplaceMean(epsilon0=2.0, lower=0, upper=10, num_steps=7),
    ),
    ({"kind": "one-bit-mean", **NUMBERS}, OneBitMean(epsilon0=2.0, lower=0, upper=10)),
    ({"kind": "rounded-mean", **NUMBERS}, RoundedMean(epsilon0=2.0, lower=0, upper=10)),
    ({"kind": "rounded-mean", "num_levels": 4, **NUMBERS}, RoundedMean(epsilon0=2.0, lower=0, upper=10, num_levels=4)),
    ({"kind": "priv-unit", "epsilon0": 2.0, "dimension": 5}, PrivUnit(epsilon0=2.0, dimension=5)),
]


def task(section, **changes):
    return {"name": "survey", "value": "answer", "randomizer": section, "release": {"delta": 1e-6}} | changes


@pytest.mark.parametrize(("written", "randomizer"), SECTIONS)
def test_a_section_makes_the_randomizer_that_it_describes(written, randomizer):
    section = Question.from_dict(written)
    assert section.randomizer().model == randomizer.model
    assert repr(section.randomizer()) == repr(randomizer)
    assert section.analyzer(level=0.9, columns=("x",)) == MeanAnalyzer(level=0.9)
    assert len(section.targets) == randomizer.model.dimension


@pytest.mark.parametrize(("written", "randomizer"), SECTIONS)
def test_a_task_with_it_survives_json_and_keeps_its_digest(written, randomizer):
    made = Task.from_dict(task(written))
    again = Task.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False)))
    assert again == made
    assert again.sha256 == made.sha256
    assert made.column.pipeline().randomizer.model == randomizer.model


def test_out_of_range_chooses_between_refusing_and_clipping():
    written = {"kind": "one-bit-mean", **NUMBERS}
    assert not Question.from_dict(written).randomizer().clip
    assert Question.from_dict(written | {"out_of_range": "clip"}).randomizer().clip
    with pytest.raises(InvalidParameterError, match=r"\[randomizer\] out_of_range must be one of refuse, clip"):
        Question.from_dict(written | {"out_of_range": "ignore"})


def test_left_out_the_number_of_levels_is_the_best_for_epsilon0():
    section = Question.from_dict({"kind": "rounded-mean", **NUMBERS, "epsilon0": 7.0})
    assert section.randomizer().model.num_levels == best_num_levels(epsilon0=7.0)


@pytest.mark.parametrize("written", [written for written, _ in SECTIONS])
def test_a_missing_answer_cannot_be_a_category_of_numbers(written):
    with pytest.raises(InvalidParameterError, match="missing must be 'refuse' or 'drop' where answers are averaged"):
        Task.from_dict(task(written, missing="category"))
    assert Task.from_dict(task(written, missing="drop")).column.missing == "drop"


WRONG = [
    ({"kind": "laplace-mean", **NUMBERS, "upper": 0}, "upper must be above lower"),
    ({"kind": "laplace-mean", **NUMBERS, "num_steps": 0}, "num_steps must be"),
    ({"kind": "one-bit-mean", **NUMBERS, "epsilon0": 50}, "epsilon0 must be"),
    ({"kind": "one-bit-mean", **NUMBERS, "lower": "0"}, "lower must be of type float"),
    ({"kind": "rounded-mean", **NUMBERS, "num_levels": 0}, "num_levels must be"),
    ({"kind": "rounded-mean", "epsilon0": 1.0, "lower": 0}, "must have the key 'upper'"),
    ({"kind": "rounded-mean", **NUMBERS, "categories": ["a", "b"]}, "must have only the keys"),
    ({"kind": "priv-unit", "epsilon0": 1.0, "dimension": 1}, "dimension must be"),
    ({"kind": "priv-unit", "epsilon0": 1.0}, "must have the key 'dimension'"),
]


@pytest.mark.parametrize(("written", "message"), WRONG)
def test_a_wrong_section_is_refused_before_anything_is_collected(written, message):
    with pytest.raises(InvalidParameterError, match=rf"\[randomizer\] .*{message}"):
        Question.from_dict(written)


def test_priv_unit_takes_the_split_of_its_loss():
    keys = {"kind": "priv-unit", "epsilon0": 4.0, "dimension": 5}
    best, other = (Question.from_dict(keys | more).randomizer().model for more in ({}, {"budget_split": 0.9}))
    assert best.noise_curvature == pytest.approx(0, abs=1e-9)
    assert abs(other.noise_curvature) > 0.01
    with pytest.raises(InvalidParameterError, match=r"\[randomizer\] budget_split"):
        Question.from_dict(keys | {"budget_split": 1.0})


def test_a_release_names_means_by_their_column():
    keys = {"kind": "priv-unit", "epsilon0": 4.0, "dimension": 2}
    assert Question.from_dict(keys).targets_of("gradient") == ("gradient[0]", "gradient[1]")
