"""Rules of a mix host for the collections that it takes, as pure decisions."""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from shuffledp.core.instants import instant
from shuffledp.parties.http.http_messages import Problem
from shuffledp.parties.service.collection_terms import terms_of
from shuffledp.parties.wire.mix_terms import MixTerms
from shuffledp.survey import Collection
from shuffledp.survey.addresses import same_host
from shuffledp.survey.trusted_parties import is_at


def misfit(collection: Collection, terms: MixTerms, *, now: datetime) -> Problem | None:
    """Reason why a mix refuses a collection from any registrant; None if the collection fits."""
    if not _is_of(collection, terms):
        return Problem.OTHER_MIX
    if at_mix(collection, terms) and not _is_in_place(collection, terms):
        return Problem.OTHER_PAGE
    return _beyond(collection, terms, now)


def _is_of(collection: Collection, terms: MixTerms) -> bool:
    """Whether the collection names this mix with its own keys, and needs only a mix's services."""
    task, issuer = collection.task, collection.issuer
    is_host = any(each.url == terms.url and each.key == terms.shuffler for each in collection.hosts)
    own = is_host and collection.gateway in (None, terms.gateway) and not collection.local
    one = all(each.is_kept_by_uniform for each in (task.shuffler, *(of.shuffler for of in task.columns)))
    # A name below the mix's is another issuer's, and so is another port of this machine.
    here = issuer is not None and same_host(issuer.url, terms.url) and is_at(issuer.url, terms.url)
    tokens = not here or (terms.tokens and issued_here(collection, terms))
    return own and one and tokens and collection.analyzer.fetches and collection.directory is None


def issued_here(collection: Collection, terms: MixTerms) -> bool:
    """Whether the mix itself signs the tokens of the collection, blindly."""
    return collection.issuer is not None and collection.issuer.url == terms.url and not collection.ready_made


def at_mix(collection: Collection, terms: MixTerms) -> bool:
    """Whether the page of a collection is at the mix's host, or at a name below it."""
    return collection.page is not None and is_at(collection.page.url, terms.url)


def has_place(collection: Collection, terms: MixTerms) -> bool:
    """Whether the mix shows the page of a collection, or at least its result."""
    return at_mix(collection, terms) or collection.result == terms.page_url(collection.nonce)


def _is_in_place(collection: Collection, terms: MixTerms) -> bool:
    return collection.page is not None and collection.page.url == terms.page_url(collection.nonce)


def _beyond(collection: Collection, terms: MixTerms, now: datetime) -> Problem | None:
    """Limit of the policy that a collection exceeds, as a problem; None within all limits."""
    policy, closes = terms.policy, instant(closes=collection.closes)
    fetched, days = instant(fetch_by=collection.fetch_by or collection.closes), timedelta(days=policy.days)
    if not now < closes <= now + days or fetched > closes + days:
        return Problem.TOO_MANY_DAYS
    if max(collection.minimum, collection.every or 0, collection.task.people.expected or 0) > policy.people:
        return Problem.TOO_MANY_PEOPLE
    return Problem.TOO_MANY_BYTES if most_answers(collection, terms) < collection.minimum else None


def most_answers(collection: Collection, terms: MixTerms) -> int:
    """Greatest number of answers that the mix accepts for a collection, by its policy and its own limit."""
    host = next((number for number, each in enumerate(collection.hosts) if each.url == terms.url), 0)
    own = terms.policy.bytes // sum(terms_of(collection, host).lengths)
    return min(terms.policy.people, own, int(min(collection.most, own)))


def path_of_page(collection: Collection, terms: MixTerms) -> tuple[str, str]:
    """Host name and path of a collection's page at the mix; "" is the mix's own host."""
    if terms.pages == "origin":
        return urlsplit(terms.page_url(collection.nonce)).netloc, "/"
    return "", urlsplit(terms.page_url(collection.nonce)).path
