"""An open mix as this version leaves it on the disk, and how a later version goes on with it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parties.client.answering import asking
from parties.mix.mixing import UNVOUCHED, Mixing, Survey, mixing
from parties.mix.test_mix_collections import (
    answers,
    by_invitation,
    close,
    fetched,
    like_a_statement,
    registered,
    released,
    token,
)
from parties.service.given import YES_NO
from shuffledp.parties.issuer.invitations import Invitation
from shuffledp.parties.wire.grammar import UPLOAD_TYPE, UploadRequest, UploadResponse
from shuffledp.parties.wire.keys import Role, from_pem
from shuffledp.parties.wire.mix_terms import MixPolicy
from shuffledp.parties.wire.registrant_proofs import ISSUER_KEY_TYPE
from shuffledp.survey import Collection

POLICY = MixPolicy(people=200, days=40_000)
LONG = {"days": 36_500.0, "fetch_days": 36_500.0}  # so that later versions find it open
ANSWERS = 12
WAITING = bytes(15) + b"w"  # name of a key that waits for its collection
OF_TWO = [{"column": name, "randomizer": YES_NO} for name in ("smokes", "drinks")]


def mix_in(folder: Path, **further: Any) -> Any:
    """The mix at work on the state of a folder."""
    return mixing(folder, policy=POLICY, **further)


async def record_mix(folder: Path) -> None:
    """A mix with three collections: one is open, by invitation; of one batches wait; of one there is the result."""
    async with mix_in(folder) as mix:
        open_, invited, _, _ = await by_invitation(mix, ANSWERS, **LONG)
        given = {"page": None} | LONG
        waiting = await registered(mix, asked=asking(*OF_TWO, people=UNVOUCHED), **given)
        ended = await registered(mix, **given)
        surveys = {"open": open_, "waiting": waiting, "ended": ended}
        shown = {"authorization": f"Bearer {mix.code}"}
        (await mix.post("/issuer-keys", WAITING, ISSUER_KEY_TYPE, **shown)).raise_for_status()
        spent = await token(mix, open_.collection, invited[0])
        body = UploadRequest(tuple(answers(open_.collection, 1))).encode()
        await sent(mix, open_.collection, body, spent)
        for each in (waiting, ended):
            await mix.send(each.collection, *answers(each.collection, ANSWERS))
            await close(mix, each)
        await mix.at(waiting.collection).advance()
        await fetched(mix, ended)
        await mix.host.look()
        result = like_a_statement(ended.collection)
        (await mix.publish(ended.collection, ended.key, result)).raise_for_status()
        said = {
            "code": mix.code,
            "collections": {name: each.collection.id.hex() for name, each in surveys.items()},
            "invited": [each.to_dict() for each in invited],
            "stored": {"body": body.hex(), "token": spent},
            "page": open_.collection.page.sha256,
        }
        for name, each in surveys.items():
            (folder / f"{name}.collection").write_bytes(each.collection.canonical)
            (folder / f"{name}.key").write_text(each.key.to_pem())
    (folder / "expected.json").write_text(json.dumps(said, indent=2) + "\n")


async def sent(mix: Mixing, collection: Collection, body: bytes, shown: str) -> list[str]:
    """The names of the errors of an upload with a token."""
    answer = await mix.post(f"{collection.path}/reports", body, UPLOAD_TYPE, authorization=shown)
    assert answer.status_code == 200, answer.text
    return [each.error.name for each in UploadResponse.decode(answer.content).refused]


@dataclass
class Left:
    """A collection of the mix that was left, with its analyst's key."""

    collection: Collection
    key: Any

    @classmethod
    def read(cls, folder: Path, name: str) -> "Left":
        """The one of this name."""
        file = folder / f"{name}.key"
        return cls(Collection.read(folder / f"{name}.collection"), from_pem(file.read_text(), Role.ANALYZER))


async def to_its_end(folder: Path) -> dict[str, Any]:
    """What the mix that was left in a folder does when people and analysts go on."""
    expected = json.loads((folder / "expected.json").read_text())
    surveys = {name: Left.read(folder, name) for name in expected["collections"]}
    invited, found = [Invitation.from_dict(each) for each in expected["invited"]], {}
    async with mix_in(folder) as mix:
        mix.code = expected["code"]
        collection, stored = surveys["open"].collection, expected["stored"]
        found["page"] = (await mix.client.get(collection.page.url)).content
        found["digest"] = expected["page"]
        found["the same again"] = await sent(mix, collection, bytes.fromhex(stored["body"]), stored["token"])
        first, *others = answers(collection, ANSWERS)
        found["a spent token"] = await sent(mix, collection, UploadRequest((first,)).encode(), stored["token"])
        found["a used invitation"] = await token(mix, collection, invited[0])
        found["others"] = []
        for submission, invitation in zip(others, invited[1:], strict=True):
            shown = await token(mix, collection, invitation)
            found["others"] += await sent(mix, collection, UploadRequest((submission,)).encode(), shown)
        await close(mix, surveys["open"])
        for name in ("open", "waiting"):
            told = await released(folder / name, mix, surveys[name])
            found[name] = [each["num_reports"] for each in told["columns"]]
        ended = await mix.client.get(f"{surveys['ended'].collection.path}/result")
        found["results"] = len(ended.json()["results"])
        shown = {"authorization": f"Bearer {mix.code}"}
        found["key"] = (await mix.post("/issuer-keys", WAITING, ISSUER_KEY_TYPE, **shown)).status_code
        found["new"] = (await mix.register(Survey(mix.terms).collection)).status_code
        await mix.host.look()
        found["ended"] = [mix.at(each.collection).has_ended for each in surveys.values()]
    return found
