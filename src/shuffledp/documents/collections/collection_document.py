"""Collections and keys in words: parties, questions, dates, and the promised guarantee."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any

from shuffledp.core.instants import shown
from shuffledp.core.local_models import LocalModel
from shuffledp.core.prefix_models import told_alone
from shuffledp.core.statement_terms import Trust
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import count_of, names_of, percent, printable
from shuffledp.core.tick_models import TicksModel
from shuffledp.documents.blocks import DETAIL, Block, Pairs, Role, Text, told
from shuffledp.documents.document import Document, Section
from shuffledp.documents.statement_document import promise_of
from shuffledp.documents.words import all_or_nothing, epsilon0_of, listed, little_shuffled
from shuffledp.parties.wire.keys import fingerprint, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import DEMONSTRATION, LOCAL_NETWORK, Collection, Column, Service, said_of_one_operator
from shuffledp.survey.parties import host_role
from shuffledp.survey.trusted_parties import serves_page

_MOST_ANSWERS = 8
_UNKNOWN = (
    "What will be guaranteed depends on who comes, and where they are: `shuffledp plan TASK.toml --input PEOPLE.csv` "
    "says it of people like them."
)
_CALLED = {"analyzer": "analyst", "second_relay": "second relay"}  # parties that have another name in statements
_CLAIMED = "Names in quotation marks are what whoever made the collection calls the parties: nobody has checked them."
_TEXT_SHOWS = (
    "{}: to that operator, texts begin to show: in {} of cases a report by itself holds the first letters as they are, "
    "and texts that are guessed can be tested."
)
_REMINDERS = "the issuer tells the analyst, three times at most, which invitations have given no token yet"
_COMPARE = (
    "Members who compare this fingerprint know that they have the same keys of everybody. It is fixed in the "
    "collection: nobody can be shown another directory without being invited to another collection."
)


def collection_document(collection: Collection) -> Document:
    """Document of a collection: the promise for the smallest batch, then questions, parties and dates."""
    statements, least = collection.promised(), count_of(collection.minimum, "report")
    sections = (Section(anchor="collection", title="The collection", blocks=_about(collection, bool(statements))),)
    if collection.directory is not None:
        least = f"if all {collection.directory.people:,} members pass reports on"
    else:
        least = f"from {least} on"
    promise = promise_of(statements, least) if statements else None
    if promise is not None:
        promise = replace(promise, meaning=(*promise.meaning, *told(*_few(collection, statements))))
    dangers = Section(anchor="dangers", title="", blocks=told(*_dangers(collection), role=Role.DANGER))
    return Document(
        title=collection.task.name, digest=collection.id.hex(), promise=promise, sections=(dangers, *sections)
    )


def _dangers(collection: Collection) -> Iterator[str]:
    """Warnings for people who make a collection or are invited to it."""
    if collection.demonstration:
        yield DEMONSTRATION
    if collection.local:
        yield LOCAL_NETWORK
    elif roles := collection.one_operator:
        who = [f"the {_CALLED.get(role, role).replace('_', ' ')} ({collection.addresses[role]})" for role in roles]
        said = f"One operator runs {listed(who)}, as far as their addresses tell: it could see who sent which report."
        yield said_of_one_operator(collection.promised(), said)
        for column in collection.task.columns if {"shuffler", "analyzer"} <= set(roles) else ():
            if told_so := told_alone(column.randomizer.randomizer().model):
                yield _TEXT_SHOWS.format(column.label, percent(told_so, "at most"))


def _few(collection: Collection, statements: Sequence[PrivacyStatement]) -> tuple[str, ...]:
    """Consequences of too few answers, and the effect of shuffling for the smallest batch."""
    if collection.directory is not None:
        return ()
    lost = all_or_nothing(collection.minimum, collection.task.people.expected)
    return lost, little_shuffled(statements, collection.minimum)


def collection_as_dict(collection: Collection) -> dict[str, Any]:
    """The collection's id, fingerprints and promise, with all keys of its file."""
    further = {host_role(number): each.key for number, each in enumerate(collection.further_shufflers, 1)}
    keys = {role.value: key for role, key in collection.keys.items()} | further
    return {
        "collection_id": in_text(collection.id),
        "fingerprints": {role: key.fingerprint for role, key in keys.items()},
        "statements": [each.to_dict() for each in collection.promised()],
        "collection": collection.to_dict(),
    }


