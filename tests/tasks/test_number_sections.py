"""Sections for numbers and vectors: what a task file may say, and what it means."""

import json

import pytest

from shuffledp.analyzers import MeanAnalyzer
from shuffledp.errors import InvalidParameterError
from shuffledp.randomizers import DiscreteLaplaceMean, OneBitMean, PrivUnit, RoundedMean, best_num_levels
from shuffledp.tasks import RandomizerSection, Task

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
    section = RandomizerSection.from_dict(written)
    assert section.randomizer().model == randomizer.model
    assert repr(section.randomizer()) == repr(randomizer)
    assert section.analyzer(level=0.9) == MeanAnalyzer(level=0.9)
    assert len(section.targets) == randomizer.model.dimension


@pytest.mark.parametrize(("written", "randomizer"), SECTIONS)
def test_a_task_with_it_survives_json_and_keeps_its_digest(written, randomizer):
    made = Task.from_dict(task(written))
    again = Task.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False)))
    assert again == made
    assert again.sha256 == made.sha256
    assert made.pipeline().randomizer.model == randomizer.model


def test_out_of_range_chooses_between_refusing_and_clipping():
    written = {"kind": "one-bit-mean", **NUMBERS}
    assert not RandomizerSection.from_dict(written).randomizer().clip
    assert RandomizerSection.from_dict(written | {"out_of_range": "clip"}).randomizer().clip
    with pytest.raises(InvalidParameterError, match=r"\[randomizer\] out_of_range must be one of refuse, clip"):
        RandomizerSection.from_dict(written | {"out_of_range": "ignore"})


def test_left_out_the_number_of_levels_is_the_best_for_epsilon0():
    section = RandomizerSection.from_dict({"kind": "rounded-mean", **NUMBERS, "epsilon0": 7.0})
    assert section.randomizer().model.num_levels == best_num_levels(epsilon0=7.0)


@pytest.mark.parametrize("written", [written for written, _ in SECTIONS])
def test_a_missing_answer_cannot_be_a_category_of_numbers(written):
    with pytest.raises(InvalidParameterError, match="missing must be 'refuse' or 'drop' where answers are averaged"):
        Task.from_dict(task(written, missing="category"))
    assert Task.from_dict(task(written, missing="drop")).missing == "drop"


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
        RandomizerSection.from_dict(written)


def test_priv_unit_takes_the_split_of_its_loss():
    keys = {"kind": "priv-unit", "epsilon0": 4.0, "dimension": 5}
    best, other = (RandomizerSection.from_dict(keys | more).randomizer().model for more in ({}, {"budget_split": 0.9}))
    assert best.noise_curvature == pytest.approx(0, abs=1e-9)
    assert abs(other.noise_curvature) > 0.01
    with pytest.raises(InvalidParameterError, match=r"\[randomizer\] budget_split"):
        RandomizerSection.from_dict(keys | {"budget_split": 1.0})


def test_a_release_names_means_by_their_column():
    keys = {"kind": "priv-unit", "epsilon0": 4.0, "dimension": 2}
    assert RandomizerSection.from_dict(keys).targets_of("gradient") == ("gradient[0]", "gradient[1]")
