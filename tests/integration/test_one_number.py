"""One number everywhere: what screen, page, CSV, JSON and plan say of a task agrees, for each kind of task."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from cli.running import inline, shuffledp, write_csv
from documents.reading import Page
from shuffledp.core.text import in_digits

PEOPLE = 400
SIGNED = r"[-\N{MINUS SIGN}]?[\d,]*\.?\d+(?:e[-+]?\d+)?"
INTERVAL = re.compile(rf"(?<![\w.])({SIGNED})(%?) \(?({SIGNED})%? to ({SIGNED})%?")
CALLED = r"(?: is| of| at|,|[ \xa0]<=|[ \xa0]=| most| least| exactly)+"
STATED = re.compile(
    rf"(?<![\w-])(?<!<=[ \xa0])epsilon0?(?![\w-]){CALLED}[ \xa0]({SIGNED})(?![\d.]*\w)(?!, half of epsilon0)"
)

YES_NO = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}
THREE = {"kind": "k-rr", "epsilon0": 3.0, "categories": ["a", "b", "c"]}
MEAN = {"epsilon0": 2.0, "lower": 0, "upper": 100}
BINNED = {"kind": "k-rr", "epsilon0": 3.0, "lower": 0, "upper": 100, "bins": 4}
PAIRED = {"kind": "k-rr", "epsilon0": 3.0, "categories": [["No", "Yes"], ["a", "b", "c"]]}
GROUPS = {"columns": ["lat", "lon"], "metric": "haversine", "radius": 300.0}
SUM = {"kind": "split-and-mix", "epsilon": 1.0, "statistic": "sum", "integer": True, "lower": 0, "upper": 100}
NEAR = {"public": ["lat", "lon"], "groups": GROUPS}

KINDS = {
    "uniform": {},
    "none": {"shuffler": {"kind": "none"}},
    "imperfect": {"shuffler": {"kind": "imperfect", "imperfection": 0.05}},
    "unary encoding": {"value": "fruit", "randomizer": THREE | {"kind": "oue"}},
    "fakes": {"people": {"expected": PEOPLE, "fakes": 20}},
    "regions": {"by": "region"},
    "regions of three answers": {"value": "fruit", "randomizer": THREE, "by": "region"},
    "weights": {"weight": "weight"},
    "mean": {"value": "number", "randomizer": MEAN | {"kind": "laplace-mean"}},
    "rounded mean": {"value": "number", "randomizer": MEAN | {"kind": "rounded-mean"}},
    "one-bit mean": {"value": "number", "randomizer": MEAN | {"kind": "one-bit-mean"}},
    "histogram": {"value": "number", "randomizer": BINNED},
    "cross table": {"value": None, "columns": ["smokes", "fruit"], "randomizer": PAIRED},
    "Mallows": NEAR | {"shuffler": {"kind": "mallows", "alpha": 4.0}},
    "noisy sort": NEAR | {"shuffler": {"kind": "noisy-sort", "alpha": 4.0}},
    "walk": {"shuffler": {"kind": "network", "overlay": {"groups": [20, 20]}}},
    "sum": {"value": "number", "randomizer": None, "protocol": SUM},
}
FAST = ("regions", "histogram")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Answers that were made up: a third smoke, in four regions of 23 to 250 people."""
    numbers = np.random.default_rng(20)
    regions = np.repeat(["north", "east", "south", "west"], [23, 47, 80, PEOPLE - 150])
    rows = [
        (*answers, region, weight, 50 + place[0], 10 + place[1])
        for *answers, region, weight, place in zip(
            numbers.choice(["No", "Yes"], PEOPLE, p=[2 / 3, 1 / 3]),
            numbers.choice(["a", "b", "c"], PEOPLE),
            numbers.integers(0, 101, PEOPLE),
            regions,
            numbers.choice([1.0, 2.5], PEOPLE),
            numbers.random((PEOPLE, 2)),
            strict=True,
        )
    ]
    names = ("smokes", "fruit", "number", "region", "weight", "lat", "lon")
    return write_csv(tmp_path_factory.mktemp("people") / "people.csv", names, rows)


