"""A mix host that the test plays: what an organizer has sent to it, and what it answers."""

import json
from datetime import UTC, datetime

import httpx

from parties.issuer.issuing import issuer_key
from shuffledp.core.instants import written
from shuffledp.parties.wire.keys import GatewayKey, ShufflerKey, from_text, in_text
from shuffledp.parties.wire.mix_terms import MixPolicy, MixTerms
from shuffledp.parties.wire.organizer_requests import OrganizerRequest, RequestKind
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection

URL = "https://mix.example.org"


class PlayedMix:
    """A mix that takes everything, and remembers it."""

    def __init__(self, **policy):
        now = written(datetime.now(UTC))
        self.terms = MixTerms(
            url=URL,
            shuffler=PublishedKey.of(ShufflerKey.generate(), active_from=now),
            gateway=PublishedKey.of(GatewayKey.generate(), active_from=now),
            register="codes",
            policy=MixPolicy(**policy),
            pages="path",
            tokens=True,
        )
        self.issuer = PublishedKey.of(issuer_key(), active_from=now)
        self.requests, self.shown, self.collection, self.page = [], [], None, b""
        self.phase, self.absent, self.refusal = "open", None, 0

    def client(self, **_):
        """A client that reaches this mix, and nothing else."""
        return httpx.Client(transport=httpx.MockTransport(self.answer))

    def sent(self, asked):
        """Contents of the requests of one kind, each signed by the analyst of the collection."""
        path = f"{self.collection.path}/{asked.value}"
        found = [OrganizerRequest.decode(body) for place, body in self.requests if place == path]
        for each in found:
            key = self.collection.analyzer.key.request_key
            each.verify(from_text(key, name="key"), asked, collection_id=self.collection.id, now=datetime.now(UTC))
        return [each.content for each in found]

    def answer(self, request):
        """What the mix answers."""
        path, body = request.url.path, request.content
        if request.method == "POST":
            self.requests.append((path, body))
            self.shown.append(request.headers.get("authorization"))
        if self.refusal and request.method == "POST":
            return httpx.Response(self.refusal, json={"type": "urn:shuffledp:notAuthorized"})
        if path == "/mix":
            return httpx.Response(200, json=self.terms.to_dict())
        if path == "/issuer-keys":
            return httpx.Response(200, json=self.issuer.to_dict())
        if path == "/collections":
            self.collection = Collection.from_dict(json.loads(body))
            return httpx.Response(201)
        if path.endswith(f"/{RequestKind.ABSENT}"):
            return httpx.Response(200, json={"absent": [in_text(each) for each in self.absent]})
        if path.startswith("/c/"):
            return httpx.Response(200, content=self.page)
        if path.endswith(f"/{RequestKind.RESULT}") and request.method == "GET":
            found = [in_text(body) for place, body in self.requests if place == path]
            return httpx.Response(200, json={"results": found})
        if request.method == "GET":
            return httpx.Response(200, json={"phase": self.phase, "at_least_minimum": False})
        if path.endswith("/close"):
            self.phase = "closed"
        return httpx.Response(200)
