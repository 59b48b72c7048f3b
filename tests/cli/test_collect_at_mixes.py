"""`collect new --mix`: a collection of any task at one mix or several, from the task to the published result."""

import json
from contextlib import ExitStack

import httpx
import pytest

from cli.running import refused, shuffledp, toml, write_task
from parties.organizer.mix_in_thread import mix_in_thread
from parties.organizer.played_mix import URL, PlayedMix
from shuffledp.survey import Collection

MADE = ("--analyzer-key", "office.key.pub", "--closes", "2999-12-31", "--output", "made.collection")
WAGES = {
    "name": "wages",
    "value": "wage",
    "question": "What do you earn a month?",
    "people": {"expected": 12},
    "protocol": {"kind": "split-and-mix", "epsilon": 2.0, "lower": 1000, "upper": 6000, "dropout_fraction": 0.5}
    | {"hosts": 3, "colluding_hosts": 1, "buffers": "host"},
    "release": {"delta": 1e-6},
}


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shuffledp("keys", "new", "--role", "analyzer", "--output", "office.key").code == 0
    return tmp_path


@pytest.fixture
def played(monkeypatch):
    """A mix that the test plays, and nothing else on the network."""
    mix = PlayedMix(days=10**6)
    monkeypatch.setattr("shuffledp.parties.service.client.new_client", mix.client)
    return mix


def test_any_task_is_registered_at_a_mix_with_its_keys_and_its_place_for_page_and_result(inside, played):
    write_task(inside, question="Have you cheated?")
    done = shuffledp("collect", "new", "task.toml", "--mix", URL, "--code", "A" * 22, "--web", "mix", *MADE)
    assert done.code == 0, done.err
    collection = Collection.read(inside / "made.collection")
    assert (played.collection, played.shown) == (collection, [f"Bearer {'A' * 22}"])
    assert (collection.shuffler.key, collection.analyzer.url) == (played.terms.shuffler, "")
    assert collection.page.url == collection.result == played.terms.page_url(collection.nonce)
    assert "Written: made.collection. The mix has it, and people can answer." in done.out
    assert f"Written: made.html. {URL} serves it." in done.out
    assert "Send it to" not in done.out


def test_the_analyst_closes_at_a_mix_and_publishes_what_came_of_it(inside, played):
    write_task(inside)
    assert shuffledp("collect", "new", "task.toml", "--mix", URL, *MADE).code == 0
    done = shuffledp("collect", "close", "made.collection", "--key", "office.key")
    assert (done.code, played.phase) == (0, "closed")
    told = refused(
        2, "collect", "fetch", "made.collection", "--key", "office.key", "--folder", "f", "--once", "--publish"
    )
    assert "--publish must be left out with --once" in told


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "--shuffler URL and --shuffler-key FILE must be given, of whoever takes the answers in, or --mix URL"),
        (("--mix", URL, "--analyzer", "https://office.example"), "--analyzer, --fetch-within and --directory must be"),
        (("--code", "A" * 22), "--code, --key and --ca must be left out without --mix"),
        (("--mix", URL, "--code", "A" * 22, "--code", "B" * 22), "--code must be given once for each mix, or once"),
        (("--web", "mix"), "web must be"),
        (("--mix", "http://mix.example.org"), "must be an https address"),
    ],
)
def test_what_goes_with_no_mix_is_refused_and_leaves_no_file(inside, played, options, why):
    write_task(inside)
    assert why in refused(2, "collect", "new", "task.toml", *options, *MADE)
    assert not (inside / "made.collection").exists()


def test_where_a_mix_refuses_there_is_no_file(inside, played):
    write_task(inside)
    played.refusal = 403
    assert shuffledp("collect", "new", "task.toml", "--mix", URL, *MADE).code != 0
    assert not (inside / "made.collection").exists()


@pytest.mark.deep
def test_a_mean_wage_of_a_task_is_summed_by_three_mixes_and_published(inside, monkeypatch):
    (inside / "wages.toml").write_text(toml(WAGES))
    (inside / "wages.csv").write_text("wage\n" + "".join(f"{2000 + 100 * person}\n" for person in range(9)))
    with ExitStack() as stack:
        names = ("one", "two", "three")
        urls = [stack.enter_context(mix_in_thread(inside / each, monkeypatch, days=400_000)) for each in names]
        mixes = [each for url in urls for each in ("--mix", url)]
        made = shuffledp("collect", "new", "wages.toml", *mixes, "--web", "mix", "--demonstration", *MADE)
        assert made.code == 0, made.err
        assert "All mixes have it, and people can answer." in made.out
        collection = Collection.read(inside / "made.collection")
        assert [each.url for each in collection.hosts] == urls
        sent = shuffledp("send", "made.collection", "--input", "wages.csv", "--people-are-simulated")
        assert sent.code == 0, sent.err
        assert shuffledp("collect", "close", "made.collection", "--key", "office.key").code == 0
        assert "agree" in shuffledp("collect", "status", "made.collection").out
        done = shuffledp(
            "collect", "fetch", "made.collection", "--key", "office.key", "--folder", "office", "--publish"
        )
        assert done.code == 0, done.err
        told = json.loads((inside / "office/release/statement.json").read_text())
        assert told["flow"]["received"] == 9
        assert f"The result is published: {collection.result}" in " ".join(done.out.split())
        assert "Result of a survey" in httpx.get(collection.result).text
