"""Members with keys, their directory, and a collection that is bound to it."""

from datetime import UTC, datetime, timedelta
from functools import cache

from shuffledp.core.instants import written
from shuffledp.parties.relay.directory import Directory
from shuffledp.parties.relay.member_keys import MemberKey
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task

NOW = datetime.now(UTC)


def published(key, *, since=NOW - timedelta(days=1)):
    return PublishedKey(role=key.role, key=in_text(key.public), active_from=written(since))


def relay_task(*, delta=1e-3, **shuffler):
    return Task.from_dict(
        {
            "name": "survey",
            "value": "smokes",
            "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]},
            "shuffler": {"kind": "network", "links": "constant"} | (shuffler or {"overlay": {"groups": [2, 3]}}),
            "release": {"delta": delta, "minimum_batch": 2},
        }
    )


@cache
def keys_of(people):
    """Keys of so many members, made once: the same in all tests."""
    return tuple(MemberKey.generate() for _ in range(people))


class Circle:
    """An operator, members in the order of their directory, an analyst, and a collection of theirs."""

    def __init__(self, people=6, *, url="http://127.0.0.1:1", **shuffler):
        self.operator, self.analyst = ShufflerKey.generate(), AnalyzerKey.generate()
        entries = [key.entry(f"member-{number}") for number, key in enumerate(keys_of(people))]
        self.directory = Directory.signed(entries, self.operator)
        known = {key.identity: key for key in keys_of(people)}
        self.keys = [known[each.identity_key] for each in self.directory.entries]
        self.collection = self.collection_of(self.directory, url=url, **shuffler)

    def collection_of(self, directory, *, url="http://127.0.0.1:1", **shuffler):
        return Collection.new(
            relay_task(**shuffler),
            shuffler=Service(url=url, key=published(self.operator)),
            analyzer=Service(url="https://office.example", key=published(self.analyst)),
            closes=written(NOW + timedelta(days=1)),
            now=NOW,
            directory=directory.bound,
        )
