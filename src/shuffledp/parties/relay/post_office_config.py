"""Configuration and run of a post office, until the process is asked to end."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from shuffledp.core import validate
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.relay.directory import Directory
from shuffledp.parties.relay.mailboxes import Mailboxes
from shuffledp.parties.relay.post_office import PostOffice
from shuffledp.parties.relay.post_office_app import post_office_app
from shuffledp.parties.relay.terms import RelayTerms
from shuffledp.parties.service.config import CollectionsConfig
from shuffledp.parties.service.run_services import endpoint_of, serve_until_asked
from shuffledp.survey import Collection
from shuffledp.survey.bound_directory import BoundDirectory


@dataclass(frozen=True, slots=True, kw_only=True)
class PostOfficeConfig(CollectionsConfig):
    """Configuration of a post office, which needs no key.

    Args:
        directories: files of the directories that the collections name.
        patience: seconds for which each round waits for missing members.
    """

    title: ClassVar[str] = "the configuration"
    directories: tuple[str, ...]
    patience: float = 60.0

    def __post_init__(self) -> None:
        super(PostOfficeConfig, self).__post_init__()
        validate.positive(patience=self.patience)

    def read_terms(self) -> list[RelayTerms]:
        """Terms of each collection, with its directory.

        Raises:
            InvalidParameterError: if a file is invalid, or the directory of a collection is missing.
        """
        known = {each.bound: each for each in (Directory.read(Path(file)) for file in self.directories)}
        return [_terms(collection, known) for collection, _ in self.read_collections()]


def _terms(collection: Collection, known: dict[BoundDirectory, Directory]) -> RelayTerms:
    bound = collection.directory
    directory = None if bound is None else known.get(bound)
    if directory is None:
        raise InvalidParameterError("directories must hold the directory that each collection names; one is missing.")
    return RelayTerms(collection=collection, directory=directory)


async def run_post_office(config: PostOfficeConfig, *, log: EventLog, ready: Callable[[str], None]) -> None:
    """Run the post offices of some collections until the process is asked to end.

    Args:
        config: configuration of the post office.
        log: log of events.
        ready: called with the address as soon as the service answers.

    Raises:
        InvalidParameterError: if a file is invalid, or an address is in use.
        LocalProtocolError: if another process uses the same state.
        StorageError: if the disk cannot be written to.
    """
    offices = []
    async with AsyncExitStack() as stack:
        for terms in config.read_terms():
            store = Mailboxes(Path(config.state) / terms.collection_id.hex())
            stack.push_async_callback(store.close)
            offices.append(PostOffice(terms, store, patience=config.patience, log=log))
            await offices[-1].open()
        app = post_office_app(offices, log=log)
        await serve_until_asked([endpoint_of(config, app)], [office.run() for office in offices], log, ready)
