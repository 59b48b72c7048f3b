"""Mixes as the hosts of one sum: each registers the collection, and they agree before any of them hands over."""

from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest

from parties.agreement.summing import Hosts, Sum
from parties.mix.mixing import mixing
from parties.service.at_work import run
from shuffledp.parties.agreement.agreement_courier import Courier
from shuffledp.parties.agreement.agreement_steps import Stage
from shuffledp.parties.wire.close_request import CLOSE_TYPE, CloseRequest
from shuffledp.survey import Service

WAGES = [10, 20, 30, 40, 50, 60, 70, 80, 90]


class AtMixes(Hosts):
    """Hosts of a sum that are mixes."""

    def __init__(self, given, folder, mixes):
        super().__init__(given, folder)
        self.mixes = mixes
        for number, mix in enumerate(mixes):
            self.apps[number] = mix.client._transport.app
            self.at[number] = mix.at(given.collection)._at_shuffler

    async def close_at_all(self):
        """Close it at each mix, as the analyst."""
        body = CloseRequest.by(self.given.analyst, self.given.collection.id, datetime.now(UTC)).encode()
        for mix in self.mixes:
            answer = await mix.post(f"{self.given.collection.path}/close", body, CLOSE_TYPE)
            assert answer.status_code == 200
        for each in self.at.values():
            await each.advance()


@pytest.mark.deep
def test_three_mixes_of_three_operators_release_one_sum(tmp_path):
    async def play():
        async with AsyncExitStack() as stack:
            given = Sum.new()
            urls = [each.url for each in given.collection.hosts]
            mixes = [await stack.enter_async_context(mixing(tmp_path / url[8:], url=url)) for url in urls]
            services = [Service(url=each.terms.url, key=each.terms.shuffler) for each in mixes]
            given.collection = replace(given.collection, shuffler=services[0], further_shufflers=tuple(services[1:]))
            answers = [await mix.register(given.collection) for mix in mixes]
            assert [each.status_code for each in answers] == [201] * 3
            foreign = replace(given.collection, further_shufflers=given.collection.further_shufflers[::-1])
            assert (await mixes[0].register(foreign)).status_code == 201  # of the same hosts, in another order
            people, sums = given.shares(WAGES)
            hosts = AtMixes(given, tmp_path, mixes)
            for number, mix in enumerate(mixes):
                assert await mix.send(given.collection, *(each[number] for each in people[number:])) == {}
            await hosts.close_at_all()
            told = [(await mix.client.get(given.collection.path)).json() for mix in mixes]
            assert [(each["phase"], each["step"]) for each in told] == [("agreeing", "frozen")] * 3
            assert await hosts.carry()
            assert await hosts.result() == (7, sum(sums[2:]) % given.model.modulus)
            for mix in mixes:
                await mix.host.look()  # all is handed over, and forgotten
            async with hosts.client as client:
                standings = await Courier(given.collection, given.analyst, client).round()
            assert [each.stage for each in standings] == [Stage.AGREED] * 3
            told = [(await mix.client.get(given.collection.path)).json()["phase"] for mix in mixes]
            assert told == ["released"] * 3

    run(play)


@pytest.mark.deep
def test_a_mix_that_is_none_of_the_hosts_takes_no_such_collection(tmp_path):
    async def play():
        given = Sum.new()
        async with mixing(tmp_path) as mix:
            answer = await mix.register(given.collection)
            assert (answer.status_code, answer.json()["type"]) == (422, "urn:shuffledp:error:otherMix")
            with pytest.raises(httpx.HTTPStatusError):
                answer.raise_for_status()

    run(play)
