"""The parties of a collection: which have one operator, what they are called, and what a name cannot pretend."""

import json
import socket
import threading
import time
from functools import partial

import pytest

from parties.issuer.issuing import WithTokens
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statement_terms import Trust
from shuffledp.survey import Collection, PartyNames, WebPage
from shuffledp.survey.addresses import same_host
from shuffledp.survey.parties import at_one_address

SHUFFLER = "https://vps.example.org"


@pytest.mark.parametrize(
    "other",
    [
        "https://vps.example.org",
        "https://vps.example.org:8444",
        "https://VPS.Example.ORG/reports",
        "https://vps.example.org.",
    ],
)
def test_one_host_is_one_whatever_the_port_the_case_or_a_final_dot(other):
    assert same_host(SHUFFLER, other)
    assert same_host(other, SHUFFLER)


@pytest.mark.parametrize("other", ["https://vps.example.net", "https://a.vps.example.org", "http://127.0.0.1:1"])
def test_other_hosts_are_others(other):
    assert not same_host(SHUFFLER, other)


def test_this_machine_has_several_names_and_a_host_several_spellings():
    assert same_host("http://127.0.0.1:1", "http://localhost:2")
    assert same_host("https://[2001:db8::1]", "https://[2001:db8:0:0::1]:8444")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://203.0.113.7", "https://[::ffff:cb00:7107]:9"),
        ("https://203.0.113.7", "https://[::ffff:203.0.113.7]:9"),
        ("https://[2001:DB8::A]", "https://[2001:db8::a]:9"),
        ("https://a.localhost", "https://b.localhost:9"),
        ("https://a.localhost", "http://127.0.0.1:9"),
        ("https://0.0.0.0", "http://localhost:9"),
        ("https://[::]", "http://localhost:9"),
        ("https://[::ffff:127.0.0.1]", "https://localhost:9"),
    ],
)
def test_another_spelling_of_a_host_is_the_same_operator(one, other):
    assert Parties(shuffler=one, analyzer=other).collection.one_operator == ("shuffler", "analyzer")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://0x7f000001", "whose host is a name, or an IP address in the usual form"),
        ("https://0xcb007107", "whose host is a name, or an IP address in the usual form"),
        ("https://203.0.113.0x7", "whose host is a name, or an IP address in the usual form"),
        ("https://203.113.7", "whose host is a name, or an IP address in the usual form"),
        ("https://0313.0.0161.7", "whose host is a name, or an IP address in the usual form"),
        ("https://vps.example.org.:8444", "whose host has no dot at its end"),
        ("https://vps..example.org", "between its dots 1 to 63 letters, digits and inner hyphens"),
        ("https://vps.example.org:65536", "whose port is from 1 to 65535"),
        ("http://a.localhost", "an https address, unless it is on this machine"),
        ("http://0.0.0.0:8443", "an https address, unless it is on this machine"),
    ],
)
def test_a_host_that_could_be_another_in_disguise_is_refused_with_the_reason(url, reason):
    with pytest.raises(InvalidParameterError, match=f"url must be .*{reason}.*; got url='{url}'"):
        Parties(shuffler=url)


def test_parties_on_one_host_have_one_operator_in_what_is_promised():
    apart, together = Parties().collection, Parties(shuffler=SHUFFLER, analyzer=f"{SHUFFLER}:8444").collection
    assert (apart.one_operator, together.one_operator) == ((), ("shuffler", "analyzer"))
    assert not any(Trust.OPERATOR in each.trust for each in apart.promised())
    assert all(Trust.OPERATOR in each.trust for each in together.promised())


def test_an_issuer_and_a_relay_beside_another_party_are_found_and_a_page_is_not():
    issuing = WithTokens(analyzer="https://issuer.example:9").collection
    assert issuing.one_operator == ("analyzer", "issuer")
    relayed = Parties.with_relay(relay="https://office.example/relay").collection
    assert relayed.one_operator == ("analyzer", "relay")
    assert Parties.with_relay().collection.one_operator == ()


def test_a_second_relay_stands_beside_the_first_and_of_another_host():
    second = "https://second.example/survey"
    collection = Parties.with_relay(second_relay=second).collection
    assert Collection.from_dict(json.loads(collection.canonical)) == collection
    assert collection.relays == ("https://relay.example", second)
    assert all(f"https://relay.example or {second}" in str(each) for each in collection.promised())
    assert "second_relay" not in Parties.with_relay().collection.to_dict()
    for wrong, why in (
        ("https://relay.example:8443/other", "relay must be of different hosts, where there are two"),
        ("https://mixer.example/gateway", "of another host than the shuffler"),
        ("http://second.example", "relay must be an https address"),
    ):
        with pytest.raises(InvalidParameterError, match=why):
            Parties.with_relay(second_relay=wrong)
    with pytest.raises(InvalidParameterError, match="absent without a relay"):
        Parties(second_relay=second)
    beside = Parties.with_relay(second_relay="https://office.example/relay").collection
    assert beside.one_operator == ("analyzer", "second_relay")
    assert Trust.OPERATOR in beside.trust


