"""The JSON text that digests and signatures are of."""

from pathlib import Path

import shuffledp
from shuffledp.core.described import canonical_json


def test_equal_values_have_one_text_whatever_the_order_of_their_keys():
    assert canonical_json({"b": [1, 2.5], "a": "\u00e9"}) == canonical_json({"a": "\u00e9", "b": [1, 2.5]})
    assert canonical_json({"b": [1, 2.5], "a": "\u00e9"}) == b'{"a":"\\u00e9","b":[1,2.5]}'


def files_with(text: str) -> list[str]:
    """Files of the package that hold this text."""
    return [path.name for path in Path(shuffledp.__file__).parent.rglob("*.py") if text in path.read_text()]


def test_it_is_written_by_one_function():
    assert files_with("sort_keys=True, separators=") == ["described.py"]


def test_toml_files_are_read_by_one_function():
    assert files_with("tomllib.loads") == ["section.py"]
