"""The grammar of the messages: one encoding each, and total decoding."""

import hashlib
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.parties.wire.grammar import (
    Batch,
    BatchedReport,
    BatchManifest,
    Extension,
    HpkeCiphertext,
    HpkeConfig,
    HpkeConfigList,
    Report,
    ReportError,
    ReportStatus,
    SignedManifest,
    Submission,
    UploadRequest,
    UploadResponse,
)

uint8, uint16, uint32 = (st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32))
opaque = st.binary(max_size=40)
some = st.binary(min_size=1, max_size=40)
ids = st.binary(min_size=16, max_size=16)
digests = st.binary(min_size=32, max_size=32)

configs = st.builds(HpkeConfig, uint8, uint16, uint16, uint16, some)
config_lists = st.lists(configs, min_size=1, max_size=3, unique_by=lambda config: config.id).map(
    lambda found: HpkeConfigList(tuple(found))
)
ciphertexts = st.builds(HpkeCiphertext, uint8, some, some)
extensions = st.lists(st.builds(Extension, uint16, opaque), max_size=3, unique_by=lambda each: each.type).map(
    lambda found: tuple(sorted(found, key=lambda each: each.type))
)
reports = st.builds(Report.of, ciphertexts, extensions)
statuses = st.builds(ReportStatus, ids, st.sampled_from(ReportError))
responses = st.builds(UploadResponse, st.lists(statuses, max_size=3).map(tuple), st.integers(0, 60).map(bytes))
batched = st.builds(BatchedReport, extensions, ciphertexts)
manifests = st.builds(BatchManifest, digests, uint16, ids, *[uint32] * 5, digests, some, some)
signed = st.builds(SignedManifest, manifests, st.binary(min_size=64, max_size=64))
MESSAGES = {
    "HpkeConfig": configs,
    "HpkeConfigList": config_lists,
    "HpkeCiphertext": ciphertexts,
    "Extension": st.builds(Extension, uint16, opaque),
    "Report": reports,
    "ReportStatus": statuses,
    "UploadResponse": responses,
    "BatchedReport": batched,
    "BatchManifest": manifests,
    "SignedManifest": signed,
}


@st.composite
def uploads(draw):
    columns = draw(st.integers(1, 3))
    found = draw(st.lists(reports, min_size=columns, max_size=3 * columns, unique_by=lambda report: report.id))
    whole = len(found) // columns * columns
    return UploadRequest(tuple(Submission(tuple(found[at : at + columns])) for at in range(0, whole, columns)))


def a_report(payload=b"payload", **further):
    return Report.of(HpkeCiphertext(1, b"enc", payload), **further)


def a_batch(several, **changed):
    body = b"".join(each.encode() for each in several)
    facts = {"num_reports": len(several), "body_sha256": hashlib.sha256(body).digest()} | changed
    manifest = BatchManifest(
        collection_id=bytes(32),
        column=0,
        batch_id=bytes(16),
        number=0,
        duplicates=0,
        late=0,
        malformed=0,
        shuffle=b"uniform",
        library_version=b"0.1.0",
        **facts,
    )
    return Batch(SignedManifest(manifest, bytes(64)), body)


