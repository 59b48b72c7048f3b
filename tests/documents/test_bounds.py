"""The picture of all theorems together, along each axis and in each format."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from documents.reading import Page
from shuffledp.accounting import SHARP_THEOREMS, THEOREMS, account, examine
from shuffledp.core.channels import Channel
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Status
from shuffledp.documents import account_document
from shuffledp.documents.account_document import figure_of
from shuffledp.documents.charts.chart import Band, Dots, Line, Name, Note
from shuffledp.documents.charts.curve_names import apart
from shuffledp.documents.charts.curves import Curve, CurveAxis, Curves, shown
from shuffledp.documents.charts.epsilon_charts import band_chart, bounds_chart, ratio_chart, stacked_chart
from shuffledp.documents.rendering import figure_of as figure_of_chart
from shuffledp.randomizers import ChannelModel, KaryRandomizedResponseModel, LdpModel, family_of
from shuffledp.shufflers import UniformShuffleModel


def protocol(local, users=10_000):
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))


LDP = protocol(LdpModel(epsilon0=1.0))
BINARY = protocol(KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=2))


@pytest.fixture(scope="module")
def found():
    return examine(LDP, delta=1e-6)


@pytest.fixture(scope="module")
def page(found) -> str:
    return figure_of(found, ".html").decode()


def test_along_the_local_loss_each_point_is_what_the_accountant_states():
    curves = Curves.over_epsilon0(family_of(LDP.local), LDP, delta=1e-6, points=5)
    assert (curves.along, curves.here, curves.epsilon0) == (CurveAxis.EPSILON0, 1.0, 1.0)
    assert 1.0 in curves.values
    for loss, stated in zip(curves.values.tolist(), curves.stated, strict=True):
        assert stated == account(protocol(LdpModel(epsilon0=loss)), delta=1e-6).guarantee.epsilon
    assert np.array_equal(curves.local, curves.values)
    both = np.isfinite(curves.unreachable)
    assert both.any()
    assert (curves.unreachable[both] <= curves.stated[both]).all()


def test_along_delta_each_point_is_what_the_accountant_states():
    curves = Curves.over_delta(LDP, delta=1e-6, points=5)
    assert (curves.along, curves.here) == (CurveAxis.DELTA, 1e-6)
    for delta, stated in zip(curves.values.tolist(), curves.stated, strict=True):
        assert stated == account(LDP, delta=delta).guarantee.epsilon
    assert (np.diff(curves.stated) <= 0).all()


def test_where_there_is_no_randomizer_of_a_loss_nothing_is_drawn():
    def small(loss):
        if loss > 1.5:
            raise InvalidParameterError("too large")
        return LdpModel(epsilon0=loss)

    curves = Curves.over_epsilon0(small, LDP, delta=1e-6, points=9)
    assert curves.values.max() <= 1.5
    assert len(curves.values) > 3


def test_a_loss_of_0_is_stated_and_cannot_be_shown():
    curves = Curves.over_delta(protocol(LdpModel(epsilon0=0.1), users=10**8), delta=0.1, points=5)
    assert curves.stated.min() == 0
    assert np.isnan(shown(curves.stated)[curves.stated == 0]).all()


def test_without_a_finite_local_loss_the_largest_loss_shown_is_one_that_a_theorem_gives():
    local = ChannelModel(matrix=Channel([[0.6, 0.399999999, 0.000000001], [0.4, 0.6, 0.0]]))
    curves = Curves.over_delta(protocol(local, 5000), delta=1e-6, points=3)
    assert np.isinf(curves.local).all()
    assert curves.tallest == np.nanmax(shown(curves.stated))


def test_across_the_start_of_a_theorem_the_larger_epsilon_is_held():
    curves = Curves.over_delta(protocol(LdpModel(epsilon0=1.0, delta0=1e-12)), delta=1e-6)
    places, heights = curves.corners
    jumps = np.flatnonzero(np.diff(places) == 0)
    assert len(jumps) >= 1
    assert (np.diff(places) >= 0).all()
    assert set(places.tolist()) == set(range(len(curves.values)))
    assert (heights >= curves.stated[places]).all()
    for jump in jumps:
        assert heights[jump] == curves.stated[places[jump] - 1] > heights[jump + 1]
    falls = heights[:-1] > 2 * heights[1:]
    assert (np.diff(places)[falls] == 0).all()


def test_where_the_same_theorem_stays_the_best_the_line_has_no_corners_of_its_own():
    places, heights = Curves.over_delta(LDP, delta=1e-6).corners
    assert np.array_equal(places, np.arange(len(places)))
    assert (np.diff(heights) < 0).all()


def test_the_dashed_line_is_the_best_lower_bound_and_lies_above_all_other_lines():
    curves = Curves.over_users(lambda users: protocol(BINARY.local, users), people=10_000, delta=1e-6)
    (panel,) = bounds_chart(curves, name="bounds", who="here").panels
    *others, dashed = (mark for mark in panel.marks if isinstance(mark, Line))
    assert dashed.dash == "dashed"
    assert "dashed" not in {line.dash for line in others}
    best = shown(curves.unreachable)
    drawn = np.isfinite(dashed.y)
    assert drawn.any()
    assert np.array_equal(dashed.y[drawn], best[drawn])
    for line in others:
        if line.dash == "dotted":
            assert not (line.y > best).any()


def test_marks_are_drawn_in_their_order_and_bands_below_all_others():
    chart = band_chart(Curves.over_delta(BINARY, delta=1e-6, points=5), name="bounds", who="here")
    (axes,) = figure_of_chart(chart, 816).axes
    heights = [line.get_zorder() for line in axes.lines]
    assert heights == sorted(heights)
    assert axes.collections[0].get_zorder() < min(heights)


@pytest.mark.parametrize("local", [BINARY.local, LDP.local], ids=["binary", "ldp"])
def test_the_best_theorems_alone_promise_and_rule_out_what_all_of_them_do(local):
    given = {"people": 1000, "delta": 1e-6}
    every, best = (
        Curves.over_users(lambda users: protocol(local, users), **given, best_only=best_only)
        for best_only in (False, True)
    )
    evaluated = [sum(np.isfinite(curve.epsilon).sum() for curve in curves.curves) for curves in (best, every)]
    assert evaluated[0] < 0.8 * evaluated[1]
    np.testing.assert_allclose(best.stated, every.stated, rtol=1e-4)
    np.testing.assert_allclose(best.unreachable, every.unreachable, rtol=1e-6)


def test_the_band_is_what_is_stated_and_the_best_lower_bound_by_these_words():
    curves = Curves.over_users(lambda users: protocol(BINARY.local, users), people=10_000, delta=1e-6)
    (panel,) = band_chart(curves, name="bounds", who="here").panels
    names = [mark.text for mark in panel.marks if isinstance(mark, Name)]
    assert names == ["promised", "best possible"]
    promised, best = (mark for mark in panel.marks if isinstance(mark, Line))
    assert np.array_equal(promised.y, shown(curves.corners[1]))
    assert np.array_equal(best.y[np.isfinite(best.y)], shown(curves.unreachable)[np.isfinite(best.y)])
    assert sum(isinstance(mark, Band) for mark in panel.marks) == 1


def test_published_theorems_alone_may_be_drawn():
    published = [theorem for theorem in THEOREMS if theorem.status is Status.PUBLISHED]
    curves = Curves.over_delta(LDP, delta=1e-6, theorems=published, points=3)
    assert [curve.theorem for curve in curves.curves] == published


def test_ratios_are_promises_over_the_best_lower_bound_named_by_author_and_year():
    theorems = [each for each in SHARP_THEOREMS if not each.is_costly]
    curves = Curves.over_users(lambda users: protocol(LDP.local, users), people=10_000, delta=1e-6, theorems=theorems)
    (panel,) = ratio_chart(curves, name="ratios").panels
    names = {mark.text for mark in panel.marks if isinstance(mark, Name)}
    assert "fmt21-pair (Feldman et al. 2021)" in names
    assert "strong-pair (after Feldman et al. 2023)" in names
    assert not any("ldp-witness" in name for name in names)
    stated = [mark for mark in panel.marks if isinstance(mark, Line)][-1]
    assert stated.y == pytest.approx(curves.stated / curves.unreachable)
    assert min(np.nanmin(mark.y) for mark in panel.marks if isinstance(mark, Line)) >= 1
    costly = next(each for each in SHARP_THEOREMS if each.id == "swap-bound")
    sharper = Curve(theorem=costly, epsilon=curves.stated * 0.9, here=None, reason="", start=None)
    (panel,) = ratio_chart(replace(curves, curves=(*curves.curves, sharper)), name="ratios").panels
    at_once, thick = [mark for mark in panel.marks if isinstance(mark, Line)][-2:]
    assert at_once.dash == "dashed"
    assert np.array_equal(at_once.y, stated.y)
    assert thick.y == pytest.approx(np.maximum(0.9 * stated.y, 1))
    legend = [(mark.text.split(":")[0], mark.at[1]) for mark in panel.marks if isinstance(mark, Note)]
    assert legend == [("before (dashed)", at_once.y[0]), ("after (thick)", thick.y[0])]


def test_the_dots_of_all_panels_are_one_number_where_several_releases_are_promised():
    strong = next(each for each in THEOREMS if each.id == "strong-pair")

    class Costly(type(strong)):
        id, is_costly = "costly", True

        def epsilon(self, model, *, delta):
            return 0.9 * super().epsilon(model, delta=delta)

    panels = account_document._panels(examine(LDP, delta=1e-6, releases=2), (strong, Costly()))
    assert len(panels) == 3
    assert {panel.stated_here for panel in panels} == {Costly().epsilon(LDP, delta=1e-6)}
    assert [panel.is_at_once for panel in panels] == [False, True, True]


def test_panels_below_each_other_are_equally_wide_whatever_the_names_of_their_curves():
    few, many = (Curves.over_delta(LDP, delta=1e-6, theorems=some, points=3) for some in (THEOREMS[:1], THEOREMS))
    chart = stacked_chart([few, many], name="bounds", title="bounds", who="here")
    widths = [axes.get_position().width for axes in figure_of_chart(chart, 816).axes]
    assert (
        widths[0]
        == widths[1]
        < figure_of_chart(replace(chart, panels=chart.panels[:1]), 816).axes[0].get_position().width
    )


def test_the_dot_is_what_is_stated_where_that_took_seconds_and_the_caption_says_so():
    curves = Curves.over_delta(BINARY, delta=1e-6, points=5)
    less = 0.9 * curves.stated_here
    quick, own = (band_chart(replace(curves, own=each), name="bounds", who="here") for each in (math.inf, less))
    dots = [mark for mark in own.panels[0].marks if isinstance(mark, Dots)]
    assert [dot.y for dot in dots] == [[less]]
    assert "bounds that take seconds" in own.caption
    assert "bounds that take seconds" not in quick.caption


def test_a_picture_says_which_of_its_lines_leave_out_the_bounds_by_which_its_dot_is_lower():
    quick = Curves.over_delta(LDP, delta=1e-6, points=5)
    sharp = replace(quick, own=0.0383)
    (before,), (after,) = (stacked_chart([each], name="b", title="b", who="here").panels for each in (quick, sharp))
    assert before.y.label == "epsilon"
    assert after.y.label == "epsilon, without the bounds that take seconds; with them, here: 0.0383"
    assert bounds_chart(sharp, name="b", who="here").caption.count("with them, the dot is at 0.0383.") == 1
    notes = [[mark.text for mark in panel.marks if isinstance(mark, Note)] for panel in (before, after)]
    assert notes == [["here:\ndelta = 1e-06"], ["here, with bounds that take seconds:\ndelta = 1e-06"]]


def test_a_page_has_the_promise_the_bracket_four_charts_and_every_theorem(page, found):
    read = Page.read(page)
    text = " ".join(page.split())
    assert found.upper.guarantee.text("at most") in read.text
    assert re.search(r"between <b>0\.03\d+</b> and <b>0\.0\d+</b>", text)
    assert len(re.findall(r"<figure ", page)) == 4
    for theorem in THEOREMS:
        assert f'<span class="id">{theorem.id}</span>' in page
    assert "Also as" not in page  # there are no such files
    assert "<script" not in page
    assert read is not None


@pytest.mark.deep
def test_the_picture_of_all_panels_is_the_same_every_time(found):
    svg = figure_of(found, ".svg")
    ET.fromstring(svg)  # noqa: S314
    assert svg == figure_of(found, ".svg")


def test_another_format_is_refused(found):
    with pytest.raises(InvalidParameterError, match="figure must be one of"):
        figure_of(found, ".png")


def test_a_local_loss_without_a_family_has_no_panel(monkeypatch, found):
    monkeypatch.setattr("shuffledp.documents.account_document.family_of", lambda _: None)
    assert len(re.findall(r"<figure ", figure_of(found, ".html").decode())) == 3


@pytest.mark.parametrize("wanted", [[50.0, 50.0, 50.0], [0.0, 1.0, 99.0, 100.0], [95.0, 96.0, 97.0, 98.0], [10.0]])
def test_names_lie_apart_in_their_order_and_inside(wanted):
    heights = [10.0] * len(wanted)
    middles = apart(wanted, heights, 0.0, 100.0)
    assert all(np.diff(middles) >= 10 - 1e-9)
    assert middles[0] >= 5 - 1e-9
    assert middles[-1] <= 95 + 1e-9


def test_names_that_are_apart_stay_where_they_are():
    assert apart([20.0, 60.0], [10.0, 10.0], 0.0, 100.0) == [20.0, 60.0]
