"""Keys of the analyzer and the shuffler: as text, by their fingerprints, and in the course of time."""

import copy
import hashlib
import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from shuffledp.core.errors import InvalidParameterError, RemoteProtocolError
from shuffledp.core.instants import end_of_day, instant, shown, written
from shuffledp.parties.wire.grammar import BatchManifest, HpkeConfig
from shuffledp.parties.wire.keys import (
    AnalyzerKey,
    Role,
    ShufflerKey,
    fingerprint,
    from_pem,
    from_text,
    in_text,
    verify,
)
from shuffledp.parties.wire.published_keys import KeyState, PublishedKey

KEYS = [AnalyzerKey.generate(), ShufflerKey.generate()]
IDS = ["analyzer", "shuffler"]
NOON = "2026-12-01T12:00:00Z"
MANIFEST = BatchManifest(bytes(32), 0, bytes(16), 0, 3, 0, 0, 0, bytes(32), b"uniform", b"0.1.0")


def at(text):
    return instant(now=text)


def published(key, **further):
    return PublishedKey(**{"role": key.role, "key": in_text(key.public), "active_from": NOON} | further)


@pytest.mark.parametrize("key", KEYS, ids=IDS)
def test_a_key_is_found_again_in_its_pem(key):
    again = from_pem(key.to_pem())
    assert type(again) is type(key)
    assert again.public == key.public
    assert from_pem(key.to_pem().replace("\n", "\r\n")).public == key.public
    assert key.to_pem().startswith("-----BEGIN PRIVATE KEY-----\n")


def test_a_hybrid_key_is_written_as_its_two_parts():
    try:
        key = AnalyzerKey.generate("mlkem768-x25519")
    except InvalidParameterError:
        pytest.skip("the installed cryptography lacks it")
    assert key.to_pem().count("BEGIN PRIVATE KEY") == 2
    assert from_pem(key.to_pem()).public == key.public
    second, first = key.to_pem().split("-----END PRIVATE KEY-----\n")[:2]
    with pytest.raises(InvalidParameterError, match="a key file must hold a private key"):
        from_pem(f"{first}-----END PRIVATE KEY-----\n{second}-----END PRIVATE KEY-----\n")


@pytest.mark.parametrize("key", KEYS, ids=IDS)
def test_nothing_but_its_pem_shows_a_private_key(key):
    secret = "".join(key.to_pem().splitlines()[1:-1])[-43:]  # the 32 bytes end the block
    assert secret in key.to_pem().replace("\n", "")
    for show in (repr, str, "{}".format):
        assert secret not in show(key)
    assert fingerprint(key.role, key.public) in repr(key)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="must be written by to_pem"):
            leave(key)


def pem_of(key, encryption=None):
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, encryption or serialization.NoEncryption()).decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        KEYS[0].to_pem()[:-30],
        KEYS[0].to_pem() * 2,
        KEYS[0].to_pem() + KEYS[1].to_pem(),
        KEYS[0].to_pem().replace("M", "é"),
        pem_of(ec.generate_private_key(ec.SECP256R1())),
        pem_of(ed25519.Ed25519PrivateKey.generate(), serialization.BestAvailableEncryption(b"password")),
    ],
    ids=["nothing", "no PEM", "cut off", "twice", "two kinds", "no ASCII", "another algorithm", "encrypted"],
)
def test_what_is_no_key_of_ours_is_refused_and_none_of_it_is_shown(text):
    with pytest.raises(InvalidParameterError, match="a key file must hold a private key in PEM") as caught:
        from_pem(text)
    assert caught.value.__cause__ is None
    assert "secret" not in str(caught.value)


def test_a_config_id_follows_from_the_key_and_is_none_of_those_in_use():
    key = from_pem(KEYS[0].to_pem())
    assert key.config == KEYS[0].config
    taken = frozenset(range(256)) - {7}
    assert AnalyzerKey.generate(other_than=taken).config.id == 7


def test_a_fingerprint_is_short_differs_by_role_and_is_that_of_the_page():
    digest = hashlib.sha256(b"shuffledp shuffler key" + bytes(32)).hexdigest()
    assert fingerprint(Role.SHUFFLER, bytes(32)) == " ".join(digest[at : at + 4] for at in range(0, 20, 4))
    assert fingerprint(Role.SHUFFLER, bytes(32)) != fingerprint(Role.ANALYZER, bytes(32))


