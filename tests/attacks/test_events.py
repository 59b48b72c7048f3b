"""An event is found on whichever score, side and role it lies, and is counted on other runs."""

import numpy as np
import pytest

from shuffledp.attacks.events import Event, best_event

RUNS = 4000
TAIL = 0.001


def scores(likely: float, unlikely: float) -> tuple[np.ndarray, np.ndarray]:
    """Two scores: the second one is 1 in these shares of the runs, the first one tells nothing."""
    runs = np.arange(RUNS)
    return tuple(np.column_stack([runs, (runs < share * RUNS).astype(float)]) for share in (likely, unlikely))


@pytest.mark.parametrize(
    ("shares", "sign", "likely"),
    [((0.1, 0.01), 1, "first"), ((0.01, 0.1), 1, "second"), ((0.9, 0.99), -1, "first"), ((0.99, 0.9), -1, "second")],
)
def test_the_rare_event_is_found_on_each_side_and_in_each_role(shares, sign, likely):
    first, second = scores(*shares)
    _, event = best_event(first, second, delta=0.0, tail=TAIL)
    assert (event.column, event.sign, event.likely) == (1, sign, likely)
    assert event.count(first, second) == (400, 40)


def test_a_delta_moves_the_choice_from_a_rare_event_to_a_frequent_one():
    # Score 2 in 1 % of runs and in none; score 1 or more in half of them and in a fifth.
    first, second = (np.zeros((RUNS, 1)) for _ in range(2))
    first[: RUNS // 2], second[: RUNS // 5] = 1, 1
    first[: RUNS // 100] = 2
    rare, frequent = (best_event(first, second, delta=delta, tail=TAIL)[1] for delta in (0.0, 0.02))
    assert rare.count(first, second) == (RUNS // 100, 0)
    assert frequent.count(first, second) == (RUNS // 2, RUNS // 5)


def test_where_nothing_is_shown_the_most_significant_difference_is_taken_and_not_an_event_that_always_comes():
    first, second = scores(0.53, 0.50)
    merit, event = best_event(first, second, delta=0.0, tail=TAIL)
    assert merit[0] == 0.0
    assert event.column == 1


def test_the_curve_goes_up_from_corner_to_corner_through_the_event_itself():
    generator = np.random.default_rng(2)
    first, second = generator.normal(1, 1, (RUNS, 1)), generator.normal(0, 1, (RUNS, 1))
    event = Event(column=0, sign=1, threshold=0.5, likely="first")
    curve = np.array(event.roc(first, second))
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]
    assert (np.diff(curve, axis=0) >= 0).all()
    assert (curve[1:-1, 1] > curve[1:-1, 0]).all()
    assert 10 < len(curve) <= 42
    mirrored = Event(column=0, sign=-1, threshold=-0.5, likely="second")
    assert np.array(mirrored.roc(first, second))[5:-5, 1].min() > 0
    assert sum(event.count(first, second)) + sum(mirrored.count(first, second)) == 2 * RUNS
