"""Sealed messages for the analyst: a member's own report, and a member's signed hand-in of fixed length."""

from collections.abc import Sequence

from cryptography.exceptions import InvalidTag

from shuffledp.core.errors import MalformedMessageError, RemoteProtocolError
from shuffledp.core.flow import Reports
from shuffledp.parties.relay.member_keys import MemberKey
from shuffledp.parties.relay.terms import RelayTerms, from_slots
from shuffledp.parties.wire.grammar import SIGNATURE_BYTES, HpkeCiphertext
from shuffledp.parties.wire.hpke import Sealer
from shuffledp.parties.wire.kems import kem_of
from shuffledp.parties.wire.keys import AnalyzerKey, is_signed_by
from shuffledp.parties.wire.report_bytes import ReportLayout

_CONTEXT = b"shuffledp-1 hand-in"


def sealed_report(terms: RelayTerms, reports: Reports) -> bytes:
    """Member's own report, the only row of ``reports``, sealed to the analyst before its walk."""
    (blob,) = ReportLayout.of(reports.model).encode(reports)
    return Sealer.to(terms.config, collection_id=terms.collection_id, column=0).seal(blob).encode()


def sealed_hand_in(terms: RelayTerms, key: MemberKey, person: int, inside: bytes) -> bytes:
    """Hand-in of a member: slots sealed to the analyst, then the member's signature.

    Both are bound to this collection and member.
    """
    info, kem = _info(terms, person), kem_of(terms.config)
    sealed = kem.suite().encrypt(inside, kem.public_key(terms.config.public_key), info=info)
    message = HpkeCiphertext(terms.config.id, sealed[: kem.enc_length], sealed[kem.enc_length :]).encode()
    return message + key.signature(info + message)


def opened_hand_in(
    terms: RelayTerms, keys: Sequence[AnalyzerKey], person: int, letter: bytes
) -> tuple[HpkeCiphertext, ...]:
    """Sealed reports in a member's hand-in; slots that hold no report are skipped.

    Raises:
        RemoteProtocolError: if the member's signature is missing, or none of the analyst's keys opens it.
    """
    name = terms.directory.entries[person].name
    info, message, signature = _info(terms, person), letter[:-SIGNATURE_BYTES], letter[-SIGNATURE_BYTES:]
    if not is_signed_by([terms.directory.identities[person]], signature, info + message):
        raise RemoteProtocolError(f"what member {name} hands in must be signed by them; it is not.")
    try:
        sealed = HpkeCiphertext.decode(message)
        key = next(each for each in keys if each.config.id == sealed.config_id)
        inside = key.kem.suite().decrypt(sealed.enc + sealed.payload, key.private_key, info=info)
    except (InvalidTag, ValueError, StopIteration, MalformedMessageError):
        raise RemoteProtocolError(f"what member {name} hands in must open by the analyst's key; it does not.") from None
    found = []
    for each in from_slots(inside, terms.report_bytes):
        try:
            found.append(HpkeCiphertext.decode(each))
        except MalformedMessageError:  # a member passed on something else
            continue
    return tuple(found)


def _info(terms: RelayTerms, person: int) -> bytes:
    return _CONTEXT + terms.collection_id + person.to_bytes(4, "big")
