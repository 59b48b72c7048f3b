"""Sealed reports: for one analyzer, one collection and one column."""

import dataclasses
import sys

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.core.errors import InvalidParameterError, UndecryptableReportError
from shuffledp.parties.wire import hpke
from shuffledp.parties.wire.grammar import HpkeCiphertext
from shuffledp.parties.wire.hpke import Opener, Sealer, report_info, sealed_lengths
from shuffledp.parties.wire.kems import KEMS, hpke_library
from shuffledp.parties.wire.keys import AnalyzerKey

HERE = {"collection_id": bytes(range(32)), "column": 1}


def available(kem):
    try:
        KEMS[kem].generate()
    except InvalidParameterError:
        return False
    return True


KINDS = [
    pytest.param(kem, marks=pytest.mark.skipif(not available(kem), reason="the installed cryptography lacks it"))
    for kem in KEMS
]
KEY = AnalyzerKey.generate()
SEALED = Sealer.to(KEY.config, **HERE).seal(b"report")
OPENER = Opener.by([KEY], **HERE)


@pytest.mark.parametrize("kem", KINDS)
def test_what_is_sealed_is_opened_and_has_the_lengths_that_are_foretold(kem):
    key = AnalyzerKey.generate(kem)
    sealed = Sealer.to(key.config, **HERE).seal(b"report")
    assert Opener.by([key], **HERE).open(sealed) == b"report"
    assert (len(sealed.enc), len(sealed.payload)) == sealed_lengths(key.config, 6)
    assert len(key.config.public_key) == KEMS[kem].public_length


def test_the_same_report_is_never_sealed_to_the_same_bytes():
    again = Sealer.to(KEY.config, **HERE).seal(b"report")
    assert (again.enc, again.payload) != (SEALED.enc, SEALED.payload)
    assert again.report_id() != SEALED.report_id()


@pytest.mark.parametrize("elsewhere", [{"collection_id": bytes(32)}, {"column": 0}, {"column": 257}])
def test_a_report_opens_for_its_collection_and_column_alone(elsewhere):
    with pytest.raises(UndecryptableReportError, match="for this collection and column"):
        Opener.by([KEY], **HERE | elsewhere).open(SEALED)


@pytest.mark.parametrize("kem", KINDS)
def test_a_test_of_the_way_has_the_form_of_a_report_and_is_none(kem):
    key = AnalyzerKey.generate(kem)
    test = Sealer.to(key.config, **HERE, is_test=True).seal(b"report")
    report, opener = Sealer.to(key.config, **HERE).seal(b"report"), Opener.by([key], **HERE)
    assert (test.config_id, len(test.enc), len(test.payload)) == (
        report.config_id,
        len(report.enc),
        len(report.payload),
    )
    with pytest.raises(UndecryptableReportError):
        opener.open(test)
    assert (opener.is_test(test), opener.is_test(report)) == (True, False)
    assert not Opener.by([key], **HERE | {"column": 0}).is_test(test)
    assert not Opener.by([AnalyzerKey.generate(kem)], **HERE).is_test(test)


def test_a_report_opens_for_its_role_alone(monkeypatch):
    """The same bytes that the analyzer sends to a client are none that a client sends to it."""
    monkeypatch.setattr(hpke, "_CLIENT", 2)
    with pytest.raises(UndecryptableReportError):
        Opener.by([KEY], **HERE).open(SEALED)


def test_another_key_opens_nothing_even_under_the_same_config_id():
    other = AnalyzerKey.generate(other_than=[KEY.config.id])
    with pytest.raises(UndecryptableReportError, match="sealed to a key of the analyzer"):
        Opener.by([other], **HERE).open(SEALED)
    renamed = dataclasses.replace(SEALED, config_id=other.config.id)
    with pytest.raises(UndecryptableReportError):
        Opener.by([other], **HERE).open(renamed)
    assert Opener.by([other, KEY], **HERE).open(SEALED) == b"report"


