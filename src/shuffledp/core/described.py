"""Serialization: frozen dataclasses are written as dictionaries with a tag, and read back by the tag.

Whatever two parties must agree on is such a value. A subclass with a tag of its own registers itself, so that a new
mechanism is a new class and never a new branch here.
"""

import dataclasses
import importlib.util
import inspect
import json
import math
import pkgutil
import re
import types
import typing
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols import FAMILIES

# Where tagged classes live that nothing may have imported yet: a model in a JSON file names its kind, not its module.
_HOMES = (
    "shuffledp.randomizers",
    "shuffledp.shufflers",
    "shuffledp.analyzers",
)

# Metadata of a field that is no key of its value's table: another part of the file says it.
ELSEWHERE = {"elsewhere": True}

# As ``encode`` writes one. `Fraction` would take "1e999999999" too, and compute all its digits.
_FRACTION = re.compile("-?[0-9]{1,100}(/[1-9][0-9]{0,99})?")


class Described:
    """Base of frozen dataclasses that are written by ``to_dict`` and read back by ``from_dict``.

    A *family* is a direct subclass that sets ``tag_key``; its members set the class variable of that name, for example
    ``kind = "k-rr"``. A dataclass outside every family is written without a tag.
    """

    __slots__ = ()
    tag_key: ClassVar[str] = ""  # none if empty
    title: ClassVar[str] = ""  # what error messages call the table; the class name if empty
    further: ClassVar[tuple[str, ...]] = ()  # keys that a class takes out of the table before its fields are read
    _members: ClassVar[dict[str, type["Described"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "tag_key" in cls.__dict__:
            cls._members = {}
        for name in inspect.get_annotations(cls):
            if isinstance(getattr(cls, name, None), property):  # which would become the field's default, silently
                raise TypeError(f"field {name!r} of {cls.__name__} has the name of a property of its base.")
        tag = cls.__dict__.get(cls.tag_key)
        if isinstance(tag, str):
            taken = cls._members.setdefault(tag, cls)
            # ``slots=True`` makes the class a second time, under the same name.
            if (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"{cls.tag_key} {tag!r} belongs to {taken.__name__}; choose another.")
            cls._members[tag] = cls

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of this value for JSON (infinity is written as the string ``"inf"``)."""
        tag = {self.tag_key: getattr(self, self.tag_key)} if self.tag_key else {}
        return tag | {field.name: encode(getattr(self, field.name)) for field in keys_of(type(self))}

    @classmethod
    def from_dict(cls, data: typing.Mapping[str, Any]) -> Self:
        """Value from the dictionary of ``to_dict``.

        Raises:
            InvalidParameterError: for an unknown tag, an unknown or missing key, or a value of the wrong type.
        """
        title = cls.title or cls.__name__
        if not isinstance(data, typing.Mapping):
            raise InvalidParameterError(f"{title} must be a table; got {type(data).__name__}.")
        given = dict(data)
        member = cls._member(given.pop(cls.tag_key, None)) if cls.tag_key else cls
        hints = _hints_of(typing.cast(Any, member))
        fields = {field.name: field for field in keys_of(member) if field.init}
        for key in given:
            if key not in fields:
                known = ", ".join([*filter(None, [cls.tag_key]), *fields, *cls.further])
                raise InvalidParameterError(f"{title} must have only the keys {known}; got {key!r}.")
        for key, field in fields.items():
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if required and key not in given:
                present = ", ".join(getattr(value, "key", name) for name, value in given.items()) or "none"
                raise InvalidParameterError(f"{title} must have the key {key!r}; got the keys {present}.")
        return typing.cast(Self, member(**{key: decode(hints[key], value, key) for key, value in given.items()}))

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """Tagged subclasses of this class by tag, in the order of the tags."""
        for home in map(importlib.import_module, _HOMES):
            for name in home.__all__:  # a package may import a name only when it is asked for it
                getattr(home, name)
        _import_families()
        return {name: member for name, member in sorted(cls._members.items()) if issubclass(member, cls)}

    @classmethod
    def _member(cls, tag: Any) -> type["Described"]:
        known = {name: member for name, member in cls._members.items() if issubclass(member, cls)}
        if str(tag) not in known:
            known = dict(cls.members())
        if not isinstance(tag, str) or tag not in known:
            choices = ", ".join(sorted(known))
            raise InvalidParameterError(f"{cls.tag_key} must be one of {choices}; got {cls.tag_key}={tag!r}.")
        return known[tag]


@cache
def _import_families() -> None:
    """Import the modules of all families of protocols in which a tagged class may live."""
    for family, home in product(FAMILIES, _HOMES):
        room = f"shuffledp.protocols.{family}.{home.rpartition('.')[2]}"
        if importlib.util.find_spec(room) is not None:
            for module in pkgutil.iter_modules(importlib.import_module(room).__path__):
                importlib.import_module(f"{room}.{module.name}")


@cache
def _hints_of(described: Any) -> dict[str, Any]:
    """Types of the fields of a class, cached because finding them is slow."""
    return typing.get_type_hints(described)


def keys_of(described: type[Described]) -> tuple["dataclasses.Field[Any]", ...]:
    """Fields of a class that are keys of its table, without fields marked ``elsewhere``."""
    found = dataclasses.fields(typing.cast(Any, described))
    return tuple(field for field in found if not field.metadata.get("elsewhere"))


def encode(value: Any) -> Any:
    """JSON form of a value."""
    if isinstance(value, Described):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.ndarray):
        return [encode(item) for item in value.tolist()]
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, typing.Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def decode(annotation: Any, value: Any, name: str) -> Any:
    """Value of a field with this annotation, from its JSON form; ``name`` is used in error messages."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if hasattr(origin, "__value__"):  # NDArray is an alias of its own from Python 3.12 and numpy 2.5 on
        return decode(origin.__value__[arguments], value, name)
    if origin in (types.UnionType, typing.Union):
        return _decode_union(arguments, value, name)
    if annotation is Any:
        return value
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(decode(arguments[0], item, name) for item in value)
    if origin is np.ndarray and isinstance(value, list | tuple):
        return _decode_array(typing.get_args(arguments[1])[0], value, name)
    if origin is not None and isinstance(value, typing.Mapping) and issubclass(origin, typing.Mapping):
        return {key: decode(arguments[1], item, name) for key, item in value.items()}
    if isinstance(annotation, type):
        return _decode_plain(annotation, value, name)
    raise _wrong_type(annotation, value, name)


def _decode_array(scalar: Any, value: typing.Sequence[Any], name: str) -> Any:
    """Array of this scalar type; refused if the written numbers do not fit the type exactly."""
    expected = np.generic if scalar is Any else scalar
    dtype: Any = None if scalar is Any else scalar
    array = np.empty(0)
    try:
        array = np.array(value, dtype=dtype)
        exact = not issubclass(expected, np.integer) or np.array_equal(array, np.array(value))
    except (ValueError, TypeError, OverflowError):
        exact = False
    if not exact:
        raise InvalidParameterError(f"{name} must be an array of {expected.__name__}; got entries of another kind.")
    return array


def _decode_union(alternatives: tuple[Any, ...], value: Any, name: str) -> Any:
    if value is None and type(None) in alternatives:
        return None
    candidates = [each for each in alternatives if each is not type(None)]
    for candidate in candidates:
        try:
            return decode(candidate, value, name)
        except InvalidParameterError:
            if len(candidates) == 1:
                raise
    expected = " or ".join(getattr(candidate, "__name__", str(candidate)) for candidate in candidates)
    raise InvalidParameterError(f"{name} must be of type {expected}; got {name}={value!r}.")


def _decode_plain(annotation: type, value: Any, name: str) -> Any:
    if issubclass(annotation, Described):
        return value if isinstance(value, annotation) else annotation.from_dict(value)
    if issubclass(annotation, Enum):
        try:
            return annotation(value)
        except ValueError:
            allowed = ", ".join(str(member.value) for member in annotation)
            raise InvalidParameterError(f"{name} must be one of {allowed}; got {name}={value!r}.") from None
    if annotation is float and (value in ("inf", "-inf") or _is_number(value)):
        try:
            return float(value)
        except OverflowError:
            raise InvalidParameterError(
                f"{name} must be a number of usual size; got one of 300 digits or more."
            ) from None
    if annotation is Fraction and isinstance(value, str) and _FRACTION.fullmatch(value):
        return Fraction(value)
    if isinstance(value, annotation) and not (annotation is int and isinstance(value, bool)):
        return value
    raise _wrong_type(annotation, value, name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _wrong_type(annotation: Any, value: Any, name: str) -> InvalidParameterError:
    expected = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return InvalidParameterError(f"{name} must be of type {expected}; got {name}={value!r}.")


def require_keys(data: Mapping[str, Any], *keys: str) -> None:
    """Refuse data that are not a table with these keys."""
    for key in keys:
        if not isinstance(data, Mapping) or key not in data:
            raise InvalidParameterError(f"data must be a table with the keys {', '.join(keys)}; got none for {key!r}.")


def without_none(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Table without the key if its value is None, so that digests of older files stay valid."""
    return {name: value for name, value in table.items() if name != key or value is not None}


def canonical_json(value: Any) -> bytes:
    """Canonical JSON text of a value, for digests and signatures: no spaces, keys in order, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
