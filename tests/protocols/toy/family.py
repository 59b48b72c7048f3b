"""Doors of the toy family: what the kernel's registries learn from this folder."""

from importlib import import_module
from typing import Any

from shuffledp.protocols.family import Family, FurtherStatements, NamedShuffle, ShufflerKind


def _shuffled_twice() -> Any:
    return import_module("shuffledp.protocols.toy.shuffled_twice")


def _last_row_game() -> Any:
    return import_module("shuffledp.protocols.toy.last_row_game")


def _section() -> Any:
    return import_module("shuffledp.protocols.toy.twice_section").TwiceSection


def _files() -> Any:
    return import_module("shuffledp.protocols.toy.twice_section").TwiceFiles


def _document() -> Any:
    return import_module("shuffledp.protocols.toy.twice_document").TwiceDocument


FAMILY = Family(
    "toy",
    shufflers={
        "twice": ShufflerKind(
            lambda: _shuffled_twice().TwiceShuffler,
            section=_section,
            best_for="tests",
            described={
                "twice": NamedShuffle(lambda num_users: _shuffled_twice().TwiceShuffleModel(num_users=num_users))
            },
        )
    },
    calibrations={"twice_shufflers": lambda: _shuffled_twice().twice_shufflers},
    theorems={"": lambda: (_shuffled_twice().TwiceIsOnce(),)},
    games=lambda: (_last_row_game().LastRowGame,),
    files=_files,
    document=_document,
    beside=FurtherStatements(lambda model: _shuffled_twice().order_of_twice(model)),
)
