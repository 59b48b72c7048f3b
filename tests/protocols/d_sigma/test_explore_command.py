"""The command `explore`: what it prints and writes, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from cli.running import shuffledp

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schema.json").read_text(encoding="utf-8"))
EXPLORATION = Draft202012Validator({"$ref": "#/$defs/exploration", "$defs": SCHEMA["$defs"]})
TASK = """
name = "by age"
value = "ill"
public = ["age"]

[randomizer]
kind = "k-rr"
epsilon0 = 2.0
categories = ["no", "yes"]

[shuffler]
kind = "auto"
alpha = 4.0

[groups]
columns = ["age"]
radius = 2

[release]
delta = 1e-6
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "task.toml").write_text(TASK)
    draw = np.random.default_rng(1)
    ages = draw.integers(20, 50, 120)
    lines = [f"{age},{['no', 'yes'][int(draw.random() < age / 60)]}" for age in ages]
    (tmp_path / "pilot.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    (tmp_path / "public.csv").write_text("\n".join(["age", *map(str, ages)]) + "\n")
    return tmp_path


def test_it_prints_picks_with_lines_to_paste_and_writes_one_page(folder):
    options = ("--alpha", "8", "--reach", "2", "--output", folder / "out")
    result = shuffledp("explore", folder / "task.toml", "--input", folder / "pilot.csv", *options)
    assert result.code == 0, result.err
    assert "Balanced:" in result.out
    assert "\n  [shuffler]\n  kind = " in result.out
    assert "must not answer the collection" in result.out
    assert [each.name for each in (folder / "out").iterdir()] == ["explore.html"]
    again = shuffledp("explore", folder / "task.toml", "--input", folder / "pilot.csv", *options)
    assert again.code == 2  # nothing is written over without --force


@pytest.mark.deep
def test_json_is_as_the_schema_says(folder):
    result = shuffledp(
        "explore", folder / "task.toml", "--input", folder / "public.csv", "--alpha", "8", "--reach", "2", "--json"
    )
    assert result.code == 0, result.err
    EXPLORATION.validate(result.json)
    assert result.json["made_up"] is True


def test_losses_and_reaches_that_are_none_are_refused_by_name(folder):
    for option, value in (("--alpha", "-1"), ("--reach", "-2"), ("--alpha", "nan")):
        result = shuffledp("explore", folder / "task.toml", "--input", folder / "pilot.csv", option, value)
        assert result.code == 2
        assert option.strip("-") in result.err
