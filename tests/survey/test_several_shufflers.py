"""Collections with several shufflers: as many as the task has hosts, each an operator and a key of its own."""

from dataclasses import replace

import pytest

from parties.agreement.summing import Sum, sum_task
from parties.issuer.issuing import issuer_key
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statement_terms import Trust
from shuffledp.documents.collections.collection_document import collection_as_dict
from shuffledp.parties.wire.keys import GatewayKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, WebPage

URLS = [f"https://host{number}.example" for number in range(3)]


def test_its_file_names_all_of_them_and_is_read_back(tmp_path):
    collection = Sum.new().collection
    (tmp_path / "file").write_bytes(collection.canonical)
    assert Collection.read(tmp_path / "file") == collection
    assert [each.url for each in collection.hosts] == URLS
    assert [[pool.number for pool in collection.pools_at(host)] for host in range(3)] == [[0], [1], [2]]
    assert collection.addresses["shuffler_3"] == URLS[2]
    assert set(collection_as_dict(collection)["fingerprints"]) == {"shuffler", "analyzer", "shuffler_2", "shuffler_3"}


def test_its_statement_names_all_of_them_and_says_first_what_is_left_if_more_are_traitors():
    (statement, *_) = Sum.new().collection.promised()
    assert Trust.HOSTS_APART in statement.trust
    assert Trust.NOT_TOGETHER not in statement.trust
    assert f"the hosts of the shuffles ({'; '.join(URLS)})" in str(statement)
    assert Trust.HOSTS_APART.is_danger
    assert "nothing is left" in Trust.HOSTS_APART.text
    assert "makes up the messages of all others" in Trust.HOSTS_APART.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"urls": [*URLS[:2], "https://HOST1.example:8443"]}, "must be of different hosts, since two on one host"),
        ({"urls": [URLS[0], *URLS[:2]]}, f"must be of different hosts, .* got shufflers='{URLS[0]} and {URLS[0]}'"),
        ({"task": sum_task(4)}, "must be as many as the hosts of the task, 4; got 3"),
        ({"task": sum_task(1)}, "must be as many as the hosts of the task, 1; got 3"),
    ],
)
def test_what_are_no_hosts_apart_is_refused(changes, words):
    with pytest.raises(InvalidParameterError, match=words):
        Sum.new(**changes)


def test_two_hosts_of_one_key_are_refused_and_so_is_an_analyst_with_an_address():
    collection = Sum.new().collection
    first, second = collection.further_shufflers
    with pytest.raises(InvalidParameterError, match="keys of several shufflers must be different"):
        replace(collection, further_shufflers=(first, replace(second, key=first.key)))
    with pytest.raises(InvalidParameterError, match="shuffler_key must be the shuffler's"):
        replace(collection, further_shufflers=(first, replace(second, key=collection.analyzer.key)))
    office = replace(collection.analyzer, url="https://office.example")
    with pytest.raises(InvalidParameterError, match="who fetches carries their agreement"):
        replace(collection, analyzer=office, fetch_by=None)


def test_a_relay_is_refused_by_its_name():
    key = GatewayKey.generate()
    published = PublishedKey(role=key.role, key=in_text(key.public), active_from="2020-01-01T00:00:00Z")
    with pytest.raises(InvalidParameterError, match=r"^relay must be left out with several shufflers"):
        Sum.new(transport="oblivious", relay="https://relay.example", gateway=published)


def test_on_one_machine_hosts_are_one_operator_who_is_named():
    collection = Sum.new(urls=[f"http://127.0.0.1:{port}" for port in (1, 2, 3)]).collection
    assert Trust.OPERATOR in collection.trust
    assert collection.one_operator == ("shuffler", "shuffler_2", "shuffler_3")


def test_a_page_goes_with_several_shufflers_also_where_people_are_invited():
    page = WebPage(url="https://ask.example", sha256="0" * 64)
    published = PublishedKey.of(issuer_key(), active_from="2020-01-01T00:00:00Z")
    issuer = Service(url="https://issuer.example", key=published)
    assert Sum.new(page=page).collection.page == page
    assert Sum.new(page=page, transport="token", issuer=issuer).collection.page == page
