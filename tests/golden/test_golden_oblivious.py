"""Oblivious HTTP and Binary HTTP as they are published: the examples of RFC 9458 and RFC 9292, byte for byte."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.core.errors import MalformedMessageError
from shuffledp.parties.wire.binary_http import BinaryRequest, BinaryResponse
from shuffledp.parties.wire.grammar import HpkeConfig
from shuffledp.parties.wire.hpke_context import HpkeContext, schedule_info
from shuffledp.parties.wire.kems import KEMS
from shuffledp.parties.wire.keys import GatewayKey
from shuffledp.parties.wire.oblivious_http import Gateway, encapsulate, encode_keys

VECTORS = json.loads((Path(__file__).parent / "oblivious.json").read_text())
EXAMPLE = {name: bytes.fromhex(value) for name, value in VECTORS["rfc9458"].items()}
KEY = GatewayKey(KEMS["x25519"], (X25519PrivateKey.from_private_bytes(EXAMPLE["private_key"]),))
EPHEMERAL = X25519PrivateKey.from_private_bytes(EXAMPLE["ephemeral_private"])
KEY.config = HpkeConfig(1, *[getattr(KEY.config, name) for name in ("kem", "kdf", "aead", "public_key")])


# ---- RFC 9458, appendix A -------------------------------------------------------------------------------------------


def test_the_published_key_is_ours_but_for_a_second_suite():
    length, ours = len(EXAMPLE["key_config"]), encode_keys([KEY.config])
    head = length - 10  # what comes before the suites: their length, and two of four bytes each
    assert ours[2:][:head] == EXAMPLE["key_config"][:head]
    assert ours[2 + head :] == bytes.fromhex("0004" + "00010001")
    assert EXAMPLE["key_config"][head:] == bytes.fromhex("0008" + "00010001" + "00010003")


def test_the_client_makes_the_published_request():
    sealed, _ = encapsulate(KEY.config, EXAMPLE["request"], ephemeral=EPHEMERAL)
    assert sealed == EXAMPLE["encapsulated_request"]


def test_the_gateway_opens_the_published_request_and_gives_the_published_answer():
    request, exchange, config = Gateway.by([KEY]).open(EXAMPLE["encapsulated_request"])
    assert (request, config) == (EXAMPLE["request"], KEY.config)
    decoded = BinaryRequest.decode(request)
    assert (decoded.method, decoded.scheme, decoded.authority, decoded.path) == (
        b"GET",
        b"https",
        b"example.com",
        b"/",
    )
    assert exchange.seal(EXAMPLE["response"], nonce=EXAMPLE["response_nonce"]) == EXAMPLE["encapsulated_response"]


def test_the_client_opens_the_published_answer():
    _, exchange = encapsulate(KEY.config, EXAMPLE["request"], ephemeral=EPHEMERAL)
    response = exchange.open(EXAMPLE["encapsulated_response"])
    assert response == EXAMPLE["response"]
    assert BinaryResponse.decode(response).status == 200


def test_the_secret_of_the_answer_is_the_published_one():
    _, context = HpkeContext.sender(KEY.private_key.public_key(), schedule_info(EXAMPLE["info"]), ephemeral=EPHEMERAL)
    assert context.export(b"message/bhttp response", 16) == EXAMPLE["exported"]


# ---- RFC 9292, section 5 --------------------------------------------------------------------------------------------


def fields(listed):
    return tuple((name.encode(), value.encode()) for name, value in listed)


def expected(vector):
    rest = fields(vector["fields"]), vector["content"].encode(), fields(vector["trailers"])
    if "method" in vector:
        return BinaryRequest(*(vector[name].encode() for name in ("method", "scheme", "authority", "path")), *rest)
    before = tuple((status, fields(listed)) for status, listed in vector["informational"])
    return BinaryResponse(vector["status"], *rest, before)


@pytest.mark.parametrize("vector", VECTORS["rfc9292"], ids=lambda vector: vector["name"])
def test_a_published_message_is_read_as_it_is_published_and_as_far_as_it_may_be_cut(vector):
    data, found = bytes.fromhex(vector["data"]), expected(vector)
    for cut in range(vector["may_lack"] + 1):
        assert type(found).decode(data[: len(data) - cut]) == found
    with pytest.raises(MalformedMessageError):
        type(found).decode(data[: len(data) - vector["may_lack"] - 1])
    if data[0] < 2:  # of known length
        assert found.encode() in (data, data + b"\0")
