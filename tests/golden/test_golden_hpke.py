"""HPKE as it is published: what we seal and open with agrees with RFC 9180, and so does what we are held against."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKey, KEMKeyPair

from shuffledp.parties.wire import hpke
from shuffledp.parties.wire.grammar import HpkeCiphertext
from shuffledp.parties.wire.kems import KEMS
from shuffledp.parties.wire.keys import AnalyzerKey

VECTOR = {
    name: value if name == "provenance" else bytes.fromhex(value)
    for name, value in json.loads((Path(__file__).parent / "hpke.json").read_text()).items()
}
SUITE = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)


def private_of(name):
    return X25519PrivateKey.from_private_bytes(VECTOR[name])


def test_the_published_key_and_nonce_seal_the_published_ciphertext():
    sealed = AESGCM(VECTOR["key"]).encrypt(VECTOR["base_nonce"], VECTOR["plaintext"], VECTOR["aad"])
    assert sealed == VECTOR["ciphertext"]


def test_we_open_what_the_published_key_and_nonce_seal_without_further_data(monkeypatch):
    """The ``aad`` of a single message is always empty here: what it is for is in ``info``."""
    monkeypatch.setattr(hpke, "report_info", lambda *_, **__: VECTOR["info"])
    key = AnalyzerKey(KEMS["x25519"], (private_of("recipient_private"),))
    assert key.config.public_key == VECTOR["recipient_public"]
    opener = hpke.Opener.by([key], collection_id=bytes(32), column=0)
    payload = AESGCM(VECTOR["key"]).encrypt(VECTOR["base_nonce"], VECTOR["plaintext"], b"")
    assert opener.open(HpkeCiphertext(key.config.id, VECTOR["enc"], payload)) == VECTOR["plaintext"]


def test_the_other_implementation_seals_and_opens_what_is_published():
    ephemeral, recipient = (
        KEMKey.from_pyca_cryptography_key(private_of(f"{whose}_private")) for whose in ("ephemeral", "recipient")
    )
    pair = KEMKeyPair(ephemeral, KEMKey.from_pyca_cryptography_key(private_of("ephemeral_private").public_key()))
    public = KEMKey.from_pyca_cryptography_key(private_of("recipient_private").public_key())
    enc, sender = SUITE.create_sender_context(public, VECTOR["info"], eks=pair)
    assert enc == VECTOR["enc"]
    assert sender.seal(VECTOR["plaintext"], VECTOR["aad"]) == VECTOR["ciphertext"]
    receiver = SUITE.create_recipient_context(enc, recipient, VECTOR["info"])
    assert receiver.open(VECTOR["ciphertext"], VECTOR["aad"]) == VECTOR["plaintext"]


@pytest.mark.parametrize("plaintext", [b"", b"\x01", bytes(1000)])
def test_each_opens_what_the_other_seals(plaintext):
    key = AnalyzerKey.generate()
    where = {"collection_id": bytes(range(32)), "column": 3}
    info = b"shuffledp-1 report" + b"\x01\x00" + bytes(range(32)) + b"\x00\x03"
    sealed = hpke.Sealer.to(key.config, **where).seal(plaintext)
    theirs = KEMKey.from_pyca_cryptography_key(key.private_key)
    assert SUITE.create_recipient_context(sealed.enc, theirs, info).open(sealed.payload) == plaintext
    public = KEMKey.from_pyca_cryptography_key(key.private_key.public_key())
    enc, sender = SUITE.create_sender_context(public, info)
    found = HpkeCiphertext(key.config.id, enc, sender.seal(plaintext))
    assert hpke.Opener.by([key], **where).open(found) == plaintext
