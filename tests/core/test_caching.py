"""What is remembered of objects goes with them, and with what comes later."""

import gc
import sys

import pytest

from shuffledp.core.caching import (
    WeakCache,
    compiled,
    forget,
    plain_until_worth_compiling,
    remembered,
    with_disk_cache,
)


def double(number):
    return 2 * number


def double_and_one(number):
    return double(number) + 1


def test_a_kernel_calls_plain_functions_that_are_named_to_it():
    kernel = compiled(double_and_one, calls=(double,))
    assert kernel(20) == 41
    assert kernel.__name__ == "double_and_one"


def test_the_plain_function_serves_the_first_items_and_the_compiled_one_the_rest():
    choose = plain_until_worth_compiling("plain", "compiled", items=10)
    assert [choose(size) for size in (4, 6, 1, 0)] == ["plain", "plain", "compiled", "compiled"]
    assert plain_until_worth_compiling("plain", "compiled", items=10)(11) == "compiled"


def test_without_numba_kernels_run_as_they_are_written_and_plain_functions_serve_all_items(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled(lambda number: [number], calls=(double,))(20) == [20]
    assert plain_until_worth_compiling("plain", "compiled", items=10)(10**9) == "plain"


def test_a_kernel_is_compiled_without_a_cache_where_none_can_be_written():
    def compiler(cache=False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled in memory", function)

    assert with_disk_cache(compiler, double) == ("compiled in memory", double)


class Thing:
    """All are equal, and none can be hashed."""

    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, Thing)


def test_values_are_those_of_the_very_same_objects_and_an_equal_key():
    kept, one, other = WeakCache(4), Thing(), Thing()
    assert kept.put((one, other), "found", key=0.5) == "found"
    assert kept.get((one, other), 0.5) == "found"
    assert kept.get((other, one), 0.5) is kept.get((one, other)) is kept.get((one,), 0.5) is None


def test_values_go_with_any_of_their_objects():
    kept, one, other = WeakCache(4), Thing(), Thing()
    kept.put((one, other), "both")
    kept.put((one,), "one")
    del other
    gc.collect()
    assert len(kept) == 1
    assert kept.get((one,)) == "one"


def test_the_value_that_was_asked_for_longest_ago_makes_room():
    kept, thing = WeakCache(2), Thing()
    for key in (1, 2):
        kept.put((thing,), key, key)
    kept.get((thing,), 1)
    kept.put((thing,), 3, 3)
    assert [kept.get((thing,), key) for key in (1, 2, 3)] == [1, None, 3]


def test_the_last_results_are_remembered_by_their_arguments():
    asked = []

    @remembered(2)
    def squared(number, *, plus=0):
        """The square."""
        asked.append(number)
        return number**2 + plus

    assert squared.__doc__ == "The square."
    assert [squared(2), squared(3), squared(2), squared(3, plus=1), squared(3, plus=1)] == [4, 9, 4, 10, 10]
    assert asked == [2, 3, 3]
    squared(2)
    assert asked == [2, 3, 3]  # of the two asked for last it is one
    squared(3)
    assert asked == [2, 3, 3, 3]
    forget()
    squared(3)
    assert asked == [2, 3, 3, 3, 3]


def test_what_has_no_hash_is_computed_anew_and_an_error_is_not_remembered():
    asked = []

    @remembered(2)
    def first(numbers):
        asked.append(list(numbers))
        return numbers[0]

    assert [first([7]), first([7])] == [7, 7]
    for _ in range(2):
        with pytest.raises(IndexError):
            first(())
    assert asked == [[7], [7], [], []]


def test_arguments_that_are_equal_but_of_different_types_are_told_apart():
    @remembered(4)
    def shown(value):
        return repr(value)

    assert [shown(1), shown(1.0), shown(True)] == ["1", "1.0", "True"]
