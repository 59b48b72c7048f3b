"""What experiments about imperfect shuffling are made of, and what their results at full size say."""

import csv
import itertools
import math
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # experiments are run from a checkout and never installed

from experiments.imperfect import errors, transformation  # noqa: E402

EXPECTED = ROOT / "experiments" / "imperfect" / "expected"


def expected(name: str) -> list[dict[str, str]]:
    with (EXPECTED / f"{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_experiments_are_not_in_the_wheel():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^packages = \["src/shuffledp"\]$', project, re.MULTILINE)


def test_no_single_message_without_a_number_of_levels():
    with pytest.raises(ValueError, match="levels must hold one"):
        errors.single_message(100, 1.0, {"levels": [100], "delta": 1e-6})


# ---- Fig. 1: the transformation of Lemma 4.8 ------------------------------------------------------------------------


def test_the_transformation_takes_as_many_exchanges_as_the_set_has_items_and_can_be_undone():
    kept, chosen = (0, 1, 2), (3, 5)
    for order in itertools.permutations(range(3)):
        before = (*order, 5, 3, 4)
        after = transformation.transformed(before, kept, chosen)
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 2 * len(chosen)
        assert {item for item in range(3, 6) if after[item] in kept} == set(chosen)
        assert transformation.transformed(after, kept, chosen) == before


def test_the_claims_of_the_lemma_hold_in_every_case():
    rows = transformation.compute({"people": [2, 3, 4], "imperfections": [0.5]})
    assert len(rows) == 7
    for row in rows:
        assert row["all differ"]
        assert row["images of one permutation"] == math.comb(row["people"] - row["size of S"], row["size of A"])
        assert row["least ratio"] >= row["promised ratio"] * (1 - 1e-12)
        assert row["chance that S is kept"] <= row["sharp bound"] + 1e-12 <= row["bound by T_A"] + 2e-12


# ---- what the committed results say ---------------------------------------------------------------------------------


def test_errors_grow_as_they_should():
    rows = expected("errors")

    def slope(protocol: str) -> float:
        line = [row for row in rows if row["protocol"] == protocol and row["epsilon"] == "1"]
        ends = [(math.log(float(row["people"])), math.log(float(row["error"]))) for row in (line[0], line[-1])]
        return (ends[1][1] - ends[0][1]) / (ends[1][0] - ends[0][0])

    assert abs(slope("split and mix")) < 0.03
    assert 0.08 < slope("one message") < 0.22
    assert abs(slope("local Laplace") - 0.5) < 0.04
    assert abs(slope("local one bit") - 0.5) < 0.04


def test_certified_messages_are_far_fewer_than_printed_ones_and_never_fewer_than_security_needs():
    for row in expected("messages"):
        assert float(row["bits of security"]) >= 20.8
        assert int(row["certified"]) >= int(row["rule of thumb"]) - 1
        if row["printed Lemma 4.13"]:
            assert int(row["printed Lemma 4.13"]) > 50 * int(row["certified"])
            assert float(row["imperfection"]) <= 0.1


def test_the_sensors_sum_has_a_trusted_curators_error_whatever_the_delay():
    for row in expected("traffic"):
        error, curator = float(row["mean absolute error"]), float(row["trusted curator's"])
        assert abs(error - curator) < 4 * float(row["standard error"])
        assert float(row["without a shuffle"]) > 20 * error
