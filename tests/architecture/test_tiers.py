"""The fast tier keeps its budget, and each test function some point in it."""

import pytest

from tiers import SLOW, slow_tests

TIMES = {"a.py::grid[1]": 2.0, "a.py::grid[2]": 1.0, "a.py::grid[3]": 0.7, "a.py::one": 0.9, "a.py::cheap": 0.1}


def test_nothing_leaves_a_tier_that_keeps_its_budget():
    assert slow_tests(TIMES, sum(TIMES.values())) == ([], sum(TIMES.values()))


def test_the_dearest_points_leave_and_the_cheapest_of_each_function_stays():
    chosen, spent = slow_tests(TIMES, 0)
    assert chosen == ["a.py::grid[1]", "a.py::grid[2]"]
    assert spent == pytest.approx(0.7 + 0.9 + 0.1)


def test_what_is_too_dear_leaves_though_nothing_of_it_is_left():
    assert slow_tests({"a.py::one": 9.0}, 1) == (["a.py::one"], 0.0)


def test_the_list_is_sorted_and_names_tests_of_files_that_are_there():
    names = SLOW.read_text(encoding="utf-8").split("\n")[:-1]
    assert names == sorted(set(names))
    assert {name.split("::")[0] for name in names if not (SLOW.parent / name.split("::")[0]).is_file()} <= {""}
