"""What a killed analyzer leaves beside its releases: taken away at the next start, and nothing of others is touched."""

import os
import signal
import stat

import pytest

from parties.service.at_work import analyzer, collected, run
from parties.service.given import Parties
from parties.service.test_analyzer_app import submissions_of
from parties.service.test_report_store import killed, opened
from shuffledp.files import new_folder
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.relay.mailboxes import Mailboxes
from shuffledp.parties.service import batch_release
from shuffledp.parties.service.batch_store import BatchStore


def hidden(folder):
    return sorted(path.name for path in folder.glob(".shuffledp-*"))


@pytest.mark.usefixtures("without_a_page")
def test_a_release_that_was_half_written_is_gone_after_the_next_start_and_is_then_written(tmp_path, monkeypatch):
    parties = Parties()

    def killed_while_it_writes():
        monkeypatch.setattr(batch_release, "write_release", lambda *_, **_further: os.kill(os.getpid(), signal.SIGKILL))
        run(collected, tmp_path, parties, submissions_of(parties))

    assert killed(killed_while_it_writes)
    assert len(hidden(tmp_path)) == 1

    async def started_again():
        async with analyzer(tmp_path, parties) as (_, at_analyzer, _):
            assert hidden(tmp_path) == []
            await at_analyzer.release()

    run(started_again)
    assert (tmp_path / "release" / "statement.json").exists()


def test_private_folders_of_others_stay(tmp_path):
    parties = Parties()
    store = BatchStore(tmp_path / "another")
    store.close()

    def of(maker):
        with new_folder(tmp_path / "release", maker=maker):
            os.kill(os.getpid(), signal.SIGKILL)

    assert killed(lambda: of(""))  # of a command such as `analyze`, which may be at work now
    assert killed(lambda: of(store.name))
    before = hidden(tmp_path)

    async def started():
        async with analyzer(tmp_path, parties):
            return hidden(tmp_path)

    assert len(before) == 2
    assert run(started) == before


@pytest.mark.parametrize(
    "made", [BatchStore, IssuerStore, Mailboxes, lambda folder: opened(folder / "collection").__enter__()]
)
def test_only_its_owner_may_look_into_a_state_folder(tmp_path, made):
    before = os.umask(0o022)
    try:
        store = made(tmp_path / "above" / "state")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "above").rglob("*") if path.is_dir()} == {0o700}
    assert stat.S_IMODE((tmp_path / "above").stat().st_mode) == 0o700
    if not isinstance(store, Mailboxes):
        store.close()
    else:
        run(store.close)
