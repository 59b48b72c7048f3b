"""The tables of randomizers, shufflers, names and state machines, made from registries, docstrings and transitions.

Run it after a change of these: ``python docs/kinds.py`` writes the tables into the pages.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, Field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, cast

import shuffledp
from shuffledp import randomizers
from shuffledp.core.described import keys_of
from shuffledp.core.transitions import markdown
from shuffledp.parties.agreement import agreement_steps
from shuffledp.parties.relay import rounds
from shuffledp.parties.service import batches
from shuffledp.protocols.network.shufflers import relay_protocol
from shuffledp.protocols.shares.survey.protocol_section import ProtocolSection
from shuffledp.shufflers import shuffler_kinds
from shuffledp.survey import Question, ShufflerSection

START, END = "<!-- The table is written by docs/kinds.py. -->\n", "<!-- The end of that table. -->\n"
SET_BY_THE_TASK = ("missing_category", "follow_up")
ANSWERS = {
    "category": "categories",
    "blanketed": "categories",
    "number": "numbers",
    "vector": "unit vectors",
    "open": "short texts",
    "multi-select": "ticks on options",
}
# What holds where a key without a default of its own is left out, by key or by kind and key; else there is none.
LEFT_OUT = {
    "alpha": "required",
    "mallows.alpha": "required, or `concentration`",
    "network.graph": "required, or `overlay`",
    "hash_range": "chosen",
    "num_levels": "chosen",
    "budget_split": "chosen",
    "prefix_bits": "chosen",
    "precision": "chosen",
    "graph_seed": "0",
    "sha256": "computed",
}


def randomizer_table() -> str:
    """One row for each kind of randomizer, in the order of the registry."""
    sections = {**Question.members(), **ProtocolSection.members()}
    rows = ["| randomizer | `kind` in a task | answers | keys of the task file, with their defaults | when to use it |"]
    rows.append("|---|---|---|---|---|")
    for kind, mechanism in randomizers.KINDS.items():
        answers = ANSWERS[mechanism.answers]
        cells = (f"`{mechanism.__name__}`", f"`{kind}`", answers, _keys(kind, sections[kind]), mechanism.best_for)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def shuffler_table() -> str:
    """One row for each kind of shuffler, in the order of the registry."""
    sections = ShufflerSection.members()
    rows = ["| `kind` | when to use it | public columns | keys, with their defaults |", "|---|---|---|---|"]
    for kind, each in shuffler_kinds.KINDS.items():
        public = "released beside the reports" if each.keeps_public else "detached: not read, and not released"
        rows.append(f'| `"{kind}"` | {each.best_for} | {public} | {_keys(kind, sections[kind]) or "none"} |')
    return "\n".join(rows) + "\n"


def name_table() -> str:
    """One row for each name that is imported from the package, in the order and the sections of its front page."""
    stub = Path(shuffledp.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    rows, about = ["| what for | name | what it is |", "|---|---|---|"], ""
    for line in stub.splitlines():
        if line.startswith("# "):
            about = line[2:3].upper() + line[3:]
        elif (named := re.fullmatch(r"from \S+ import \w+ as ([a-zA-Z]\w+)", line)) and named[1] in shuffledp.__all__:
            said = (inspect.getdoc(getattr(shuffledp, named[1])) or "").splitlines()[0].replace("``", "`")
            rows.append(f"| {about} | `{named[1]}` | {said.replace('|', chr(92) + '|')} |")
            about = ""
    return "\n".join(rows) + "\n"


PAGES: dict[str, tuple[Callable[[], str], ...]] = {
    "randomizers.md": (randomizer_table,),
    "task-file.md": (shuffler_table,),
    "api.md": (name_table,),
    "protocol.md": tuple(
        partial(markdown, each.TRANSITIONS) for each in (batches, agreement_steps, relay_protocol, rounds)
    ),
}


def _keys(kind: str, section: object) -> str:
    keys = [each for each in keys_of(cast(Any, section)) if each.init and each.name not in SET_BY_THE_TASK]
    return ", ".join(f"`{each.name}` ({_left_out(kind, each)})" for each in keys).replace(" (required)", "")


def _left_out(kind: str, field: "Field[Any]") -> str:
    """What holds where the key is left out."""
    if field.default is MISSING:
        return "required"
    if field.default is None:
        return LEFT_OUT.get(f"{kind}.{field.name}", LEFT_OUT.get(field.name, "none"))
    value = field.default.value if isinstance(field.default, Enum) else field.default
    return str(value).lower() if isinstance(value, bool) else str(value)


def written(page: str, text: str) -> str:
    """The page with its tables as the registries have them, in order."""
    first, *rest = text.split(START)
    tables = zip(PAGES[page], rest, strict=True)
    return first + "".join(f"{START}\n{table()}\n{END}{part.split(END)[1]}" for table, part in tables)


if __name__ == "__main__":
    for page in PAGES:
        path = Path(__file__).parent / page
        path.write_text(written(page, path.read_text(encoding="utf-8")), encoding="utf-8")
