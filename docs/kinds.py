"""The table of randomizers on the page about them, generated from the registry.

Run it after a change of the registry: ``python docs/kinds.py`` writes the table into the page.
"""

from dataclasses import MISSING, Field, fields
from enum import Enum
from pathlib import Path
from typing import Any, cast

from shuffledp.randomizers import KINDS
from shuffledp.survey import ProtocolSection, RandomizerSection

PAGE = Path(__file__).parent / "randomizers.md"
START, END = "<!-- The table is written by docs/kinds.py. -->\n", "<!-- The end of that table. -->\n"
HEAD = "| randomizer | `kind` in a task | answers | keys of the task file, with their defaults | when to use it |\n"
SET_BY_THE_TASK = "missing_category"


def table() -> str:
    """One row for each kind, in the order of the registry."""
    sections = {**RandomizerSection.members(), **ProtocolSection.members()}
    rows = [HEAD, "|---|---|---|---|---|\n"]
    for kind, mechanism in KINDS.items():
        keys = [_key(each) for each in fields(cast(Any, sections[kind])) if each.init and each.name != SET_BY_THE_TASK]
        answers = {"category": "categories", "number": "numbers", "vector": "unit vectors"}[mechanism.answers]
        cells = (f"`{mechanism.__name__}`", f"`{kind}`", answers, ", ".join(keys), mechanism.best_for)
        rows.append(f"| {' | '.join(cells)} |\n")
    return "".join(rows)


def _key(field: "Field[Any]") -> str:
    if field.default is MISSING or field.default is None:
        return f"`{field.name}`" if field.default is MISSING else f"`{field.name}` (chosen)"
    value = field.default.value if isinstance(field.default, Enum) else field.default
    return f"`{field.name}` ({str(value).lower() if isinstance(value, bool) else value})"


def written(text: str) -> str:
    """The page with the table as the registry has it."""
    before, rest = text.split(START)
    return f"{before}{START}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
