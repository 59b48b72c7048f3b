"""Weak cache: memoized results about objects, forgotten with the objects."""

import weakref
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from typing import Generic, TypeVar

_Found = TypeVar("_Found")
_Place = tuple[tuple[int, ...], Hashable]


class WeakCache(Generic[_Found]):
    """Weak-reference cache of values, by the identity of the objects that they are about.

    A value must not refer to its own objects, or they would never be freed.

    Args:
        most: values that are kept; those that were asked for last stay.
    """

    __slots__ = ("_found", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[_Place, tuple[tuple[weakref.ref[object], ...], _Found]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, objects: tuple[object, ...], key: Hashable = None) -> _Found | None:
        """The value of these objects and this key; None if it is not there any more."""
        place = _place(objects, key)
        kept = self._found.get(place)
        if kept is None:
            return None
        with suppress(KeyError):  # another thread may have been faster
            self._found.move_to_end(place)
        return kept[1]

    def put(self, objects: tuple[object, ...], found: _Found, key: Hashable = None) -> _Found:
        """Keep a value until one of the objects is gone, or others take its place; returns it."""
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
    """Identities as a key: an identity is given anew only after the values of its dead object are forgotten."""
    return tuple(map(id, objects)), key
