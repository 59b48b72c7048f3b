"""The statement of a collection whose reports the analyst opened, but of which nothing was released.

People lose by what somebody has seen, whether or not anything came of it. So there is a ``statement.json`` as of a
release, without estimates, which says why there are none, and which ``--earlier`` counts with the next attempt.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shuffledp._version import __version__
from shuffledp.accounting import account_all
from shuffledp.core.errors import HypothesisError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statement_terms import Party, Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.files.writing import new_folder, write_statement
from shuffledp.shufflers import IdentityShuffleModel
from shuffledp.survey import (
    DEMONSTRATION,
    Collected,
    Column,
    DataFlow,
    Task,
    composed_columns,
    composed_with,
    read_earlier,
)

COUNT_IT = "Reports were seen: count that with --earlier {file} in a next attempt."
_NOT_SHUFFLED = "Of the shuffle nothing is counted: all that is promised is what each device did by itself."


def write_unreleased(
    task: Task,
    folder: Path,
    seen: Mapping[str, int],
    reason: str,
    *,
    collected: Mapping[str, Collected],
    is_shuffled: bool,
    parties: Sequence[Party],
    trust: Sequence[Trust] = (),
    demonstration: bool = False,
    earlier: Sequence[Path] = (),
    force: bool = False,
    maker: str = "",
) -> None:
    """Write the loss that people may have in a collection of which nothing is released.

    Guarantees:
        1. The loss stated is that of a release of as many people, where the shuffle was uniform; of any other it is
           what their reports lose without one.

    Args:
        task: of the collection.
        folder: to be made; it holds ``statement.json`` alone.
        seen: how many people's reports of each private column were opened, at most.
        reason: why nothing was released, in a sentence.
        collected: what was refused of each column, with the collection's id.
        is_shuffled: whether all reports of each column came in one shuffled batch.
        parties: the shuffler and the analyst by name.
        trust: whom, or what, people must trust besides.
        demonstration: whether the answers may be made up.
        earlier: the ``statement.json`` of earlier releases about the same people.
        force: replace an earlier output.
        maker: as of `new_folder`.

    Raises:
        InvalidParameterError: if ``earlier`` is not as the task says, or the folder cannot be made.
    """
    releases, done = read_earlier(task, earlier), []
    for column in task.columns:
        model, found = _seen(column, seen[column.value], is_shuffled=is_shuffled)
        remarks = [f"Reports were opened, and nothing was released: {reason}"]
        remarks += [_NOT_SHUFFLED] * isinstance(model.shuffle, IdentityShuffleModel)
        done.append((model, tuple(each.trusting(*trust).naming(*parties).remarking(*remarks) for each in found)))
    models = [model for model, _ in done]
    columns = composed_columns(task.columns, [statements for _, statements in done], models)
    statements = composed_with(task, releases, columns, models)
    counts = [
        {
            "num_reports": seen[column.value],
            "flow": _flow(column, seen[column.value], collected[column.value]).to_dict(),
            "model": model.to_dict(),
        }
        for column, model in zip(task.columns, models, strict=True)
    ]
    for_show = [DEMONSTRATION] * demonstration
    content: dict[str, Any] = {
        "task": task.to_dict() if task.in_blocks else task.column.to_dict(),
        "task_sha256": task.sha256,
        "library_version": __version__,
        "not_released": reason,
        "estimates": [],
        "statements": [each.to_dict() for each in statements],
        "earlier": list({each: each.to_dict() for release in releases for each in release.counted}.values()),
        "warnings": for_show + list(dict.fromkeys(each for model in models for each in model.local.warnings)),
        "seeded": False,
        "files": {},
    }
    if task.in_blocks:
        named = zip(task.columns, task.folders, counts, strict=True)
        content["columns"] = [
            {"value": column.value, "folder": name, "task_sha256": column.sha256} | count
            for column, name, count in named
        ]
    else:
        content |= counts[0]
    with new_folder(folder, force=force, maker=maker) as place:
        write_statement(content, place)


def _seen(column: Column, people: int, *, is_shuffled: bool) -> tuple[ProtocolModel, tuple[PrivacyStatement, ...]]:
    """The protocol counted for the opened reports of this number of people, and its statements."""
    local, delta = column.randomizer.randomizer().model, column.release.delta
    if is_shuffled and column.shuffler.is_uniform and local.num_messages == 1 and people > column.people.fakes:
        try:
            model = column.model(people)
            return model, account_all(model, delta=delta)
        except (HypothesisError, UnsupportedModelError):
            pass
    alone = ProtocolModel(local=local, shuffle=IdentityShuffleModel(num_users=max(people, 1)))
    *_, of_devices = account_all(alone, delta=delta)
    return alone, (of_devices.to_central(), of_devices)


def _flow(column: Column, people: int, collected: Collected) -> DataFlow:
    return DataFlow(
        received=people + sum(collected.refused.values()),
        missing=0,
        released=0,
        expected=column.people.expected,
        detached=column.detached,
        collected=collected,
    )
