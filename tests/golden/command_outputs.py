"""What is compared of a command's output, whatever the machine, the wording and the place."""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq

from cli.running import shuffledp
from golden.command_cases import Case, write_inputs

RECORDS = Path(__file__).parent / "commands"
NUMBER = re.compile(r"(?<![\w.,])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:[eE][+-]?\d+)?(?![\w]|\.\d)")
# Differ by machine, version or moment; digests of files also cover pages and the writer of Parquet files.
NEVER = ("seconds", "library_version", "files", "statement_sha256", "file_sha256")
LONG = 60  # entries of a list that are recorded one by one
PICTURE = b'<svg width="9pt" height="9pt" viewBox="0 0 9 9" xmlns="http://www.w3.org/2000/svg"></svg>'


def numbers(text: str) -> list[str]:
    """All numbers of a text, sorted: as many digits as are shown, without the commas of thousands."""
    found = (Decimal(each[0].replace(",", "").replace("−", "-")) for each in NUMBER.finditer(text))
    return [f"{each:f}" if abs(each.adjusted()) < 20 else str(each) for each in sorted(found)]


def essence(found: Any, less: Iterable[str] = ()) -> Any:
    """JSON as it is compared: of sentences only the numbers, and no entry that varies by run.

    A hypothesis becomes its name, whether it holds, and its numbers; floats keep twelve digits.
    """
    left_out = {*NEVER, *less}
    if isinstance(found, dict):
        if {"requirement", "holds", "name"} <= set(found):
            return " ".join([found["name"], str(found["holds"]), *numbers(f"{found['requirement']} {found['value']}")])
        return {key: essence(value, left_out) for key, value in found.items() if key not in left_out}
    if isinstance(found, list):
        return _shortened([essence(each, left_out) for each in found])
    if isinstance(found, str) and " " in found:
        return " ".join(["~", *numbers(found)])
    return float(f"{found:.12g}") if isinstance(found, float) else found


def _shortened(found: list[Any]) -> Any:
    """A long list by its ends, its length, and two sums of its numbers, of which one weighs them by their places."""
    if len(found) <= LONG:
        return found
    values = list(_leaves(found))
    weighted = math.fsum(place * value for place, value in enumerate(values, start=1))
    sums = [float(f"{each:.12g}") for each in (math.fsum(values), weighted)]
    return {"length": len(found), "numbers in it": len(values), "sums": sums, "ends": found[:6] + found[-6:]}


def _leaves(found: Any) -> Iterator[float]:
    if isinstance(found, dict | list):
        for each in found.values() if isinstance(found, dict) else found:
            yield from _leaves(each)
    elif isinstance(found, int | float):
        yield float(found)


def contents(file: Path) -> str:
    """A digest of the columns of a Parquet file, not of its bytes, which each version of the writer lays out afresh."""
    columns = pq.read_table(file).to_pydict()
    shown = {
        name: [f"{each:.9g}" if isinstance(each, float) else str(each) for each in columns[name]] for name in columns
    }
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def _no_picture(_figure: object, buffer: Any, **_options: object) -> None:
    """In place of a drawing, which takes long and is compared nowhere."""
    buffer.write(PICTURE)


def outputs(case: Case, folder: Path) -> dict[str, Any]:
    """What came of a case: its code, its JSON, all numbers that its screen can show, the contents of its files."""
    write_inputs(folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        with patch("matplotlib.figure.Figure.savefig", _no_picture), patch.dict(os.environ, COLUMNS="200"):
            for step in case.steps[:-1]:
                result = shuffledp(*step)
                if result.code:
                    raise AssertionError(f"{case.id}: {step} ends with {result.code}: {result.err}")
            return _last(case)
    finally:
        os.chdir(before)


def _last(case: Case) -> dict[str, Any]:
    last, found = case.steps[-1], {}
    if case.json:
        result = shuffledp(*last, "--json")
        found |= {"code": result.code, "json": essence(json.loads(result.out or "null"), case.less)}
    found["files"] = {name: contents(Path(name)) for name in case.files}
    if case.text:
        options = ("--force",) if case.json and "--output" in last else ()
        result = shuffledp(*last, *options, "--verbose")
        found |= {"code": result.code, "numbers": " ".join(numbers(result.out))}
    return found


def recorded(family: str) -> dict[str, Any]:
    """The records of a family of commands."""
    return json.loads((RECORDS / f"{family}.json").read_text(encoding="utf-8"))


def record(family: str, found: dict[str, Any]) -> None:
    """Write the records of a family, over those that there are."""
    known = recorded(family) if (RECORDS / f"{family}.json").exists() else {}
    text = json.dumps(dict(sorted((known | found).items())), indent=1, ensure_ascii=False)
    (RECORDS / f"{family}.json").write_text(text + "\n", encoding="utf-8")


def differences(expected: Any, found: Any, place: str = "") -> list[str]:
    """Where two outputs differ; floats agree to a billionth."""
    if isinstance(expected, dict) and isinstance(found, dict):
        lost = [f"{place}.{key} is missing" for key in expected.keys() - found.keys()]
        lost += [f"{place}.{key} is new" for key in found.keys() - expected.keys()]
        both = [key for key in expected if key in found]
        return lost + [line for key in both for line in differences(expected[key], found[key], f"{place}.{key}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for number, (one, other) in pairs for line in differences(one, other, f"{place}[{number}]")]
    if type(expected) is type(found) is float:
        near = abs(expected - found) <= 1e-9 * max(abs(expected), abs(found)) + 1e-15
        return [] if near else [f"{place}: {found} where {expected} was recorded"]
    if isinstance(expected, str) and place.endswith(".numbers"):
        return _other_numbers(expected.split(), found.split(), place)
    same = type(expected) is type(found) and expected == found
    return [] if same else [f"{place}: {found!r} where {expected!r} was recorded"]


def _other_numbers(expected: list[str], found: list[str], place: str) -> list[str]:
    missing, new = list(expected), []
    for each in found:
        if each in missing:
            missing.remove(each)
        else:
            new.append(each)
    return [f"{place}: {what} {each}" for what, group in (("lost", missing), ("new", new)) for each in group]