def test_what_is_not_said_is_not_written_so_that_digests_hold():
    written = Parties().collection.to_dict()
    assert not {"names", "result", "demonstration"} & written.keys()
    told = {"names": PartyNames(shuffler="University"), "result": "https://union.example/result", "demonstration": True}
    said = Parties(**told).collection
    assert said.to_dict()["names"] == {"shuffler": "University"}
    assert said.to_dict()["demonstration"] is True
    assert Collection.from_dict(json.loads(said.canonical)) == said


@pytest.mark.parametrize("name", ["", "two\nlines", 'X" at https://real.example', "x" * 81, "\u202egnol"])
def test_a_name_that_could_pretend_to_be_something_else_is_refused(name):
    with pytest.raises(InvalidParameterError, match="analyzer_name must be"):
        PartyNames(analyzer=name)


@pytest.mark.parametrize("role", ["relay", "issuer"])
def test_a_party_that_is_not_there_has_no_name(role):
    with pytest.raises(InvalidParameterError, match=f"{role}_name must be left out where there is no {role}"):
        Parties(names=PartyNames(**{role: "Somebody"}))


def test_names_stand_beside_addresses_and_no_name_is_taken_for_another_party():
    named = PartyNames(shuffler="Friends of the analyst", analyzer="the shuffler's office")
    said = " ".join(Parties(names=named).collection.promised()[0].needs)
    assert 'the shuffler ("Friends of the analyst", https://mixer.example) shuffles as stated' in said
    assert (
        'the analyst ("the shuffler\'s office", https://office.example) does not work together with the shuffler '
        '("Friends of the analyst", https://mixer.example)'
    ) in said


def test_two_names_of_one_address_are_found_and_what_cannot_be_looked_up_is_no_failure(monkeypatch):
    places = {"a.example": "192.0.2.1", "b.example": "192.0.2.1", "c.example": "192.0.2.2"}

    def look_up(host, _):
        if host not in places:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, None, 6, "", (places[host], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert at_one_address([f"https://{each}.example" for each in "abcd"]) == [("a.example", "b.example")]
    assert at_one_address(["https://d.example", "https://e.example"]) == []


def test_nothing_is_looked_up_of_this_machine_or_where_there_is_one_host(monkeypatch):
    asked = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, _: asked.append(host) or [])
    assert (
        at_one_address(["http://127.0.0.1:1", "http://localhost:2", "https://a.example", "https://A.example:3"]) == []
    )
    assert asked == []


def test_a_network_that_does_not_answer_is_waited_for_two_seconds_at_most(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: ended.wait(30) and [])
    monkeypatch.setattr("shuffledp.survey.parties._SECONDS_TO_LOOK_UP", 0.05)
    began = time.monotonic()
    assert at_one_address(["https://a.example", "https://b.example"]) == []
    assert time.monotonic() - began < 5
    ended.set()


def test_a_shuffler_that_serves_the_page_or_gives_the_tokens_is_named_for_it_by_its_host_or_a_name_below():
    mix = "https://mix.example.org"
    page = WebPage(url=f"{mix}/c/survey", sha256=64 * "0")
    both = WithTokens(shuffler=mix, issuer=mix, page=page).collection
    assert both.trust == (Trust.ISSUER, Trust.PAGE_AT_SHUFFLER, Trust.ISSUER_AT_SHUFFLER)
    assert [each.is_danger for each in both.trust] == [False, True, False]
    below = WithTokens(shuffler=mix, page=WebPage(url="https://aa.mix.example.org", sha256=64 * "0")).collection
    assert Trust.PAGE_AT_SHUFFLER in below.trust
    for url in ("https://aamix.example.org", "https://example.org/c", "https://mix.example.org.example.com"):
        apart = WithTokens(shuffler=mix, page=WebPage(url=url, sha256=64 * "0")).collection
        assert Trust.PAGE in apart.trust
        assert Trust.PAGE_AT_SHUFFLER not in apart.trust
    assert not apart.one_operator


def test_on_one_machine_the_port_tells_which_service_serves_the_page():
    for page, wanted in ((8000, Trust.PAGE), (8443, Trust.PAGE_AT_SHUFFLER)):
        served = WebPage(url=f"http://127.0.0.1:{page}/c", sha256=64 * "0")
        assert wanted in Parties(shuffler="http://127.0.0.1:8443", page=served).collection.trust


def test_reminders_need_an_issuer_that_signs_blindly_and_one_batch_and_without_them_nothing_is_written():
    told = WithTokens(reminders=True).collection
    assert told.to_dict()["reminders"] is True
    assert "reminders" not in WithTokens().collection.to_dict()
    for made in (Parties, partial(WithTokens, ready_made=True), partial(WithTokens, every=20)):
        with pytest.raises(InvalidParameterError, match="reminders must be left out but for one batch"):
            made(reminders=True)
