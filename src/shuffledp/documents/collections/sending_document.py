"""Texts for a device or a simulated crowd after sending, and about the state of a collection."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffledp.core.instants import shown
from shuffledp.core.text import count_of, in_digits, printable
from shuffledp.documents.blocks import DETAIL, Block, Column, Role, Table, told
from shuffledp.documents.document import Document, Promise, Section
from shuffledp.documents.words import listed
from shuffledp.survey import DEMONSTRATION, Collection, Task, WebPage

if TYPE_CHECKING:
    from shuffledp.core.local_models import LocalModel

_PHASES = {
    "open": "open",
    "closing": "closing",
    "agreeing": "closed; its hosts agree on whose shares are complete",
    "no answer": "in a state that not all of its hosts tell",
    "closed": "closed; what it had is on its way to the analyzer",
    "released": "closed; all batches are with the analyzer",
    "destroyed": "closed below its minimum; everything was destroyed",
}
_STEPS = {
    "open": "takes shares.",
    "frozen": "has frozen what it has (step 1 of 4), and waits for {}.",
    "revealed": "has shown whose shares it has (2 of 4), and waits for {}.",
    "signed": "has signed whose are complete (3 of 4), and waits for {}.",
    "agreed": "releases what all have signed (4 of 4).",
    "refused": "releases nothing, and has destroyed what it had.",
}


def sent_document(
    collection: Collection, *, stored: int, refused: Sequence[str], left_out: int = 0, simulated: bool = False
) -> Document:
    """Document on the number of reports that the shuffler stored, and the reasons for refused reports."""
    models = [(column.label, column.randomizer.randomizer().model) for column in collection.task.columns]
    losses = "; ".join(f"{of}: {each.kind}, epsilon0 = {in_digits(each.epsilon0, 'exactly')}" for of, each in models)
    for_show = DEMONSTRATION * collection.demonstration
    made_up = "The people are simulated: nothing of this may be released as if people had answered." * simulated
    dropped = f"{count_of(left_out, 'person', 'people')} left a question out, and sent nothing."
    where = listed([each.url for each in collection.hosts])
    blocks = (
        *told(for_show, made_up, role=Role.DANGER),
        *told(f"{count_of(stored, 'answer', 'answers')} stored by {where}, each randomized here."),
        *told(dropped if left_out else ""),
        *told(*(f"Refused {each}." for each in refused), role=Role.DANGER),
        *told(f"Randomized by {losses}. The collection closes at {shown(collection.closes)}.", on=DETAIL),
    )
    return Document(sections=(Section(anchor="sent", title="", blocks=tuple(blocks)),))


def invited_document(
    number: int, folder: Path, *, ready_made: bool, page: WebPage | None = None, sheet: bool = False
) -> Document:
    """Document of new invitations: their files, their recipients, and links and a sheet to print."""
    known = "can tell whose token is whose" if ready_made else "can answer in anybody's place"
    blocks = (
        *told(f"Whoever keeps this folder {known}: give each person theirs, then destroy it.", role=Role.DANGER),
        *told(f"{count_of(number, 'invitation')}, each for one person alone. people.csv says whose is which."),
        *told("" if page is None else f"It has the link, too, by which each answers at {page.url}."),
        *told("To print and cut out: print.html, with a QR code for each." * sheet),
        *told("" if ready_made else "For the issuer: invited.json, which holds digests in no order."),
        *told(f"Folder: {folder}", role=Role.PATH),
    )
    return Document(sections=(Section(anchor="invited", title="", blocks=blocks),))


def replaced_document(
    number: int, folder: Path, *, fakes: int, page: WebPage | None = None, sheet: bool = False
) -> Document:
    """Document of replaced invitations: files, recipients, and the people who may answer twice."""
    covered = "all of them" if fakes >= number else f"{fakes or 'none'} of them"
    twice = (
        "An invitation that was used before it is cancelled has given a token: its holder can answer twice. At most "
        f"{count_of(number, 'person', 'people')} could: the task's `fakes` = {fakes:,} covers {covered}. How many were "
        "used, the issuer's log says: cancelled-too-late."
    )
    told_of = (
        f"{count_of(number, 'invitation')} in the places of others. people.csv says of which.",
        "" if page is None else f"It has the link, too, by which each answers at {page.url}.",
        "To print and cut out: print.html, with a QR code for each." * sheet,
        "For the issuer: invited.json, beside the lists that it has. From then on the others are good no more.",
    )
    blocks = (
        *told(twice, role=Role.DANGER),
        *told(*filter(None, told_of)),
        *told(f"Folder: {folder}", role=Role.PATH),
    )
    return Document(sections=(Section(anchor="replaced", title="", blocks=blocks),))


def demonstration_ahead(task: Task | None = None) -> Document:
    """Warning before all parties are started on one machine; then the name and questions of a given task."""
    said = (
        "One operator plays all parties on this machine, with temporary keys, and sees the answers: the trust in "
        "separate parties is void, and nobody is protected."
    )
    asked = "" if task is None else f"{task.name}: {'; '.join(printable(column.asked) for column in task.columns)}"
    blocks = (*told(said, role=Role.DANGER), *told(asked))
    return Document(sections=(Section(anchor="ahead", title="", blocks=blocks),))


def demonstration_open(links: Sequence[str]) -> Document:
    """Addresses at which people answer, one for all or one each, and how the demonstration ends."""
    several = f"There are {len(links)} invitations, each for one person in a browser of their own." * (len(links) > 1)
    closing = "It closes when you press Enter here. The release follows within a minute."
    said = (*filter(None, [several]), *(f"Open {link}" for link in links), closing)
    return Document(sections=(Section(anchor="open", title="", blocks=told(*said)),))


def demonstrated(release: Mapping[str, Any], left_out: int, folder: Path) -> Document:
    """End of a collection on one machine: the promise of its release, from ``statement.json``, and its folder."""
    people = count_of(_num_people(release), "person", "people")
    dropped = f" {count_of(left_out, 'person', 'people')} left a question out, and sent nothing." if left_out else ""
    local = _local(release)
    what = "a report each" if local.num_messages == 1 else f"{local.num_messages} messages each"
    who = "the shuffler" if local.num_hosts == 1 else f"{local.num_hosts} hosts"
    said = f"{people} sent {what}, which {who} mixed and the analyzer opened."
    blocks = (*told(DEMONSTRATION, role=Role.DANGER), *told(said + dropped))
    return Document(promise=_promise_in(release), sections=(_files([folder], blocks),))


def fetched_document(
    collection: Collection, releases: Mapping[Path, Mapping[str, Any]], *, has_ended: bool, missing: int
) -> Document:
    """Document after a fetch: the promise of the last release, its page, and the batches still to come.

    Args:
        collection: what was fetched.
        releases: content of ``statement.json`` by the folder of each release.
        has_ended: whether the shuffler has no more batches.
        missing: batches that the shuffler made and did not hand over.
    """
    left_out = f"The shuffler made {count_of(missing, 'batch', 'batches')} that it did not hand over."
    later = "The collection is not closed yet: run the same command again later."
    if collection.further_shufflers:
        later = "Not all hosts have closed and agreed yet: run the same command again later; collect status says more."
    blocks = (
        *told(DEMONSTRATION if collection.demonstration else "", left_out if missing else "", role=Role.DANGER),
        *told("" if has_ended else later),
    )
    promise = _promise_in([*releases.values()][-1]) if releases else None
    return Document(promise=promise, sections=(_files(releases, blocks),))


def _promise_in(release: Mapping[str, Any]) -> Promise | None:
    """Promise of a release, from the content of its ``statement.json``."""
    from shuffledp.core.statements import PrivacyStatement
    from shuffledp.documents.statement_document import promise_of

    statements = [PrivacyStatement.from_dict(each) for each in release["statements"]]
    one, many = ("report", "reports") if _local(release).num_messages == 1 else ("person", "people")
    return promise_of(statements, count_of(_num_people(release), one, many))


def _num_people(release: Mapping[str, Any]) -> int:
    """Number of people in a release, from the content of its ``statement.json``."""
    return int(release.get("columns", [release])[0]["num_reports"]) // _local(release).num_messages


def _local(release: Mapping[str, Any]) -> "LocalModel":
    """Model of the randomizer of a release's first column, from the content of its ``statement.json``."""
    from shuffledp.core.local_models import LocalModel

    return LocalModel.from_dict(release.get("columns", [release])[0]["model"]["local"])


