"""Organizer's client of a mix host: registers, invites, reminds, closes, and publishes the result.

A mix takes in and shuffles the answers of collections that others register. What it is told is signed by the
collection's analyst, or shows a code or a key of a registrant; it never gets an answer in the clear.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx

from shuffledp.core.errors import InvalidParameterError, MalformedMessageError, RemoteProtocolError
from shuffledp.core.validate import invalid
from shuffledp.parties.issuer.invitations import Invited
from shuffledp.parties.service.client import answer_to
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.parties.wire.keys import AnalyzerKey, Role, from_text
from shuffledp.parties.wire.mix_terms import MixTerms
from shuffledp.parties.wire.organizer_requests import COLLECTION_TYPE, ORGANIZER_TYPE, OrganizerRequest, RequestKind
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.published_result import PublishedResult
from shuffledp.parties.wire.registrant_proofs import ISSUER_KEY_TYPE, KEY_REQUEST_BYTES, RegistrantProof, code_of_shown
from shuffledp.survey import Collection
from shuffledp.survey.addresses import check_address

_PATIENCE = 30.0
_CREATED = 201


class MixClient:
    """Client of one mix host.

    Args:
        url: address of the mix, as collections name it.
        client: made by `shuffledp.parties.service.client.new_client`.
        code: code that the mix's operator has handed out, in base64url; "" for none.
        key: registrant's own long-lived key, whose public part the operator has listed; None for none.
        patience: seconds for which requests without an answer are repeated.

    Raises:
        InvalidParameterError: for another address, or a code that is none.
    """

    def __init__(
        self,
        url: str,
        client: httpx.Client,
        *,
        code: str = "",
        key: AnalyzerKey | None = None,
        patience: float = _PATIENCE,
    ) -> None:
        check_address(mix=url)
        if code and code_of_shown(f"Bearer {code}") is None:
            raise InvalidParameterError("code must be one that a mix's operator handed out; it is another text.")
        self.url, self._client, self._code, self._key, self._patience = url, client, code, key, patience

    # ---- before people are asked ------------------------------------------------------------------------------------

    def terms(self) -> MixTerms:
        """Terms of the mix: its keys, who may register, and how large a collection may be.

        Raises:
            RemoteProtocolError: if there is no mix, or one that has another address.
        """
        answer = answer_to(self._client, "GET", f"{self.url}/mix", self._patience)
        try:
            found = MixTerms.from_dict(_json(answer))
        except InvalidParameterError:
            raise RemoteProtocolError(f"{self.url} must be a mix of this version; it tells something else.") from None
        if found.url != self.url:
            raise RemoteProtocolError(f"the mix must be asked at its own address; it says that this is {found.url}.")
        return found

    def issuer_key(self) -> PublishedKey:
        """Fresh key by which the mix will sign the tokens of one of this registrant's collections.

        Raises:
            RemoteProtocolError: if the mix refuses; the error names the reason.
        """
        answer = self._as_registrant("/issuer-keys", secrets.token_bytes(KEY_REQUEST_BYTES), ISSUER_KEY_TYPE, 200)
        try:
            found = PublishedKey.from_dict(_json(answer))
            if found.role is Role.ISSUER:
                return found
        except InvalidParameterError:
            pass
        raise RemoteProtocolError(f"{self.url} must answer by an issuer's key; it did not.")

    def register(self, collection: Collection) -> None:
        """Register a collection, so that people can answer; a repeated registration changes nothing.

        Raises:
            InvalidParameterError: if the collection names another shuffler.
            RemoteProtocolError: if the mix refuses; the error names the reason.
        """
        if self.url not in [each.url for each in collection.hosts]:
            raise invalid(f"{self.url}, the mix that it is registered at", shuffler=collection.shuffler.url)
        self._as_registrant("/collections", collection.canonical, COLLECTION_TYPE, _CREATED)

    def _as_registrant(self, path: str, body: bytes, media_type: str, wanted: int) -> httpx.Response:
        url, shown = f"{self.url}{path}", f"Bearer {self._code}" if self._code else ""
        if self._key is not None:
            shown = RegistrantProof.by(self._key, url, body, datetime.now(UTC)).shown
        return answer_to(
            self._client,
            "POST",
            url,
            self._patience,
            body=body,
            media_type=media_type,
            authorization=shown,
            wanted=wanted,
        )

    # ---- while people answer, and afterwards ------------------------------------------------------------------------

    def invite(self, collection: Collection, analyst: AnalyzerKey, listed: Invited) -> None:
        """Add invitations at the mix, and cancel the invitations that the list cancels.

        Raises:
            RemoteProtocolError: if the mix refuses, such as for more invitations than it allows.
        """
        self._as_analyst(collection, analyst, RequestKind.INVITED, listed.written().encode())

    def absent(self, collection: Collection, analyst: AnalyzerKey) -> frozenset[bytes]:
        """Digests of the invitations without a token so far; the mix gives this list three times at most.

        Raises:
            RemoteProtocolError: if the collection does not say beforehand that its organizer may ask, or has asked
                three times.
        """
        answer = _json(self._as_analyst(collection, analyst, RequestKind.ABSENT))
        try:
            return frozenset(from_text(each, name="absent") for each in answer["absent"])
        except (KeyError, TypeError, InvalidParameterError):
            raise RemoteProtocolError(f"{self.url} must answer by a list of invitations; it did not.") from None

    def close(self, collection: Collection, analyst: AnalyzerKey) -> None:
        """Close a collection before its date, by a request of its analyst.

        Raises:
            RemoteProtocolError: if the mix refuses.
        """
        body = CloseRequest.by(analyst, collection.id, datetime.now(UTC)).encode()
        self._post(collection, "close", body, CLOSE_TYPE)

    def publish(self, collection: Collection, analyst: AnalyzerKey, statement: Mapping[str, Any] | None) -> None:
        """Publish the result on the page of the collection; a second, different result is shown as a correction.

        Args:
            collection: the collection, which has closed.
            analyst: private key of its analyst.
            statement: content of the release's ``statement.json``; None says that nothing was released.

        Raises:
            RemoteProtocolError: if the mix refuses, such as before the close.
        """
        made = PublishedResult.by(analyst, collection.id, datetime.now(UTC), statement)
        self._post(collection, RequestKind.RESULT, made.request.encode(), ORGANIZER_TYPE)

    def results(self, collection: Collection) -> Sequence[PublishedResult]:
        """Published results with valid signatures: the first and its corrections; empty if nothing is published.

        Raises:
            RemoteProtocolError: if the mix knows no such collection, or tells a result that its analyst did not sign.
        """
        answer = _json(answer_to(self._client, "GET", f"{self.url}{collection.path}/result", self._patience))
        try:
            found = [OrganizerRequest.decode(from_text(each, name="results")) for each in answer["results"]]
            return [PublishedResult.of(each, _request_key(collection), collection_id=collection.id) for each in found]
        except (KeyError, TypeError, InvalidParameterError, MalformedMessageError):
            raise RemoteProtocolError(f"{self.url} must answer by results; it did not.") from None

    def _as_analyst(
        self, collection: Collection, analyst: AnalyzerKey, asked: RequestKind, content: bytes = b""
    ) -> httpx.Response:
        request = OrganizerRequest.by(analyst, asked, collection.id, datetime.now(UTC), content)
        return self._post(collection, asked, request.encode(), ORGANIZER_TYPE)

    def _post(self, collection: Collection, last: str, body: bytes, media_type: str) -> httpx.Response:
        url = f"{self.url}{collection.path}/{last}"
        return answer_to(self._client, "POST", url, self._patience, body=body, media_type=media_type)


def _request_key(collection: Collection) -> bytes:
    key = collection.analyzer.key.request_key
    if key is None:
        raise InvalidParameterError("the collection must have an analyst who fetches; it has none.")
    return from_text(key, name="request_key")


def _json(answer: httpx.Response) -> Any:
    try:
        found = json.loads(answer.content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RemoteProtocolError(f"{answer.url.host} must answer in JSON; it did not.")
    return found
