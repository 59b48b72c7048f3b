"""What a relay passes on: it opens at the gateway alone, and an answer belongs to one request."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKey

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, UndecryptableReportError
from shuffledp.parties.wire.keys import GatewayKey, Role, from_pem, in_text
from shuffledp.parties.wire.oblivious_http import (
    LONGER_BY,
    Gateway,
    UnknownKeyError,
    encapsulate,
    encode_keys,
    padded_length,
)
from shuffledp.parties.wire.published_keys import PublishedKey

KEY = GatewayKey.generate()
GATEWAY = Gateway.by([KEY])
SUITE = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=3000), st.binary(max_size=300))
def test_a_request_and_its_answer_come_through(request, response):
    sealed, ours = encapsulate(KEY.config, request)
    opened, theirs, config = GATEWAY.open(sealed)
    assert (opened, config, len(sealed)) == (request, KEY.config, len(request) + LONGER_BY)
    assert ours.open(theirs.seal(response)) == response


def test_another_implementation_of_hpke_opens_a_request_and_has_the_same_secret():
    sealed, exchange = encapsulate(KEY.config, b"request")
    theirs = SUITE.create_recipient_context(
        sealed[7:39], KEMKey.from_pyca_cryptography_key(KEY.private_key), b"message/bhttp request\0" + sealed[:7]
    )
    assert theirs.open(sealed[39:]) == b"request"
    assert theirs.export(b"message/bhttp response", 16) == exchange._context.export(b"message/bhttp response", 16)


def test_an_answer_to_one_request_answers_no_other():
    first, second = (encapsulate(KEY.config, b"request") for _ in range(2))
    answer = GATEWAY.open(first[0])[1].seal(b"answer")
    assert first[1].open(answer) == b"answer"
    for exchange, given_ in ((second[1], answer), (first[1], answer[:-1]), (first[1], b""), (first[1], answer + b"x")):
        with pytest.raises(UndecryptableReportError, match="must be the gateway's to this request"):
            exchange.open(given_)


def test_a_request_to_another_key_or_with_another_byte_is_not_opened():
    sealed, _ = encapsulate(KEY.config, b"request")
    other, _ = encapsulate(GatewayKey.generate(other_than=[KEY.config.id]).config, b"request")
    zero = sealed[:7] + bytes(32) + sealed[39:]  # a point with which every secret is zero
    for wrong in (
        other,
        zero,
        *(sealed[:at] + bytes((sealed[at] ^ 1,)) + sealed[at + 1 :] for at in range(0, len(sealed), 5)),
    ):
        with pytest.raises(UnknownKeyError):
            GATEWAY.open(wrong)
    for length in (0, 6, 7, 38, 54):
        with pytest.raises(MalformedMessageError):
            GATEWAY.open(sealed[:length])


def test_keys_of_one_id_are_refused():
    with pytest.raises(InvalidParameterError, match="gateway_keys must be of different config ids"):
        Gateway.by([KEY, KEY])


def test_keys_are_published_one_after_the_other_each_after_its_length():
    keys = [KEY, GatewayKey.generate(other_than=[KEY.config.id])]
    published = encode_keys(key.config for key in keys)
    assert len(published) == 2 * (2 + 1 + 2 + 32 + 2 + 4)
    for at, key in zip((0, 43), keys, strict=True):
        assert published[at : at + 5] == b"\0\x29" + bytes((key.config.id,)) + b"\0\x20"
        assert published[at + 5 : at + 37] == key.config.public_key


def test_a_gateways_key_is_written_like_any_and_read_in_its_role():
    again = from_pem(KEY.to_pem(), Role.GATEWAY)
    assert (type(again), again.public) == (GatewayKey, KEY.public)
    published = PublishedKey(role=Role.GATEWAY, key=in_text(KEY.public), active_from="2026-12-01T00:00:00Z")
    assert (published.config, published.kem) == (KEY.config, "x25519")


def test_a_gateways_key_is_of_one_kind():
    with pytest.raises(InvalidParameterError, match="must be of x25519, as keys of a gateway are"):
        GatewayKey.generate("mlkem768-x25519")


def test_a_length_tells_only_between_which_powers_of_two_it_is():
    assert [padded_length(each) for each in (1, 1024, 1025, 2048, 5000)] == [1024, 1024, 2048, 2048, 8192]