@pytest.mark.parametrize("name", MESSAGES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_message_is_decoded_from_its_bytes_alone(name, data):
    message = data.draw(MESSAGES[name])
    encoded = message.encode()
    assert type(message).decode(encoded) == message
    for wrong in (encoded + b"\0", encoded[:-1]):
        with pytest.raises(MalformedMessageError):
            type(message).decode(wrong)


@given(upload=uploads())
@settings(max_examples=40, deadline=None)
def test_an_upload_is_decoded_by_the_number_of_columns(upload):
    columns = len(upload.submissions[0].reports)
    assert UploadRequest.decode(upload.encode(), num_columns=columns) == upload
    if len(upload.submissions) * columns % (columns + 1):
        with pytest.raises(MalformedMessageError, match="whole submissions of"):
            UploadRequest.decode(upload.encode(), num_columns=columns + 1)


def decoders():
    return {
        **{name: globals()[name].decode for name in MESSAGES},
        "UploadRequest": lambda data: UploadRequest.decode(data, num_columns=2),
        "Batch": Batch.decode,
    }


def hold_that_decoding_is_total(examples):
    """Of bytes and of messages with bytes changed, cut out or put in: an error of one type, or the one encoding."""

    @given(data=st.data())
    @settings(max_examples=examples, deadline=None, database=None)
    def holds(data):
        name = data.draw(st.sampled_from(sorted(decoders())))
        if name == "UploadRequest":
            encoded = data.draw(uploads()).encode()
        elif name == "Batch":
            encoded = a_batch(data.draw(st.lists(batched, max_size=3))).encode()
        else:
            encoded = data.draw(MESSAGES[name]).encode()
        at = data.draw(st.integers(0, len(encoded)))
        mutated = encoded[:at] + data.draw(st.binary(max_size=4)) + encoded[at + data.draw(st.integers(0, 4)) :]
        try:
            decoded = decoders()[name](mutated)
        except MalformedMessageError:
            return
        assert decoded.encode() == mutated

    holds()


def test_decoding_refuses_changed_bytes_or_finds_their_only_message():
    hold_that_decoding_is_total(300)


def test_decoding_refuses_or_finds_the_only_message_of_ten_thousand_mutated_uploads():
    """Without a library that chooses them, so that they cost little: one byte of an upload is another, or gone."""
    upload = UploadRequest(tuple(Submission((a_report(os.urandom(8)), a_report(os.urandom(8)))) for _ in range(2)))
    hold_that_mutated_uploads_are_refused(upload.encode(), 10_000)


@pytest.mark.deep
def test_decoding_refuses_or_finds_the_only_message_of_a_million_mutated_uploads():
    several = (a_report(os.urandom(8), public_extensions=(Extension(1, b"x"),)), a_report(os.urandom(8)))
    hold_that_mutated_uploads_are_refused(UploadRequest((Submission(several),)).encode(), 1_000_000)
    hold_that_decoding_is_total(20_000)


def hold_that_mutated_uploads_are_refused(encoded, count):
    refused = 0
    noise = os.urandom(4 * count)
    for number in range(count):
        first, second, value, kind = noise[4 * number : 4 * number + 4]
        at = (first << 8 | second) % len(encoded)
        kept = encoded[at + 1 :] if kind & 1 else encoded[at + 1 + value % 3 :]
        mutated = encoded[:at] + bytes([value]) * (kind % 3) + kept
        try:
            assert UploadRequest.decode(mutated, num_columns=2).encode() == mutated
        except MalformedMessageError:
            refused += 1
    assert count / 2 < refused < count


def test_what_is_malformed_is_a_fault_of_the_other_party_and_shows_none_of_it():
    secret = b"\x00\x01top secret"
    with pytest.raises(RemoteProtocolError) as caught:
        HpkeCiphertext.decode(secret)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_neither_errors_nor_representations_show_what_a_message_holds():
    report = a_report(b"top secret")
    shown = [repr(report), repr(Submission((report,))), repr(UploadRequest((Submission((report,)),)))]
    for make in (lambda: Extension(1, "top secret"), lambda: Report(b"top secret", (), report.ciphertext)):
        with pytest.raises(InvalidParameterError) as caught:
            make()
        shown.append(str(caught.value))
    assert "secret" not in "".join(shown)
    assert report.id.hex() not in "".join(shown)


def test_the_id_of_a_report_is_the_digest_of_its_ciphertext_and_can_be_no_other():
    ciphertext = HpkeCiphertext(1, b"enc", b"payload")
    assert Report.of(ciphertext).id == hashlib.sha256(b"encpayload").digest()[:16]
    assert Report.of(ciphertext, (Extension(1, b"x"),)).id == Report.of(ciphertext).id
    with pytest.raises(InvalidParameterError, match="id must be the digest"):
        Report(bytes(16), (), ciphertext)
    encoded = Report.of(ciphertext).encode()
    with pytest.raises(MalformedMessageError):
        Report.decode(bytes(16) + encoded[16:])


@pytest.mark.parametrize("types", [(2, 1), (1, 1)])
def test_extensions_have_one_order_and_none_comes_twice(types):
    several = tuple(Extension(each, b"") for each in types)
    for make in (lambda: a_report(public_extensions=several), lambda: BatchedReport(several, a_report().ciphertext)):
        with pytest.raises(InvalidParameterError, match="ascending types"):
            make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HpkeConfig(256, 1, 1, 1, b"k"), "id must be of type int, from 0 to 255; got id=256"),
        (lambda: HpkeConfig(True, 1, 1, 1, b"k"), "id must be"),
        (lambda: HpkeConfig(1, 1, 1, 1, b""), "public_key must be 1 to 65535 bytes; got 0 bytes"),
        (lambda: HpkeConfig(1, 1, 1, 1, bytes(65536)), "public_key must be 1 to 65535 bytes"),
        (lambda: HpkeConfigList(()), "configs must be 1 or more HpkeConfig"),
        (lambda: HpkeConfigList((HpkeConfig(1, 1, 1, 1, b"k"),) * 2), "configs must be of different ids"),
        (lambda: HpkeConfigList((b"config",)), "configs must be a tuple of HpkeConfig"),
        (lambda: Report.of(b"ciphertext"), "report_id"),
        (lambda: a_report(public_extensions=(Extension(1, bytes(65535)),)), r"fewer than 2\^16 bytes"),
        (lambda: BatchedReport((), b"ciphertext"), "ciphertext must be a HpkeCiphertext"),
        (lambda: ReportStatus(bytes(16), 8), "error must be of type ReportError"),
        (lambda: UploadResponse((), b"\1"), "padding must be zeros"),
        (lambda: Submission(()), "reports must be different, one for each column; got 0"),
        (lambda: Submission((a_report(), a_report())), "reports must be different"),
        (lambda: UploadRequest(()), "submissions must be one or more"),
    ],
)
def test_what_has_no_bytes_cannot_be_made(make, words):
    with pytest.raises((InvalidParameterError, AttributeError), match=words):
        make()


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (HpkeConfig, bytes(7) + b"\0\0"),
        (HpkeConfigList, b"\0\0"),
        (ReportStatus, bytes(16) + b"\0"),
        (ReportStatus, bytes(16) + b"\xff"),
        (UploadResponse, b"\0\0\0\0" + b"\0\0\0\1\1"),
        (HpkeCiphertext, b"\1" + b"\0\1e" + b"\xff\xff\xff\xffp"),
    ],
)
def test_bytes_that_no_message_has_are_refused(kind, data):
    with pytest.raises(MalformedMessageError):
        kind.decode(data)


