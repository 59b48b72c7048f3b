"""A collection, and a shuffler in its place, for tests of what devices do."""

from datetime import UTC, datetime, timedelta

import httpx

from shuffledp.core.instants import written
from shuffledp.parties.http.http_messages import Problem
from shuffledp.parties.wire.grammar import ReportStatus, UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task

NOW = datetime.now(UTC)
KEY, SHUFFLER_KEY = AnalyzerKey.generate(), ShufflerKey.generate()
NEXT = AnalyzerKey.generate(other_than=[KEY.config.id])
CERTAIN = {"kind": "k-rr", "epsilon0": 25.0, "categories": ["No", "Yes"]}  # a lie in 10^10 reports
BLOCKS = [{"column": name, "randomizer": CERTAIN} for name in ("smokes", "drinks")]
TWO = {"name": "survey", "release": {"delta": 1e-6, "minimum_batch": 2}, "value": BLOCKS}


def service(url, key, *successors) -> Service:
    published = PublishedKey(role=key.role, key=in_text(key.public), active_from=written(NOW - timedelta(days=1)))
    for each in successors:
        follower = PublishedKey(role=each.role, key=in_text(each.public), active_from=written(NOW + timedelta(days=9)))
        published = published.followed_by(follower, overlap=timedelta(days=1))
    return Service(url=url, key=published)


def collection_of(task=None, **further) -> Collection:
    return Collection.new(
        Task.from_dict(task or TWO),
        shuffler=service("https://mixer.example", SHUFFLER_KEY),
        analyzer=service("https://office.example", KEY, NEXT),
        closes=written(NOW + timedelta(days=9)),
        now=NOW,
        **further,
    )


class Shuffler(httpx.MockTransport):
    """One that answers as it is told, and remembers what it was sent."""

    def __init__(self, *answers, num_columns=2) -> None:
        super().__init__(self._answer)
        self.answers, self.requests, self.num_columns = list(answers), [], num_columns
        self.tries, self.ways = [], None  # by which a device finds out whether uploads come through, and their answers

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.ways is not None and not request.content:
            self.tries.append(request)
            way = self.ways.pop(0) if self.ways else Problem.OTHER_TOKEN
            return way if isinstance(way, httpx.Response) else httpx.Response(way.value[0], content=way.response().body)
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else stored
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return answer
        upload = UploadRequest.decode(request.content, num_columns=self.num_columns)
        return httpx.Response(200, content=UploadResponse.to(upload, answer(upload)).encode())

    @property
    def bodies(self) -> list[bytes]:
        return [request.content for request in self.requests]

    def client(self) -> httpx.Client:
        return httpx.Client(transport=self)


def stored(upload):
    """Takes everything."""
    del upload
    return ()


def refusing(error, places=None):
    """Takes nothing, or all but these places."""
    return lambda upload: tuple(
        ReportStatus(each.id, error)
        for place, each in enumerate(upload.submissions)
        if places is None or place in places
    )