@given(part=st.sampled_from(["enc", "payload"]), at=st.integers(0, 21), bits=st.integers(1, 255), cut=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_report_that_was_changed_or_cut_opens_no_more(part, at, bits, cut):
    whole = getattr(SEALED, part)
    changed = whole[:at] if cut and at else whole[:at] + bytes([whole[at] ^ bits]) + whole[at + 1 :]
    with pytest.raises(UndecryptableReportError):
        OPENER.open(dataclasses.replace(SEALED, **{part: changed}))


@pytest.mark.parametrize("enc", [bytes(32), b"\x01" + bytes(31), bytes(31), bytes(1120)])
def test_points_without_a_secret_and_wrong_lengths_open_nothing(enc):
    with pytest.raises(UndecryptableReportError):
        OPENER.open(HpkeCiphertext(KEY.config.id, enc, SEALED.payload))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kem": 0x10}, "config must be of kem 0x0020 or 0x647a, kdf 0x0001 and aead 0x0001; got config='0x0010"),
        ({"aead": 2}, "config must be of kem"),
        ({"kdf": 3}, "config must be of kem"),
        ({"public_key": bytes(32)}, "public_key must be one of x25519"),
        ({"public_key": b"\x01" + bytes(31)}, "public_key must be one of x25519"),
        ({"public_key": b"short"}, "public_key must be one of x25519"),
    ],
)
def test_nothing_is_sealed_to_what_is_no_key(changed, words):
    with pytest.raises(InvalidParameterError, match=words):
        Sealer.to(dataclasses.replace(KEY.config, **changed), **HERE)


def test_nothing_is_sealed_to_a_hybrid_key_with_a_bad_half():
    if not available("mlkem768-x25519"):
        pytest.skip("the installed cryptography lacks it")
    config = AnalyzerKey.generate("mlkem768-x25519").config
    halves = (b"\xff" * 1184 + config.public_key[1184:], config.public_key[:1184] + bytes(32), config.public_key[:-1])
    for public in halves:
        with pytest.raises(InvalidParameterError, match="public_key must be one of"):
            Sealer.to(dataclasses.replace(config, public_key=public), **HERE)


def test_an_id_of_another_length_and_keys_of_one_config_id_are_refused():
    with pytest.raises(InvalidParameterError, match="collection_id must be 32 bytes; got 31"):
        report_info(bytes(31), 0)
    with pytest.raises(InvalidParameterError, match="keys must be of different config ids"):
        Opener.by([KEY, KEY], **HERE)


def test_a_library_without_hpke_is_named_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    monkeypatch.delattr("cryptography.hazmat.primitives.hpke", raising=False)
    with pytest.raises(InvalidParameterError, match=r"cryptography must be version 47 or newer.*shuffledp\[service\]"):
        hpke_library()


def test_a_mechanism_that_the_library_lacks_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(KEMS["mlkem768-x25519"], "member", "MLKEM_OF_ANOTHER_DAY", raising=False)
    with pytest.raises(InvalidParameterError, match=r"such as 'x25519' .*; got kem='mlkem768-x25519'"):
        AnalyzerKey.generate("mlkem768-x25519")


def test_a_mechanism_that_the_library_names_and_cannot_do_is_refused_by_one_line(monkeypatch):
    """As by cryptography 47, which knows the hybrid mechanism, on an OpenSSL without ML-KEM."""
    if not available("mlkem768-x25519"):
        pytest.skip("the installed cryptography lacks it")
    public = AnalyzerKey.generate("mlkem768-x25519").config.public_key

    def refuse(*_):
        raise UnsupportedAlgorithm("ML-KEM-768 is not supported by this backend.")

    for name, method in (("MLKEM768PrivateKey", "generate"), ("MLKEM768PublicKey", "from_public_bytes")):
        backend = type(name, (), {method: staticmethod(refuse)})
        monkeypatch.setattr(f"cryptography.hazmat.primitives.asymmetric.mlkem.{name}", backend)
    for ask in (KEMS["mlkem768-x25519"].generate, lambda: KEMS["mlkem768-x25519"].public_key(public)):
        with pytest.raises(
            InvalidParameterError, match=r"version 48 or newer.*; got kem='mlkem768-x25519' with crypto"
        ):
            ask()


def test_a_byte_that_moves_from_one_part_to_the_other_makes_another_ciphertext():
    whole = SEALED.enc + SEALED.payload
    for cut in (31, 33):
        moved = HpkeCiphertext(SEALED.config_id, whole[:cut], whole[cut:])
        with pytest.raises(UndecryptableReportError):
            OPENER.open(moved)
