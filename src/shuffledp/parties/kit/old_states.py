"""Old states of a service: data on its disk about collections that its configuration no longer names."""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.config import AnalyzerConfig, CollectionsConfig, IssuerConfig, ShufflerConfig
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.store.database import Database
from shuffledp.survey.section import read_toml

_BY_KEY: Mapping[str, type[CollectionsConfig]] = {
    "key": ShufflerConfig,
    "releases": AnalyzerConfig,
    "invited": IssuerConfig,
}
_ID = re.compile(r"[0-9a-f]{64}")
_OVER = (Phase.RELEASED, Phase.DESTROYED)


@dataclass(frozen=True, slots=True)
class OldState:
    """State of one collection that a service no longer serves.

    Args:
        collection: id of the collection in hexadecimal digits.
        held: what the service still held of it, in words.
        stays: why it stays; "" if it is removed.
    """

    collection: str
    held: str
    stays: str = ""


class _Reports(Database):
    """Store left by a shuffler, read for its phase and for batches that wait for the analyzer."""

    file, owner, in_use = ReportStore.file, ReportStore.owner, ReportStore.in_use

    def stays(self) -> str:
        """Reason to keep the reports; "" if they may be removed."""
        (phase,) = (Phase(name) for (name,) in self.rows("SELECT phase FROM state"))
        if phase not in _OVER:
            return f"its phase is {phase.value}, so that answers may wait"
        return "a batch waits for the analyzer" if self.finds("SELECT 1 FROM outbox") else ""


def config_of(file: Path) -> CollectionsConfig:
    """Configuration file of a shuffler, an analyzer or an issuer, recognized by its keys.

    Raises:
        InvalidParameterError: for the file of another service; a mix forgets by itself.
    """
    table = read_toml(file, "the configuration")
    for key, kind in _BY_KEY.items():
        if key in table:
            return kind.read(file)
    raise InvalidParameterError(
        f"--config must be of a shuffler, an analyzer or an issuer, which keep something; {file} is of none."
    )


def forget(config: CollectionsConfig) -> Iterator[OldState]:
    """Remove the states of ended collections that the configuration does not name.

    What a configuration names is left alone: its service would begin it anew.

    Yields:
        Each old state, after it is removed, or with the reason for which it stays.

    Raises:
        LocalProtocolError: if the service that uses the state is running.
    """
    named = {collection.id.hex() for collection, _ in config.read_collections()}
    if isinstance(config, ShufflerConfig):
        yield from _of_shuffler(Path(config.state), named)
    elif isinstance(config, AnalyzerConfig):
        yield from _of_analyzer(Path(config.state), named)
    else:
        yield from _of_issuer(Path(config.state), named)


def _of_shuffler(state: Path, named: set[str]) -> Iterator[OldState]:
    for folder in sorted(state.iterdir() if state.is_dir() else ()):
        if folder.name in named or not _ID.fullmatch(folder.name) or not (folder / _Reports.file).exists():
            continue
        store = _Reports(folder)
        stays = store.stays()
        store.close()
        if not stays:
            shutil.rmtree(folder)
        yield OldState(folder.name, "phase and counts", stays)


def _of_analyzer(state: Path, named: set[str]) -> Iterator[OldState]:
    if not (state / BatchStore.file).exists():
        return
    store = BatchStore(state)
    try:
        for each, is_done in store.known():
            if each.hex() not in named:
                if is_done:
                    store.drop(each)
                yield OldState(each.hex(), "manifests of batches", "" if is_done else "a batch of it is not released")
    finally:
        store.close()


def _of_issuer(state: Path, named: set[str]) -> Iterator[OldState]:
    if not (state / IssuerStore.file).exists():
        return
    store = IssuerStore(state)
    try:
        for each, is_closed in store.known():
            if each.hex() not in named:
                if is_closed:
                    store.drop(each)
                held = "that it has closed" if is_closed else "digests of invitations, and which were used"
                yield OldState(each.hex(), held, "" if is_closed else "it was not closed here")
    finally:
        store.close()
