"""The collection file: what it fixes, what it refuses, and that its id is that of everything in it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from cli.running import task_with
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import written
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
CLOSES = "2026-12-24T12:00:00Z"


def published(key, **further) -> PublishedKey:
    return PublishedKey(role=key.role, key=in_text(key.public), active_from=written(NOW), **further)


SHUFFLER = Service(url="https://mixer.example", key=published(ShufflerKey.generate()))
ANALYZER = Service(url="https://office.example:8443/reports", key=published(AnalyzerKey.generate()))


def collection(task=None, **further) -> Collection:
    given = {"shuffler": SHUFFLER, "analyzer": ANALYZER, "closes": CLOSES, "now": NOW} | further
    return Collection.new(Task.from_dict(task or task_with(release={"minimum_batch": 10})), **given)


def test_the_same_task_twice_is_two_collections():
    assert collection().id != collection().id


def test_a_file_is_read_as_the_same_collection(tmp_path):
    made = collection(every=20)
    (tmp_path / "survey.collection").write_bytes(made.canonical + b"\n")
    read = Collection.read(tmp_path / "survey.collection")
    assert (read, read.id) == (made, made.id)


@pytest.mark.parametrize("key", ["task", "nonce", "opens", "closes", "shuffler", "analyzer"])
def test_the_id_is_of_every_key(key):
    made, other = (
        collection(),
        collection(
            task_with(release={"minimum_batch": 11}),
            opens="2026-12-02",
            closes="2026-12-25",
            shuffler=Service(url="https://mixer.example", key=published(ShufflerKey.generate())),
            analyzer=Service(url="https://office.example", key=published(AnalyzerKey.generate())),
        ),
    )
    changed = Collection.from_dict(made.to_dict() | {key: other.to_dict()[key]})
    assert changed.id != made.id


def test_what_is_not_said_is_not_written():
    assert not {"every", "transport", "relay", "gateway"} & set(collection().to_dict())


DELAYED = {"kind": "imperfect", "imperfection": 0.1, "construction": "delay", "offsets": [0.0, 0.5, 1.0]}


@pytest.mark.parametrize(
    ("task", "named"),
    [
        (task_with(shuffler={"kind": "none"}), "kind 'none'"),
        (task_with(shuffler=DELAYED), "kind 'imperfect'"),
        (task_with(shuffler={"kind": "network", "graph": "edges.csv", "rounds": 5}), "walks need the directory"),
        (task_with(people={"id": "name"}), r"id in \[people\]"),
        (
            task_with(
                randomizer=None,
                protocol={"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 1, "hosts": 2},
                people={"expected": 1000},
            )
            | {"randomizer": None},
            "shufflers must be as many as the hosts of the task, 2; got 1",
        ),
    ],
    ids=["none", "delays by row", "network", "people", "hosts"],
)
def test_what_has_no_service_is_refused_by_name(task, named):
    with pytest.raises(InvalidParameterError, match=named):
        collection({key: value for key, value in task.items() if value})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"closes": "2026-11-30"}, "closes must be after 2026-12-01T12:00:00Z"),
        ({"opens": "2026-12-25"}, "closes must be after opens"),
        ({"closes": "soon"}, "closes must be a date in UTC"),
        ({"every": 9}, "every must be at least minimum_batch=10"),
        ({"shuffler": ANALYZER}, "shuffler_key must be the shuffler's"),
    ],
)
def test_a_collection_that_cannot_be_is_refused(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        collection(**changes)


def test_no_batch_may_be_of_fake_senders_alone():
    with pytest.raises(InvalidParameterError, match="fakes must be below minimum_batch"):
        collection(task_with(people={"fakes": 10}, release={"minimum_batch": 10}))


@pytest.mark.parametrize(
    "url",
    [
        "http://mixer.example",
        "https://mixer.example/",
        "https://user:secret@mixer.example",
        "https://mixer.example?x=1",
        "https://",
        "mixer.example",
        "https://m\u0131xer.example",
        "https://a b",
        "https://a..b",
        "https://-",
        f"https://{'a' * 64}.example",
        f"https://{'a.' * 127}a",
        "https://999.999.999.999",
        "https://[1:2]",
        "https://[:::::]",
        "https://mixer.example:0",
        "https://mixer.example:99999",
    ],
)
def test_an_address_that_devices_cannot_trust_is_refused(url):
    with pytest.raises(InvalidParameterError, match="url must be"):
        Service(url=url, key=SHUFFLER.key)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8443", "http://localhost:8443", "http://[::1]:8443"])
def test_on_this_machine_nothing_need_be_encrypted(url):
    assert Service(url=url, key=SHUFFLER.key).url == url


def test_a_key_that_expires_before_the_end_needs_a_successor():
    key, next_one = ShufflerKey.generate(), published(ShufflerKey.generate())
    expiring = published(key, expires="2026-12-10T00:00:00Z")
    with pytest.raises(InvalidParameterError, match="the shuffler's key must be active until"):
        collection(shuffler=Service(url="https://mixer.example", key=expiring))
    followed = published(key).followed_by(next_one, overlap=timedelta(days=1))
    assert collection(shuffler=Service(url="https://mixer.example", key=followed)).shuffler.key.successors


def test_the_analyzers_key_lasts_until_the_end_whoever_follows_it():
    followed = published(AnalyzerKey.generate()).followed_by(published(AnalyzerKey.generate()), overlap=timedelta(1))
    assert followed.expires < CLOSES
    with pytest.raises(InvalidParameterError, match=f"until closes={CLOSES}, since late reports could be told"):
        collection(analyzer=Service(url="https://office.example", key=followed))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(",", ", "),
        lambda text: text[:-1] + ',"version":1}',
        lambda text: text[:-1] + ',"transport":"direct"}',
        lambda text: text[:-1],
        lambda text: "\ufeff" + text,
        lambda text: json.dumps(json.loads(text) | {"further": 1}),
        lambda text: text.replace('"version":1', f'"version":{"9" * 5000}'),
    ],
    ids=["spaces", "twice", "default", "cut", "mark", "unknown", "digits"],
)
def test_a_file_that_somebody_touched_is_refused(tmp_path, change):
    path = tmp_path / "survey.collection"
    path.write_text(change(collection().canonical.decode()), encoding="utf-8")
    with pytest.raises(InvalidParameterError):
        Collection.read(path)


def sum_of(**protocol) -> Collection:
    table = {"kind": "split-and-mix", "epsilon": 4.0, "lower": 0, "upper": 10, "dropout_fraction": 0.5} | protocol
    release = {"delta": 1e-4, "minimum_batch": 20}
    return collection(
        {"name": "hours", "value": "hours", "protocol": table, "people": {"expected": 40}, "release": release}
    )


def test_a_file_pins_how_many_messages_a_sum_takes(tmp_path):
    """Mutant: a version that needs fewer messages reads the file, and its devices send what no shuffler takes."""
    made = sum_of()
    (tmp_path / "sum.collection").write_bytes(made.canonical)
    assert Collection.read(tmp_path / "sum.collection") == made
    written = json.loads(made.canonical)
    (model,) = written["models"]
    assert model["num_shares"] == made.task.column.randomizer.randomizer().model.num_messages
    fewer = written | {"models": [model | {"num_shares": model["num_shares"] - 1}]}
    with pytest.raises(
        InvalidParameterError, match=rf"num_shares={model['num_shares']}; got {model['num_shares'] - 1}"
    ):
        Collection.from_dict(fewer)
    for changed in ({"models": []}, {"models": "some"}, {"models": [1]}):
        with pytest.raises(InvalidParameterError, match="models of a collection must be what this version solves"):
            Collection.from_dict(written | changed)
    with pytest.raises(InvalidParameterError, match="models of a collection must be"):
        Collection.from_dict({key: value for key, value in written.items() if key != "models"})
    assert "models" not in collection().to_dict()
    with pytest.raises(InvalidParameterError, match="models of a collection must be"):
        Collection.from_dict(collection().to_dict() | {"models": [model]})
