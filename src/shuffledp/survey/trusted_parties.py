"""Trust that people need in the parties of a collection, derived from its addresses and keys."""

import math
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shuffledp.core.statement_terms import Trust
from shuffledp.survey.addresses import LOCAL, host_of, is_below
from shuffledp.survey.parties import on_one_host

if TYPE_CHECKING:
    from shuffledp.survey.collection import Collection


def trust_of(collection: "Collection") -> tuple[Trust, ...]:
    """Trust that people need beyond trust in the shuffle, such as in the transport or the page.

    Always that people answer once, by tokens or not. Besides, where the collection has them: reports that hide nothing
    but by the shuffle, whoever serves the page, the maker of ready-made tokens, a shuffler that gives the tokens, a
    relay, several batches whose time must tell nothing, and one operator of several parties.
    """
    at_shuffler = serves_page(collection)
    more = {
        Trust.HOSTS_APART: bool(collection.further_shufflers),
        Trust.NOT_TOGETHER: not collection.further_shufflers and is_read_together(collection),
        Trust.PAGE_AT_SHUFFLER: at_shuffler,
        Trust.PAGE: collection.page is not None and not at_shuffler,
        Trust.READY_MADE_TOKENS: collection.ready_made,
        Trust.ISSUER_AT_SHUFFLER: gives_tokens(collection),
        Trust.RELAY_APART: collection.is_oblivious,
        Trust.TIME_OF_ANSWER: collection.every is not None,
        Trust.OPERATOR: bool(one_operator_of(collection)),
        Trust.LOCAL_NETWORK: collection.local,
    }
    once = Trust.ONE_ANSWER if collection.issuer is None else Trust.ISSUER
    return (once, *(each for each, holds in more.items() if holds))


def is_read_together(collection: "Collection") -> bool:
    """Whether a person's messages to one question together reveal the answer, as in a sum."""
    return any(math.isinf(column.randomizer.randomizer().model.epsilon0) for column in collection.task.columns)


def one_operator_of(collection: "Collection") -> tuple[str, ...]:
    """Roles that seem to share an operator, since their parties have the same host.

    Whoever serves the page is not among them: that one is named, and trusted, by itself; nor is a shuffler that gives
    the tokens and can read nothing, which is named for both. A local collection has one operator, who has said so.
    """
    if collection.local:
        return ("shuffler", "analyzer")
    found = on_one_host({role: url for role, url in collection.addresses.items() if url and role != "page"})
    return () if found == ("shuffler", "issuer") else found


def serves_page(collection: "Collection") -> bool:
    """Whether the shuffler serves the page, too: at its own host, or at a name below it.

    Not of a collection of one operator in a local network, who is named for everything.
    """
    page = None if collection.local else collection.page
    return page is not None and any(is_at(page.url, each.url) for each in collection.hosts)


def gives_tokens(collection: "Collection") -> bool:
    """Whether the shuffler is the issuer of the tokens, too."""
    issuer = collection.issuer
    return issuer is not None and any(is_at(issuer.url, each.url) for each in collection.hosts)


def is_at(url: str, shuffler: str) -> bool:
    """Whether an address is the shuffler's; on this machine the port must agree, too."""
    if host_of(shuffler) == LOCAL:
        return urlsplit(url).netloc == urlsplit(shuffler).netloc
    return is_below(url, shuffler)
