"""Compilation of kernels with numba, at their first call: importing numba takes most of a second."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(
    function: Callable[_Parameters, _Result], *, calls: tuple[Callable[..., Any], ...] = ()
) -> Callable[_Parameters, _Result]:
    """The function, compiled when it is first called, and kept on disk for later runs.

    Args:
        function: a plain function of a module, in the part of Python that numba compiles.
        calls: the plain functions that it calls. (What is kept on disk follows changes of ``function``'s own file only:
            after editing a function that lies elsewhere, remove ``__pycache__``.)
    """

    @functools.cache
    def kernel() -> Any:
        import numba

        for helper in calls:
            _make_callable(helper)
        return with_disk_cache(numba.njit, function)

    @functools.wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        result: _Result = kernel()(*args, **kwargs)
        return result

    return call


def plain_until_worth_compiling(plain: _Function, compiled: _Function, *, items: int) -> Callable[[int], _Function]:
    """Choice between a plain and a compiled function: small runs never load numba, and long ones soon do.

    Args:
        plain: used for the first ``items`` items of a process.
        compiled: used from then on.
        items: how many items ``plain`` does in about half the time that loading numba takes.

    Returns:
        A function that takes the number of items of the next call and returns the one to call.
    """
    done = 0

    def choose(num_items: int) -> _Function:
        nonlocal done
        done += num_items
        return plain if done <= items else compiled

    return choose


def with_disk_cache(compiler: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """``compiler(cache=True)(function)``, or without a cache where no directory can be written."""
    try:
        return compiler(cache=True)(function)
    except RuntimeError:  # a read-only installation without a home directory
        return compiler()(function)


@functools.cache
def _make_callable(helper: Callable[..., Any]) -> None:
    from numba.extending import register_jitable

    register_jitable(helper)
