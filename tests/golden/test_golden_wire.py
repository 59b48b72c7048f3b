"""The vectors of docs/protocol.md: decoded, encoded, opened and verified here, and the malformed ones refused."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from golden import record_wire
from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError
from shuffledp.parties.wire import close_request, grammar
from shuffledp.parties.wire.hpke import Opener, report_info
from shuffledp.parties.wire.keys import from_pem, verify
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.survey import Collection

VECTORS = json.loads(Path(__file__).with_name("wire.json").read_text(encoding="utf-8"))
MESSAGES = {name: bytes.fromhex(data) for name, data in VECTORS["messages"].items()}
COLLECTION = Collection.from_dict(json.loads(VECTORS["collection"]))


def decoded(name, data):
    if name == "UploadRequest":
        return grammar.UploadRequest.decode(data, num_columns=1 if data == MESSAGES[name] else 2)
    return getattr(grammar, name, close_request.CloseRequest).decode(data)


def test_the_vectors_are_what_the_page_makes_without_this_library():
    assert record_wire.vectors() == VECTORS


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_decoded_and_encoded_to_the_same_bytes(name):
    message = decoded(name, MESSAGES[name])
    assert type(message).__name__ == name
    assert message.encode() == MESSAGES[name]


@pytest.mark.parametrize("bad", VECTORS["bad"], ids=[f"{bad['message']}: {bad['why']}" for bad in VECTORS["bad"]])
def test_a_malformed_message_is_refused(bad):
    with pytest.raises(MalformedMessageError):
        decoded(bad["message"], bytes.fromhex(bad["bytes"]))


def test_the_collection_has_its_id_its_keys_and_their_fingerprints():
    assert COLLECTION.canonical.decode() == VECTORS["collection"]
    assert COLLECTION.id.hex() == VECTORS["collection_id"]
    for role, party in (("analyzer", COLLECTION.analyzer), ("shuffler", COLLECTION.shuffler)):
        key = from_pem(VECTORS[f"{role}_key"])
        assert party.key.public == key.public
        assert key.to_pem() == VECTORS[f"{role}_key"]
        assert party.key.fingerprint == VECTORS["fingerprints"][role]


def test_the_report_opens_to_the_plaintext_which_is_an_answer():
    report, column = decoded("Report", MESSAGES["Report"]), VECTORS["column"]
    assert report_info(COLLECTION.id, column).hex() == VECTORS["info"]
    opener = Opener.by([from_pem(VECTORS["analyzer_key"])], collection_id=COLLECTION.id, column=column)
    plaintext = opener.open(report.ciphertext)
    assert plaintext.hex() == VECTORS["plaintext"]
    model = COLLECTION.task.column.randomizer.randomizer().model
    found, malformed = ReportLayout.of(model).decode([plaintext])
    assert (found["value"].tolist(), malformed.tolist()) == ([1], [])


def test_the_batch_and_the_request_to_close_are_signed_by_the_shuffler():
    key, batch = COLLECTION.shuffler.key.public, decoded("Batch", MESSAGES["Batch"])
    assert verify(batch.signed, [key]).num_reports == len(list(batch.reports())) == 1
    now = datetime.fromtimestamp(VECTORS["closed"], UTC)
    request = decoded("CloseRequest", MESSAGES["CloseRequest"])
    request.verify([key], collection_id=COLLECTION.id, now=now)
    with pytest.raises(RemoteProtocolError):
        request.verify([key], collection_id=bytes(32), now=now)
