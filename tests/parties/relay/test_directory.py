"""Who takes part: entries that members sign, a list that the operator signs, and a collection that fixes both."""

import json
from dataclasses import replace

import pytest

from parties.relay.members import Circle, keys_of
from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.parties.relay.directory import Directory, in_order
from shuffledp.parties.relay.member_keys import Entry, MemberKey
from shuffledp.parties.wire.keys import ShufflerKey, in_text


def test_an_entry_is_read_as_it_was_written_and_the_key_too(tmp_path):
    key = MemberKey.generate()
    entry = key.write(tmp_path / "ann.key", "ann")
    assert Entry.read(tmp_path / "ann.key") == Entry.read(tmp_path / "ann.key.pub") == entry
    again = MemberKey.read(tmp_path / "ann.key")
    assert again.entry("ann") == entry
    assert (tmp_path / "ann.key").stat().st_mode & 0o777 == 0o600
    secrets = key.to_pem().splitlines()
    assert secrets[1] not in (tmp_path / "ann.key.pub").read_text() + repr(key)


def test_nobody_enrolls_another_key_to_seal_to_under_a_members_name():
    mine, theirs = (key.entry("ann") for key in keys_of(2))
    for changed in ({"opening": theirs.opening}, {"name": "bob"}, {"identity": theirs.identity}):
        with pytest.raises(InvalidParameterError, match=r"signature of member (ann|bob) must be made by the member"):
            replace(mine, **changed)


@pytest.mark.parametrize("name", ["", "a b", "-a", "a" * 65, "ä", "a\n"])
def test_names_are_short_and_plain(name):
    with pytest.raises(InvalidParameterError, match="name must be 1 to 64 letters"):
        keys_of(1)[0].entry(name)


def test_files_of_something_else_are_refused(tmp_path):
    (tmp_path / "key").write_text("-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n")
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "key.pub").write_text("[1]")
    with pytest.raises(InvalidParameterError, match="as `shuffledp relay join` wrote it"):
        MemberKey.read(tmp_path / "key")
    with pytest.raises(InvalidParameterError, match="must be a table"):
        Entry.read(tmp_path / "key")
    (tmp_path / "key.pub").write_text("{")
    with pytest.raises(InputDataError, match="must be an entry"):
        Entry.read(tmp_path / "key")


def test_a_directory_is_read_as_it_was_written_and_its_order_is_nobodys_choice(tmp_path):
    circle = Circle()
    (tmp_path / "d").write_bytes(circle.directory.canonical + b"\n")
    assert Directory.read(tmp_path / "d") == circle.directory
    shuffled = tuple(reversed(circle.directory.entries))
    assert in_order(shuffled) == circle.directory.entries
    with pytest.raises(InvalidParameterError, match="must be in the order that follows from their identities"):
        replace(circle.directory, entries=shuffled)
    places = [circle.directory.place_of(key.identity) for key in circle.keys]
    assert places == list(range(6))


def test_a_changed_directory_is_refused():
    circle = Circle()
    with pytest.raises(InvalidParameterError, match="must be signed by its operator"):
        replace(circle.directory, entries=in_order(circle.directory.entries[1:]))
    with pytest.raises(InvalidParameterError, match="must be signed by its operator"):
        replace(circle.directory, operator=in_text(ShufflerKey.generate().public))


def test_nobody_is_there_twice():
    operator, (first, second) = ShufflerKey.generate(), keys_of(2)
    with pytest.raises(InvalidParameterError, match="two have the same name: ann"):
        Directory.signed([first.entry("ann"), second.entry("ann")], operator)
    with pytest.raises(InvalidParameterError, match=r"two have the same identity: (ann and bob|bob and ann)"):
        Directory.signed([first.entry("ann"), first.entry("bob")], operator)
    with pytest.raises(InvalidParameterError, match="members must be 2 or more; got 1"):
        Directory.signed([first.entry("ann")], operator)


def test_who_leaves_is_left_out_of_another_directory():
    circle = Circle()
    gone = circle.directory.entries[2].name
    fewer = Directory.signed(circle.directory.without([gone]), circle.operator)
    assert gone not in [each.name for each in fewer.entries]
    assert fewer.bound != circle.directory.bound
    with pytest.raises(InvalidParameterError, match="must name members of the directory; got nobody"):
        circle.directory.without(["nobody"])
    with pytest.raises(InvalidParameterError, match="no entry has it"):
        fewer.place_of(circle.keys[2].identity)


def test_a_collection_is_bound_to_one_directory_and_its_operator():
    circle = Circle()
    circle.directory.check_bound_by(circle.collection)
    other = Directory.signed(circle.directory.entries, ShufflerKey.generate())
    with pytest.raises(InvalidParameterError, match="must be the one that the collection names"):
        other.check_bound_by(circle.collection)
    with pytest.raises(InvalidParameterError, match="must be signed by the operator of the collection"):
        other.check_bound_by(circle.collection_of(other))
    assert circle.collection_of(other).id != circle.collection.id
    file = json.loads(circle.collection.canonical)
    assert file["directory"] == {"sha256": circle.directory.bound.sha256, "people": 6}


REFUSED = {
    "file": ({"graph": "edges.csv", "rounds": 5}, "without a graph in a file: places follow from members' keys"),
    "auto": ({"graph": "random-regular:4", "graph_seed": 1}, "without rounds = 'auto' on a graph"),
    "seed": ({"graph": "random-regular:4", "rounds": 5}, "without a random graph without graph_seed"),
    "single": ({"overlay": {"groups": [2, 3]}, "protocol": "single"}, "without protocol 'single'"),
    "lost": ({"overlay": {"groups": [2, 3]}, "dropouts": 0.1, "links": "naive"}, "without dropouts or offline"),
    "naive": ({"overlay": {"groups": [2, 3]}, "links": "naive"}, "without links = 'naive'"),
    "aborts": ({"overlay": {"groups": [2, 3]}, "surplus": "aborts"}, "without surplus = 'aborts'"),
    "overlay": ({"overlay": {"groups": [3, 3]}}, "must fit the 6 members of the directory: .* would fit"),
    "degree": ({"graph": "random-regular:9", "rounds": 5, "graph_seed": 1}, "must fit the 6 members"),
}


@pytest.mark.parametrize(("shuffler", "message"), REFUSED.values(), ids=REFUSED)
def test_walks_that_members_could_not_all_take_alike_are_refused(shuffler, message):
    with pytest.raises(InvalidParameterError, match=message):
        Circle(**shuffler)


def test_what_is_promised_is_of_all_members():
    circle = Circle()
    assert [each.basis.theorem for each in circle.collection.promised()]
    assert {party.role for each in circle.collection.promised() for party in each.parties} == {"analyst"}
