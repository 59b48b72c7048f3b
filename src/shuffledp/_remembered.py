"""What was found for some objects, kept for no longer than they live; a cache of values that hold on to nothing."""

import weakref
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["Remembered"]

_Found = TypeVar("_Found")
_Place = tuple[tuple[int, ...], Hashable]


class Remembered(Generic[_Found]):
    """Values by the objects that they are about, which count as equal only if they are the very same.

    A value must not refer to its own objects, or they would live for ever.

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
        """What was put for the same objects and an equal key; None if it is no longer there."""
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
    """Numbers of living objects differ; they are given anew only after the values of the dead are forgotten."""
    return tuple(map(id, objects)), key
