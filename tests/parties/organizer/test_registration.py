"""A collection that one mix refuses after others took it: it is taken back there, and the error says what stands."""

import json
from contextlib import ExitStack

import httpx
import pytest

from cli.running import shuffledp
from parties.agreement.summing import Sum
from parties.organizer.mix_in_thread import mix_in_thread
from parties.organizer.played_mix import PlayedMix
from parties.organizer.test_mix_survey import LIST, made
from shuffledp.core.errors import RemoteProtocolError, UnreachableError
from shuffledp.core.instants import shown
from shuffledp.parties.organizer.registration import Mixes
from shuffledp.parties.wire.organizer_requests import RequestKind


class Mix:
    """A mix that takes and closes, or raises an error in the place of either."""

    def __init__(self, url, *, refusing=None, silent=None):
        self.url, self.refusing, self.silent, self.closed = url, refusing, silent, []

    def register(self, _):
        if self.refusing is not None:
            raise self.refusing

    def close(self, collection, _):
        if self.silent is not None:
            raise self.silent
        self.closed.append(collection)


def test_what_others_have_is_closed_where_one_refuses_and_the_error_says_where():
    given, away = Sum.new(), UnreachableError("c must answer.")
    first, second = Mix("https://a.example"), Mix("https://b.example", silent=away)
    third, fourth = Mix("https://c.example", refusing=away), Mix("https://d.example")
    have = []
    with pytest.raises(UnreachableError, match=r"c must answer. If only its answer was lost, it has the collection"):
        Mixes((first, second, third, fourth), ()).register(given.collection, have)
    assert have == [first, second]
    until = shown(given.collection.closes)
    assert Mixes.take_back(given.collection, given.analyst, have) == (
        f"It was taken back at https://a.example. It stands at https://b.example until {until}; nobody has its link."
    )
    assert (first.closed, fourth.closed) == ([given.collection], [])


def test_a_refusal_stays_a_refusal_and_leaves_nothing_in_doubt():
    have = []
    with pytest.raises(RemoteProtocolError) as caught:
        Mixes((Mix("https://a.example", refusing=RemoteProtocolError("it is full.")),), ()).register(
            Sum.new().collection, have
        )
    assert (type(caught.value), str(caught.value), have) == (RemoteProtocolError, "it is full.", [])


def test_where_the_list_of_the_invited_is_refused_the_survey_is_taken_back(tmp_path):
    class Full(PlayedMix):
        """A mix that takes no more invitations."""

        def answer(self, request):
            return httpx.Response(403) if request.url.path.endswith(RequestKind.INVITED) else super().answer(request)

    played = Full()
    with pytest.raises(RemoteProtocolError, match=r"It was taken back at https://mix\.example\.org"):
        made(tmp_path, played, invited=LIST)
    assert (played.phase, list(tmp_path.iterdir())) == ("closed", [])


@pytest.mark.deep
def test_a_mix_that_refuses_a_sum_costs_the_other_mixes_nothing_of_their_limits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        free, full = (
            stack.enter_context(mix_in_thread(tmp_path / each, monkeypatch, collections=1)) for each in ("free", "full")
        )
        asked = ["survey", "new", "Do you smoke?", "--sum", "--people", 12, "--minimum", 6, "--fakes", 0]
        assert shuffledp(*asked, "--mix", full, "--output", "before").code == 0
        for name in ("first", "again"):  # the second time the free one is asked, it has forgotten the first time
            done = shuffledp(*asked, "--mix", free, "--mix", full, "--output", name)
            assert (done.code, f"It was taken back at {free}." in done.err) == (2, True), done.err
            assert not (tmp_path / name).exists()
        task = tmp_path / "before/task.toml"
        several = task.read_text().replace(
            "[protocol]\n", '[protocol]\nhosts = 2\ncolluding_hosts = 1\nbuffers = "host"\n'
        )
        (tmp_path / "several.toml").write_text(several)
        assert shuffledp("keys", "new", "--role", "analyzer", "--output", "office.key").code == 0
        mine = [
            "--analyzer-key",
            "office.key.pub",
            "--closes",
            json.loads((tmp_path / "before/survey.collection").read_text())["closes"],
        ]
        done = shuffledp(
            "collect", "new", "several.toml", "--mix", free, "--mix", full, *mine, "--output", "c.collection"
        )
        assert (done.code, "collect close c.collection --key KEY" in done.err) == (2, True), done.err
        shuffledp("collect", "close", "c.collection", "--key", "office.key")
        assert shuffledp(*asked, "--mix", free, "--output", "after").code == 0
