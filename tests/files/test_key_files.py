"""Key files: for their owner alone, never replaced, and read by nobody who could not have written them."""

import json
import os
import stat
from pathlib import Path

import pytest

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.files.key_files import public_file, read_key, read_public, rewrite_public, write_key
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey


def published(key, **further):
    return PublishedKey(role=key.role, key=in_text(key.public), active_from="2026-12-01T00:00:00Z", **further)


@pytest.fixture(params=[AnalyzerKey, ShufflerKey], ids=["analyzer", "shuffler"])
def key(request):
    return request.param.generate()


def test_a_key_is_found_again_in_its_two_files_of_which_others_may_read_one(tmp_path, key):
    old = os.umask(0)
    try:
        write_key(tmp_path / "key.pem", key, published(key))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert read_key(tmp_path / "key.pem").public == key.public
    assert read_public(tmp_path / "key.pem") == read_public(tmp_path / "key.pem.pub") == published(key)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["key.pem", "key.pem.pub"]
    assert key.to_pem().splitlines()[1] not in (tmp_path / "key.pem.pub").read_text()


@pytest.mark.parametrize("there", ["key.pem", "key.pem.pub"])
def test_neither_file_is_ever_replaced(tmp_path, key, there):
    write_key(tmp_path / "key.pem", key, published(key))
    (tmp_path / ({"key.pem", "key.pem.pub"} - {there}).pop()).unlink()
    kept = (tmp_path / there).read_bytes()
    other = ShufflerKey.generate()
    with pytest.raises(InvalidParameterError, match="must be a file that does not exist yet"):
        write_key(tmp_path / "key.pem", other, published(other))
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(there, kept)]


def test_a_private_key_is_not_written_under_the_name_of_a_public_one(tmp_path, key):
    with pytest.raises(InvalidParameterError, match=r"output must end in something else than \.pub"):
        write_key(tmp_path / "key.pub", key, published(key))


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_key_that_others_could_read_or_change_is_refused(tmp_path, mode):
    key = ShufflerKey.generate()
    write_key(tmp_path / "key.pem", key, published(key))
    (tmp_path / "key.pem").chmod(mode)
    with pytest.raises(InvalidParameterError, match=f"for its owner alone, mode 0600; got .* with mode {mode:04o}"):
        read_key(tmp_path / "key.pem")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs a file of the administrator")
def test_a_key_that_the_administrator_lends_to_a_service_is_read(tmp_path, monkeypatch):
    key = ShufflerKey.generate()
    write_key(tmp_path / "key.pem", key, published(key))
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    (tmp_path / "key.pem").chmod(0o440)  # as systemd shows a credential of which an ACL gives the service a share
    assert read_key(tmp_path / "key.pem").public == key.public
    for mode in (0o460, 0o444, 0o450):
        (tmp_path / "key.pem").chmod(mode)
        with pytest.raises(InvalidParameterError, match="for its owner alone"):
            read_key(tmp_path / "key.pem")


def test_what_is_no_key_file_is_refused_and_not_shown(tmp_path):
    for name, content in {"empty": b"", "text": b"secret", "bytes": b"\xff\xfe", "large": b"x" * (1 << 17)}.items():
        (tmp_path / name).touch(mode=0o600)
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"{name}.pub").write_bytes(content)
        with pytest.raises(InvalidParameterError, match="a key file must") as private:
            read_key(tmp_path / name)
        with pytest.raises((InputDataError, InvalidParameterError), match="public key file") as public:
            read_public(tmp_path / name)
        assert "secret" not in f"{private.value} {public.value}"
    for read in (read_key, read_public):
        with pytest.raises(InvalidParameterError, match=r"must be readable; got .*: No such file or directory"):
            read(tmp_path / "absent")


def test_the_public_file_is_rewritten_and_nothing_else_in_its_place(tmp_path, key):
    write_key(tmp_path / "key.pem", key, published(key))
    expired = published(key, expires="2026-12-05T00:00:00Z")
    rewrite_public(tmp_path / "key.pem", expired)
    assert read_public(tmp_path / "key.pem") == expired
    (tmp_path / "key.pem.pub").write_text(json.dumps({"role": "analyzer"}))
    with pytest.raises(InvalidParameterError, match="must be an earlier output"):
        rewrite_public(tmp_path / "key.pem", expired)


def test_a_public_file_that_cannot_be_written_leaves_no_private_one(tmp_path, key, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(InvalidParameterError, match="No space left on device"):
        write_key(tmp_path / "key.pem", key, published(key))
    assert list(tmp_path.iterdir()) == []


def test_both_files_of_a_key_lead_to_the_public_one(tmp_path):
    assert public_file(tmp_path / "a.pem") == public_file(tmp_path / "a.pem.pub") == tmp_path / "a.pem.pub"
