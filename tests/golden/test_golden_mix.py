"""A mix that a released version left open goes on with this one, also if its start is killed; going back is refused."""

import asyncio
import hashlib
import json
import os
import shutil
import signal
import sqlite3
from contextlib import closing

import pytest

from golden.record_released import RELEASED
from golden.released_mix import ANSWERS, Left, mix_in, to_its_end
from parties.mix.conftest import at_once, without_a_page  # noqa: F401
from parties.mix.test_mix_collections import token
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError
from shuffledp.parties.issuer.invitations import Invitation
from shuffledp.parties.store.database import Database

VERSIONS = sorted(path.parent.name for path in RELEASED.glob("*/mix"))
pytestmark = pytest.mark.usefixtures("at_once", "without_a_page")


def copied(version, folder):
    """A copy of what a version left, with files for their owner alone, as git does not keep them."""
    shutil.copytree(RELEASED / version / "mix", folder)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


@pytest.fixture(params=VERSIONS)
def left(request, tmp_path):
    return copied(request.param, tmp_path / "left")


def changed(path, *statements):
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def of_before(folder):
    """The state as a version before the released ones left it: other tables, which are taken over at the start."""
    changed(
        folder / "mix" / "issuer" / "issued.sqlite",
        "CREATE TABLE issued(collection BLOB, code BLOB, request BLOB, PRIMARY KEY(collection, code)) WITHOUT ROWID",
        "INSERT INTO issued SELECT * FROM invited WHERE request != zeroblob(32)",
        "DELETE FROM invited",
    )
    return folder


async def opened(folder):
    """Open the mix, and end it."""
    async with mix_in(folder):
        pass


def check(folder):
    """Everything goes on to its end, and nothing is lost or counted twice."""
    found = asyncio.run(to_its_end(folder))
    page = found.pop("page")
    assert hashlib.sha256(page).hexdigest() == found.pop("digest")
    assert found == {
        "the same again": [],
        "a spent token": ["TOKEN_SPENT"],
        "a used invitation": (403, "invitationUsed"),
        "others": [],
        "open": [ANSWERS],
        "waiting": [ANSWERS] * 2,
        "results": 1,
        "key": 200,
        "new": 201,
        "ended": [True] * 3,
    }


def test_an_open_mix_is_taken_up_with_its_page_and_what_it_knew(left):
    async def asked():
        expected = json.loads((left / "expected.json").read_text())
        survey = Left.read(left, "open")
        async with mix_in(left) as mix:
            page = (await mix.client.get(survey.collection.page.url)).content
            used = await token(mix, survey.collection, Invitation.from_dict(expected["invited"][0]))
            return [each.collection.id.hex() for each in mix.host], hashlib.sha256(page).hexdigest(), used, expected

    assert VERSIONS
    taken_up, page, used, expected = asyncio.run(asked())
    assert sorted(taken_up) == sorted(expected["collections"].values())
    assert (page, used) == (expected["page"], (403, "invitationUsed"))


@pytest.mark.deep
def test_an_open_mix_goes_on_to_its_releases(left):
    check(left)


@pytest.mark.deep
def test_the_invitations_of_before_are_taken_over(left):
    check(of_before(left))


def killed_at(number, folder):
    """Whether a process that opens the mix was killed just before this statement of its databases."""
    pid = os.fork()
    if not pid:
        run, count = Database.run, iter(range(number + 1))

        def counted(self, statement, *values):
            if next(count) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return run(self, statement, *values)

        Database.run = counted
        try:
            asyncio.run(opened(folder))
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


@pytest.mark.deep
@pytest.mark.parametrize("version", VERSIONS)
def test_whichever_statement_of_its_start_a_mix_is_killed_at_it_goes_on(tmp_path, version):
    number, kills = 0, 0
    while True:
        folder = of_before(copied(version, tmp_path / str(number)))
        if not killed_at(number, folder):
            break
        kills += 1
        killed_at(number // 2, folder)  # and once more, in the middle of what was left
        check(folder) if number % 3 == 0 else asyncio.run(opened(folder))
        shutil.rmtree(folder)
        number += 1
    assert kills > 50  # statements of four databases


# ---- going back -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["issued.sqlite", "reports.sqlite"])
def test_going_back_from_a_version_that_has_added_a_table_is_refused_with_what_to_do(left, name):
    file, *_ = sorted((left / "mix").rglob(name))
    changed(file, "CREATE TABLE later(what BLOB)")
    before = file.read_bytes()
    with pytest.raises(LocalProtocolError, match=r"its table later is of another. Take the later one again"):
        asyncio.run(opened(left))
    assert file.read_bytes() == before
    changed(file, "DROP TABLE later")  # as the later version, which goes on
    asyncio.run(opened(left))


def test_going_back_from_a_version_that_has_registered_something_else_is_refused_with_what_to_do(left):
    file, *_ = sorted((left / "mix" / "collections").rglob("survey.collection"))
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b'{"analyzer"', b'{"a_later_key":1,"analyzer"', 1))
    with pytest.raises(InvalidParameterError, match="of a later version take that one again"):
        asyncio.run(opened(left))
    file.write_bytes(whole)
    asyncio.run(opened(left))
