"""Pictures of estimates: axes that fit the data, and rows in an order that says something."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from documents.outcomes import make_outcome
from shuffledp.core.estimates import Estimate, normal_half_width
from shuffledp.documents.blocks import Column, Table
from shuffledp.documents.charts.chart import Dots, Line, Spans
from shuffledp.documents.charts.estimate_charts import rows_chart
from shuffledp.documents.charts.house_style import NARROW, WIDE
from shuffledp.documents.charts.place_charts import PlacesDrawn, folded, place_charts, place_name
from shuffledp.documents.charts.place_charts import rows_chart as rows_of_places
from shuffledp.documents.rendering import figure_of
from shuffledp.documents.words import Scale
from shuffledp.protocols.network.documents.walk_charts import rounds_chart


def drawn(shares, *, error=0.01, names=None, width=WIDE):
    """The axes of a picture of shares."""
    shares = np.array(shares, dtype=float)
    names = names or tuple("abcdefghijklmnopqrstuvwxyz"[: len(shares)])
    estimate = Estimate(
        statistic="frequency",
        target=names,
        estimate=shares,
        standard_error=np.full(len(shares), error),
        num_reports=100,
    )
    return figure_of(rows_chart(estimate, Scale.of(estimate), "answer"), width).axes[0]


def names_in(axes):
    """The names from top to bottom."""
    texts = [each.get_text() for each in axes.texts]
    return [text for text in texts if not text.endswith("%")]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_axis_ends_at_round_numbers_near_the_intervals(width):
    low, high = drawn([0.12, 0.125, 0.13], error=0.002, width=width).get_xlim()
    assert 10 <= low <= 11.61
    assert 13.39 <= high <= 15
    assert (round(2 * low), round(2 * high)) == pytest.approx((2 * low, 2 * high))


def test_the_axis_of_shares_goes_beyond_their_range_only_where_an_interval_does():
    assert drawn([0.005, 0.995], error=0.001).get_xlim() == (0, 100)
    low, high = drawn([0.005, 0.6], error=0.01).get_xlim()
    assert -3 < low < 100 * (0.005 - 1.96 * 0.01)
    assert high < 100
    bands = [drawn(shares, error=0.01).collections for shares in ([0.005, 0.6], [0.3, 0.6])]
    assert [len(each) - 2 for each in bands] == [1, 0]  # beside intervals and dots


def test_answers_without_an_order_are_sorted_by_size_and_missing_ones_come_last():
    assert names_in(drawn([0.2, 0.5, 0.3])) == ["b", "c", "a"]
    axes = drawn([0.1, 0.3, 0.6], names=("rarely", "often", "(missing)"))
    assert names_in(axes) == ["often", "rarely", "(missing)"]


@pytest.mark.parametrize("names", [("0", "1", "2"), ("18-29", "30 to 64", "65+", "(missing)"), ("[0, 10)", "[10, 20)")])
def test_answers_that_numbers_order_stay_in_their_order(names):
    assert names_in(drawn(np.linspace(0.2, 0.3, len(names)), names=names)) == list(names)


@pytest.mark.parametrize("names", [("48-02510", "48-02102", "48-02101"), ("1 mile", "3 miles", "2 miles")])
def test_numbers_that_do_not_ascend_are_no_order(names):
    assert names_in(drawn([0.2, 0.3, 0.4], names=names)) == list(names[::-1])


SHARES = Scale(factor=100.0, unit="%", unit_of_errors="percentage points", decimals=1, bounds=(0.0, 1.0))


def places(*, widening):
    return PlacesDrawn(
        name="sick: Yes",
        scale=SHARES,
        where=tuple({"town": name} for name in "abc"),
        estimate=np.array([10.0, 30.0, 20.0]),
        low=np.array([10.0, 30.0, 20.0]) - widening,
        high=np.array([10.0, 30.0, 20.0]) + widening,
        error=np.full(3, widening) / normal_half_width(0.95),
        unshuffled=np.ones(3),
        overall=20.0,
        people=np.array([5, 6, 7]),
        level=0.95,
    )


def test_places_are_sorted_by_their_estimates():
    (chart,) = place_charts(places(widening=1.2))
    assert names_in(figure_of(chart, WIDE).axes[0]) == ["b", "c", "a"]


@pytest.mark.parametrize(("widening", "lines"), [(1.2, 2), (1.01, 1)])
def test_intervals_without_shuffling_are_drawn_only_where_they_differ(widening, lines):
    (chart,) = place_charts(places(widening=widening))
    assert sum(isinstance(mark, Spans) for mark in chart.panels[0].marks) == lines
    assert ("without shuffling" in chart.caption) == (lines == 2)


def test_nothing_joins_numbers_of_rounds_between_which_nothing_was_computed():
    rows = [SimpleNamespace(rounds=rounds, epsilon=1 / rounds, messages=float(rounds)) for rounds in (2, 30, 100)]
    plan = SimpleNamespace(by_rounds=rows, own=rows[1], uniform=0.01, rounds=30, fewest_rounds=None, num_parts=1)
    (panel,) = rounds_chart(plan, epsilon0=1.0, withdrawn=False).panels
    assert [2, 30, 100] in [list(mark.x) for mark in panel.marks if isinstance(mark, Dots)]
    assert all(len(set(mark.y)) == 1 for mark in panel.marks if isinstance(mark, Line))


@pytest.mark.parametrize(("rows", "is_open"), [(15, True), (16, False), (400, False)])
def test_a_table_is_folded_where_it_is_long(rows, is_open):
    fold = folded(Table("", (Column("place"),), (("a",),) * rows), "places", "places.csv")
    assert (fold.summary, fold.is_open) == (f"All {rows} places as a table", is_open)


def test_a_table_is_cut_where_it_is_very_long_and_says_where_the_rest_is():
    fold = folded(Table("", (Column("place"),), (("a",),) * 1500), "places", "places.csv")
    assert fold.summary == "The first 400 places as a table (1,100 more in places.csv)"
    assert len(fold.blocks[0].rows) == 400


def test_of_many_exact_intervals_the_largest_are_drawn_that_hold_together():
    categories = tuple(f"answer {number}" for number in range(60))
    release = make_outcome([0, 59, 59], categories=categories).release
    chart = rows_chart(release.estimate, Scale.of(release.estimate), "answer", model=release.model.local)
    assert "only the 40 largest are drawn, with intervals that hold for all 60 together" in chart.caption
    assert len(chart.panels[0].y.names) == 40


def test_circles_of_a_map_are_smaller_where_the_map_is():
    where = tuple({"lat": float(place), "lon": float(place % 3)} for place in range(3))
    drawn = replace(places(widening=1.0), where=where)
    chart = place_charts(drawn)[0]
    wide, narrow = (figure_of(chart, width).axes[0].collections[0].get_sizes() for width in (WIDE, NARROW))
    np.testing.assert_allclose(narrow, wide / 4)


@pytest.mark.parametrize(
    ("place", "name", "brief"),
    [
        (
            {"lat": 47.11604, "lon": 8.09412, "joined": "12 places"},
            "lat 47.116, lon 8.09412 (12 places)",
            "47.12, 8.094 (12 places)",
        ),
        ({"lat": 47.11604, "lon": -118.09412}, "lat 47.116, lon -118.094", "47.12, -118.1"),
        ({"km from": 1.0, "km to": 3.0}, "km from 1, km to 3", "km from 1, km to 3"),
        ({"canton": "Uri", "joined": "2 places"}, "Uri (2 places)", "Uri (2 places)"),
    ],
)
def test_the_name_of_a_cell_says_where_it_is_and_fits_a_row_of_a_chart(place, name, brief):
    assert place_name(place) == name
    chart = rows_of_places([replace(places(widening=1.0), where=(place,) * 3)], "", "")
    assert chart.panels[0].y.names == (brief,) * 3
