"""Tokens as they are published: the device, the issuer and whoever verifies come to the bytes of RFC 9578."""

import json
from pathlib import Path

import pytest

from shuffledp.core.errors import RemoteProtocolError
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.keys import IssuerKey, from_pem
from shuffledp.parties.wire.tokens import PendingToken, Token, TokenChallenge, TokenCheck, TokenRequest, TokenResponse

FILE = json.loads((Path(__file__).parent / "tokens.json").read_text())
KEY, PUBLIC = from_pem(FILE["private_key"]), bytes.fromhex(FILE["public_key"])


def test_the_published_key_is_an_issuers():
    assert isinstance(KEY, IssuerKey)
    assert KEY.public == PUBLIC


@pytest.mark.parametrize("vector", FILE["vectors"], ids=["two origins", "no origin"])
def test_all_parties_make_the_published_bytes(vector):
    found = {name: bytes.fromhex(text) for name, text in vector.items()}
    challenge = TokenChallenge.decode(found["token_challenge"])
    factor = int.from_bytes(found["blind"], "big")
    pending = PendingToken.new(challenge, PUBLIC, nonce=found["nonce"], salt=found["salt"], factor=factor)
    assert pending.request.encode() == found["token_request"]
    asked = TokenRequest.decode(found["token_request"])
    response = TokenResponse(blind_sign(KEY.private_key, asked.blinded_msg))
    assert response.encode() == found["token_response"]
    token = pending.finalize(challenge, PUBLIC, response)
    assert token.encode() == found["token"]
    TokenCheck(challenge, [PUBLIC])(token)
    other = TokenChallenge(2, b"issuer.example", bytes(32), b"")
    with pytest.raises(RemoteProtocolError, match="a token must be the issuer's, for this collection"):
        TokenCheck(other, [PUBLIC])(token)
    assert Token.of_shown(token.shown()) == token