def test_a_batch_is_verified_by_the_keys_that_are_known_and_by_no_other():
    signed = KEYS[1].sign(MANIFEST)
    other = ShufflerKey.generate()
    assert verify(signed, [other.public, KEYS[1].public]) == MANIFEST
    for keys in ([other.public], []):
        with pytest.raises(RemoteProtocolError, match="signed by nobody known"):
            verify(signed, keys)
    changed = replace(signed, manifest=replace(MANIFEST, number=1))
    with pytest.raises(RemoteProtocolError):
        verify(changed, [KEYS[1].public])


# ---- in the course of time ----


def test_a_key_is_pending_then_active_then_expired():
    key = published(KEYS[0], expires="2026-12-02T12:00:00Z")
    states = {
        "2026-12-01T11:59:59Z": KeyState.PENDING,
        "2026-12-01T12:00:00Z": KeyState.ACTIVE,
        "2026-12-02T11:59:59Z": KeyState.ACTIVE,
        "2026-12-02T12:00:00Z": KeyState.EXPIRED,
    }
    assert {time: key.state(at(time)) for time in states} == states
    assert published(KEYS[0]).state(at("9999-01-01")) is KeyState.ACTIVE


def test_a_key_expires_when_its_successor_has_been_active_for_the_overlap():
    successor = AnalyzerKey.generate(other_than=[KEYS[0].config.id])
    new = published(successor, active_from="2026-12-03T00:00:00Z")
    old = published(KEYS[0]).followed_by(new, overlap=timedelta(days=2))
    assert old.successors == (new.key,)
    assert old.expires == "2026-12-05T00:00:00Z"
    assert (old.state(at("2026-12-04")), new.state(at("2026-12-04"))) == (KeyState.ACTIVE, KeyState.ACTIVE)
    assert old.followed_by(new, overlap=timedelta(days=2)) == old
    assert PublishedKey.from_dict(old.to_dict()) == old


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: published(KEYS[0], active_from="yesterday"), "active_from must be a date in UTC"),
        (lambda: published(KEYS[0], expires=NOON), f"expires must be after active_from={NOON}"),
        (lambda: published(KEYS[0], role=Role.SHUFFLER), "key must be a public key of the shuffler"),
        (
            lambda: PublishedKey(role=Role.ANALYZER, key=in_text(KEYS[1].public), active_from=NOON),
            "key must be a public",
        ),
        (lambda: PublishedKey(role=Role.ANALYZER, key="?", active_from=NOON), "key must be in base64url"),
        (lambda: published(KEYS[0], successors=(in_text(KEYS[0].public),)), "successors must be other keys"),
        (lambda: published(KEYS[0], successors=("",)), "successors must be a public key of the analyzer"),
        (
            lambda: published(KEYS[0]).followed_by(published(KEYS[1]), overlap=timedelta(0)),
            "successor must be a key of the analyzer; got",
        ),
        (
            lambda: published(KEYS[0]).followed_by(
                published(AnalyzerKey.generate(other_than=[KEYS[0].config.id]), active_from="2026-11-01"),
                overlap=timedelta(days=2),
            ),
            "expires must be after active_from",
        ),
    ],
)
def test_what_is_no_key_or_no_course_of_time_is_refused(make, words):
    with pytest.raises(InvalidParameterError, match=words):
        make()


def test_a_key_with_which_every_secret_is_zero_is_refused():
    config = HpkeConfig(1, 0x20, 1, 1, bytes(32)).encode()
    with pytest.raises(InvalidParameterError, match="public_key must be one of x25519"):
        PublishedKey(role=Role.ANALYZER, key=in_text(config), active_from=NOON)


@pytest.mark.parametrize("text", ["QQ==", "Q", "QR", "Q Q", "é"])
def test_bytes_have_one_text(text):
    assert from_text("QQ", name="key") == b"A"
    with pytest.raises(InvalidParameterError, match="key must be in base64url"):
        from_text(text, name="key")


def test_points_in_time_have_one_text_each():
    assert written(at("2026-12-01")) == "2026-12-01T00:00:00Z"
    assert written(datetime(2026, 12, 1, 13, 0, 0, 999, tzinfo=UTC)) == "2026-12-01T13:00:00Z"
    assert at(NOON) == datetime(2026, 12, 1, 12, tzinfo=UTC)
    assert (end_of_day("2026-12-01"), end_of_day(NOON)) == ("2026-12-01T23:59:59Z", NOON)
    assert shown(NOON) == "2026-12-01 12:00:00 UTC"
    for text in (
        "2026-12-01T12:00:00",
        "2026-12-01T12:00:00+00:00",
        "2026-1-1",
        "2026-02-30",
        "2026-12-01T1:00:00Z",
        5,
    ):
        with pytest.raises(InvalidParameterError, match="now must be a date in UTC"):
            at(text)
