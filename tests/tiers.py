"""Which tests run in the fast tier, and which in the deep one alone.

Marked as deep are, besides tests that say so themselves:

* of a *grid* (stacked parametrizations, or a long list of numbers) the points that are neither corners nor among a few
  between. Any other list is one of *cases*, each of which says something of its own;
* of the cases of a test that several classes inherit from a *contract*, all but a few, for each class but the first;
* the tests in ``slow.txt``, chosen by what they cost so that the fast tier keeps its budget of processor time. Some
  point of each test function stays, unless even the cheapest is too dear.

The list is made anew from a run that measures::

    uv run pytest -m 'deep or not deep' --times times.txt -n 1
    uv run python tests/tiers.py times.txt
"""

import resource
import sys
import zlib
from collections import defaultdict
from numbers import Number
from pathlib import Path

import pytest

LARGEST_GRID = 4  # points of a grid that run in the fast tier, unless there are more corners
INHERITED = 2  # cases of an inherited test that run in the fast tier for each class but the first
LONG = 12  # numbers in a list that is a grid
SLOW = Path(__file__).parent / "slow.txt"
BUDGET = 240.0  # seconds of processor time for all tests of the fast tier
CHEAP = 0.05  # seconds below which no test leaves the fast tier
DEAR = 1.0  # seconds above which a test leaves it even if no other point of it is left
KEPT = ("architecture/", "cli/test_start.py", "docs/test_docs.py::test_the_snippets_of_a_page_do_what_it_shows[README")


def pytest_addoption(parser):
    parser.addoption("--times", type=Path, help="append the processor time of each test to this file")


@pytest.hookimpl(tryfirst=True)  # before the marks are looked at
def pytest_collection_modifyitems(items):
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    inherited = set()
    for points in by_function(items, lambda item: item.nodeid).values():
        test, owner = points[0].function.__qualname__, points[0].cls
        repeated = owner is not None and test in inherited
        if owner is not None and not test.startswith(f"{owner.__name__}."):
            inherited.add(test)
        left_out = []
        if is_grid(points) or (repeated and hasattr(points[0], "callspec")):
            left_out = outside(points, INHERITED if repeated else LARGEST_GRID)
        for item in [*left_out, *(each for each in points if each.nodeid.removeprefix("tests/") in slow)]:
            item.add_marker(pytest.mark.deep)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    before = processor_time()
    yield
    if path := item.config.getoption("times"):
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{processor_time() - before:.3f}\t{item.nodeid.removeprefix('tests/')}\n")


def processor_time():
    """Of this process and of those that it started."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def by_function(points, name):
    found = defaultdict(list)
    for point in points:
        found[name(point).split("[")[0]].append(point)
    return found


def is_grid(points):
    if not hasattr(points[0], "callspec"):
        return False
    stacked = sum(1 for _ in points[0].iter_markers("parametrize")) > 1
    return stacked or (
        len(points) > LONG and all(is_numeric(value) for item in points for value in item.callspec.params.values())
    )


def is_numeric(value):
    return isinstance(value, Number) and not isinstance(value, bool)


def outside(grid, most):
    """The points of a grid that are left out: neither corners nor among those that a hash of their name picks."""
    ends = {
        name: {min(places), max(places)}
        for name in grid[0].callspec.indices
        if (places := [item.callspec.indices[name] for item in grid])
    }
    inner = [item for item in grid if any(item.callspec.indices[name] not in ends[name] for name in ends)]
    inner.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
    return inner[max(0, most - (len(grid) - len(inner))) :]


def slow_tests(times, budget):
    """The dearest tests, until the others keep the budget.

    Args:
        times: seconds by name of a test, of the fast tier and of what ``slow.txt`` has kept out of it.
        budget: seconds for all that stay.
    """
    left = {function: len(points) for function, points in by_function(times, str).items()}
    chosen, spent = [], sum(times.values())
    for name, seconds in sorted(times.items(), key=lambda each: -each[1]):
        function = name.split("[")[0]
        may_go = seconds > CHEAP and (left[function] > 1 or seconds > DEAR) and not name.startswith(KEPT)
        if spent > budget and may_go:
            chosen.append(name)
            left[function] -= 1
            spent -= seconds
    return sorted(chosen), spent


if __name__ == "__main__":
    lines = (line.split("\t") for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
    chosen, spent = slow_tests({name: float(seconds) for seconds, name in lines}, BUDGET)
    SLOW.write_text("\n".join(chosen) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(chosen)} tests left to the deep tier; the others take {spent:.0f} s\n")
