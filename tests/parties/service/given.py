"""Collections to be served: a plain one, one of two columns, and one near a reference order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shuffledp.core.instants import written
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task

YES_NO = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}


def task(**further):
    return Task.from_dict(
        {"name": "survey", "value": "smokes", "randomizer": YES_NO, "release": {"delta": 1e-6, "minimum_batch": 10}}
        | further
    )


def task_of_two(**further):
    blocks = [{"column": name, "randomizer": YES_NO} for name in ("smokes", "drinks")]
    release = {"delta": 1e-6, "minimum_batch": 10}
    return Task.from_dict({"name": "survey", "value": blocks, "release": release} | further)


def task_near_an_order(**groups):
    return task(
        public=["place", "age"],
        shuffler={"kind": "mallows", "concentration": 0.5},
        groups=groups or {"column": "place"},
    )


class Parties:
    """The keys of both parties, where they are, and a collection of theirs."""

    def __init__(
        self,
        asked=None,
        *,
        shuffler="https://mixer.example",
        analyzer="https://office.example",
        successor=None,
        **further,
    ):
        self.now = datetime.now(UTC)
        self.gateway_key = None
        self.shuffler_key, self.analyzer_key, self.successor = ShufflerKey.generate(), AnalyzerKey.generate(), successor
        if further.get("relay") is not None:
            self.gateway_key = further.pop("gateway_key", None) or GatewayKey.generate()
            following = {"gateway": self.published(self.gateway_key, **further.pop("gateway_until", {}))}
            further |= {"transport": "oblivious"} | following
        given = {"opens": written(self.now - timedelta(days=1)), "closes": written(self.now + timedelta(days=1))}
        fetching = {}
        if not analyzer:
            fetching["request_key"] = in_text(self.analyzer_key.request_key)
            given["fetch_by"] = written(self.now + timedelta(days=8))
        self.collection = Collection.new(
            asked or task(),
            shuffler=Service(url=shuffler, key=self.published(self.shuffler_key)),
            analyzer=Service(url=analyzer, key=self.published(self.analyzer_key, **fetching)),
            now=self.now,
            **given | further,
        )
        if successor is not None:  # as other software may make them, and devices with wrong clocks read them
            self.collection = replace(self.collection, analyzer=Service(url=analyzer, key=self._of_analyzer()))

    @classmethod
    def fetching(cls, asked=None, **further):
        """The analyzer has no address, and fetches its batches."""
        return cls(asked, analyzer="", **further)

    @classmethod
    def with_relay(cls, asked=None, *, relay="https://relay.example", **further):
        """People reach the shuffler through a relay."""
        return cls(asked, relay=relay, **further)

    @classmethod
    def with_successor(cls, asked=None, **further):
        """The analyzer's key expires in half a day, and its successor is named."""
        return cls(asked, successor=AnalyzerKey.generate(), **further)

    def _of_analyzer(self):
        if self.successor.config.id == self.analyzer_key.config.id:
            self.analyzer_key = AnalyzerKey.generate(other_than=[self.successor.config.id])
        expires = written(self.now + timedelta(hours=12))
        return self.published(self.analyzer_key, expires=expires, successors=(in_text(self.successor.public),))

    def published(self, key, **further):
        since = written(self.now - timedelta(days=1))
        return PublishedKey(role=key.role, key=in_text(key.public), active_from=since, **further)
