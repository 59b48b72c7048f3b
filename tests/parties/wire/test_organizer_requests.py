"""What an organizer asks of a mix: signed for one purpose, one collection and a few minutes; and results for good."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, ShufflerKey, in_text
from shuffledp.parties.wire.mix_terms import MixPolicy, MixTerms, place_of
from shuffledp.parties.wire.organizer_requests import OrganizerRequest, RequestKind
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.published_result import PublishedResult
from shuffledp.parties.wire.registrant_proofs import RegistrantProof, code_of_shown

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
ID, OTHER = bytes(32), bytes([1] * 32)
KEY, STRANGER = AnalyzerKey.generate(), AnalyzerKey.generate()
GOOD = OrganizerRequest.by(KEY, RequestKind.INVITED, ID, NOW, b"content")
URL, BODY = "https://mix.example.org/collections", b"a collection"
PROOF = RegistrantProof.by(KEY, URL, BODY, NOW)


def verified(request, *, asked=RequestKind.INVITED, collection_id=ID, now=NOW):
    OrganizerRequest.decode(request.encode()).verify(KEY.request_key, asked, collection_id=collection_id, now=now)


def test_the_analyst_asks_for_one_thing_within_a_few_minutes():
    verified(GOOD)
    for late in (timedelta(minutes=6), timedelta(minutes=-6)):
        with pytest.raises(RemoteProtocolError, match="within five minutes"):
            verified(GOOD, now=NOW + late)


@pytest.mark.parametrize(
    ("request_", "further"),
    [
        (OrganizerRequest.by(STRANGER, RequestKind.INVITED, ID, NOW, b"content"), {}),
        (GOOD, {"asked": RequestKind.ABSENT}),
        (GOOD, {"asked": RequestKind.RESULT}),
        (GOOD, {"collection_id": OTHER}),
        (replace(GOOD, content=b"other"), {}),
        (replace(GOOD, collection_id=OTHER), {"collection_id": OTHER}),
        (replace(GOOD, time=GOOD.time + 1), {}),
        (replace(GOOD, time=2**64 - 1), {}),
    ],
    ids=["a stranger", "reminders", "a result", "another path", "content", "moved", "later", "absurd"],
)
def test_nobody_else_asks_for_it_and_for_nothing_else(request_, further):
    with pytest.raises(RemoteProtocolError, match="it is by another"):
        verified(request_, **further)


def test_a_registrant_signs_the_address_the_body_and_the_time():
    assert RegistrantProof.of_shown(PROOF.shown) == PROOF
    PROOF.verify(URL, BODY, NOW)
    for url, body, now in (
        ("https://other.example.org/collections", BODY, NOW),
        (URL, b"another", NOW),
        (URL, BODY, NOW + timedelta(minutes=6)),
    ):
        with pytest.raises(RemoteProtocolError):
            PROOF.verify(url, body, now)
    with pytest.raises(RemoteProtocolError, match="it is not"):
        replace(PROOF, key=STRANGER.request_key).verify(URL, BODY, NOW)


@pytest.mark.parametrize(
    "shown", ["", "Registrant", "Registrant !", "Bearer AAAA", f"Registrant {in_text(bytes(103))}"]
)
def test_other_header_fields_hold_no_proof_and_no_code(shown):
    assert RegistrantProof.of_shown(shown) is None
    assert code_of_shown(shown) is None
    assert code_of_shown(f"Bearer {in_text(bytes(16))}") == bytes(16)


# ---- results --------------------------------------------------------------------------------------------------------


def of(request, key=KEY, collection_id=ID):
    return PublishedResult.of(request, key.request_key, collection_id=collection_id)


@pytest.mark.parametrize("statement", [None, {"num_reports": 27, "estimates": [0.5, None, "Ja \u202e"]}])
def test_a_result_is_what_its_analyst_signed_at_any_time(statement):
    made = PublishedResult.by(KEY, ID, NOW, statement)
    assert of(OrganizerRequest.decode(made.request.encode())) == made
    assert (made.statement, made.day) == (statement, "2026-12-01")


def test_a_result_of_another_analyst_collection_or_purpose_is_refused():
    good = PublishedResult.by(KEY, ID, NOW, None).request
    for request, further in (
        (good, {"key": STRANGER}),
        (good, {"collection_id": OTHER}),
        (OrganizerRequest.by(KEY, RequestKind.INVITED, ID, NOW, good.content), {}),
    ):
        with pytest.raises(RemoteProtocolError, match="it is by another"):
            of(request, **further)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b'{"statement": null}',
        b'{"statement":[]}',
        b'{"statement":null,"statement":null}',
        b'{"further":1,"statement":null}',
        b'{"statement":{"a":NaN}}',
        b"[" * 100_000,
        json.dumps({"statement": {"b": 1, "a": 2}}, separators=(",", ":")).encode(),
    ],
    ids=["empty", "no table", "blanks", "a list", "twice", "more", "no number", "deep", "out of order"],
)
def test_a_result_in_any_other_bytes_is_refused(content):
    with pytest.raises(MalformedMessageError):
        of(OrganizerRequest.by(KEY, RequestKind.RESULT, ID, NOW, content))


# ---- terms ----------------------------------------------------------------------------------------------------------


def terms(**further):
    keys = {
        "shuffler": PublishedKey.of(ShufflerKey.generate(), active_from="2026-12-01"),
        "gateway": PublishedKey.of(GatewayKey.generate(), active_from="2026-12-01"),
    }
    given = {"url": "https://mix.example.org", "register": "codes", "policy": MixPolicy(), "pages": "path"}
    return MixTerms(**given | keys | {"tokens": True} | further)


def test_the_terms_of_a_mix_survive_their_json_and_say_where_a_page_is():
    made = terms()
    assert MixTerms.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    nonce = in_text(bytes(range(16)))
    assert made.page_url(nonce) == f"https://mix.example.org/c/{place_of(nonce)}"
    own = terms(pages="origin", url="https://mix.example.org:8443")
    assert own.page_url(nonce) == f"https://{place_of(nonce)}.mix.example.org:8443"
    assert len(place_of(nonce)) == 26


@pytest.mark.parametrize(
    ("further", "why"),
    [
        ({"register": "friends"}, "register must be"),
        ({"pages": "both"}, "pages must be"),
        ({"shuffler": PublishedKey.of(KEY, active_from="2026-12-01")}, "shuffler_key must be"),
        ({"contact": "a\nb"}, "contact must be"),
    ],
)
def test_other_terms_are_refused(further, why):
    with pytest.raises(InvalidParameterError, match=why):
        terms(**further)


@pytest.mark.parametrize("name", ["people", "bytes", "days", "collections"])
def test_a_policy_of_nothing_is_refused(name):
    with pytest.raises(InvalidParameterError, match=f"{name} must be"):
        MixPolicy(**{name: 0})
