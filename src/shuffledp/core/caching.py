"""Caches: functions compiled once by numba, the latest results of functions, and results about objects.

Kernels are compiled at their first call: importing numba takes most of a second. Where there is no numba, as in a
browser, they run as they are written: the same results, later.
"""

import functools
import importlib.util
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, Generic, ParamSpec, TypeVar, cast

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Found = TypeVar("_Found")
_Place = tuple[tuple[int, ...], Hashable]
_KEPT: list[Callable[[], None]] = []  # what makes each remembered function forget


def compiled(
    function: Callable[_Parameters, _Result], *, calls: tuple[Callable[..., Any], ...] = ()
) -> Callable[_Parameters, _Result]:
    """Decorator: compile the function with numba at its first call, and keep the machine code on disk.

    Without numba it is the function itself.

    ``calls`` are the plain functions that it calls. (What is kept on disk follows changes of the function's own file
    only: after editing one that lies elsewhere, remove ``__pycache__``.)
    """

    @functools.cache
    def kernel() -> Any:
        if not _can_compile():
            return function
        import numba

        for helper in calls:
            _make_callable(helper)
        return with_disk_cache(numba.njit, function)

    @functools.wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        result: _Result = kernel()(*args, **kwargs)
        return result

    return call


def remembered(most: int) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Decorator: keep the last ``most`` results by arguments; calls with unhashable arguments are computed anew.

    It is for functions of values that never change, whose results never change either.
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        kept = functools.lru_cache(maxsize=most, typed=True)(function)
        _KEPT.append(kept.cache_clear)

        @functools.wraps(function)
        def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            try:
                hash((args, tuple(kwargs.values())))
            except TypeError:
                return function(*args, **kwargs)
            return kept(*args, **cast(Any, kwargs))

        return call

    return decorate


def forget() -> None:
    """Empty the caches of all `remembered` functions."""
    for clear in _KEPT:
        clear()


def plain_until_worth_compiling(plain: _Function, compiled: _Function, *, items: int) -> Callable[[int], _Function]:
    """Function that chooses the plain function for the first ``items`` items, then the compiled one.

    So a short run never loads numba, and a long run soon does.

    The choice, given the number of items of the next call, is ``plain`` for the first ``items`` items of a process: as
    many as it does in about half the time that loading numba takes. Without numba it is ``plain`` for all.
    """
    done = 0

    def choose(num_items: int) -> _Function:
        nonlocal done
        done += num_items
        return plain if done <= items or not _can_compile() else compiled

    return choose


def _can_compile() -> bool:
    """Whether numba is installed, checked without importing it."""
    return importlib.util.find_spec("numba") is not None


def with_disk_cache(compiler: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Compiled function, with its cache on disk if a directory for it can be written."""
    try:
        return compiler(cache=True)(function)
    except RuntimeError:  # a read-only installation without a home directory
        return compiler()(function)


@functools.cache
def _make_callable(helper: Callable[..., Any]) -> None:
    from numba.extending import register_jitable

    register_jitable(helper)


class WeakCache(Generic[_Found]):
    """Cache with weak references: the ``most`` values used last, keyed by the identity of objects.

    A value must not refer to its own objects, or they would never be freed.
    """

    __slots__ = ("_found", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[_Place, tuple[tuple[weakref.ref[object], ...], _Found]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, objects: tuple[object, ...], key: Hashable = None) -> _Found | None:
        """Cached value for these objects and this key; None if the cache has dropped it."""
        place = _place(objects, key)
        kept = self._found.get(place)
        if kept is None:
            return None
        with suppress(KeyError):  # another thread may have been faster
            self._found.move_to_end(place)
        return kept[1]

    def put(self, objects: tuple[object, ...], found: _Found, key: Hashable = None) -> _Found:
        """Store and return a value, kept until one of its objects dies or newer values displace it."""
        place, everything = _place(objects, key), self._found

        def forget(_: object) -> None:
            everything.pop(place, None)

        everything[place] = (tuple(weakref.ref(each, forget) for each in objects), found)
        everything.move_to_end(place)
        while len(everything) > self._most:
            with suppress(KeyError):
                everything.popitem(last=False)
        return found


def _place(objects: tuple[object, ...], key: Hashable) -> _Place:
    """Cache key of objects by their identities.

    A dead object's entry goes before its identity can be used again.
    """
    return tuple(map(id, objects)), key
