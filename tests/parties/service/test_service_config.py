"""The configuration of a service: unknown keys are refused, secrets are files, counts stay on the machine."""

import asyncio

import pytest

from parties.service.processes import Place
from shuffledp.core.errors import InvalidParameterError
from shuffledp.files.key_files import write_key
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.serving import listen
from shuffledp.parties.service.client import new_client
from shuffledp.parties.service.config import AnalyzerConfig, ShufflerConfig
from shuffledp.parties.service.run_services import run_analyzer, run_shuffler
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, ShufflerKey

KINDS = {"shuffler": ShufflerConfig, "analyzer": AnalyzerConfig}


@pytest.fixture
def there(tmp_path):
    return Place(tmp_path)


def read(there, role, *, without=(), **changed):
    path = there.folder / f"{role}.toml"
    lines = [line for line in path.read_text().splitlines() if line.split(" = ")[0] not in {*without, *changed}]
    path.write_text("\n".join([*(f"{key} = {value}" for key, value in changed.items()), *lines]))
    return KINDS[role].read(path)


def test_paths_are_those_beside_the_file(there):
    config = read(there, "shuffler")
    assert config.key == str(there.folder / "shuffler.key")
    assert config.read_key().public == there.parties.shuffler_key.public
    ((collection, beside),) = config.read_collections()
    assert collection == there.parties.collection
    assert beside == there.folder


@pytest.mark.parametrize(
    ("role", "changed", "message"),
    [
        ("shuffler", {"keyy": '"x"'}, "must have only the keys .* got 'keyy'"),
        ("shuffler", {"listen": '"nowhere"'}, "listen must be host:port"),
        ("shuffler", {"listen": '"127.0.0.1:99999"'}, "listen must be host:port"),
        ("shuffler", {"collections": "[]"}, "collections must be one or more"),
        ("shuffler", {"metrics": '"0.0.0.0:9101"'}, "metrics must be an address of this machine alone"),
        ("shuffler", {"metrics": '"example.org:9101"'}, "metrics must be an address of this machine alone"),
        ("shuffler", {"metrics": '"9101"'}, "metrics must be host:port"),
        ("shuffler", {"tls_key": '"x"'}, "must be given together"),
        ("shuffler", {"limits": "{most_connections = 0}"}, r"\[limits\] most_connections must be an integer"),
        ("shuffler", {"limits": "{most = 1}"}, r"\[limits\] must have only the keys"),
        ("analyzer", {"keys": "3"}, "keys must be of type"),
    ],
)
def test_what_the_schema_does_not_know_is_refused(there, role, changed, message):
    with pytest.raises(InvalidParameterError, match=message):
        read(there, role, **changed)


def test_a_file_that_is_no_toml_is_not_quoted(there):
    (there.folder / "shuffler.toml").write_text("secret secret")
    with pytest.raises(InvalidParameterError, match="must be TOML") as refused:
        ShufflerConfig.read(there.folder / "shuffler.toml")
    assert "secret secret" not in str(refused.value)


def test_each_party_needs_a_key_of_its_own_role_that_the_collection_names(there):
    with pytest.raises(InvalidParameterError, match="key must be that of a shuffler"):
        read(there, "shuffler", key='"analyzer.key"').read_key()
    with pytest.raises(InvalidParameterError, match="keys must be one or more of an analyzer"):
        read(there, "analyzer", keys='["shuffler.key"]').read_keys()
    for role, other, service, right in (
        ("shuffler", ShufflerKey.generate(), run_shuffler, {"key": '"shuffler.key"'}),
        ("analyzer", AnalyzerKey.generate(), run_analyzer, {"keys": '["analyzer.key"]'}),
    ):
        (there.folder / f"{role}.key").write_text(other.to_pem())
        running = service(read(there, role, **right), log=None, ready=None)
        with pytest.raises(InvalidParameterError, match="must be one that the collection names"):
            asyncio.run(running)


def test_the_same_collection_twice_is_refused(there):
    (there.folder / "copy").write_bytes(there.parties.collection.canonical)
    with pytest.raises(InvalidParameterError, match="two files are of the same one"):
        read(there, "shuffler", collections='["survey.collection", "copy"]').read_collections()


@pytest.mark.parametrize("key", ["listen", "metrics"])
def test_an_address_that_is_taken_is_refused_by_the_key_that_names_it(there, key):
    with listen("127.0.0.1:0") as taken:
        port = taken.getsockname()[1]
        given = {"listen": '"127.0.0.1:0"', "metrics": '"127.0.0.1:0"'} | {key: f'"127.0.0.1:{port}"'}
        config = read(there, "shuffler", state=f'"{there.folder}/state"', **given)
        why = f"^{key} must be an address of this machine that is free; got {key}='127.0.0.1:{port}'"
        with pytest.raises(InvalidParameterError, match=why):
            asyncio.run(run_shuffler(config, log=EventLog(lambda _: None), ready=print))


@pytest.mark.parametrize(("role", "service"), [("shuffler", run_shuffler), ("analyzer", run_analyzer)])
def test_a_service_never_listens_with_a_certificate_that_it_cannot_use(there, role, service):
    (there.folder / "no.pem").write_text("nothing")
    for certificate, reason in (("absent.pem", "No such file"), ("no.pem", "it is something else")):
        config = read(there, role, tls_certificate=f'"{certificate}"', tls_key='"no.pem"')
        with pytest.raises(InvalidParameterError, match=f"tls_certificate and tls_key must be PEM .*{reason}"):
            asyncio.run(service(config, log=None, ready=None))


def test_certificates_to_trust_that_cannot_be_read_are_refused_by_name(there):
    for certificate, reason in (("absent.pem", "No such file"), ("survey.collection", "it is something else")):
        config = read(there, "shuffler", analyzer_certificates=f'"{certificate}"')
        with pytest.raises(InvalidParameterError, match=f"analyzer_certificates must be PEM .*{reason}"):
            asyncio.run(run_shuffler(config, log=None, ready=None))
        with pytest.raises(InvalidParameterError, match=f"--ca must be PEM certificates.*{reason}"):
            new_client(certificates=there.folder / certificate)


def test_a_gateway_opens_by_keys_of_its_own(there):
    config = read(there, "shuffler", gateway_keys='["shuffler.key"]')
    with pytest.raises(InvalidParameterError, match="gateway_keys must be keys of a gateway"):
        config.read_gateway_keys()
    key = GatewayKey.generate()
    write_key(there.folder / "gateway.key", key, there.parties.published(key))
    (found,) = read(there, "shuffler", gateway_keys='["gateway.key"]').read_gateway_keys()
    assert found.public == key.public