def _files(folders: Iterable[Path], blocks: Iterable[Block]) -> Section:
    """Section with blocks and the paths of release pages."""
    from shuffledp.documents.release_document import RELEASE_PAGE

    pages = told(*(f"Page: {folder / RELEASE_PAGE}" for folder in folders), role=Role.PATH)
    return Section(anchor="files", title="Files", blocks=(*blocks, *pages))


def statuses_document(found: Sequence[tuple[Path, Collection, Mapping[str, Any]]]) -> Document:
    """States of several collections, a line each, with the name of its file."""
    enough = {True: "yes", False: "no", None: "-"}
    rows = tuple(
        (str(file), printable(of.task.name), str(each["phase"]), enough[each["at_least_minimum"]], shown(of.closes))
        for file, of, each in found
    )
    heads = ("File", "Name", "Phase", "Enough", "Closes")
    table = Table("Collections", tuple(Column(head, left=True, folds=head in heads[:2]) for head in heads), rows)
    return Document(sections=(Section(anchor="statuses", title="", blocks=(table,)),))


def forgotten_document(states: Sequence[tuple[str, str, str]]) -> Document:
    """Document of old collections: the data held of each, their removal, or the reason to keep them.

    Args:
        states: id in hexadecimal digits, what was held, and why it stays.
    """
    lines = [
        f"{'Stays' if stays else 'Removed'}: {collection}, {held}{f': {stays}' if stays else ''}."
        for collection, held, stays in states
    ]
    again = "What stays ends by itself: name its collection in the configuration again, and start the service."
    kept = "Releases, keys and collection files are as they were."
    said = lines or ["Nothing is kept of a collection that the configuration does not name."]
    blocks = told(*said, again if any(stays for *_, stays in states) else "", kept)
    return Document(sections=(Section(anchor="forgotten", title="", blocks=blocks),))


