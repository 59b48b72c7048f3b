"""A kit has a folder for each party, with files that its programs read, and public keys alone."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from cli.running import refused, shuffledp
from parties.service.given import task
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.instants import written
from shuffledp.files.key_files import read_public, write_key
from shuffledp.parties.kit.folders import (
    add_collection,
    add_key,
    collect_command,
    is_untouched,
    make_kit,
    missing_keys,
    parties_of,
)
from shuffledp.parties.kit.party_roles import ROLES, Parties
from shuffledp.parties.mix.mix_config import MixConfig
from shuffledp.parties.relay.post_office_config import PostOfficeConfig
from shuffledp.parties.service.config import AnalyzerConfig, IssuerConfig, ShufflerConfig
from shuffledp.parties.service.oblivious_relay import RelayConfig
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, IssuerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service

HOSTS = {
    "shuffler": "shuffler.example.org",
    "analyzer": "office.example.net",
    "issuer": "issuer.example.com",
    "relay": "relay.example.edu",
}
READERS = {
    "shuffler": ShufflerConfig,
    "analyzer": AnalyzerConfig,
    "issuer": IssuerConfig,
    "relay": RelayConfig,
    "post-office": PostOfficeConfig,
}
KEYS = {"shuffler": ShufflerKey, "analyzer": AnalyzerKey, "issuer": IssuerKey, "gateway": GatewayKey}


def kit(folder, **changes):
    made = folder / "kit"
    made.mkdir()
    make_kit(made, Parties(hosts={role: host for role, host in (HOSTS | changes).items() if host is not None}))
    return made


def key_file(folder, role):
    """The public file of a new key of a role."""
    key = KEYS[role].generate()
    write_key(
        folder / f"{role}.key", key, PublishedKey(role=key.role, key=in_text(key.public), active_from="2020-01-01")
    )
    return folder / f"{role}.key.pub"


def collection(keys, **further):
    """A collection of the parties of a kit."""
    published = {role: read_public(file) for role, file in keys.items()}
    now = datetime.now(UTC)
    parties = {
        role: Service(url=f"https://{HOSTS[role]}", key=published[role]) for role in ("shuffler", "analyzer", "issuer")
    }
    given = {
        "transport": "oblivious",
        "relay": f"https://{HOSTS['relay']}/survey",
        "gateway": published["gateway"],
        "closes": written(now + timedelta(days=9)),
        "now": now,
    }
    return Collection.new(task(), **(parties | given | further))


def test_the_configuration_of_each_role_is_read_by_its_own_service(tmp_path):
    made = kit(tmp_path, **{"post-office": "post.example.org"})
    for role, reader in READERS.items():
        read = reader.read(made / role / f"{role}.toml")
        assert read.listen == f"127.0.0.1:{ROLES[role].port}"
    shuffler = ShufflerConfig.read(made / "shuffler" / "shuffler.toml")
    unit = (made / "shuffler" / "shuffledp-shuffler.service").read_text()
    for key in (shuffler.key, *shuffler.gateway_keys):
        name = key.rpartition("/")[2]
        assert key == f"/run/credentials/shuffledp-shuffler.service/{name}"
        assert f"LoadCredential={name}:/etc/shuffledp/{name}\n" in unit
    assert RelayConfig.read(made / "relay" / "relay.toml").targets == {
        "/survey": "https://shuffler.example.org/gateway"
    }


def test_an_analyst_without_a_host_gets_steps_and_nothing_to_serve(tmp_path):
    made = kit(tmp_path, analyzer="")
    assert [each.name for each in (made / "analyzer").iterdir()] == ["README.md"]
    assert "collect fetch survey.collection --key analyzer.key" in (made / "analyzer" / "README.md").read_text()
    assert "--analyzer " not in collect_command(made)


def test_a_kit_with_a_mix_has_its_relay_and_its_page_and_waits_for_no_keys(tmp_path):
    hosts = {"mix": "mix.example.org", "relay": "relay.example.edu", "page": "page.example.net"}
    made = tmp_path / "kit"
    made.mkdir()
    make_kit(made, Parties(hosts=hosts))
    read = MixConfig.read(made / "mix" / "mix.toml")
    assert (read.url, read.listen, read.register) == ("https://mix.example.org", "127.0.0.1:8446", "codes")
    target = RelayConfig.read(made / "relay" / "relay.toml").targets["/survey"]
    assert target == "https://mix.example.org/gateway"
    for file in ("nginx.conf", "Caddyfile"):
        assert "https://mix.example.org" in (made / "relay" / file).read_text()
        assert "127.0.0.1:8446" in (made / "mix" / file).read_text()
    assert "LoadCredential" not in (made / "mix" / "shuffledp-mix.service").read_text()
    steps = [line for line in (made / "mix" / "README.md").read_text().splitlines() if line[:1].isdigit()]
    assert len(steps) <= 10
    assert missing_keys(made) == ()
    assert f"survey new QUESTION --people NUMBER --kit {made}" in collect_command(made)


def test_two_relays_have_a_folder_each_and_the_collection_names_both(tmp_path):
    second = "relay.example.gov"
    made, keys = kit(tmp_path, **{"second-relay": second}), {role: key_file(tmp_path, role) for role in KEYS}
    for name, host in (("relay", HOSTS["relay"]), ("second-relay", second)):
        assert RelayConfig.read(made / name / "relay.toml").targets == {
            "/survey": "https://shuffler.example.org/gateway"
        }
        assert host in (made / name / "README.md").read_text()
        assert f"server_name {host};" in (made / name / "nginx.conf").read_text()
    assert {each.name for each in (made / "relay").iterdir()} == {
        each.name for each in (made / "second-relay").iterdir()
    }
    for key in keys.values():
        add_key(made, key)
    assert f"--relay https://{HOSTS['relay']}/survey --relay https://{second}/survey" in collect_command(made)
    file = tmp_path / "survey.collection"
    file.write_bytes(collection(keys).canonical)
    with pytest.raises(
        InvalidParameterError, match=r"must name the relay of the kit, .* and https://relay.example.gov"
    ):
        add_collection(made, file)
    file.write_bytes(collection(keys, second_relay=f"https://{second}/survey").canonical)
    assert add_collection(made, file) == ("shuffler", "analyzer", "issuer")


def test_each_readme_has_ten_steps_or_fewer_and_begins_with_the_keys(tmp_path):
    made = kit(tmp_path)
    for role in HOSTS:
        steps = [line for line in (made / role / "README.md").read_text().splitlines() if line[:1].isdigit()]
        assert len(steps) <= 10
        assert all(f"keys new --role {key}" in "".join(steps[:3]) for key in parties_of(made).keys(ROLES[role]))


def test_each_file_that_a_configuration_names_is_in_the_folder_or_in_a_step_of_its_readme(tmp_path):
    made = kit(tmp_path, **{"post-office": "post.example.org"})
    for role in READERS:
        config = (made / role / f"{role}.toml").read_text()
        readme = (made / role / "README.md").read_text()
        named = re.findall(r'"([^"/]+\.(?:json|directory|collection))"', config)
        assert all(f"{name} " in readme or f"{name}`" in readme for name in named)
        assert len(named) == {"relay": 0, "shuffler": 1, "analyzer": 1, "issuer": 2, "post-office": 2}[role]


def test_a_kit_takes_keys_then_the_collection_and_holds_no_secret(tmp_path):
    made, keys = kit(tmp_path), {}
    assert missing_keys(made) == ("shuffler", "gateway", "analyzer", "issuer")
    for role in KEYS:
        keys[role] = key_file(tmp_path, role)
        add_key(made, keys[role])
    assert missing_keys(made) == ()
    assert f"--gateway-key {made}/keys/gateway.key.pub" in collect_command(made)
    file = tmp_path / "survey.collection"
    file.write_bytes(collection(keys).canonical)
    assert add_collection(made, file) == ("shuffler", "analyzer", "issuer")
    for role in ("shuffler", "analyzer", "issuer"):
        read = READERS[role].read(made / role / f"{role}.toml")
        assert len(read.read_collections()) == 1
    assert not [each for each in made.rglob("*") if each.is_file() and b"PRIVATE" in each.read_bytes()]


def test_only_a_kit_to_which_nothing_was_added_may_be_replaced(tmp_path):
    """Mutant: any folder with a kit.toml is replaced, and with it the keys that parties have sent."""
    made = kit(tmp_path)
    assert is_untouched(made)
    assert not is_untouched(tmp_path)
    beside = made / "shuffler" / "notes.txt"
    beside.write_text("mine")
    assert not is_untouched(made)
    beside.unlink()
    add_key(made, key_file(tmp_path, "shuffler"))
    assert not is_untouched(made)


def test_a_key_of_the_wrong_role_a_second_one_and_a_private_one_are_refused(tmp_path):
    made = kit(tmp_path, relay=None)
    with pytest.raises(InvalidParameterError, match="which is of the role gateway"):
        add_key(made, key_file(tmp_path, "gateway"))
    first = key_file(tmp_path, "shuffler")
    add_key(made, first)
    add_key(made, first)
    add_key(made, made / "keys" / "shuffler.key.pub")
    (tmp_path / "other").mkdir()
    second = key_file(tmp_path / "other", "shuffler")
    with pytest.raises(InvalidParameterError, match="must be the first of its role"):
        add_key(made, second)
    add_key(made, second, force=True)
    assert (made / "keys" / "shuffler.key.pub").read_bytes() == second.read_bytes()
    assert "a kit must hold public keys alone" in refused(2, "kit", "add", made, tmp_path / "shuffler.key")


def test_a_file_goes_into_a_kit_whole_or_not_at_all_and_never_through_a_link_out_of_it(tmp_path, monkeypatch):
    made, key, victim = kit(tmp_path, relay=None), key_file(tmp_path, "shuffler"), tmp_path / "victim"
    place = made / "keys" / "shuffler.key.pub"

    def killed(_, target):
        target.write_bytes(b"{")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.copyfile", killed)
        with pytest.raises(KeyboardInterrupt):
            add_key(made, key)
    assert "shuffler" in missing_keys(made)
    victim.write_text("kept")
    place.symlink_to(victim)
    add_key(made, key, force=True)
    assert (victim.read_text(), place.read_bytes()) == ("kept", key.read_bytes())


def test_each_file_is_put_into_a_folder_that_is_there_by_then(tmp_path):
    for role in ("post-office", "relay", "mix", "issuer"):
        changes = {"post-office": "post.example.org"} if role == "post-office" else {}
        (here := tmp_path / role).mkdir()
        if role == "mix":
            (made := here / "kit").mkdir()
            make_kit(made, Parties(hosts={"mix": "mix.example.org"}))
        else:
            made = kit(here, **changes)
        readme = (made / role / "README.md").read_text()
        first = min(readme.find(each) for each in ("install -D", "/etc/shuffledp/issuer.key") if each in readme)
        assert 0 <= first < re.search(r"cp [^`&]* /etc/shuffledp/|$", readme).start()


AMONG_THREE = """
name = "A question among friends"
value = "sleeps badly"
[randomizer]
kind = "k-rr"
epsilon0 = 1.0
categories = ["No", "Yes"]
[shuffler]
kind = "network"
overlay = {groups = [3]}
links = "constant"
[release]
delta = 1e-3
minimum_batch = 3
"""


def test_a_kit_with_a_post_office_names_the_operators_key_the_directory_and_how_to_open(tmp_path):
    made = kit(tmp_path, shuffler=None, issuer=None, relay=None, **{"post-office": "post.example.org"})
    command = collect_command(made)
    assert f"--shuffler-key operator.key.pub --directory {made}/post-office/members.directory" in command
    readme = (made / "analyzer" / "README.md").read_text()
    assert "shuffledp relay release survey.collection --directory members.directory" in readme


@pytest.mark.deep
def test_the_commands_that_a_kit_with_a_post_office_prints_make_its_collection(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shuffledp("kit", "new", "kit", "--post-office", "post.example.org", "--analyzer", "office.example.net")
    key_file(tmp_path, "shuffler").rename("operator.key.pub")
    (tmp_path / "shuffler.key").rename("operator.key")
    members = [f"{name}.key.pub" for name in ("ann", "bob", "cyd")]
    for each in members:
        shuffledp("relay", "join", "--name", each[:3], "--output", each[:-4])
    (tmp_path / "TASK.toml").write_text(AMONG_THREE)
    said = shuffledp("kit", "add", "kit", key_file(tmp_path, "analyzer")).out
    printed = [line.partition(": shuffledp ")[2] for line in said.splitlines()[1:]]
    assert len(printed) == 3
    for line in printed:
        given = line.replace("DATE", "2099-01-31").replace("MEMBER.key.pub ...", " ".join(members))
        shuffledp(*given.split())
    folder = tmp_path / "kit" / "post-office"
    assert (folder / "members.directory").exists()
    assert len(PostOfficeConfig.read(folder / "post-office.toml").read_collections()) == 1


def test_a_collection_of_other_parties_or_keys_is_refused(tmp_path):
    made, keys = kit(tmp_path), {role: key_file(tmp_path, role) for role in KEYS}
    file = tmp_path / "survey.collection"
    file.write_bytes(collection(keys, relay="https://else.example/survey").canonical)
    with pytest.raises(InvalidParameterError, match="must name the relay of the kit"):
        add_collection(made, file)
    file.write_bytes(collection(keys).canonical)
    with pytest.raises(InvalidParameterError, match="must name the shuffler's key of the kit"):
        add_collection(made, file)
    assert not list(made.rglob("survey.collection"))


@pytest.mark.parametrize(
    ("hosts", "wrong"),
    [
        ({"shuffler": "a.example", "analyzer": "a.example"}, "parties must each have a host of their own"),
        ({"shuffler": "localhost"}, "must be a host name with a dot"),
        ({"shuffler": "https://a.example"}, "must be a host name with a dot"),
        ({"shuffler": "10.0.0.1"}, "must be a host name with a dot"),
        ({"shuffler": "a_b.example"}, "shuffler must be"),
        ({"analyzer": "a.example"}, "a kit must have a shuffler"),
        ({"mixer": "a.example"}, "role must be one of"),
        ({"mix": "a.example", "issuer": "b.example"}, "no party besides but relays and page; got issuer"),
        ({"post-office": "a.example", "analyzer": ""}, "a kit with a post office must have a host of the analyzer"),
        ({"shuffler": "a.example", "second-relay": "b.example"}, "second-relay must be the second beside another"),
    ],
)
def test_parties_that_could_not_work_are_refused(hosts, wrong):
    with pytest.raises(InvalidParameterError, match=wrong):
        Parties(hosts=hosts)


@pytest.mark.parametrize(
    "text", [None, "version = 2\n[hosts]\n", "version = 1\n", "version = 1\n[hosts]\nshuffler = 5\n", "no"]
)
def test_a_folder_that_is_no_kit_of_this_version_is_refused(tmp_path, text):
    if text is not None:
        (tmp_path / "kit.toml").write_text(text)
    with pytest.raises(InvalidParameterError):
        parties_of(tmp_path)
