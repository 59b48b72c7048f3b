"""Tokens of a sum over several hosts: one for each host by one invitation, and none of another host's."""

import pytest

from parties.agreement.summing import Sum, hosts_of
from parties.issuer.issuing import issuer_key
from parties.service.at_work import run
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.http.event_log import EventLog
from shuffledp.parties.http.http_messages import Problem, Refused
from shuffledp.parties.issuer.invitations import new_invitations
from shuffledp.parties.issuer.invited_lists import Lists
from shuffledp.parties.issuer.issuer_app import CollectionAtIssuer
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.wire.grammar import ReportError, UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import from_text, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.tokens import PendingToken, TokenResponse
from shuffledp.survey import Service

WAGES = [10, 20, 30, 40, 50, 60, 70, 80, 90]


def invited():
    """A sum whose people are invited, and its key for tokens."""
    key = issuer_key()
    published = PublishedKey.of(key, active_from="2020-01-01T00:00:00Z")
    return Sum.new(transport="token", issuer=Service(url="https://issuer.example", key=published)), key


async def issuing(given, key, folder, people):
    """Issuer of the collection, and invitations."""
    made, listed = new_invitations(given.collection, people)
    store = IssuerStore(folder / "issuer")
    at = CollectionAtIssuer(given.collection, key, store, log=EventLog(str))
    codes = frozenset(from_text(each, name="code") for each in listed.codes)
    await at.take(Lists(codes, frozenset()))
    return at, store, made, codes


async def token(given, key, at, invitation, host):
    """Token for a host by an invitation."""
    challenge = given.collection.challenge_at(host)
    pending = PendingToken.new(challenge, key.public)
    answer = await at.sign(f"Bearer {invitation.code}", pending.request.encode())
    return pending.finalize(challenge, key.public, TokenResponse.decode(answer)).shown()


@pytest.mark.deep
def test_an_invitation_is_good_for_a_token_at_each_host_and_no_more(tmp_path):
    async def play():
        given, key = invited()
        (person, other), _ = given.shares([10, 20])
        at, store, (first, second), codes = await issuing(given, key, tmp_path, 2)
        try:
            assert set(await at.absent()) == codes
            tokens = [await token(given, key, at, first, host) for host in range(3)]
            with pytest.raises(Refused) as refused:
                await token(given, key, at, first, 0)
            assert refused.value.problem is Problem.INVITATION_USED
            assert len(await at.absent()) == 1  # an invitation that gave some token is not absent
            async with hosts_of(given, tmp_path / "hosts") as hosts:
                for host, shown in enumerate(tokens):
                    body = UploadRequest((person[host],)).encode()
                    with pytest.raises(Refused):
                        await hosts.at[host].upload(body, tokens[host - 1])  # of another host
                    assert not UploadResponse.decode(await hosts.at[host].upload(body, shown)).refused
                    twice = await hosts.at[host].upload(UploadRequest((other[host],)).encode(), shown)
                    assert [each.error for each in UploadResponse.decode(twice).refused] == [ReportError.TOKEN_SPENT]
            assert len({in_text(each.encode()) for each in tokens}) == 3
            assert await token(given, key, at, second, 2)
        finally:
            store.close()

    run(play)


def test_ready_made_tokens_are_refused_where_there_are_several_hosts():
    given, _ = invited()
    with pytest.raises(InvalidParameterError, match="ready_made must be left out with several shufflers"):
        Sum.new(transport="token", issuer=given.collection.issuer, ready_made=True)
