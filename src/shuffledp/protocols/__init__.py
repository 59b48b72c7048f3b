"""Families of protocols: each folder holds all the code of one family, from groups of people to pages.

Inside a folder the floors have the names and the heights of the kernel's rooms, and are read from the bottom up:
``people``, ``laws``, ``randomizers``, ``shufflers``, ``analyzers``, ``theorems`` (as high as ``accounting``),
``planning``, ``attacks``, ``survey``, ``files``, ``documents``, ``cli``. ``family.py`` registers them. No family
imports another.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import lazy_loader

# One line for each family: its folder, whose ``family.py`` says what the family adds to the kernel's registries.
FAMILIES: tuple[str, ...] = (
    "shares",
    "d_sigma",
    "strata",
    "network",
)


def face(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Module hooks ``__getattr__``, ``__dir__`` and ``__all__`` that add the families' public names to a package."""
    own, names, listed = lazy_loader.attach_stub(package, file)
    ours = set(listed)

    def find(name: str) -> Any:
        return own(name) if name in ours else name_in_families(package, name)

    return find, names, listed


def commands() -> tuple[Callable[..., None], ...]:
    """Commands that families add to the command line, from ``COMMANDS`` of each family's package ``cli``."""
    packages = [f"{__name__}.{family}.cli" for family in FAMILIES]
    return tuple(each for package in packages if find_spec(package) for each in import_module(package).COMMANDS)


def name_in_families(package: str, name: str) -> Any:
    """Public object called ``name`` that a family adds to this package.

    Raises:
        AttributeError: if no family has this name.
    """
    for family in FAMILIES if not name.startswith("_") else ():
        module = import_module(f"shuffledp.protocols.{family}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
