"""A shuffler that is killed at any moment loses nothing that it has acknowledged, and stores nothing twice."""

import asyncio
import json
import secrets
import signal
from contextlib import closing

import httpx
import pytest

from parties.service.at_work import looks_sealed
from parties.service.processes import place
from shuffledp.parties.service.intake import Count
from shuffledp.parties.service.report_store import ReportStore
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest

CLIENTS = 8


class Crowd:
    """People who send until they are answered, and some of them again."""

    def __init__(self, where, count):
        collection = where.parties.collection
        self._url = f"{where.url}{collection.path}/reports"
        self.left = [UploadRequest((looks_sealed(collection),)).encode() for _ in range(count)]
        self.acknowledged = []

    async def answer(self):
        """All of them, at once by as many connections as there are clients."""
        async with httpx.AsyncClient(headers={"content-type": UPLOAD_TYPE}, timeout=20.0) as client:
            await asyncio.gather(*(self._client(client) for _ in range(CLIENTS)))

    async def _client(self, client):
        while self.left:
            body = self.left.pop()
            again = bool(self.acknowledged) and secrets.randbelow(10) == 0
            for each in [body, *([secrets.choice(self.acknowledged)] if again else [])]:
                await self._until_stored(client, each)
            self.acknowledged.append(body)

    async def _until_stored(self, client, body):
        while True:
            try:
                answer = await client.post(self._url, content=body)
                if answer.status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.01)


async def killed_while_people_answer(where, kills, count):
    crowd = Crowd(where, count)
    where.start("shuffler")
    answering = asyncio.create_task(crowd.answer())
    for number in range(1, kills + 1):
        while len(crowd.acknowledged) < number * count // (kills + 2):
            await asyncio.sleep(0.001)
        where.running["shuffler"].end(signal.SIGKILL)
        where.start("shuffler")
    await answering
    return crowd


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.deep)])
def test_every_acknowledged_report_is_stored_once_however_often_the_shuffler_is_killed(tmp_path, kills):
    count = 40 * kills
    with place(tmp_path) as where:
        crowd = asyncio.run(asyncio.wait_for(killed_while_people_answer(where, kills, count), 60 * kills))
        where.running["shuffler"].end()
    assert len(crowd.acknowledged) == count
    folder = tmp_path / "shuffler" / where.parties.collection.id.hex()
    with closing(ReportStore(folder, pools=[1], remembers=False)) as store:
        assert store.waiting == count
        assert store.counts()[Count.STORED] == count
        assert store.counts()[Count.DUPLICATE] >= 1
    events = [json.loads(line)["event"] for line in where.log("shuffler").read_text().splitlines()]
    assert events == ["started"] * (kills + 1) + ["stopped"]
