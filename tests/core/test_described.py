import json
import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp.core.described import Described, decode, encode
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import FrequencyModel, LocalModel
from shuffledp.randomizers import KaryRandomizedResponseModel


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Shape(Described):
    __slots__ = ()
    tag_key: ClassVar[str] = "shape"
    shape: ClassVar[str]


class Round(Shape):
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle(Round):
    shape: ClassVar[str] = "circle"
    radius: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Square(Shape):
    shape: ClassVar[str] = "square"
    side: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything(Described):
    real: float
    whole: int
    text: str
    color: Color
    shape: Shape
    exact: Fraction
    maybe: Circle | None = None
    either: int | str = 0
    many: tuple[Shape, ...] = ()
    table: Mapping[str, float] = field(default_factory=dict)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    reals: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    any_array: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    anything: Any = None


CIRCLE, SQUARE = Circle(radius=1.5), Square(side=2)
FULL = Everything(
    real=math.inf,
    whole=3,
    text="tree",
    color=Color.BLUE,
    shape=CIRCLE,
    exact=Fraction(1, 3),
    maybe=CIRCLE,
    either="left",
    many=(SQUARE, CIRCLE),
    table={"a": 1.0, "b": -math.inf},
    counts=np.array([1, 2**60 + 1]),
    reals=np.array([0.5, math.inf]),
    any_array=np.array([True, False]),
    anything=["x", 1],
)
WRITTEN = {
    "real": "inf",
    "whole": 3,
    "text": "tree",
    "color": "blue",
    "shape": {"shape": "circle", "radius": 1.5},
    "exact": "1/3",
    "maybe": {"shape": "circle", "radius": 1.5},
    "either": "left",
    "many": [{"shape": "square", "side": 2}, {"shape": "circle", "radius": 1.5}],
    "table": {"a": 1.0, "b": "-inf"},
    "counts": [1, 2**60 + 1],
    "reals": [0.5, "inf"],
    "any_array": [True, False],
    "anything": ["x", 1],
}


def test_every_kind_of_field_is_written_as_json_can_hold_it():
    assert FULL.to_dict() == WRITTEN


def test_what_was_written_is_read_back_through_json():
    read = Everything.from_dict(json.loads(json.dumps(WRITTEN, allow_nan=False)))
    assert read.to_dict() == WRITTEN
    assert (read.real, read.exact, read.shape, read.many) == (math.inf, Fraction(1, 3), CIRCLE, (SQUARE, CIRCLE))
    assert read.color is Color.BLUE
    assert read.counts.dtype == np.int64
    assert read.counts.tolist() == [1, 2**60 + 1]
    assert read.reals.tolist() == [0.5, math.inf]


def test_fields_with_a_default_may_be_left_out():
    required = {key: WRITTEN[key] for key in ("real", "whole", "text", "color", "shape", "exact")}
    assert Everything.from_dict(required).maybe is None


def test_numbers_of_numpy_are_written_as_plain_numbers():
    assert json.dumps(encode([np.int64(3), np.float32(0.5), np.bool_(True), np.float64(math.inf)])) == (
        '[3, 0.5, true, "inf"]'
    )


def test_a_whole_number_is_read_as_a_float_where_one_is_meant():
    assert Circle.from_dict({"shape": "circle", "radius": 2}).radius == 2.0
    assert isinstance(Circle.from_dict({"shape": "circle", "radius": 2}).radius, float)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("real", "much"),
        ("real", True),
        ("real", None),
        ("whole", 1.0),
        ("whole", True),
        ("whole", "1"),
        ("text", 1),
        ("color", "green"),
        ("shape", {"shape": "triangle"}),
        ("shape", {"radius": 1.5}),
        ("shape", {"shape": ["circle"], "radius": 1.5}),
        ("shape", "circle"),
        ("shape", {"shape": "circle", "radius": 1.5, "color": "red"}),
        ("shape", {"shape": "circle"}),
        ("exact", "one third"),
        ("exact", "1/0"),
        ("exact", 0.3),
        ("maybe", {"shape": "square", "side": 2}),
        ("either", 1.5),
        ("many", {"shape": "circle"}),
        ("table", [1.0]),
        ("table", {"a": "b"}),
        ("counts", [0.5]),
        ("counts", [2**70]),
        ("counts", ["x"]),
        ("counts", [[1], [1, 2]]),
        ("counts", 3),
        ("reals", ["x"]),
        ("unheard_of", 1),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(key, value):
    with pytest.raises(InvalidParameterError):
        Everything.from_dict(WRITTEN | {key: value})