def _about(collection: Collection, promised: bool) -> tuple[Block, ...]:
    """Questions, parties, dates of opening and closing, and the time of each release."""
    task = collection.task
    rule = f"when it closes, if there are {collection.minimum:,} reports or more"
    if isfinite(collection.most):
        rule = (
            f"when it closes, if {collection.minimum:,} people have answered; more than {collection.most:,.0f} cannot"
        )
    if collection.every is not None:
        rule = f"whenever there are {collection.every:,}, and the rest {rule}"
    asked = "; ".join(_question(column) for column in task.columns)
    bound = collection.directory
    shuffler: tuple[tuple[str, str], ...] = (
        ("Shuffler", _party(collection, "shuffler")),
        *((f"Shuffler {number}", _words(each)) for number, each in enumerate(collection.further_shufflers, 2)),
    )
    if bound is not None:
        rule = "when more than half of all have voted that they saw the same rounds"
        shuffler = (
            ("Post office", _party(collection, "shuffler")),
            ("Directory", f"{bound.people:,} members, SHA-256 {bound.sha256}"),
        )
    pairs = (
        ("Asked", asked),
        *shuffler,
        *(
            ()
            if collection.relay is None
            else (("Relay", collection.named("relay", known_by=" or ".join(collection.relays))),)
        ),
        ("Analyzer", _party(collection, "analyzer")),
        *(() if collection.page is None else (("Page", collection.named("page", known_by=collection.page.link)),)),
        *(() if collection.issuer is None else (("Issuer", _issuer(collection)),)),
        *((("Reminders", _REMINDERS),) if collection.reminders else ()),
        ("Opens", shown(collection.opens)),
        ("Closes", shown(collection.closes)),
        *(() if collection.result is None else (("Result", f"{collection.result}, after the close"),)),
        ("Reports leave", rule),
        *(() if collection.fetch_by is None else (("Fetched by", f"{shown(collection.fetch_by)}, or destroyed"),)),
        ("Collection", in_text(collection.id)),
    )
    claimed = told(_CLAIMED if collection.names.to_dict() else "")
    if promised:
        return (Pairs(pairs), *claimed)
    danger = told(f"Whatever will be promised holds only as long as {Trust.ONE_ANSWER.text}.", role=Role.DANGER)
    return (*danger, *told(_UNKNOWN), Pairs(pairs), *claimed)


def _question(column: Column) -> str:
    """A private column, with its answers if they are few."""
    question = column.randomizer
    of_one = question.categories_of_answers
    rows = max((question.targets, *map(names_of, of_one)), key=len)  # with that of no answer, where it is one
    answers = rows if len(of_one) == 1 else question.offered
    named = column.label if column.question is None else f"{column.question} as {column.label}"
    listed = ", ".join(map(printable, answers[:_MOST_ANSWERS])) + ", ..." * (len(answers) > _MOST_ANSWERS)
    model = question.randomizer().model
    loss = epsilon0_of(model).replace("\N{NO-BREAK SPACE}", " ")
    kind = ", ".join(filter(None, [f"{question.kind}, {loss}", _limits(column, model)]))
    return f"{named} ({listed}; {kind})" if answers else f"{named} ({kind})"


def _limits(column: Column, model: LocalModel) -> str:
    """Limits of a question: largest number of ticks, and the required earlier answer; "" without either."""
    ticks = f"at most {count_of(model.at_most, 'tick', 'ticks')}" if isinstance(model, TicksModel) else ""
    after = column.after
    asked = "" if after is None else f'asked after "{printable(after.column)} = {printable(after.answer)}"'
    return ", ".join(filter(None, [ticks, asked]))


def _issuer(collection: Collection) -> str:
    made, signed = "makes a token for each invited person", "signs a token for each invited person, blindly"
    return f"{_party(collection, 'issuer')}; {made if collection.ready_made else signed}"


def _party(collection: Collection, role: str) -> str:
    """A party with a key, by name, address and fingerprint."""
    party: Service = getattr(collection, role)
    return collection.named(role, known_by=_words(party))


def _words(party: Service) -> str:
    more = len(party.key.successors)
    return party.words + (f", and {count_of(more, 'successor')}" if more else "")


