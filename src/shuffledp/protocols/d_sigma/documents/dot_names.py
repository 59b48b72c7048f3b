"""Names beside dots: where in a picture a name covers neither a dot nor another name."""

from collections.abc import Sequence

from shuffledp.documents.charts.chart import Note

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, right, low and high, in pixels
_WIDTHS, _HEIGHT = (600.0, 300.0), 190.0  # of the room for dots, on wide and on narrow screens, about
_LETTER, _HALF_LINE, _DOT = 7.0, 8.0, 5.0  # pixels: a letter of bold type, half of a line, the radius of a dot
_NAME = 3  # a covered name is as bad as so many covered dots
_BESIDE = tuple((side * 8.0, up) for up in (-14.0, 14.0, -28.0, 28.0, -44.0, 44.0, -60.0, 60.0) for side in (1, -1))


def named_dots(names: dict[str, Point], dots: Sequence[Point], notes: Sequence[Note], x: Point, y: Point) -> list[Note]:
    """Bold names of dots, each at the nearest place beside its dot that covers least.

    Args:
        names: the point of each name.
        dots: all points that are drawn.
        notes: names that have a place already.
        x: the first and last number of the horizontal axis.
        y: those of the vertical one.
    """
    placed: list[Note] = []
    for name, at in names.items():
        choices = [Note(name, at, each, "left" if each[0] > 0 else "right", is_bold=True) for each in _BESIDE]
        others = [*notes, *placed]
        placed.append(min(choices, key=lambda each: covered(each, dots, others, x, y)))
    return placed


def covered(note: Note, dots: Sequence[Point], others: Sequence[Note], x: Point, y: Point) -> int:
    """Number of dots under a name, on wide and on narrow screens; other names and the edge count as several."""
    found = 0
    for width in _WIDTHS:
        left, right, low, high = _box(note, width, x, y)
        for dot in dots:
            across, up = _pixels(dot, width, x, y)
            found += left - _DOT < across < right + _DOT and low - _DOT < up < high + _DOT
        for other in others:
            theirs = _box(other, width, x, y)
            found += _NAME * (left < theirs[1] and theirs[0] < right and low < theirs[3] and theirs[2] < high)
        found += _NAME * (left < 0 or right > width or low < 0 or high > _HEIGHT)
    return found


def _pixels(at: Point, width: float, x: Point, y: Point) -> Point:
    return (at[0] - x[0]) / (x[1] - x[0]) * width, (at[1] - y[0]) / (y[1] - y[0]) * _HEIGHT


def _box(note: Note, width: float, x: Point, y: Point) -> Box:
    """Box in pixels that a name takes in the picture."""
    across, up = _pixels(note.at, width, x, y)
    across, up, long = across + note.offset[0], up + note.offset[1], _LETTER * len(note.text)
    left = across if note.align == "left" else across - long
    return left, left + long, up - _HALF_LINE, up + _HALF_LINE
