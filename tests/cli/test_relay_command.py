"""`shuffledp relay`: three friends and a shared folder, and everything that is refused in one line."""

import contextlib
import multiprocessing
import shutil
from concurrent.futures import ProcessPoolExecutor

import pytest

from cli.running import refused, shuffledp, write_task
from shuffledp.core.errors import RemoteProtocolError

WALK = {"kind": "network", "overlay": {"groups": [3]}, "links": "constant"}
NAMES = ("ann", "bob", "cyd")
PARTIES = (
    "--shuffler", "http://127.0.0.1:1", "--shuffler-key", "operator.key",
    "--analyzer", "http://127.0.0.1:2", "--analyzer-key", "analyst.key", "--closes", "2099-12-31",
)  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with the keys of three members, of the operator and the analyst, a directory and a collection."""
    folder = tmp_path_factory.mktemp("friends")
    with contextlib.chdir(folder):
        prepare(folder)
    return folder


@pytest.fixture
def friends(prepared, tmp_path, monkeypatch):
    """A copy of it, in which the commands run."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prepare(folder):
    for name in NAMES:
        assert shuffledp("relay", "join", "--name", name, "--output", f"{name}.key").code == 0
    shuffledp("keys", "new", "--role", "shuffler", "--output", "operator.key")
    shuffledp("keys", "new", "--role", "analyzer", "--output", "analyst.key")
    listed("friends.directory", *NAMES)
    write_task(folder, shuffler=WALK, release={"delta": 1e-3, "minimum_batch": 3})
    made = shuffledp("collect", "new", "task.toml", "--directory", "friends.directory", *PARTIES, "--output", "c")
    assert made.code == 0, made.err
    (folder / "shared").mkdir()


def listed(output, *names):
    entries = [f"{name}.key.pub" for name in names]
    return shuffledp("relay", "directory", *entries, "--key", "operator.key", "--output", output)


def run(name, *options, directory="friends.directory"):
    return ("relay", "run", "c", "--directory", directory, "--key", f"{name}.key", "--value", "Yes", *options)


def by_folder(name):
    return (*run(name, "--folder", "shared", "--patience", 60), "--state", f"state-{name}")


def call(arguments):
    return shuffledp(*arguments).code


def test_friends_who_share_a_folder_come_to_a_release(friends):
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("fork")) as pool:
        assert list(pool.map(call, [by_folder(name) for name in NAMES])) == [0, 0, 0]
    given = ("relay", "release", "c", "--directory", "friends.directory", "--key", "analyst.key", "--folder", "shared")
    released = shuffledp(*given, "--output", "release", "--json")
    assert released.code == 0, released.err
    assert released.json["flow"]["released"] == 3
    assert "has taken part in the collection already" in refused(2, *by_folder("ann"))


def test_a_directory_is_shown_and_a_member_left_out(friends):
    shown = shuffledp("relay", "directory", "--from", "friends.directory", "--json").json
    assert sorted(each["name"] for each in shown["members"]) == list(NAMES)
    fewer = ("relay", "directory", "--from", "friends.directory", "--without", "bob", "--key", "operator.key")
    assert shuffledp(*fewer, "--output", "fewer.directory").code == 0
    shown = shuffledp("relay", "directory", "--from", "fewer.directory", "--json").json
    assert sorted(each["name"] for each in shown["members"]) == ["ann", "cyd"]
    assert "--from must be given with --without" in refused(2, "relay", "directory", *fewer[4:], "--output", "x")
    assert "--key and --output must be given" in refused(2, "relay", "directory", "ann.key.pub")
    assert "--key must be a key that signs" in refused(
        2, "relay", "directory", "ann.key.pub", "bob.key.pub", "--key", "analyst.key", "--output", "x"
    )


def test_whatever_does_not_belong_together_is_refused_in_one_line_and_nothing_is_sent(friends):
    shuffledp("relay", "join", "--name", "eve", "--output", "eve.key")
    assert "no entry has it" in refused(2, *run("eve"))
    listed("other.directory", *NAMES, "eve")
    assert "must be the one that the collection names" in refused(2, *run("ann", directory="other.directory"))
    content = (friends / "friends.directory").read_text()
    (friends / "bad.directory").write_text(content.replace('"name":"bob"', '"name":"bab"'))
    assert "signature of member bab must be made by the member" in refused(2, *run("ann", directory="bad.directory"))
    signature = content.rpartition('"signature":"')[2].partition('"')[0]
    (friends / "bad.directory").write_text(content.replace(signature, "A" * len(signature)))
    assert "must be signed by its operator" in refused(2, *run("ann", directory="bad.directory"))
    assert "two have the same name: ann" in refused(
        2, "relay", "directory", "ann.key.pub", "ann.key.pub", "--key", "operator.key", "--output", "x"
    )
    listed("two.directory", "ann", "bob")
    line = refused(2, "collect", "new", "task.toml", "--directory", "two.directory", *PARTIES, "--output", "d")
    assert "people must be at least minimum_batch=3" in line
    write_task(friends, shuffler=WALK | {"gate": 0.4, "rounds": 4}, release={"delta": 1e-3, "minimum_batch": 3})
    bound = ("task.toml", "--directory", "friends.directory", *PARTIES)
    for quietly in ((), ("--quiet",)):
        assert "gate must be at least " in refused(2, "collect", "new", *bound, *quietly, "--output", "shut")
    assert not (friends / "shut").exists()
    assert "folder must be one that all members share" in refused(2, *run("ann", "--folder", "absent"))
    assert list((friends / "shared").iterdir()) == []


def test_a_post_office_that_does_not_answer_is_said_in_one_line_and_the_report_is_kept(friends):
    line = refused(9, *run("ann", "--patience", 0, "--state", "state"))
    assert "the post office, http://127.0.0.1:1, must answer; got: no answer. What is held is kept" in line
    (kept,) = (friends / "state").glob("*.member")
    assert kept.stat().st_mode & 0o777 == 0o600
    before = kept.read_bytes()
    refused(9, *run("ann", "--patience", 0, "--state", "state"))
    assert kept.read_bytes() == before


@pytest.mark.usefixtures("friends")
@pytest.mark.parametrize("given", [(), ("--patience", 7200)])
def test_a_post_office_that_is_away_is_waited_for_for_all_of_the_patience(monkeypatch, given):
    told = []

    def client(*_, **further):
        told.append((further["patience"], further["patience_of_stage"]))
        raise RemoteProtocolError("a post office must answer.")

    monkeypatch.setattr("shuffledp.parties.relay.post_office_client.PostOfficeClient", client)
    refused(2, *run("ann", *given, "--state", "state"))
    seconds = float(given[1]) if given else 3600.0
    assert told == [(seconds, seconds)]


def test_what_cannot_be_waited_for_or_has_no_use_is_refused_and_nothing_is_kept(friends):
    assert "patience must be a number that is 0 or more" in refused(2, *run("ann", "--patience", -5, "--state", "s"))
    shared = (*run("ann", "--folder", "shared"), "--ca", "task.toml", "--state", "s")
    assert "--ca must be left out" in refused(2, *shared)
    assert list((friends / "shared").iterdir()) == []