def test_all_answers_to_an_upload_have_one_length_and_name_what_was_refused():
    upload = UploadRequest(tuple(Submission((a_report(bytes([number])),)) for number in range(3)))
    refused = tuple(ReportStatus(each.id, ReportError.TASK_EXPIRED) for each in upload.submissions)
    answers = [UploadResponse.to(upload, refused[:number]) for number in range(4)]
    assert {len(answer.encode()) for answer in answers} == {8 + 3 * 17}
    assert UploadResponse.decode(answers[2].encode()).refused == refused[:2]


def test_a_batch_is_read_report_by_report_and_holds_as_many_as_its_manifest_says():
    several = [BatchedReport((Extension(1, b"x"),), a_report(bytes([number])).ciphertext) for number in range(3)]
    assert list(Batch.decode(a_batch(several).encode()).reports()) == several
    with pytest.raises(MalformedMessageError, match="must hold the 4 reports that its manifest counts; got 3"):
        list(a_batch(several, num_reports=4).reports())
    with pytest.raises(InvalidParameterError, match="body must be the one"):
        a_batch(several, body_sha256=bytes(32))
    with pytest.raises(MalformedMessageError, match="has another"):
        Batch.decode(a_batch(several).encode() + b"\0")


def test_the_numbers_of_errors_are_those_of_the_page_and_do_not_change():
    assert {error.name.lower(): int(error) for error in ReportError} == {
        "batch_collected": 1,
        "report_replayed": 2,
        "report_dropped": 3,
        "hpke_unknown_config_id": 4,
        "hpke_decrypt_error": 5,
        "task_expired": 7,
        "invalid_message": 8,
        "task_not_started": 10,
        "outdated_config": 11,
        "wrong_length": 128,
        "unknown_extension": 129,
        "extensions_changed": 130,
        "token_spent": 131,
    }
