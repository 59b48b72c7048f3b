"""`shuffledp keys`: two files for each key, of which one is private; fingerprints; and successors."""

import stat

import pytest

from cli.running import refused, shuffledp
from shuffledp.files.key_files import read_key, read_public


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(role, file, *options):
    return shuffledp("keys", "new", "--role", role, "--output", file, *options)


@pytest.mark.parametrize(
    ("role", "options", "algorithm"),
    [
        ("analyzer", [], "x25519"),
        ("analyzer", ["--kem", "mlkem768-x25519"], "mlkem768-x25519"),
        ("shuffler", [], "ed25519"),
        ("gateway", [], "x25519"),
    ],
)
def test_a_new_key_is_two_files_and_both_lead_to_its_fingerprint(folder, role, options, algorithm):
    made = new(role, "key.pem", *options)
    if made.code == 2 and options:
        pytest.skip("the installed cryptography lacks it")
    assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
    fingerprint = read_public(folder / "key.pem").fingerprint
    assert made.out.splitlines()[0] == f"{fingerprint}   key of the {role}, active"
    assert "Private: key.pem (keep it to yourself, with a copy of it)" in made.out
    for file in ("key.pem", "key.pem.pub"):
        shown = shuffledp("keys", "show", file)
        assert shown.out.splitlines()[0] == f"{fingerprint}   key of the {role}, active"
        found = shuffledp("keys", "show", file, "--json").json
        assert (found["role"], found["fingerprint"], found["algorithm"]) == (role, fingerprint, algorithm)
        assert (found["config_id"] is None) == (role == "shuffler")
    secret = read_key(folder / "key.pem").to_pem().splitlines()[1]
    assert secret not in made.out + shown.out + (folder / "key.pem.pub").read_text()


def test_a_key_is_never_replaced(folder):
    new("shuffler", "key.pem")
    kept = (folder / "key.pem").read_bytes()
    line = refused(2, "keys", "new", "--role", "shuffler", "--output", "key.pem")
    assert "must be a file that does not exist yet: no key is ever replaced" in line
    assert "--force" not in line
    assert (folder / "key.pem").read_bytes() == kept


def test_a_shuffler_has_no_choice_how_reports_are_sealed(folder):
    line = refused(2, "keys", "new", "--role", "shuffler", "--kem", "mlkem768-x25519", "--output", "key.pem")
    assert "--kem must be left out for the shuffler" in line


def test_a_gateways_key_has_a_successor_of_its_kind(folder):
    new("gateway", "old.pem")
    shuffledp("keys", "rotate", "old.pem", "--output", "next.pem")
    old, following = read_public(folder / "old.pem"), read_public(folder / "next.pem")
    assert (following.role, old.successors) == (old.role, (following.key,))


def test_a_private_key_beside_anothers_public_file_is_pointed_out(folder):
    new("shuffler", "one.pem")
    new("shuffler", "two.pem")
    (folder / "two.pem.pub").replace(folder / "one.pem.pub")
    assert "one.pem must be the private key of one.pem.pub; it belongs to another" in refused(
        2, "keys", "show", "one.pem"
    )


@pytest.mark.parametrize("role", ["analyzer", "shuffler"])
def test_a_successor_is_pending_until_its_day_and_takes_over_at_once_if_that_is_asked_for(folder, role):
    new(role, "old.pem")
    before = read_public(folder / "old.pem")
    named = shuffledp("keys", "rotate", "old.pem", "--output", "new.pem", "--active-from", "9000-01-01", "--json").json
    assert (named["state"], named["expires"]) == ("active", "9000-01-03T00:00:00Z")
    successor = shuffledp("keys", "show", "new.pem", "--json").json
    assert (successor["state"], [successor["fingerprint"]]) == ("pending", named["successors"])
    assert read_public(folder / "old.pem").key == before.key
    shuffledp("keys", "rotate", "old.pem", "--output", "new.pem", "--overlap", 3)
    assert shuffledp("keys", "show", "new.pem", "--json").json["state"] == "active"
    old = read_public(folder / "old.pem")
    assert old.successors == (read_public(folder / "new.pem").key,)
    assert old.expires < "9000"


def test_a_key_of_the_other_party_or_the_key_itself_is_no_successor(folder):
    new("analyzer", "old.pem")
    new("shuffler", "other.pem")
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert "successor must be a key of the analyzer" in refused(2, "keys", "rotate", "old.pem", "--output", "other.pem")
    assert "successors must be other keys" in refused(2, "keys", "rotate", "old.pem", "--output", "old.pem")
    line = refused(2, "keys", "rotate", "old.pem", "--output", "new.pem", "--active-from", "soon")
    assert "--active-from must be a date in UTC" in line
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == files
