"""Tokens: signed blindly, verified by an ordinary signature, bound to one collection."""

from functools import cache

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, MalformedMessageError, RemoteProtocolError
from shuffledp.parties.wire import blind_rsa
from shuffledp.parties.wire.keys import IssuerKey, Role, from_pem, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.tokens import PendingToken, Token, TokenChallenge, TokenCheck, TokenResponse

CHALLENGE = TokenChallenge(2, b"issuer.example", bytes(32), b"mixer.example")


@cache
def key(number=0):
    """A key; the same for the same number, since making one takes longest."""
    return IssuerKey.generate()


def issued(challenge=CHALLENGE, by=None, asked=None):
    """A token, and what the issuer has seen of it."""
    by = by or key()
    pending = PendingToken.new(challenge, (asked or by).public)
    response = TokenResponse(blind_rsa.blind_sign(by.private_key, pending.request.blinded_msg))
    return pending.finalize(challenge, (asked or by).public, response), pending, response


def test_a_token_is_good_for_its_collection_and_of_what_the_issuer_sees_nothing_is_in_it():
    token, pending, response = issued()
    TokenCheck(CHALLENGE, [key(1).public, key().public])(token)
    seen = pending.request.blinded_msg, response.blind_sig
    assert not any(part in each for each in seen for part in (token.nonce, token.authenticator, token.challenge_digest))
    assert PendingToken.decode(pending.encode()) == pending


def test_the_same_twice_is_blinded_anew_and_signed_alike():
    first, second = (PendingToken.new(CHALLENGE, key().public, nonce=bytes(32), salt=bytes(48)) for _ in range(2))
    assert first.request != second.request
    signed = [blind_rsa.blind_sign(key().private_key, first.request.blinded_msg) for _ in range(2)]
    assert signed[0] == signed[1]
    tokens = [
        each.finalize(
            CHALLENGE, key().public, TokenResponse(blind_rsa.blind_sign(key().private_key, each.request.blinded_msg))
        )
        for each in (first, second)
    ]
    assert tokens[0] == tokens[1]  # so that nothing of the blinding is left


@pytest.mark.parametrize("field", ["nonce", "challenge_digest", "token_key_id", "authenticator", "token_type"])
def test_a_token_with_another_bit_is_nobodys(field):
    token, _, _ = issued()
    at = {"token_type": 1, "nonce": 2, "challenge_digest": 40, "token_key_id": 70, "authenticator": 200}[field]
    data = bytearray(token.encode())
    data[at] ^= 4
    with pytest.raises(RemoteProtocolError, match="a token must be the issuer's"):
        TokenCheck(CHALLENGE, [key().public])(Token.decode(bytes(data)))


def test_a_token_of_another_collection_issuer_or_shuffler_is_refused():
    check = TokenCheck(CHALLENGE, [key().public])
    others = [
        TokenChallenge(2, b"issuer.example", b"\1" * 32, b"mixer.example"),
        TokenChallenge(2, b"other.example", bytes(32), b"mixer.example"),
        TokenChallenge(2, b"issuer.example", bytes(32), b"other.example"),
    ]
    for token in (*(issued(each)[0] for each in others), issued(by=key(1))[0]):
        with pytest.raises(RemoteProtocolError):
            check(token)


def test_an_issuer_that_signs_something_else_is_found_out():
    pending = PendingToken.new(CHALLENGE, key().public)
    for signature in (bytes(256), blind_rsa.blind_sign(key().private_key, b"\0" * 255 + b"\7"), b"\xff" * 256):
        with pytest.raises(RemoteProtocolError, match="the issuer must sign what it was asked to sign"):
            pending.finalize(CHALLENGE, key().public, TokenResponse(signature))
    with pytest.raises(RemoteProtocolError):
        issued(by=key(1), asked=key())


@pytest.mark.parametrize("blinded", [b"", bytes(255), b"\xff" * 256, bytes(257)])
def test_what_is_no_blinded_message_is_not_signed(blinded):
    with pytest.raises(MalformedMessageError, match="must be below the issuer's modulus"):
        blind_rsa.blind_sign(key().private_key, blinded)


def test_a_machine_that_computes_wrongly_gives_nothing_away(monkeypatch):
    numbers = key().private_key.private_numbers()
    wrong = rsa.RSAPrivateNumbers(
        numbers.p, numbers.q, numbers.d, numbers.dmp1 ^ 2, numbers.dmq1, numbers.iqmp, numbers.public_numbers
    )

    class Faulty:
        def private_numbers(self):
            return wrong

    with pytest.raises(LocalProtocolError, match="computes wrongly"):
        blind_rsa.blind_sign(Faulty(), b"\0" * 255 + b"\7")


def test_a_message_that_would_factor_the_modulus_is_not_sent(monkeypatch):
    factor = key().private_key.private_numbers().p
    monkeypatch.setattr(blind_rsa, "_encoded", lambda *_: factor.to_bytes(256, "big"))
    with pytest.raises(LocalProtocolError, match="nothing in common"):
        PendingToken.new(CHALLENGE, key().public)


@pytest.mark.parametrize("quote", ['"', ""])
def test_a_token_is_shown_in_a_header_field_with_quotes_or_without(quote):
    token, _, _ = issued()
    assert token.shown().startswith('PrivateToken token="')
    assert Token.of_shown(token.shown().replace('"', quote)) == token


@settings(max_examples=50, deadline=None)
@given(
    st.one_of(st.text(max_size=30), st.from_regex(r'PrivateToken token="[A-Za-z0-9_-]{0,20}={0,3}"', fullmatch=True))
)
def test_other_texts_are_no_token(text):
    with pytest.raises(MalformedMessageError):
        Token.of_shown(text)


def test_an_issuers_key_is_written_and_read_like_any():
    again = from_pem(key().to_pem())
    assert (type(again), again.public) == (IssuerKey, key().public)
    published = PublishedKey(role=Role.ISSUER, key=in_text(key().public), active_from="2026-12-01T00:00:00Z")
    assert (published.algorithm, published.kem) == ("rsa-2048", "")
    assert key().public.hex() not in repr(key())


def test_keys_of_other_sizes_and_forms_are_refused():
    der, spki, pkcs1 = (
        serialization.Encoding.DER,
        *(getattr(serialization.PublicFormat, name) for name in ("SubjectPublicKeyInfo", "PKCS1")),
    )
    public = key().private_key.public_key()
    for data in (
        public.public_bytes(der, spki),
        public.public_bytes(der, pkcs1),
        key().public + b"\0",
        b"",
        bytes(342),
    ):
        with pytest.raises(InvalidParameterError, match="key must be a public key of the issuer"):
            PublishedKey(role=Role.ISSUER, key=in_text(data), active_from="2026-12-01T00:00:00Z")
    for exponent, size in ((65537, 1024), (3, 2048)):
        with pytest.raises(InvalidParameterError, match="key must be a public key of the issuer"):
            IssuerKey(rsa.generate_private_key(exponent, size))
