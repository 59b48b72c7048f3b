"""Configurations of the services: TOML files without secrets, in which unknown keys are refused.

Paths are relative to the file. For example, of a shuffler::

    listen = "127.0.0.1:8443"
    metrics = "127.0.0.1:9101"
    state = "/var/lib/shuffledp-shuffler"
    key = "shuffler.key"
    collections = ["survey.collection"]
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.files.key_files import read_key
from shuffledp.parties.http.connections import Limits
from shuffledp.parties.http.serving import host_and_port
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, IssuerKey, PrivateKey, Role, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection
from shuffledp.survey.section import Section, read_toml

_OF_AN_ADDRESS = 64  # default limit of connections per address, without a proxy

Key = TypeVar("Key", bound=PrivateKey)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListeningConfig(Section):
    """Settings common to all programs that listen for connections.

    Args:
        listen: host and port.
        tls_certificate: file of the certificate chain; without one a proxy before the service speaks TLS.
        tls_key: file of its private key.
        limits: limits of connections.
    """

    title: ClassVar[str] = "the configuration"
    listen: str
    tls_certificate: str | None = None
    tls_key: str | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        host_and_port(self.listen)
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidParameterError("tls_certificate and tls_key must be given together, or neither of them.")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Configuration in a file, with paths resolved against its folder.

        Raises:
            InvalidParameterError: if the file is absent, is not TOML, or breaks the schema; no message quotes it.
        """
        table = read_toml(path, "the configuration")
        return cls.from_dict(
            {key: _found(value, path.parent) if key in _PATHS else value for key, value in table.items()}
        )

    @property
    def certificate(self) -> tuple[str, str] | None:
        """Files of certificate and key; None if there are none."""
        return None if self.tls_certificate is None or self.tls_key is None else (self.tls_certificate, self.tls_key)

    @property
    def connections(self) -> Limits:
        """Limits on the server's connections, in all and for each address."""
        if self.limits.connections_of_an_address is not None:
            return self.limits
        return replace(self.limits, connections_of_an_address=0 if self.certificate is None else _OF_AN_ADDRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConfig(ListeningConfig):
    """Settings common to all services that store data.

    Args:
        state: folder of the service's state.
    """

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionsConfig(ServiceConfig):
    """Settings of a service whose collections are fixed at its start.

    Args:
        collections: collection files.
    """

    collections: tuple[str, ...]

    def __post_init__(self) -> None:
        super(CollectionsConfig, self).__post_init__()
        if not self.collections or len(set(self.collections)) != len(self.collections):
            raise invalid("one or more, all different", collections=list(self.collections))

    def read_collections(self) -> list[tuple[Collection, Path]]:
        """Collections with the folders of their files; two files of one collection are refused."""
        read = [(Collection.read(file), Path(file).parent) for file in self.collections]
        if len({collection.id for collection, _ in read}) != len(read):
            raise InvalidParameterError("collections must all be different; two files are of the same one.")
        return read


@dataclass(frozen=True, slots=True, kw_only=True)
class ShufflerConfig(CollectionsConfig):
    """Configuration of a shuffler.

    Args:
        key: file of the key that signs batches.
        gateway_keys: files of the keys that open relayed requests.
        metrics: host and port of the counts, on this machine alone; None serves none.
        analyzer_certificates: file of trusted certificates of an analyzer, in place of the system's.
    """

    key: str
    gateway_keys: tuple[str, ...] = ()
    metrics: str | None = None
    analyzer_certificates: str | None = None

    def __post_init__(self) -> None:
        super(ShufflerConfig, self).__post_init__()
        check_own(self.metrics)

    def read_key(self) -> ShufflerKey:
        """Shuffler key of the configuration; an analyzer's key is refused."""
        return _keys_of(ShufflerKey, [self.key], "key must be that of a shuffler; it is an analyzer's.")[0]

    def read_gateway_keys(self) -> list[GatewayKey]:
        """Gateway keys of the configuration; another party's key is refused."""
        refusal = "gateway_keys must be keys of a gateway; one is another's."
        return _keys_of(GatewayKey, self.gateway_keys, refusal, Role.GATEWAY) if self.gateway_keys else []


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzerConfig(CollectionsConfig):
    """Configuration of an analyzer.

    Args:
        keys: files of the keys that open reports.
        releases: folder of the releases, with a folder for each collection, named like its file.
        earlier: files ``statement.json`` of earlier releases about the same people, by collection file.
        shuffler_certificates: file of trusted certificates of shufflers from which batches are fetched, in place of the
            system's.
    """

    keys: tuple[str, ...]
    releases: str
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shuffler_certificates: str | None = None

    def __post_init__(self) -> None:
        super(AnalyzerConfig, self).__post_init__()
        if unknown := set(self.earlier) - set(self.collections):
            raise invalid("about files that are among the collections", earlier=", ".join(sorted(unknown)))

    def read_keys(self) -> list[AnalyzerKey]:
        """Analyzer keys of the configuration, one or more; a shuffler's key is refused."""
        return _keys_of(AnalyzerKey, self.keys, "keys must be one or more of an analyzer; they are others.")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerConfig(CollectionsConfig):
    """Configuration of an issuer.

    Args:
        keys: files of the keys that sign tokens, each for one collection alone: signed messages are blinded, so that
            with a key of two collections an invitation to one would be good for the other.
        invited: files of the digests of invitations, as ``shuffledp tokens`` wrote them, or folders of such files;
            additions and changes take effect while the service runs.
    """

    keys: tuple[str, ...]
    invited: tuple[str, ...]

    def read_keys(self) -> list[IssuerKey]:
        """Issuer keys of the configuration, one or more; another party's key is refused."""
        return _keys_of(IssuerKey, self.keys, "keys must be one or more of an issuer; they are others.")


def check_own(metrics: str | None) -> None:
    """Refuse an address for metrics that other machines could reach."""
    if metrics is None:
        return
    host, _ = host_and_port(metrics, name="metrics")
    try:
        is_own = ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own:
        raise invalid("an address of this machine alone, such as 127.0.0.1:9101", metrics=metrics)


def _keys_of(kind: type[Key], files: Sequence[str], refusal: str, role: Role = Role.ANALYZER) -> list[Key]:
    """Private keys of one kind, read from one or more files; another party's key is refused.

    ``refusal`` is the text of the error.
    """
    keys = [key for key in (read_key(Path(file), role) for file in files) if isinstance(key, kind)]
    if not keys or len(keys) != len(files):
        raise InvalidParameterError(refusal)
    return keys


def named_keys(keys: Iterable[Key], party: PublishedKey) -> list[Key]:
    """Keys of a party that a collection names; refused if there are none."""
    named = {party.key, *party.successors}
    found = [key for key in keys if in_text(key.public) in named]
    if not found:
        raise InvalidParameterError(f"the {party.role}'s key must be one that the collection names; it is another.")
    return found


def _found(value: Any, folder: Path) -> Any:
    """Path or paths resolved against a folder; values of other types stay unchanged."""
    if isinstance(value, dict):
        return {_found(key, folder): _found(each, folder) for key, each in value.items()}
    if isinstance(value, list):
        return [_found(each, folder) for each in value]
    return str(folder / value) if isinstance(value, str) else value


_PATHS = {
    "earlier",
    "state",
    "collections",
    "directories",
    "tls_certificate",
    "tls_key",
    "key",
    "keys",
    "gateway_keys",
    "invited",
    "registrants",
    "releases",
    "analyzer_certificates",
    "shuffler_certificates",
    "gateway_certificates",
}
