"""Release of a collection from its batches, written as a whole or not at all."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.core.errors import InputDataError, MalformedMessageError
from shuffledp.core.flow import Reports
from shuffledp.documents.release_document import write_release
from shuffledp.files import is_release, new_folder
from shuffledp.files.collection_release import DecodedBatch, release_collected
from shuffledp.files.unreleased_statement import write_unreleased
from shuffledp.parties.service.batch_opening import OpenedBatch, open_batch
from shuffledp.parties.service.batch_store import Received
from shuffledp.parties.service.message_joining import joined_messages, require_all
from shuffledp.parties.service.public_columns import public_table
from shuffledp.parties.wire.grammar import BatchManifest
from shuffledp.parties.wire.keys import AnalyzerKey
from shuffledp.protocols.network.shufflers.walk_hand_in import fresh_dummies
from shuffledp.randomness.sources import SecureSource
from shuffledp.survey import Collected, Collection, Column

TOGETHER = "together"  # folder of the release over all batches, beside those of each
_BATCH = "batch-"


def write_batch_release(
    collection: Collection,
    several: Sequence[Sequence[Received]],
    keys: Sequence[AnalyzerKey],
    folder: Path,
    *,
    in_others: Callable[[BatchManifest, Sequence[bytes]], Sequence[bool]] | None = None,
    earlier: Sequence[Path] = (),
    maker: str = "",
) -> None:
    """Open batches, and write their release into a new folder.

    If reports were opened but no release is possible, the folder gets a statement of that, without estimates.

    Args:
        collection: collection of the batches.
        several: batches of all columns, by number; usually one number.
        keys: analyzer's private keys.
        folder: folder of the release.
        in_others: tells which ids of a batch came in another batch; None if there is one batch.
        earlier: the ``statement.json`` of earlier releases about the same people that the task names.
        maker: as in `new_folder`.

    Raises:
        InvalidParameterError: if ``earlier`` does not fit the task.
        BatchTooSmallError: if fewer reports than the task's smallest batch opened.
        IncompleteSumError: if a message is missing or spoiled of a sum that is exact or not released.
        InputDataError: if more reports near a reference order did not open than ``fakes`` allows.
        MalformedMessageError: if a batch does not hold the number of reports of its manifest.
    """
    task, provenance = collection.task, collection.provenance
    unreleased: Callable[..., None] = partial(
        write_unreleased, task, folder, provenance=provenance, earlier=earlier, maker=maker
    )
    try:
        found, refused = _opened(collection, several, keys, in_others)
    except MalformedMessageError as error:  # reports before the fault may have been opened
        if any(body.stat().st_size for batches in several for _, body in batches):
            handed_in = {
                pool.column.value: sum(batches[pool.number][0].num_reports // pool.messages for batches in several)
                for pool in task.pools
            }
            none = dict.fromkeys(handed_in, Collected(collection=collection.id.hex()))
            unreleased(handed_in, str(error), collected=none, is_shuffled=False)
        raise
    try:
        with new_folder(folder, maker=maker) as place:
            for column in task.columns:
                for inside, _ in found[column.value]:
                    require_all(column, inside)
            batches_of = {each.value: [_batch(each, *one) for one in found[each.value]] for each in task.columns}
            outcome = release_collected(task, batches_of, refused, place, provenance, earlier=earlier)
            write_release(outcome, place, result=collection.result)
    except (InputDataError, MalformedMessageError) as error:
        seen = {name: sum(_seen(*one) for one in those) for name, those in found.items()}
        if any(seen.values()) or any(len(inside.reports) for those in found.values() for inside, _ in those):
            unreleased(seen, str(error), collected=refused, is_shuffled=len(several) == 1)
        raise


def _opened(
    collection: Collection,
    several: Sequence[Sequence[Received]],
    keys: Sequence[AnalyzerKey],
    in_others: Callable[[BatchManifest, Sequence[bytes]], Sequence[bool]] | None,
) -> tuple[dict[str, list[tuple[OpenedBatch, int]]], dict[str, Collected]]:
    """Opened batches of each column with their announced numbers of people, and counts of refused reports."""
    found, refused = {}, {}
    of_pools = zip(collection.task.pools, zip(*several, strict=True), strict=True)  # of each, its batches by number
    for column in collection.task.columns:
        model = column.randomizer.randomizer().model
        theirs = list(islice(of_pools, model.num_pools))
        opened = [
            [
                open_batch(
                    body,
                    manifest.num_reports,
                    model,
                    keys,
                    collection_id=collection.id,
                    column=manifest.column,
                    in_others=None if in_others is None else partial(in_others, manifest),
                )
                for manifest, body in batches
            ]
            for _, batches in theirs
        ]
        inside, (pool, batches) = [joined_messages(each) for each in zip(*opened, strict=True)], theirs[0]
        last = batches[-1][0]
        found[column.value] = [
            (each, manifest.num_reports // pool.messages) for each, (manifest, _) in zip(inside, batches, strict=True)
        ]
        refused[column.value] = Collected(  # counts in a manifest are of the collection so far
            collection=collection.id.hex(),
            duplicates=last.duplicates + sum(each.duplicates for each in inside),
            late=last.late,
            malformed=last.malformed + sum(each.malformed for each in inside),
            undecryptable=sum(each.undecryptable for each in inside),
            tests=sum(each.tests for each in inside),
        )
    return found, refused


def _seen(inside: OpenedBatch, people: int) -> int:
    """Number of people whose messages were opened; for sums, only people without a lost message."""
    whole = max(people - inside.tests - inside.lost, 0)
    return whole if inside.reports.model.is_all_or_nothing else inside.reports.num_users


def release_folder(folder: Path, number: int) -> Path:
    """Folder for the release of one batch of several; ``number`` counts batches from 0."""
    return folder / f"{_BATCH}{number + 1}"


def release_folders(folder: Path, collection: Collection) -> list[Path]:
    """Folders for the releases of a collection, existing or not: of each batch, and of all batches together."""
    if collection.every is None:
        return [folder]
    numbers = [each.name.removeprefix(_BATCH) for each in folder.glob(f"{_BATCH}*")]
    batches = [release_folder(folder, number - 1) for number in sorted(int(each) for each in numbers if each.isdigit())]
    return [*batches, folder / TOGETHER]


def statement_in(folder: Path, collection: Collection) -> Mapping[str, Any] | None:
    """Content of the ``statement.json`` about this collection in a folder; None if there is none.

    A release of another collection with a file of the same name also gives None.
    """
    if not (folder.is_dir() and is_release(folder)):
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        found: Mapping[str, Any] = json.loads((folder / "statement.json").read_bytes())
        flows = [each["flow"] for each in found.get("columns", [found])]
        if all(flow["collected"]["collection"] == collection.id.hex() for flow in flows):
            return found
    return None


def says_released(statement: Mapping[str, Any]) -> bool:
    """Whether a ``statement.json`` is about a release, not about opened reports without a release."""
    return "not_released" not in statement


def is_released(folder: Path, collection: Collection) -> bool | None:
    """Whether a folder holds a release of this collection; False if nothing was released, None if unknown."""
    found = statement_in(folder, collection)
    return None if found is None else says_released(found)


def _batch(column: Column, inside: OpenedBatch, num_reports: int) -> DecodedBatch:
    """Batch of opened reports; near a reference order, made-up reports replace unopened reports.

    The order is of all people who came, so that no place can be left out. A report that does not open is a fake
    sender's, and a made-up one in its place is what such a sender might have sent: the task's ``fakes`` count them.
    """
    public = public_table(column, inside.extensions)
    missing = num_reports - len(inside.places)
    if public is None or not missing:
        return DecodedBatch(reports=inside.reports, public=public)
    if missing > column.people.fakes:
        raise InputDataError(
            f"at most fakes={column.people.fakes} reports of column {column.value!r} may be such as do not open, since "
            f"each has its place in the order; got {missing}. Nothing was released."
        )
    made_up = fresh_dummies(None, None, missing, inside.reports.model, SecureSource())
    others = np.setdiff1d(np.arange(num_reports), inside.places)
    order = np.argsort(np.concatenate([inside.places, others]))
    return DecodedBatch(reports=Reports.concat([inside.reports, made_up]).take(order), public=public, made_up=missing)
