"""What is left of ended collections on the disks of shuffler, analyzer and issuer is removed, and all else stays."""

import numpy as np
import pytest

from cli.running import refused, shuffledp
from parties.issuer.issuing import WithTokens
from parties.service.given import Parties
from parties.service.processes import Place
from parties.service.test_analyzer_app import submissions_of
from shuffledp.core.errors import InvalidParameterError, LocalProtocolError, RemoteProtocolError
from shuffledp.parties.issuer.issuer_store import IssuerStore
from shuffledp.parties.kit.old_states import config_of, forget
from shuffledp.parties.service.batch_store import BatchStore
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.collection_at_shuffler import _rows
from shuffledp.parties.service.report_store import ReportStore

FIRST, SECOND, THIRD, FOURTH = (f"{number:064x}" for number in range(1, 5))


def left_at_shuffler(where, name, phase, *, outgoing=0):
    """The state of a collection as a shuffler leaves it, with a batch of so many reports on its way."""
    folder = where.folder / "shuffler" / name
    store = ReportStore(folder, pools=[1], remembers=False)
    if outgoing:
        store.commit([_rows(each) for each in submissions_of(where.parties, np.arange(outgoing) % 2)])
        store.release(outgoing, lambda *_: (np.arange(outgoing), np.arange(outgoing)), lambda _: b"signed")
    store.enter(phase)
    store.close()
    return folder


def told(where, role):
    return {each.collection: each.stays for each in forget(config_of(where.folder / f"{role}.toml"))}


def test_a_shuffler_forgets_what_has_ended_and_nothing_else(tmp_path):
    where = Place(tmp_path)
    for name, phase in ((FIRST, Phase.RELEASED), (SECOND, Phase.DESTROYED), (THIRD, Phase.CLOSING)):
        left_at_shuffler(where, name, phase)
    left_at_shuffler(where, FOURTH, Phase.DESTROYED, outgoing=4)
    own = left_at_shuffler(where, where.parties.collection.id.hex(), Phase.RELEASED)
    (tmp_path / "shuffler" / "lost+found").mkdir()
    assert told(where, "shuffler") == {
        FIRST: "",
        SECOND: "",
        THIRD: "its phase is closing, so that answers may wait",
        FOURTH: "a batch waits for the analyzer",
    }
    assert {each.name for each in (tmp_path / "shuffler").iterdir()} == {THIRD, FOURTH, own.name, "lost+found"}


def test_a_state_that_a_service_has_open_is_refused_and_stays(tmp_path):
    where = Place(tmp_path)
    folder = left_at_shuffler(where, FIRST, Phase.RELEASED)
    store = ReportStore(folder, pools=[1], remembers=False)
    with pytest.raises(LocalProtocolError, match="another one has them open"):
        told(where, "shuffler")
    store.close()
    assert told(where, "shuffler") == {FIRST: ""}


def test_an_issuer_forgets_what_was_closed(tmp_path):
    where = Place(tmp_path, kind=WithTokens)
    own = where.parties.collection.id
    store = IssuerStore(tmp_path / "issuer")
    for each in (FIRST, SECOND):
        store.invite(bytes.fromhex(each), [bytes(32)])
    store.close_collections([bytes.fromhex(FIRST), own])
    store.close()
    assert told(where, "issuer") == {FIRST: "", SECOND: "it was not closed here"}
    store = IssuerStore(tmp_path / "issuer")
    assert dict(store.known()) == {bytes.fromhex(SECOND): False, own: True}
    store.close()


def test_an_analyzer_forgets_what_is_released(tmp_path):
    where = Place(tmp_path)
    own = where.parties.collection.id.hex()
    store = BatchStore(tmp_path / "analyzer")
    rows = [(FIRST, 0, 1), (FIRST, 1, 1), (SECOND, 0, 1), (SECOND, 1, 0), (own, 0, 1)]
    for number, (name, column, done) in enumerate(rows):
        given = bytes([number]), bytes.fromhex(name), 0, column, b"", done
        store.run("INSERT INTO batches VALUES(?, ?, ?, ?, ?, ?)", *given)
    store.close()
    assert told(where, "analyzer") == {FIRST: "", SECOND: "a batch of it is not released"}
    store = BatchStore(tmp_path / "analyzer")
    assert dict(store.known()) == {bytes.fromhex(SECOND): False, bytes.fromhex(own): True}
    store.close()


def test_the_file_of_another_service_is_refused_and_a_service_that_never_ran_has_nothing(tmp_path):
    (tmp_path / "relay.toml").write_text('listen = "127.0.0.1:1"\n[targets]\n')
    with pytest.raises(InvalidParameterError, match="must be of a shuffler, an analyzer or an issuer"):
        config_of(tmp_path / "relay.toml")
    where = Place(tmp_path, kind=WithTokens)
    assert [told(where, role) for role in ("shuffler", "analyzer", "issuer")] == [{}, {}, {}]


# ---- the commands ---------------------------------------------------------------------------------------------------


def test_the_command_lists_what_it_removed_and_what_stays(tmp_path):
    where = Place(tmp_path)
    given = ("collect", "forget", "--config", tmp_path / "shuffler.toml")
    assert "Nothing is kept of a collection that the configuration does not name." in shuffledp(*given).out
    for name, phase in ((FIRST, Phase.RELEASED), (SECOND, Phase.CLOSED)):
        left_at_shuffler(where, name, phase)
    said = shuffledp(*given).out
    assert f"Removed: {FIRST}, phase and counts." in said
    assert f"Stays: {SECOND}, phase and counts: its phase is closed" in said
    assert "name its collection in the configuration again" in said


def test_the_states_of_all_collections_in_a_folder_are_asked_for_at_once(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "survey.collection").write_bytes(Parties().collection.canonical)
    monkeypatch.chdir(tmp_path)
    answers = iter([{"phase": "open", "at_least_minimum": True}, None] * 2)

    def asked(*_, **__):
        found = next(answers)
        if found is None:
            raise RemoteProtocolError("no answer.")
        return found

    monkeypatch.setattr("shuffledp.cli.states_command.status_of", asked)
    done = shuffledp("collect", "status", ".", "--all")
    assert "1 of 2 collections got no answer" in done.err
    assert done.code != 0
    _, *rows = [" ".join(line.split()) for line in done.out.splitlines()]
    assert [row.partition(" 20")[0] for row in rows] == [
        "one/survey.collection survey open yes",
        "two/survey.collection survey no answer -",
    ]
    several = shuffledp("collect", "status", ".", "--all", "--json").json["collections"]
    assert [each["phase"] for each in several] == ["open", "no answer"]
    (tmp_path / "none").mkdir()
    assert "none has none" in refused(2, "collect", "status", "none", "--all")
