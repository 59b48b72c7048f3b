"""A document says what is drawn, and one renderer how; what a shuffle does it says itself."""

import re
from pathlib import Path

import numpy as np
import pytest

import shuffledp
from shuffledp.documents.charts.chart import (
    Axis,
    Band,
    Chart,
    Columns,
    Dots,
    Line,
    Mark,
    Name,
    Note,
    Panel,
    Rows,
    Spans,
)
from shuffledp.documents.charts.house_style import NARROW, WIDE
from shuffledp.documents.rendering import figure_of

SOURCE = Path(shuffledp.__file__).parent
DRAWS = {"rendering.py", "curve_names.py", "house_style.py", "drawing.py"}


def test_matplotlib_is_named_by_the_renderer_alone():
    named = {file.name for file in SOURCE.rglob("*.py") if re.search(r"(from|import) matplotlib", file.read_text())}
    assert named == DRAWS


def test_the_page_of_a_release_asks_no_shuffle_what_kind_it_is():
    code = (SOURCE / "documents" / "flow_document.py").read_text()
    assert not re.search(r"LabelMeaning|ShuffleModel|shuffle\.kind|shuffle\.labels is", code)


def drawn(*marks: Mark, width: int = WIDE, **panel):
    """The axes of one panel."""
    axis = Axis(ends=(0.0, 4.0))
    chart = Chart(
        name="a",
        title="b",
        description="c",
        caption="d",
        panels=(Panel(**{"x": axis, "y": axis} | panel, marks=marks),),
    )
    return figure_of(chart, width).axes[0]


@pytest.mark.parametrize(
    ("mark", "kind"),
    [
        (Line(x=[1, 2], y=[1, 3]), "lines"),
        (Band(x=[1, 2], low=[0, 0], high=[1, 1]), "collections"),
        (Columns(edges=[1, 2], heights=[3]), "patches"),
        (Spans(at=[1], low=[0], high=[2]), "collections"),
        (Dots(x=[1], y=[1]), "collections"),
        (Note("here", (1, 1), (0, 0)), "texts"),
        (Name("curve", (4, 1), "ink", falls=False), "texts"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_mark_is_drawn_once(mark, kind):
    counts = {each: len(getattr(drawn(mark), each)) for each in ("lines", "collections", "patches", "texts")}
    assert counts == {each: int(each == kind) for each in counts}


def test_every_kind_of_mark_has_a_test():
    tested = test_every_mark_is_drawn_once.pytestmark[0].args[1]
    assert {type(mark).__name__ for mark, _ in tested} == {each.__name__ for each in Mark.__subclasses__()}


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_names_of_rows_lie_above_their_marks_only_where_there_is_little_room(width):
    axes = drawn(Dots(x=[1, 2], y=[0, 1]), width=width, y=Rows(names=("a", "b"), values=("1", "2"), pitch=(44, 44)))
    places = {text.get_text(): text.xy for text in axes.texts}
    assert (places["a"][1] < 0) == (width == NARROW)
    assert np.ptp([places[name][1] for name in "ab"]) == 1
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first row is at the top


def test_a_note_for_wide_pictures_is_left_out_of_narrow_ones():
    note = Note("here", (1, 1), (0, 0), is_wide_only=True)
    assert [len(drawn(note, width=width).texts) for width in (WIDE, NARROW)] == [1, 0]


def test_dots_of_two_marks_are_shaded_on_one_scale():
    shaded = [Dots(x=[1], y=[1], shades=[0.01]), Dots(x=[2], y=[1], shades=[0.1], is_square=True)]
    axes = drawn(*shaded, shades="ever seen")
    assert len({(each.norm.vmin, each.norm.vmax) for each in axes.collections}) == 1
    assert "ever seen" in {text.get_text() for text in axes.texts}
