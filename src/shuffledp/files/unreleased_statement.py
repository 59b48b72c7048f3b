"""Statement of a collection whose reports the analyst opened without releasing anything.

People lose by what somebody has seen, whether or not anything came of it. So there is a ``statement.json`` as of a
release, without estimates, which says why there are none, and which ``--earlier`` counts with the next attempt.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from shuffledp.accounting.account import account_all, local_statement
from shuffledp.core.errors import HypothesisError, UnsupportedModelError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.tick_models import TicksModel
from shuffledp.files.writing import new_folder, write_statement
from shuffledp.shufflers import IdentityShuffleModel
from shuffledp.survey import (
    Collected,
    Column,
    Provenance,
    Task,
    Unreleased,
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
    provenance: Provenance,
    is_shuffled: bool,
    earlier: Sequence[Path] = (),
    force: bool = False,
    maker: str = "",
) -> None:
    """Write a statement of the privacy loss that people may have in a collection without a release.

    Guarantees:
        1. The loss stated is that of a release of as many people, where the shuffle was uniform; of any other it is
           what their reports lose without one. Some messages of a view tell no more than all of them, so that of a sum
           those count all of whose messages came.

    Args:
        task: of the collection.
        folder: to be made; it holds ``statement.json`` alone.
        seen: how many people's reports of each private column were opened, at most.
        reason: why nothing was released, in a sentence.
        collected: what was refused of each column, with the collection's id.
        provenance: the shuffler and the analyst by name, and whom else people must trust.
        is_shuffled: whether all reports of each column came in one shuffled batch.
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
        told = (each.trusting(*provenance.trust).naming(*provenance.parties).remarking(*remarks) for each in found)
        done.append((model, tuple(told)))
    models = [model for model, _ in done]
    columns = composed_columns(task.columns, [statements for _, statements in done], models)
    outcome = Unreleased(
        task=task,
        reason=reason,
        num_reports=[
            seen[each.value] * model.local.num_messages for each, model in zip(task.columns, models, strict=True)
        ],
        flows=[collected[each.value].flow(each, seen[each.value], released=0) for each in task.columns],
        models=models,
        statements=composed_with(task, releases, columns, models),
        earlier=releases,
        demonstration=provenance.demonstration,
    )
    with new_folder(folder, force=force, maker=maker) as place:
        write_statement(outcome.to_dict(), place)


def _seen(column: Column, people: int, *, is_shuffled: bool) -> tuple[ProtocolModel, tuple[PrivacyStatement, ...]]:
    """Protocol model for this number of people, and statements about the reports that were opened."""
    local, delta = column.randomizer.randomizer().model, column.release.delta
    is_covered = local.num_messages == 1 or isinstance(local, TicksModel) or local.is_all_or_nothing
    if is_shuffled and column.shuffler.is_uniform and is_covered and people > column.people.fakes:
        try:
            model = column.model(people)
            return model, account_all(model, delta=delta)
        except (HypothesisError, UnsupportedModelError):
            pass
    alone = ProtocolModel(local=local, shuffle=IdentityShuffleModel(num_users=max(people, 1)))
    of_devices = local_statement(alone)
    return alone, (of_devices.to_central(), of_devices)
