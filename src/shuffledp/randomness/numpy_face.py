"""Numpy bit generator over a keystream, for `numpy.random.Generator` and kernels compiled by numba.

Only `RandomSource.bit_generator` imports this module, at its first use, because it imports numba.
"""

import ctypes
import functools
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from shuffledp.core.caching import with_disk_cache
from shuffledp.core.errors import LocalProtocolError
from shuffledp.randomness.keystream import (
    BUFFER_CELLS,
    LIMIT,
    POSITION,
    RAISER,
    REFILLER,
    SUBSTITUTE,
    WordBuffer,
    Words,
)


def _call_address(typing_context: Any, address: Any) -> Any:
    """Call the C function ``int f(void)`` at an address."""
    del typing_context, address

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        function_type = ir.FunctionType(ir.IntType(32), [])
        return builder.call(builder.inttoptr(arguments[0], function_type.as_pointer()), [])

    return types.int32(types.uint64), generate


_call: Any = intrinsic(_call_address)


def _substitute_plainly(cells: Words) -> np.uint64:
    # splitmix64: a result computed from it is never seen, but rejection loops must come to an end.
    cells[SUBSTITUTE] += np.uint64(0x9E3779B97F4A7C15)
    word = cells[SUBSTITUTE]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: np.uint64 = word ^ (word >> np.uint64(31))
    return result


_substitute = with_disk_cache(numba.njit, _substitute_plainly)


def _next_word(cells: Words) -> np.uint64:
    while cells[POSITION] >= cells[LIMIT]:  # again, if an interrupt kept the block from being made
        if cells[RAISER] != 0:
            _call(cells[RAISER])
            substitute: np.uint64 = _substitute(cells)
            return substitute
        _call(cells[REFILLER])
    position = cells[POSITION]
    cells[POSITION] = position + np.uint64(1)
    word: np.uint64 = cells[position]
    cells[position] = 0
    return word


_compiled_next_word = with_disk_cache(numba.njit, _next_word)


def _next_uint64(state: Any) -> Any:
    return _compiled_next_word(carray(state, (BUFFER_CELLS,)))


def _next_uint32(state: Any) -> Any:
    # The lower half is dropped: keeping it for later would be a second position.
    return _compiled_next_word(carray(state, (BUFFER_CELLS,))) >> np.uint64(32)


def _next_double(state: Any) -> Any:
    return (_compiled_next_word(carray(state, (BUFFER_CELLS,))) >> np.uint64(11)) * 2.0**-53


@functools.cache
def _functions() -> tuple[Any, Any, Any]:
    pairs = (("uint64", _next_uint64), ("uint32", _next_uint32), ("double", _next_double))
    words, halves, doubles = (
        with_disk_cache(functools.partial(numba.cfunc, f"{result}(CPointer(uint64))"), function)
        for result, function in pairs
    )
    return words, halves, doubles


class _BitGeneratorStruct(ctypes.Structure):
    """Structure ``bitgen_t`` of numpy's C interface."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("next_uint64", ctypes.c_void_p),
        ("next_uint32", ctypes.c_void_p),
        ("next_double", ctypes.c_void_p),
        ("next_raw", ctypes.c_void_p),
    )


class _Interface(NamedTuple):
    """Interface of a bit generator that numba reads, as in numpy's own bit generators."""

    state_address: int
    state: ctypes.c_void_p
    next_uint64: Any
    next_uint32: Any
    next_double: Any
    bit_generator: ctypes.c_void_p


_CAPSULE_NAME = b"BitGenerator"  # numpy compares names; the capsule keeps this pointer, so it must outlive the capsule
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_raise_in_thread = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.py_object)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)
_Callback = ctypes.CFUNCTYPE(ctypes.c_int)


class KeystreamBitGenerator:
    """Bit generator over a `WordBuffer`: every draw takes whole words from the buffer.

    The buffer has one position for all its readers. An error while compiled code draws is raised in the calling thread
    as soon as that code returns. The ``capsule`` is for `numpy.random.Generator`, which holds the ``lock`` while it
    draws, and ``ctypes`` has the addresses for numba.
    """

    def __init__(self, buffer: WordBuffer) -> None:
        self._buffer = buffer
        self.lock = buffer.lock
        self._raiser: Any = None
        self._refiller = _Callback(_refilling(weakref.ref(self)))
        buffer.cells[REFILLER] = _address(self._refiller)
        words, halves, doubles = _functions()
        state = buffer.cells.ctypes.data
        self._struct = _BitGeneratorStruct(state, words.address, halves.address, doubles.address, words.address)
        struct_address = ctypes.addressof(self._struct)
        self.capsule = _new_capsule(struct_address, _CAPSULE_NAME, None)
        self.ctypes = _Interface(
            state, ctypes.c_void_p(state), words.ctypes, halves.ctypes, doubles.ctypes, ctypes.c_void_p(struct_address)
        )

    def random_raw(self, size: int | None = None) -> int | Words:
        """Next word, or an array of the next ``size`` words."""
        out = np.empty(1 if size is None else size, dtype=np.uint64)
        self._buffer.fill(out)
        return int(out[0]) if size is None else out

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> NoReturn:
        raise LocalProtocolError("a bit generator cannot be pickled or copied: the copy would repeat its words.")

    def _refill(self) -> None:
        try:
            self._buffer.refill_for_compiled_code()
        except Exception as error:  # C code called this, so no Python caller would see it
            self._raiser = _Callback(_raising(str(error)))
            self._buffer.fail(str(error), _address(self._raiser))


def _address(callback: Any) -> int:
    return ctypes.cast(callback, ctypes.c_void_p).value or 0


def _refilling(reference: "weakref.ref[KeystreamBitGenerator]") -> Callable[[], int]:
    # A callback that held its owner would make a cycle, and a mebibyte would wait for the garbage collector.
    def refill() -> int:
        owner = reference()
        if owner is not None:
            owner._refill()
        return 0

    return refill


def _raising(message: str) -> Callable[[], Any]:
    """Function that makes the calling thread raise an error at its next step.

    It is made of C functions alone: a Python function would itself be that next step, and swallow the error.
    """
    # The interpreter makes the instance itself, from a class and nothing else.
    kind = type(LocalProtocolError.__name__, (LocalProtocolError,), {"__str__": lambda _: message})
    return map(_raise_in_thread, iter(threading.get_ident, None), itertools.repeat(kind)).__next__
