"""Origin of a result in words, and ways to check its task without data."""

import platform
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from shuffledp._version import __version__
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.shuffle_models import LabelMeaning
from shuffledp.core.statement_terms import Trust
from shuffledp.core.text import count_of
from shuffledp.documents.blocks import PAGE, Block, Code, Fold, Pairs, Panels, Role, Text, told
from shuffledp.documents.document import Place, Section
from shuffledp.documents.words import NOTHING, count
from shuffledp.survey import Column, ColumnOutcome, Outcome, Task, joint_name

_ALL_STAGES = ("shuffledp run TASK.toml", "--input FILE", "--output DIR")
_LAST_STAGE = ("shuffledp analyze TASK.toml", "--input VIEW", "--output DIR")
_OF_RELAY = ("shuffledp relay release COLLECTION", "--directory DIRECTORY", "--key FILE", "--output DIR")
_OF_SERVICE = ("shuffledp serve analyzer", "--config FILE")
_COLLECTED = (
    "Each person's own device randomized the answer and sealed it to the analyst, the shuffler mixed the reports, and "
    "the analyst's service opened them and wrote this. The same batches give the same estimates and statements."
)
_WALKED = (
    "Each member's own device randomized the answer and sealed it to the analyst, members passed the reports on among "
    "themselves, and the analyst opened what they handed in. The same hand-ins give the same estimates and the same "
    "statements."
)
_NONE: Mapping[str, str] = MappingProxyType({})
_MOST_ITEMS = 16


def provenance_section(outcome: ColumnOutcome | Outcome) -> Section:
    """Section with the command, versions, parameters and digests of a result."""
    command, repeats = command_of(outcome)
    task = outcome.task if isinstance(outcome, Outcome) else outcome.column
    counted = {each for release in outcome.earlier for each in release.counted}
    covered = f"this release and {count_of(len(counted), 'earlier one')}" if counted else outcome.promised_for
    again = f"A further release about the same people adds to the loss: what is promised here covers {covered}."
    facts = Panels(
        (_parameters("The task, fixed beforehand", task), tuple(_versions(task, outcome.files, _collection(outcome))))
    )
    blocks = (
        Code(command, on=PAGE),
        *told(repeats, "" if outcome.seeded else again, on=PAGE),
        *told("statement.json has all of this as data, with the hypotheses of each theorem.", on=PAGE),
        Fold("Parameters, versions and digests", (facts,), on=PAGE),
    )
    return Section(anchor="reproduction", title="How it was made", blocks=blocks, place=Place.ORIGIN)


def model_section(model: ProtocolModel) -> Section:
    """Section with the public description of a protocol that no task fixed."""
    blocks: tuple[Block, ...] = (Pairs(tuple(parameters_of(model.to_dict())), on=PAGE),)
    return Section(anchor="provenance", title="How it was made", blocks=blocks, place=Place.ORIGIN)


def task_section(task: Column | Task) -> Section:
    """Section with all parameters of a task, software versions, and the task's digest."""
    blocks = (Panels((_parameters("Fixed beforehand", task), tuple(_versions(task, {}))), on=PAGE),)
    return Section(anchor="audited_task", title="The task", blocks=blocks)


def parameters_of(task: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every entry of a task as (dotted key, text)."""
    if isinstance(task.get("value"), list):  # randomizers of blocks are listed under their columns
        blocks = {joint_name(each.get("columns", [each.get("column")])): _how(each) for each in task["value"]}
        task = dict(task) | {"value": blocks}
    return list(_flat(task))


def _how(block: Mapping[str, Any]) -> Any:
    """Description of the protocol or randomizer in a task's block, as a table of keys."""
    return block["protocol"] if "protocol" in block else block["randomizer"]


def _parameters(title: str, task: Column | Task) -> tuple[Block, ...]:
    said = tuple((key, text) for key, text in parameters_of(task.to_dict()) if text != NOTHING)
    return (Text(title, Role.HEADING), Pairs(said))


def _collection(outcome: ColumnOutcome | Outcome) -> Mapping[str, str]:
    """Digest of the collection file, if there was a collection."""
    column = next(iter(outcome.columns.values())) if isinstance(outcome, Outcome) else outcome
    collected = column.flow.collected
    return {} if collected is None else {"the collection": collected.collection}


def _versions(task: Column | Task, files: Mapping[str, str], beside: Mapping[str, str] = _NONE) -> Iterable[Block]:
    """Blocks with the versions of the software, and digests of the task and of files."""
    versions = {"shuffledp": __version__, "Python": platform.python_version(), "numpy": np.__version__}
    yield Text("Versions", Role.HEADING)
    yield Pairs(tuple(versions.items()))
    yield Text("Digests (SHA-256)", Role.HEADING)
    yield Pairs((("the task", task.sha256), *beside.items(), *files.items()), "files")


def command_of(outcome: ColumnOutcome | Outcome) -> tuple[tuple[str, ...], str]:
    """Command of a result in unbroken pieces, and a sentence on what a second run would repeat."""
    earlier = ("--earlier FILE",) * len(outcome.earlier)
    # The first statement of this release alone: the joint one covers others, made in other ways.
    column = next(iter(outcome.columns.values())) if isinstance(outcome, Outcome) else outcome
    ran_all = Trust.OPERATOR in column.release.statements[0].trust
    if column.flow.collected is not None:  # a service, whose configuration names the earlier releases
        walked = column.model.shuffle.labels is LabelMeaning.SUBMITTER
        return ((*_OF_RELAY, *earlier), _WALKED) if walked else (_OF_SERVICE, _COLLECTED)
    if not ran_all:
        return (*_LAST_STAGE, *earlier), "The same view gives the same estimates and the same statements."
    if outcome.seeded:
        return (*_ALL_STAGES, *earlier, "--seed N"), (
            "The same input and seed give the same numbers: so nothing is promised."
        )
    return (*_ALL_STAGES, *earlier), ("Each run randomizes afresh: the estimates will differ, the statements will not.")


def _flat(table: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """The entries of nested tables as (dotted key, text)."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{key}.")
        else:
            yield f"{within}{key}", _as_text(value)


def _as_text(value: Any) -> str:
    if value is None or value == []:
        return NOTHING
    if isinstance(value, list):
        more = f" and {count(len(value) - _MOST_ITEMS)} more" if len(value) > _MOST_ITEMS else ""
        return ", ".join(_as_text(item) for item in value[:_MOST_ITEMS]) + more
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value != "" else "(empty)"
