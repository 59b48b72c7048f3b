"""Names beside dots: they cover no dot where there is room, and no other name."""

import numpy as np

from shuffledp.documents.charts.chart import Note
from shuffledp.protocols.d_sigma.documents.dot_names import covered, named_dots

X, Y = (0.0, 1.0), (0.0, 100.0)


def test_a_name_covers_no_dot_where_a_free_place_is_near():
    """Mutant: always to the right and below, where there are dots."""
    at = (0.5, 50.0)
    dots = [at, *((0.5 + step, 42.0) for step in np.linspace(0.01, 0.3, 20))]
    (note,) = named_dots({"balanced": at}, dots, [], X, Y)
    assert covered(note, dots, [], X, Y) == 0
    assert covered(Note("balanced", at, (8, -14)), dots, [], X, Y) > 0
    (alone,) = named_dots({"balanced": at}, [at], [], X, Y)
    assert alone.offset == (8.0, -14.0)
    assert alone.is_bold


def test_names_of_one_dot_cover_no_other_name_and_stay_inside():
    at = (0.98, 3.0)
    notes = named_dots({"balanced": at, "hides more": at}, [at], [Note("uniform shuffle", at, (-8, 8), "right")], X, Y)
    assert all(covered(note, [at], [each for each in notes if each is not note], X, Y) == 0 for note in notes)
