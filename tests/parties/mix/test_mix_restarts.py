"""A mix that starts again: what it takes up, and what it answers meanwhile."""

import asyncio
import os

import pytest

from parties.issuer.issuing import issuer_key
from parties.mix.mixing import Survey, mixing
from parties.mix.test_mix_registration import kind
from parties.service.at_work import run
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.mix import mix_folder
from shuffledp.parties.mix.mix_folder import MixFolder
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.registrant_proofs import ISSUER_KEY_TYPE
from shuffledp.survey import Service

pytestmark = pytest.mark.usefixtures("at_once")


def test_a_process_that_is_killed_after_a_registration_leaves_no_key_for_a_second_collection(tmp_path, monkeypatch):
    made = issuer_key()
    monkeypatch.setattr(mix_folder.IssuerKey, "generate", lambda: made)

    async def test():
        async with mixing(tmp_path) as mix:
            shown = {"authorization": f"Bearer {mix.code}"}
            key = await mix.post("/issuer-keys", os.urandom(16), ISSUER_KEY_TYPE, **shown)
            issuer = Service(url=mix.terms.url, key=PublishedKey.from_dict(key.json()))
            surveys = [Survey(mix.terms, issuer=issuer, transport="token") for _ in range(2)]
            with monkeypatch.context() as killed:  # between the rename and the removal
                killed.setattr(MixFolder, "_settled", lambda _, registered: registered)
                assert (await mix.register(surveys[0].collection)).status_code == 201
        async with mixing(tmp_path) as again:
            known = again.at(surveys[0].collection).at_issuer is not None
            return known, kind(await again.register(surveys[1].collection))

    assert run(test) == (True, (422, "otherMix"))


def test_what_lies_beside_the_registrations_is_left_alone_and_a_broken_one_is_named(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            survey = Survey(mix.terms)
            await mix.register(survey.collection)
        folder = tmp_path / "mix" / "collections"
        (folder / "lost+found").mkdir()
        (folder / "note.txt").write_text("of the operator")
        async with mixing(tmp_path) as again:
            assert again.at(survey.collection) is not None
        whole = folder / survey.collection.id.hex()
        for spoil in (
            lambda: whole.rename(folder / ("0" * 64)),  # a copy
            lambda: (folder / ("0" * 64) / "survey.collection").write_bytes(b"{}"),
            (folder / ("0" * 64) / "registration.json").unlink,
        ):
            spoil()
            with pytest.raises(InvalidParameterError, match=f"{'0' * 64} is none. If it is of a later version"):
                async with mixing(tmp_path):
                    pass
        assert {each.name for each in folder.iterdir()} == {"lost+found", "note.txt", "0" * 64}

    run(test)


def test_a_mix_answers_while_it_takes_its_collections_up_and_asks_to_come_again_for_the_others(tmp_path):
    async def test():
        async with mixing(tmp_path) as mix:
            surveys = [Survey(mix.terms) for _ in range(3)]
            for each in surveys:
                await mix.register(each.collection)
        by_id = sorted(surveys, key=lambda each: each.collection.id.hex())
        async with mixing(tmp_path, opened=False) as again:
            opening = asyncio.create_task(again.host.open())
            while again.at(by_id[0].collection) is None:
                await asyncio.sleep(0)
            early = [(await again.page(each.collection)).status_code for each in by_id]
            early.append((await again.client.get(by_id[2].collection.path)).status_code)
            early.append(kind(await again.register(Survey(again.terms).collection)))
            early.append((await again.client.post("/gateway")).status_code)
            early.append((await again.client.get("/mix")).status_code)
            await opening
            return early, [(await again.page(each.collection)).status_code for each in (*by_id, Survey(again.terms))]

    early, later = run(test)
    assert early[0] == 200
    assert early[2:] == [503, 503, (503, "unavailable"), 503, 200]
    assert later == [200, 200, 200, 404]
