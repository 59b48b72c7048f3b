"""Acts on a privacy ledger: reserve before people are asked, charge a release, or take a reservation back.

A reservation is a promise to the people of a population: nothing that was reserved or released is ever forgotten, but
by `void`, and that only where nobody can have seen a report.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from shuffledp.accounting import compose_releases, epsilon_of
from shuffledp.core.errors import BudgetExceededError, InvalidParameterError, ShuffleDPError
from shuffledp.files.ledger_file import LedgerFile, opened_ledger
from shuffledp.files.writing import STATEMENT, write_all
from shuffledp.survey.collection import Collection
from shuffledp.survey.data_flow import DEMONSTRATION
from shuffledp.survey.earlier import EarlierRelease
from shuffledp.survey.ledgers.ledger import Entry, Ledger
from shuffledp.survey.ledgers.ledger_charges import Loss, loss_of_release, promised_releases, read_release, worst_loss
from shuffledp.survey.ledgers.ledger_lines import EVERYBODY, Charge, LedgerMark, Released, Reserved, Voided
from shuffledp.survey.outcome import Outcome
from shuffledp.survey.section import read_whole
from shuffledp.survey.task import Task

_ID_BYTES = 16
_LEAST_OF_ID = 6  # characters that name an entry
_LARGEST = 1 << 30
_ROUNDING = 1e-6  # relative; a charge may differ by this between machines


def reserve(
    file: LedgerFile,
    task: Task,
    *,
    id_: str | None = None,
    count: int = 1,
    population: str = EVERYBODY,
    keeps: bool = False,
) -> LedgerMark:
    """Reserve one release of a task, or ``count`` releases, at the largest possible loss.

    A declared plan of the task is used up first.

    Args:
        file: the ledger.
        task: the task.
        id_: of the entry; a fresh one if it is None.
        count: releases; more than one are a declared plan.
        population: whom it is about; everybody, if empty.
        keeps: whether the charge stays, whatever is released.

    Raises:
        BudgetExceededError: if it does not fit, or the task's promise is about fewer releases; nothing is spent.
        InvalidParameterError: for a population without a name in the ledger, or an entry that is there.
    """
    ledger, now = file.ledger, file.now()
    if id_ is not None and id_ in ledger.entries:
        raise InvalidParameterError(f"the ledger must not hold {id_[:12]} yet; it does. Nothing was spent twice.")
    plan = ledger.planned(task.sha256, population) if count == 1 else None
    if plan is not None:
        ledger.require_room(Charge(), population, "this release")
        people, charge = plan.reserved.people, plan.reserved.charge
    else:
        promised = promised_releases(task)
        if promised is not None:
            ledger.require_promised(task.sha256, population, count=count, promised=promised)
        worst = worst_loss(task, ledger.terms.remainder_each)
        ledger.require_room(worst.charge.times(count), population, f"{count} releases" if count > 1 else "this release")
        people, charge = worst.people, worst.charge
    reserved = Reserved(
        id=id_ or secrets.token_hex(_ID_BYTES),
        name=task.name,
        task_sha256=task.sha256,
        people=people,
        charge=charge,
        count=count,
        population=population,
        of_plan="" if plan is None else plan.reserved.id,
        keeps=keeps,
        at=now,
    )
    file.append(reserved)
    return LedgerMark(ledger.terms.nonce, ledger.terms.cap, ledger.terms.delta, reserved.id, ledger.head)


def reserve_collection(file: LedgerFile, collection: Collection, *, population: str = EVERYBODY) -> LedgerMark:
    """Reserve the releases of a collection, before anybody is invited.

    Each release is about other people.
    """
    return reserve(
        file,
        collection.task,
        id_=collection.id.hex(),
        population=population,
        keeps=collection.every is not None,
    )


def charge_release(
    file: LedgerFile, statement: Path, *, entry: str | None = None, population: str = EVERYBODY, exceed: bool = True
) -> Entry:
    """Count a release in the ledger, read from its ``statement.json``, and return its entry.

    It is counted for the people who came, which lowers the charge of its reservation.

    A release without one is counted too, as it has happened; if it does not fit, it is written down where it may
    ``exceed`` the cap, which then holds no more.

    Args:
        file: the ledger.
        statement: the file.
        entry: of the reservation; found by the file's own mark, its collection or its task if it is None.
        population: whom a release without a reservation is about; everybody, if empty.
        exceed: whether a release that does not fit is written down.

    Raises:
        InvalidParameterError: if the file cannot be believed, is counted already, belongs to another ledger, or is of a
            release whose earlier ones are not counted; nothing is changed.
        BudgetExceededError: if the release does not fit; it is written down only where it may exceed the cap.
    """
    ledger, now = file.ledger, file.now()
    release, content = read_release(statement), _content(statement)
    _require_known(ledger, release.file_sha256, [each.statement_sha256 for each in release.earlier], content)
    loss = loss_of_release(release, ledger.terms.remainder_each)
    found = _entry_of(ledger, entry, content, loss, release.task_sha256)
    if found is None:
        found = _made_elsewhere(file, release, loss, now, population=population, exceed=exceed)
    released = Released(
        id=found.reserved.id,
        statement_sha256=release.file_sha256,
        people=loss.people,
        charge=loss.charge.capped(found.reserved.charge),
        order_groups=loss.order_groups,
        order_alpha=loss.order_alpha,
        at=now,
    )
    file.append(released)
    if ledger.is_exceeded:
        raise BudgetExceededError(
            f"the release of {statement} must fit into the ledger's cap, epsilon = {ledger.terms.cap:g}; it does not. "
            "It was written down, as it has happened: the cap holds no more."
        )
    return ledger.entries[found.reserved.id]


def planned_total(task: Task, count: int, *, delta: float) -> float | None:
    """Epsilon of one declared plan, composed numerically; None if the task alone fixes no protocol.

    It holds if exactly these releases were settled beforehand.
    """
    least = task.release.minimum_batch
    try:
        models = [column.model(least) for column in task.columns]
        return epsilon_of(compose_releases(models, delta=delta, num_releases=count).guarantee)
    except ShuffleDPError:
        return None


def void(file: LedgerFile, id_: str, *, reason: str, destroyed: bool = False) -> Entry:
    """Take back the unused part of a reservation whose reports nobody can have seen.

    Args:
        file: the ledger.
        id_: of the entry.
        reason: in words, on one line.
        destroyed: whether the shuffler of the collection says that it destroyed all reports.

    Raises:
        InvalidParameterError: if there is no such entry, or reports may have been seen.
    """
    now = file.now()
    entry = file.ledger.require_void(id_, destroyed=destroyed)
    file.append(Voided(id=id_, reason=reason, at=now))
    return file.ledger.entries[entry.reserved.id]


@contextmanager
def spending(
    path: Path, task: Task, *, population: str = EVERYBODY, are_seen: bool = False
) -> Iterator[Callable[[Outcome, Path], Outcome]]:
    """Context of a run, which reserves the release before the run begins.

    If the block ends by an error, nothing has left it, and the reservation is taken back, unless the reports
    ``are_seen`` by then, as by an analyst who was given them; a killed process leaves it.

    Yields:
        Function that is given the outcome and its folder, before the folder gets its name: it adds the ledger's mark to
        the files, counts the release, and returns the outcome with the mark.
    """
    with opened_ledger(path) as file:
        mark = reserve(file, task, population=population)

    def counted(outcome: Outcome, folder: Path) -> Outcome:
        marked = _marked(outcome, mark, folder)
        with opened_ledger(path) as file:
            charge_release(file, folder / STATEMENT, entry=mark.entry)
        return marked

    try:
        yield counted
    except BaseException:
        if not are_seen:
            _take_back(path, mark.entry, "the run failed before it released anything")
        raise


@contextmanager
def inviting(path: Path, *, population: str = EVERYBODY) -> Iterator[Callable[[Collection], None]]:
    """Context in which a collection's files are written; after an error its reservations are taken back.

    Yields:
        Function that reserves the release of a collection.
    """
    reserved: list[str] = []

    def reserve_it(collection: Collection) -> None:
        with opened_ledger(path) as file:
            reserved.append(reserve_collection(file, collection, population=population).entry)

    try:
        yield reserve_it
    except BaseException:
        for each in reserved:
            _take_back(path, each, "the collection could not be written, and nobody was invited")
        raise


def charge_collection(path: Path, collection: Collection, statements: Iterable[Path]) -> None:
    """Count the releases of a collection, each only once even if it is fetched often.

    Raises:
        InvalidParameterError: if one cannot be believed; those before it are counted.
        BudgetExceededError: if the cap holds no more; all of them are counted.
    """
    exceeded: BudgetExceededError | None = None
    with opened_ledger(path) as file:
        for statement in statements:
            if read_release(statement).file_sha256 not in file.ledger.statements:
                try:
                    charge_release(file, statement, entry=collection.id.hex())
                except BudgetExceededError as error:
                    exceeded = error
    if exceeded is not None:
        raise exceeded


def spend_own(path: Path, collection: Collection) -> None:
    """Count a collection in a participant's own ledger, only once and permanently.

    It depends on the collection alone, and on no answer, and tells nobody.
    """
    with opened_ledger(path) as file:
        if collection.id.hex() not in file.ledger.entries:
            reserve(file, collection.task, id_=collection.id.hex(), keeps=True)


def _take_back(path: Path, id_: str, reason: str) -> None:
    """Take back a reservation after a failure, unless something was released.

    The process must have failed before anything left it.
    """
    with suppress(ShuffleDPError), opened_ledger(path) as file:
        if not file.ledger.entries[id_].releases:
            file.append(Voided(id=id_, reason=reason, at=file.now()))


def _marked(outcome: Outcome, mark: LedgerMark, folder: Path) -> Outcome:
    """Outcome whose files and first statement name the ledger entry that counts the release."""
    first, *others = outcome.statements
    statements = (first.remarking(mark.remark), *others)
    columns = {name: replace(column, composed=statements, ledger=mark) for name, column in outcome.columns.items()}
    return write_all(replace(outcome, columns=columns, statements=statements, ledger=mark), folder)


def found_entry(ledger: Ledger, start: str) -> str:
    """Id of the only ledger entry whose id begins with these characters.

    Raises:
        InvalidParameterError: if there is none, or more than one.
    """
    if len(start) < _LEAST_OF_ID:
        raise InvalidParameterError(f"ID must be {_LEAST_OF_ID} or more characters of an entry's id; got {start!r}.")
    found = [each for each in ledger.entries if each.startswith(start)]
    if len(found) != 1:
        count = "several do" if found else "none does"
        raise InvalidParameterError(f"ID must begin the id of one entry of the ledger; {count}: {start}.")
    return found[0]


def _require_known(ledger: Ledger, digest: str, earlier: Sequence[str], content: Mapping[str, Any]) -> None:
    """Refuse a release that a ledger counts already, or that needs earlier releases counted first."""
    if digest in ledger.statements:
        raise InvalidParameterError(
            "the release must be added once; the ledger counts it already. Nothing was changed."
        )
    absent = [each[:12] for each in earlier if each not in ledger.statements]
    if absent:
        raise InvalidParameterError(
            f"the earlier releases that this one counts must be added first; missing: {', '.join(absent)}. Nothing was "
            "changed."
        )
    mark = content.get("ledger")
    if not isinstance(mark, dict):
        return
    if mark.get("nonce") != ledger.terms.nonce:
        raise InvalidParameterError(
            f"the release must be of this ledger or of none; ledger {str(mark.get('nonce'))[:12]} counts it. Nothing "
            "was changed."
        )
    require_recent(ledger, mark)


def require_recent(ledger: Ledger, mark: Mapping[str, Any]) -> None:
    """Refuse an older copy of a ledger, which lacks the last line that a release names.

    Raises:
        InvalidParameterError: if the line is missing.
    """
    if mark.get("head") not in ledger.heads:
        raise InvalidParameterError(
            "the ledger must hold every line that its releases have seen; one is missing, so this file is an older "
            "copy, or was edited. Nothing was changed."
        )


def _entry_of(
    ledger: Ledger, given: str | None, content: Mapping[str, Any], loss: Loss, task_sha256: str
) -> Entry | None:
    """Reservation of a release: the entry that is given or that the release names; None if none fits.

    A release that loses more than was reserved for it has none, and counts in full beside it.
    """
    mark, flow = content.get("ledger"), content.get("flow")
    marked = mark.get("entry") if isinstance(mark, dict) else None
    collected = flow.get("collected") if isinstance(flow, dict) else None
    collection = collected.get("collection") if isinstance(collected, dict) else None
    for each in filter(None, (given, marked, collection)):
        entry = ledger.entries.get(str(each))
        if entry is None or not entry.takes_release or entry.reserved.task_sha256 != task_sha256:
            continue
        if loss.charge.squared <= entry.reserved.charge.squared * (1 + _ROUNDING):
            return entry
    return None


def _made_elsewhere(
    file: LedgerFile, release: EarlierRelease, loss: Loss, now: str, *, population: str, exceed: bool
) -> Entry:
    """New entry for an unreserved release, charged to a declared plan of its task if one fits."""
    plan, id_ = file.ledger.planned(release.task_sha256, population), secrets.token_hex(_ID_BYTES)
    if plan is not None and not loss.charge.fits(plan.reserved.charge):
        plan = None
    try:
        file.ledger.require_room(Charge() if plan is not None else loss.charge, population, "this release")
    except BudgetExceededError as error:
        if not exceed:
            raise BudgetExceededError(
                f"{error} If it was really released, add it with --exceed: then the cap holds no more."
            ) from None
    reserved = Reserved(
        id=id_,
        name=release.name,
        task_sha256=release.task_sha256,
        people=loss.people,
        charge=loss.charge,
        population=population,
        of_plan="" if plan is None else plan.reserved.id,
        at=now,
    )
    file.append(reserved)
    return file.ledger.entries[id_]


def _content(statement: Path) -> dict[str, Any]:
    """Content of a ``statement.json``; refused if its answers may be made up.

    The file was read before.
    """
    found: dict[str, Any] = json.loads(read_whole(statement, most=_LARGEST))
    if DEMONSTRATION in found.get("warnings", ()):
        raise InvalidParameterError("the release must be of real answers; those of a demonstration may be made up.")
    return found
