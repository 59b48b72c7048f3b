"""Whom a published result needs trusted: the same as its release states, and each danger once, at the top."""

import pytest

from parties.agreement.summing import Sum
from parties.service.given import Parties, task
from shuffledp.core.statement_terms import Trust
from shuffledp.documents.blocks import Listing, Text
from shuffledp.documents.collections.published_document import published_document

HOSTS = ["http://127.0.0.1:8001", "http://127.0.0.1:8002", "http://127.0.0.1:8003"]


def shown(collection):
    """The dangers at the top of a result, and what is listed below."""
    result, about = published_document(collection, [("2026-12-01", None)], ["this."]).sections
    dangers = [each.bold[0] for each in result.blocks if isinstance(each, Text) and each.bold]
    *_, listed = (each.items for each in about.blocks if isinstance(each, Listing))
    return dangers, list(listed)


@pytest.mark.parametrize(
    "collection",
    [
        pytest.param(Sum.new().collection, marks=pytest.mark.deep),
        pytest.param(Sum.new(urls=HOSTS).collection, marks=pytest.mark.deep),
        Sum.new(hosts=1).collection,
        Parties(analyzer="").collection,
        Parties(analyzer="", asked=task(people={"unvouched": True})).collection,
    ],
    ids=["hosts", "one machine", "one host", "reports", "unvouched"],
)
def test_a_result_needs_whom_its_promise_needs(collection):
    dangers, listed = shown(collection)
    (first, *_) = collection.promised()
    trust = sorted(first.trust, key=list(Trust).index)
    first_of_all = "Beware. What was promised holds only as long as"
    assert dangers == [f"{first_of_all} {each.text}." for each in trust if each.is_danger]
    assert listed == [each.text for each in trust if not each.is_danger]


def test_a_sum_over_hosts_speaks_of_no_one_shuffler():
    _, listed = shown(Sum.new().collection)
    assert Trust.ENOUGH_HOSTS.text in listed
    assert not {Trust.SHUFFLER.text, Trust.NO_COLLUSION.text} & {*listed}


def test_beside_fake_senders_everybody_else_is_counted():
    _, listed = shown(Parties(analyzer="", asked=task(people={"fakes": 2})).collection)
    assert Trust.HONEST_USERS.text_beside_fakes in listed
    assert Trust.HONEST_USERS.text not in listed