def written(folder: Path, kind: str) -> Path:
    task = {"name": "a sweep", "value": "smokes", "people": {"expected": PEOPLE}, "randomizer": YES_NO}
    task |= {"release": {"delta": 1e-6, "minimum_batch": 22}} | KINDS[kind]
    lines = [f"{key} = {inline(entry)}\n" for key, entry in task.items() if entry is not None]
    path = folder / "task.toml"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def number(text: str) -> float:
    return float(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))


def last_digit(text: str) -> float:
    """What one more in the last digit that is shown would add."""
    mantissa, _, exponent = text.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def holds(shown: re.Match, row: dict) -> bool:
    """Whether an estimate with its interval, as shown, is that of a row, rounded; cells of tables may omit the %."""
    estimate, percent, lower, upper = shown.groups()
    texts, values = (estimate, lower, upper), (row["estimate"], row["lower"], row["upper"])
    return any(
        all(
            abs(number(text) - unit * value) <= 0.51 * last_digit(text)
            for text, value in zip(texts, values, strict=True)
        )
        for unit in ((100,) if percent else (1, 100))
    )


def contradictions(text: str, rows: list[dict]) -> list[str]:
    """Estimates with intervals in a text that are in no row; the name of a bin, such as 25 to 50, is no interval."""
    bins = {row["target"] for row in rows}
    found = [each for each in INTERVAL.finditer(text) if f"{each[3]} to {each[4]}" not in bins]
    return [each[0] for each in found if not any(holds(each, row) for row in rows)]


def losses(found) -> set[float]:
    """Every epsilon in a value of JSON, at any depth."""
    if isinstance(found, dict):
        named = {entry for key, entry in found.items() if "epsilon" in key and isinstance(entry, int | float)}
        return named.union(*map(losses, found.values()))
    return set().union(*map(losses, found)) if isinstance(found, list) else set()


def unstated(text: str, stated: set[float]) -> list[str]:
    """Numbers that a text calls an epsilon and that are none of those stated, rounded either way."""
    known = {float(in_digits(each, way)) for each in stated for way in ("at most", "at least")}
    return [found[0] for found in STATED.finditer(text) if number(found[1]) not in known]


@pytest.mark.parametrize(
    "kind", [each if each in FAST else pytest.param(each, marks=pytest.mark.deep) for each in KINDS]
)
def test_all_places_tell_the_same_numbers(people, tmp_path, kind):
    task, out = written(tmp_path, kind), tmp_path / "out"
    ran = shuffledp("run", task, "--input", people, "--output", out, "-v")
    assert ran.code == 0, ran.err
    stated = json.loads((out / "statement.json").read_text(encoding="utf-8"))
    rows = stated["estimates"]
    page = Page.read((out / "release.html").read_text(encoding="utf-8"))
    screen = " ".join(ran.out.split())

    with (out / "estimates.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    for key in ("estimate", "standard_error", "lower", "upper", "level"):
        assert [float(row[key]) for row in table] == [row[key] for row in rows]
    for text in (screen, page.text):
        assert contradictions(text, rows) == []
        assert any(holds(found, row) for found in INTERVAL.finditer(text) for row in rows)

    by_people = {"by", "weight", "groups"} & KINDS[kind].keys()
    asked = ("plan", task, *(("--input", people) if by_people else ("--users", PEOPLE)))
    planned = shuffledp(*asked, "--json").json
    assert planned["statements"][0]["guarantee"] == stated["statements"][0]["guarantee"]
    known = losses([stated, planned])
    promised = in_digits(stated["statements"][0]["guarantee"]["epsilon"], "at most")
    told = " ".join(shuffledp(*asked, "-v").out.split())
    for text in (screen, page.text, told):
        assert unstated(text, known) == []
        assert promised in text
