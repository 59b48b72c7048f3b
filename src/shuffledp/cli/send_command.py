"""The command for people who answer a collection: `send`."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli.options import Json, print_json, require_extra, show_document
from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.core.text import printable

if TYPE_CHECKING:
    import httpx

    from shuffledp.files.devices import DeviceReports
    from shuffledp.files.reading import CsvInMemory
    from shuffledp.parties.service.client import Receipt
    from shuffledp.parties.service.device_memory import DeviceMemory
    from shuffledp.parties.service.device_token import DeviceToken
    from shuffledp.parties.wire.keys import AnalyzerKey
    from shuffledp.survey import Collection

CollectionFile = Annotated[
    Path, typer.Argument(metavar="COLLECTION", readable=False, help="The file that people are invited to.")
]
Certificates = Annotated[
    Path | None,
    typer.Option("--ca", metavar="FILE", readable=False, help="Certificates to trust in place of the system's (PEM)."),
]

AnalystKeys = Annotated[
    list[Path], typer.Option(metavar="FILE", readable=False, help="The analyst's private key file; once for each.")
]


def read_analyst_keys(files: Sequence[Path]) -> "list[AnalyzerKey]":
    """Private keys of the analyst in the files of ``--key``; another party's key is refused."""
    from shuffledp.files.key_files import read_key
    from shuffledp.parties.wire.keys import AnalyzerKey

    keys = [each for each in map(read_key, files) if isinstance(each, AnalyzerKey)]
    if len(keys) != len(files):
        raise InvalidParameterError("--key must be the analyst's; got a key that signs.")
    return keys


def send(
    collection: CollectionFile,
    *,
    value: Annotated[
        list[str] | None,
        typer.Option(metavar="[COLUMN=]ANSWER", help="The answer; once for each question. Left out, it is asked for."),
    ] = None,
    public: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="A public column, where the shuffle is about it; once for each."),
    ] = None,
    input: Annotated[  # noqa: A002
        Path | None,
        typer.Option(metavar="answers.csv", readable=False, help="A table: the answers of a simulated crowd."),
    ] = None,
    people_are_simulated: Annotated[
        bool, typer.Option("--people-are-simulated", help="Needed beside --input: nobody may answer for others.")
    ] = False,
    invitation: Annotated[
        Path | None,
        typer.Option(metavar="FILE", readable=False, help="Yours alone, where people are invited one by one."),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where this device remembers that it has answered.")
    ] = None,
    ca: Certificates = None,
    patience: Annotated[float, typer.Option(help="Seconds for which a service that does not answer is tried.")] = 60.0,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Your own privacy ledger: what your answers lose together; above its cap nothing is sent.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Answer a collection: randomize, seal, and send one report.

    The answer is randomized on this machine, and sealed to the analyst; the answer itself is sent to nobody. If the
    connection breaks, the same report is sent again, and counts once.
    """
    require_extra("service", "sending", ["httpx"])
    from shuffledp.parties.service.client import new_client
    from shuffledp.parties.service.device_memory import state_folder
    from shuffledp.survey import Collection

    read, left_out = Collection.read(collection), 0
    _check(input, value or public, simulated=people_are_simulated)
    _check_invitation(read, input, invitation)
    _check_crowd(read, input)
    folder = state_folder() if state is None else state
    _spend(ledger, read)
    with new_client(certificates=ca, to=read) as client:
        if input is None:
            device = _Device(read, folder, client, patience, ca)
            receipt = device.answer(value or [], public or [], invitation)
        else:
            receipt, left_out = _crowd(read, input, client, patience)
    _show(read, receipt, left_out, simulated=input is not None, json=json)
    if receipt.refused:
        raise RemoteProtocolError(f"the shuffler must store every report; it refused {sum(receipt.refused.values())}.")


def _spend(ledger: Path | None, collection: "Collection") -> None:
    """Count the collection in the person's own ledger, if there is one."""
    if ledger is not None:
        from shuffledp.files.ledger_use import spend_own

        spend_own(ledger, collection)


def _show(collection: "Collection", receipt: "Receipt", left_out: int, *, simulated: bool, json: bool) -> None:
    from shuffledp.documents.collections.sending_document import sent_document
    from shuffledp.parties.service.client import refusals_in_words

    stored = receipt.stored
    if json:
        refused = {error.name.lower(): count for error, count in receipt.refused.items()}
        print_json({"collection": collection.id.hex(), "stored": stored, "refused": refused, "left_out": left_out})
        return
    told = refusals_in_words(receipt.refused)
    show_document(
        lambda: sent_document(collection, stored=stored, refused=told, left_out=left_out, simulated=simulated)
    )


def _check(table: Path | None, typed: Sequence[str] | None, *, simulated: bool) -> None:
    """Refuse a table of answers without the option for simulated people, or beside a typed answer."""
    if table is None and simulated:
        raise InvalidParameterError("--people-are-simulated must be left out without --input, a table of them.")
    if table is not None and typed:
        raise InvalidParameterError("--value and --public must be left out where --input has the answers.")
    if table is not None and not simulated:
        raise InvalidParameterError(
            "--people-are-simulated must be given beside --input: whoever has people's answers in a table has seen "
            "them, and a release of the collection would say that nobody has. For answers that you hold: shuffledp run."
        )


def _check_crowd(collection: "Collection", table: Path | None) -> None:
    """Refuse simulated people in a real collection, whose release would count them as real."""
    if table is not None and not collection.demonstration:
        raise InvalidParameterError(
            "--people-are-simulated must be left out of a collection that is no demonstration, where simulated people "
            "would be counted among those who answer. To try it out, make it by collect new --demonstration."
        )