def status_document(collection: Collection, status: Mapping[str, object]) -> Document:
    """Document on the state of a collection, and whether answers are enough, without their number."""
    enough = "at least" if status["at_least_minimum"] else "fewer than"
    phase = _PHASES.get(str(status["phase"]), "in a state that is not known here")
    if collection.analyzer.fetches and status["phase"] == "closed":
        phase = "closed; what it had waits for the analyst to fetch it"
    name = collection.task.name
    lines = (
        f"{name} {phase.capitalize()}." if name.endswith("?") else f"{name}: {phase}.",
        f"{enough.capitalize()} {collection.minimum:,} reports wait to be shuffled. It closes at "
        f"{shown(collection.closes)}." * (status["phase"] == "open"),
    )
    hosts = _hosts(status.get("hosts", ()), [each.url for each in collection.hosts])
    return Document(sections=(Section(anchor="status", title="", blocks=told(*filter(None, (*lines, *hosts)))),))


def _hosts(told_by: Any, urls: Sequence[str]) -> Iterator[str]:
    """One line for each host of a sum: its last step, and the hosts that it waits for."""
    for each in told_by:
        waited = listed([urls[number] for number in each.get("waits_for", ()) if number < len(urls)])
        said = _STEPS.get(str(each.get("step")), "does not answer.")
        yield f"{each['url']} {said.format(waited)}"