@pytest.mark.parametrize("data", [None, [], "circle", 3])
def test_what_is_not_a_table_is_refused(data):
    with pytest.raises(InvalidParameterError, match="Circle must be a table"):
        Circle.from_dict(data)


def test_messages_name_the_key_and_the_choices():
    with pytest.raises(InvalidParameterError, match=r"must have the key 'radius'; got the keys none\."):
        Circle.from_dict({"shape": "circle"})
    with pytest.raises(InvalidParameterError, match="must have only the keys shape, radius; got 'color'"):
        Circle.from_dict({"shape": "circle", "radius": 1.0, "color": "red"})
    with pytest.raises(InvalidParameterError, match="shape must be one of circle, square; got shape='triangle'"):
        Shape.from_dict({"shape": "triangle"})
    with pytest.raises(InvalidParameterError, match="color must be one of red, blue; got color='green'"):
        Everything.from_dict(WRITTEN | {"color": "green"})


def test_a_member_is_read_through_its_family_and_through_every_class_between():
    assert Shape.from_dict(SQUARE.to_dict()) == SQUARE
    assert Round.from_dict(CIRCLE.to_dict()) == CIRCLE
    assert Circle.from_dict(CIRCLE.to_dict()) == CIRCLE


def test_a_class_does_not_read_a_member_that_is_not_its_own():
    with pytest.raises(InvalidParameterError, match="shape must be one of circle; got shape='square'"):
        Round.from_dict(SQUARE.to_dict())
    with pytest.raises(InvalidParameterError, match="shape must be one of square"):
        Square.from_dict(CIRCLE.to_dict())


def test_a_tag_belongs_to_one_class():
    with pytest.raises(TypeError, match="shape 'circle' belongs to Circle; choose another"):

        class Disk(Shape):
            shape: ClassVar[str] = "circle"

    assert Shape.from_dict(CIRCLE.to_dict()) == CIRCLE


def test_a_field_cannot_hide_a_property_of_its_base():
    # The property itself would become the field's default, and the field would never be asked for.
    with pytest.raises(TypeError, match="field 'epsilon0' of Careless has the name of a property"):

        class Careless(LocalModel):
            epsilon0: float


def test_families_do_not_mix_their_tags():
    assert "circle" not in LocalModel._members
    assert "k-rr" not in Shape._members


def test_a_model_in_a_file_names_its_kind_and_its_module_is_found():
    written = {"kind": "k-rr", "domain_size": 2, "share": 2**62}
    expected = KaryRandomizedResponseModel(domain_size=2, share=2**62)
    assert LocalModel.from_dict(written) == FrequencyModel.from_dict(written) == expected


@pytest.mark.parametrize("kind", ["stratified", "mallows", "network", "imperfect"])
def test_a_model_of_a_family_is_read_by_a_program_that_has_imported_no_family(kind):
    """Mutant: only the kernel's modules are looked through."""
    program = f"from shuffledp.core.shuffle_models import ShuffleModel\nShuffleModel.from_dict({{'kind': {kind!r}}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "kind must be one of" not in done.stderr
    assert "must have the key" in done.stderr.splitlines()[-1]


def test_an_unreadable_annotation_is_an_error_and_not_a_guess():
    with pytest.raises(InvalidParameterError, match="x must be of type"):
        decode(set[int], [1, 2], "x")


@pytest.mark.parametrize(
    "text",
    [
        "1e200000000",
        "1e2",
        "0.5",
        " 1/2",
        "1/0",
        "1_0/3",
        "+1/2",
        "1/-2",
        "1/02",
        "9" * 101,
        f"1/{'9' * 101}",
        "\u0661",
    ],
)
def test_a_fraction_is_read_only_as_it_is_written(text):
    with pytest.raises(InvalidParameterError, match="exact must be of type Fraction"):
        decode(Fraction, text, "exact")


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(-7), Fraction(2**60, 3**30), Fraction(0)])
def test_what_is_written_of_a_fraction_is_read(value):
    assert decode(Fraction, encode(value), "exact") == value


def test_an_integer_that_no_float_holds_is_refused():
    with pytest.raises(InvalidParameterError, match="epsilon must be a number of usual size"):
        decode(float, 10**400, "epsilon")