def _check_invitation(collection: "Collection", table: Path | None, invitation: Path | None) -> None:
    """Refuse an invitation where none is needed, and simulated people where each person needs one."""
    if invitation is not None and collection.issuer is None:
        raise InvalidParameterError("--invitation must be left out: anybody may answer this collection.")
    if table is not None and collection.issuer is not None:
        raise InvalidParameterError("--input must be left out: people answer this collection by invitation alone.")


@dataclass(frozen=True, slots=True)
class _Device:
    """The device of one person who answers a collection."""

    collection: "Collection"
    folder: Path
    client: "httpx.Client"
    patience: float
    certificates: Path | None

    def answer(self, values: Sequence[str], public: Sequence[str], invitation: Path | None) -> "Receipt":
        """The receipt of this answer, or of an earlier answer that was not sent yet."""
        from shuffledp.files.devices import randomize_each
        from shuffledp.parties.service.device_memory import DeviceMemory, answer_once
        from shuffledp.parties.service.device_token import DeviceToken

        memory = DeviceMemory(self.collection.id, self.folder)
        left = memory.pending()
        is_one = not self.collection.further_shufflers
        own = DeviceToken(self.collection, self.folder) if is_one and self.collection.issuer is not None else None
        token = "" if own is None else self._token(own, invitation)
        typed = answers_typed(self.collection, values, public, ask=left is None)
        randomized = partial(randomize_each, self.collection.task, typed)
        if not is_one:
            return self._answer_hosts(memory, randomized, invitation)
        receipt = answer_once(self.collection, randomized, memory, self.client, patience=self.patience, token=token)
        if own is not None and not receipt.refused:
            own.spent()
        return receipt

    def _answer_hosts(
        self, memory: "DeviceMemory", randomized: "Callable[[], DeviceReports]", invitation: Path | None
    ) -> "Receipt":
        """The receipt of an answer to several hosts, each of them with its own token if one is needed."""
        from shuffledp.parties.service.device_memory import answer_hosts
        from shuffledp.parties.service.device_token import DeviceToken

        own = [
            DeviceToken(self.collection, self.folder, host=host)
            for host in range(len(self.collection.hosts) if self.collection.issuer is not None else 0)
        ]

        def token(host: int) -> str:
            return self._token(own[host], invitation) if own else ""

        receipt = answer_hosts(self.collection, randomized, memory, self.client, patience=self.patience, token=token)
        for each in () if receipt.refused else own:
            each.spent()
        return receipt

    def _token(self, own: "DeviceToken", file: Path | None) -> str:
        """The header field with this person's token, which is fetched unless it was kept."""
        from shuffledp.parties.issuer.invitations import Invitation
        from shuffledp.parties.service.client import new_client

        invitation = None if file is None else Invitation.read(file, self.collection)
        with new_client(certificates=self.certificates) as client:
            return own.get(invitation, client, patience=self.patience, to=self.client).shown()


def _crowd(collection: "Collection", table: Path, client: "httpx.Client", patience: float) -> "tuple[Receipt, int]":
    """The receipt for the answers of simulated people, and the number of people who left out a question."""
    from shuffledp.cli.progress_bars import watching
    from shuffledp.files.devices import randomize_each
    from shuffledp.parties.service.client import send

    with watching() as watch:
        sent = randomize_each(collection.task, table, watch=watch)
        return send(
            collection, sent, client, patience=patience, progress=partial(watch.progress, "sending")
        ), sent.left_out


def answers_typed(
    collection: "Collection", values: Sequence[str], public: Sequence[str], *, ask: bool
) -> "CsvInMemory":
    """Table of one row with the answers typed by a person; asks for missing answers if ``ask``."""
    from shuffledp.files.devices import is_asked

    columns = collection.task.columns
    asked: dict[str, Sequence[object]] = {}
    questions: dict[str, str] = {}
    for column in columns:
        of_answers = column.randomizer.typed_answers(column.inputs)
        asked |= dict(zip(column.inputs, of_answers, strict=True))
        questions |= {name: column.asked if len(column.inputs) == 1 else printable(name) for name in column.inputs}
    row = _typed(values, list(asked), option="--value", only=len(asked) == 1)
    beside = _typed(public, columns[0].attached, option="--public")
    if lacking := [name for name in columns[0].attached if name not in beside] if ask else []:
        raise InvalidParameterError(
            f"--public must give each column beside the report; it lacks {', '.join(map(printable, lacking))}."
        )
    for column in columns:
        known = row.keys() >= set(() if column.earlier is None else column.earlier.inputs)
        is_skipped = known and not is_asked(column, _as_table(row))
        for name in column.inputs:
            if is_skipped:
                row[name] = ""  # whatever was given: the report says that it was not asked
            elif ask and name not in row:
                row[name] = typer.prompt(_question(questions[name], asked[name]))
    return _as_table(row | beside)


def _as_table(row: dict[str, str]) -> "CsvInMemory":
    """A table of one row."""
    from shuffledp.files.reading import CsvInMemory

    written = io.StringIO()
    csv.writer(written).writerows([list(row), list(row.values())])
    return CsvInMemory(written.getvalue().encode())


def _typed(given: Sequence[str], columns: Sequence[str], *, option: str, only: bool = False) -> dict[str, str]:
    """Typed values by column, from COLUMN=VALUE, or from a value alone if there is only one column."""
    found: dict[str, str] = {}
    for text in given:
        column, equals, value = text.partition("=")
        if only and column not in columns:
            column, equals, value = columns[0], "=", text
        if not equals or column not in columns or column in found:
            raise InvalidParameterError(
                f"{option} must be COLUMN=VALUE, once for each of the columns {', '.join(columns) or '(none)'}; got "
                "something else."
            )
        found[column] = value
    return found


def _question(label: str, categories: Sequence[object]) -> str:
    return f"{label} ({', '.join(map(str, categories))})" if categories else label
