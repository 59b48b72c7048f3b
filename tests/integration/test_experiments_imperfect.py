"""What experiments about imperfect shuffling are made of, and what their results at full size say."""

import csv
import itertools
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # experiments are run from a checkout and never installed

from experiments.imperfect import errors, traffic, transformation  # noqa: E402

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


def test_the_transformation_is_the_papers():
    assert transformation.transformed((2, 4, 3, 1, 7, 5, 8, 6, 9), 4, (2, 3, 6, 8)) == (5, 2, 4, 6, 7, 3, 8, 1, 9)
    caption = (8, 4, 6, 2, 1, 3, 7, 5, 9)
    assert sorted(caption[:4]) != [1, 2, 3, 4]
    assert transformation.transformed(caption, 4, (2, 3, 6, 8)) == (3, 8, 4, 5, 1, 6, 7, 2, 9)


def test_images_of_the_transformation_are_all_orders_and_it_may_take_more_exchanges_than_the_set_has_items():
    rows = transformation.compute({"people": [2, 3, 4, 5], "imperfections": [0.1]})
    for row in rows:
        people, size = row["people"], row["size of S"]
        assert row["images of one order"] == math.comb(people, size)
        assert row["images are all orders, each once"]
        assert row["images that keep S"] == 1
        assert row["most places changed"] <= 2 * size
        assert row["least ratio"] == pytest.approx(math.exp(-0.1 * row["most exchanges"]))
        assert row["chance that S is kept"] <= row["sharp bound"] * (1 + 1e-12)
        assert row["sharp bound"] <= row["Lemma 4.8, s exchanges"] <= row["Lemma 4.8 as printed"]
        assert row["sharp bound"] <= row["Lemma 4.9, best k"] * (1 + 1e-12)
    more = {(row["people"], row["size of S"]) for row in rows if row["most exchanges"] > row["size of S"]}
    assert more == {(5, 3)}


def test_exchanging_places_one_by_one_takes_as_many_exchanges_as_there_are_items_and_gives_every_order_once():
    people, size = 5, 3
    keeping = [(*a, *b) for a in itertools.permutations((1, 2, 3)) for b in itertools.permutations((4, 5))]
    images = []
    for chosen in itertools.combinations(range(people), size):
        behind = [place for place in chosen if place >= size]
        left = [place for place in range(size) if place not in chosen]
        assert len(behind) == len(left) <= size
        for order in keeping:
            image = list(order)
            for one, other in zip(behind, left, strict=True):
                image[one], image[other] = image[other], image[one]
            images.append(tuple(image))
    assert sorted(images) == sorted(itertools.permutations(range(1, people + 1)))


def test_the_exchanges_of_lemma_4_9_can_be_undone():
    for before in itertools.permutations((1, 2, 3)):
        after = transformation.exchanged((*before, 6, 4, 5), (4, 6))
        assert sorted(after[:2]) == [5, 6]
        assert transformation.exchanged(after, (4, 6)) == (*before, 6, 4, 5)
        assert transformation.exchanges(after, (*before, 6, 4, 5)) == 2


# ---- the buffer of the opening example ------------------------------------------------------------------------------


def test_no_report_leaves_before_it_comes_in_but_for_the_overflows_that_delta_pays_for():
    given = {"epsilon": 0.5, "delta": 1e-2, "unit": 10.0}
    found = traffic.waits(1.0, 50, 4, **given)
    assert found["mean delay in seconds"] == pytest.approx(20 * math.log(50 * 4 / 2 / found["chance of an overflow"]))
    assert (1 + math.exp(0.5)) * found["chance of an overflow"] == pytest.approx(1e-2)
    noise = np.random.default_rng(1).laplace(scale=20, size=(40_000, 200))
    overflows = (noise.min(axis=1) < -found["mean delay in seconds"]).mean()
    assert overflows == pytest.approx(found["chance of an overflow"], abs=4 * math.sqrt(overflows / 40_000))
    assert noise[:, :50].min(axis=1).mean() == pytest.approx(-found["most negative noise of a round"], rel=0.01)


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
        if row["imperfection"] != "0":
            delay = float(row["mean delay in seconds"])
            assert delay >= 60 * float(row["minutes from first to last"]) / 2
            assert delay > 3 * float(row["most negative noise of a round"])


@pytest.mark.parametrize(("gamma", "seconds"), [("0.25", 599), ("1", 150), ("4", 37)])
def test_the_most_negative_noise_of_a_round_is_far_above_the_mean_of_its_size(gamma, seconds):
    (row,) = [row for row in expected("traffic") if row["imperfection"] == gamma]
    assert float(row["most negative noise of a round"]) == pytest.approx(seconds, abs=0.5)
    assert seconds > 7 * 20 / float(gamma)
