"""In which order reports leave: by lot, or near the order of the people who came."""

from pathlib import Path

import numpy as np
import pytest

from parties.service.given import task, task_near_an_order
from shuffledp.core.errors import LocalProtocolError
from shuffledp.parties.service.batch_order import draw_for, encoded
from shuffledp.parties.service.public_columns import extensions_of
from shuffledp.testing import SeededSource

HERE = Path()


def test_a_uniform_batch_is_drawn_by_lot_from_all_that_wait():
    draw = draw_for(task(), HERE, source=SeededSource(1))
    drawn = [draw(0, 5, 3, None) for _ in range(600)]
    assert all((places == origins).all() and len(set(origins.tolist())) == 3 for places, origins in drawn)
    first = np.bincount([origins[0] for _, origins in drawn], minlength=5)
    last = np.bincount([origins[2] for _, origins in drawn], minlength=5)
    assert abs(first - 120).max() < 50  # 5 standard errors
    assert abs(last - 120).max() < 50


def test_each_batch_is_drawn_anew():
    draw = draw_for(task(), HERE)
    assert not np.array_equal(draw(0, 1000, 1000, None)[0], draw(0, 1000, 1000, None)[0])


PEOPLE = [{"place": place, "age": 1} for place in "ABAB" * 10]


def written(column):
    return [encoded(extensions_of(column, each)) for each in PEOPLE]


def test_near_an_order_reports_stay_in_their_groups_blocks_and_everybody_gets_one():
    column = task_near_an_order().column
    draw = draw_for(task_near_an_order(), HERE)
    places, origins = draw(0, 40, 40, lambda: written(column))
    assert places.tolist() == list(range(40))
    assert sorted(origins.tolist()) == list(range(40))
    assert origins.tolist() != list(range(40))
    assert all(PEOPLE[place]["place"] == PEOPLE[origin]["place"] for place, origin in enumerate(origins.tolist()))


def test_near_an_order_everybody_must_be_in_the_batch():
    with pytest.raises(LocalProtocolError, match="must be of all reports"):
        draw_for(task_near_an_order(), HERE)(0, 40, 39, None)