def key_document(key: PublishedKey, now: datetime, *paths: str) -> Document:
    """Document of a key: its fingerprint first, then its purpose, then the paths of its files."""
    facts = key_as_dict(key, now)
    until = "" if key.expires is None else f" until {shown(key.expires)}"
    pairs = [("Algorithm", facts["algorithm"]), ("Used", f"from {shown(key.active_from)}{until}")]
    if facts["config_id"] is not None:
        pairs.insert(1, ("Config id", str(facts["config_id"])))
    pairs += [("Successor", each) for each in facts["successors"]]
    blocks = (
        Text(f"{key.fingerprint}   key of the {key.role.value}, {facts['state']}", Role.LEAD),
        Pairs(tuple(pairs)),
        *told(*paths, role=Role.PATH),
    )
    return Document(sections=(Section(anchor="key", title="", blocks=blocks),))


def key_as_dict(key: PublishedKey, now: datetime) -> dict[str, Any]:
    """Dictionary of a public key: times in UTC, fingerprints of successors, config id of a sealing key."""
    config_id = key.config.id if key.kem else None
    return {
        "role": key.role.value,
        "fingerprint": key.fingerprint,
        "state": key.state(now).value,
        "algorithm": key.algorithm,
        "config_id": config_id,
        "active_from": key.active_from,
        "expires": key.expires,
        "successors": [fingerprint(key.role, each) for each in key.several[1:]],
    }


def member_document(name: str, fingerprint: str, *paths: str) -> Document:
    """The fingerprint of a member's keys, and the paths of the files."""
    blocks = (
        Text(f"{fingerprint}   keys of member {name}", Role.LEAD),
        *told("Whoever knows you can compare it with the directory's: then nobody has enrolled in your name."),
        *told(*paths, role=Role.PATH),
    )
    return Document(sections=(Section(anchor="member", title="", blocks=blocks),))


def directory_document(fingerprint: str, members: Sequence[tuple[str, str]], digest: str, *paths: str) -> Document:
    """Fingerprint and size of a directory, and in detail each member's name and fingerprint."""
    blocks = (
        Text(f"{fingerprint}   directory of {count_of(len(members), 'member')}", Role.LEAD),
        *told(_COMPARE),
        Pairs((("SHA-256", digest),)),
        *told(*(f"{fingerprint}   {name}" for name, fingerprint in members), on=DETAIL, role=Role.PATH),
        *told(*paths, role=Role.PATH),
    )
    return Document(sections=(Section(anchor="directory", title="", blocks=blocks),))


def handed_in_document(collection: Collection, refused: int) -> Document:
    """Document after a member handed in reports, with the number of reports that could not be passed on."""
    said = (
        f"{collection.task.name}: more than half of the members voted that they saw the same rounds. What came to "
        "you is handed in, sealed to the analyst; nothing of it is kept here."
    )
    lost = (
        f"{refused} of the reports that came to you came twice, did not open, or found no slot, and went no further: "
        "the analyst will miss somebody's, and release nothing.",
    )
    return Document(sections=(Section(anchor="handed-in", title="", blocks=told(said, *(lost if refused else ()))),))


def next_steps(collection: Collection, file: Path, *, registered: bool = False) -> tuple[Block, ...]:
    """Next steps with the written files of a collection; if ``registered``, mixes have the files already."""
    parties = "both parties" if collection.issuer is None else "all three parties"
    parties = "all parties" if collection.further_shufflers else parties
    page, sent = collection.page, f"Send it to {parties}"
    if registered:
        sent = f"{'All mixes have' if collection.further_shufflers else 'The mix has'} it, and people can answer"
    if page is None:
        return told(f"\nWritten: {file}. {sent}{': give it' * registered or ' and'} to all who answer.", role=Role.PATH)
    served = f"Have it served as it is at {page.url}, best not by the shuffler."
    if registered and serves_page(collection):
        served = f"{collection.shuffler.url} serves it."
    unasked = [column.label for column in collection.task.columns if column.question is None]
    return told(
        f"\nWritten: {file}. {sent}.",
        f"Written: {page.beside(file)}. {served}",
        *(
            f"The page asks for {each} by that name alone: a `question` in the task says it in words."
            for each in unasked
        ),
        *(
            [
                f"Written: {file.with_suffix('.svg')}, the link below as a QR code, for posters and letters.",
                f"Invite people by the whole of this link: {page.link}",
            ]
            if collection.issuer is None
            else [f"Make a link for each person: shuffledp tokens issue {file} --people list.csv --output invitations"]
        ),
        role=Role.PATH,
    )
