"""Folders of a kit, one for each party, with configuration, unit, proxy and steps.

Keys and collection come later.

The kit holds public keys only: each private key is made on the machine that uses it, and stays there.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.validate import invalid
from shuffledp.files.key_files import read_public
from shuffledp.parties.kit.party_roles import COLLECTION, PAGE, ROLES, Parties, Role, role_of
from shuffledp.parties.kit.proxies import caddyfile_of, nginx_of
from shuffledp.parties.kit.units import unit_of
from shuffledp.parties.wire.keys import Role as KeyRole
from shuffledp.survey import Collection, WebPage
from shuffledp.survey.section import read_toml

_FILE = "kit.toml"
_VERSION = 1
_INSTALL = (
    '`python3 -m venv /opt/shuffledp && /opt/shuffledp/bin/pip install ".[cli,service,fast]"` in the sources; '
    "`export PATH=/opt/shuffledp/bin:$PATH`."
)
_CADDY = "TLS by Caddy, which gets its certificate itself: `cp Caddyfile /etc/caddy/ && systemctl reload caddy`."
_NGINX = (
    "Or by nginx, with a certificate that you have, which `nginx.conf` names: `cp nginx.conf "
    "/etc/nginx/conf.d/shuffledp.conf && systemctl reload nginx`; in `/etc/nginx/nginx.conf` let it hold more than "
    "some hundred connections, `worker_rlimit_nofile 20000;` and in `events` `worker_connections 16384;`."
)
_BEFORE_SERVICE = "Caddyfile.before-service"
_MEMBERS = "members.directory"
_BESIDE = {  # steps of a role before its service is started
    "issuer": [
        "When whoever invites has given you `invited.json`, which `shuffledp tokens issue` writes: "
        "`cp invited.json /etc/shuffledp/`."
    ],
    "post-office": [
        f"When `{_MEMBERS}` is here, which `shuffledp relay directory` writes: "
        f"`install -D -m 0644 {_MEMBERS} /etc/shuffledp/{_MEMBERS}`."
    ],
    "analyzer": ["After the close the release is in `/var/lib/shuffledp-analyzer/releases`."],
}
_WALKED = [
    f"When the last round has ended, open what members have handed in: `shuffledp relay release {COLLECTION} "
    f"--directory {_MEMBERS} --key /etc/shuffledp/analyzer.key --output release`."
]


def make_kit(folder: Path, parties: Parties) -> None:
    """Write the folders of all parties into a folder, which must be empty."""
    (folder / "keys").mkdir()
    hosts = "".join(f"{role} = {json.dumps(host)}\n" for role, host in parties.hosts.items())
    (folder / _FILE).write_text(f"version = {_VERSION}\n\n[hosts]\n{hosts}", encoding="utf-8")
    for name in parties.hosts:
        place = folder / name
        place.mkdir()
        for file, text in files_of(role_of(name), parties.seen_by(name)).items():
            (place / file).write_text(text, encoding="utf-8")


def is_untouched(folder: Path) -> bool:
    """Whether a folder is a kit made by `make_kit`, without any added key, collection or other file."""
    try:
        parties = parties_of(folder)
    except InvalidParameterError:
        return False
    made = {folder / name / file for name in parties.hosts for file in files_of(role_of(name), parties.seen_by(name))}
    return {each for each in folder.rglob("*") if not each.is_dir()} <= made | {folder / _FILE}


def files_of(role: Role, parties: Parties) -> dict[str, str]:
    """Names and texts of the files in a party's folder."""
    files = {"README.md": _steps(role, parties)}
    if config := parties.config(role):
        files |= {f"{role.name}.toml": config, role.unit: unit_of(role, parties.keys(role))}
    if parties.hosts[role.name]:
        files |= {"Caddyfile": caddyfile_of(role, parties), "nginx.conf": nginx_of(role, parties)}
    if role.name == "relay":
        files[_BEFORE_SERVICE] = caddyfile_of(role, parties, before_service=True)
    return files


def _steps(role: Role, parties: Parties) -> str:
    """Text of a README: the steps on a party's machine, for people who read no other page."""
    host = parties.hosts[role.name]
    by_role = {"page": _steps_of_page, "relay": _steps_of_relay, "mix": _steps_of_mix}
    steps = by_role[role.name]() if role.name in by_role else _steps_of_service(role, parties)
    if host:
        path = {"page": f"/{PAGE}", "relay": "/survey"}.get(role.name, "")
        steps.append(f"From another machine: `shuffledp doctor https://{host}{path}`.")
    lines = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return f"# {role.name}: {host or 'no address'}\n\n{role.work}\n\n{lines}\n"


def _steps_of_page() -> list[str]:
    return [f"When `{PAGE}` is in this folder: `install -D -m 0644 {PAGE} /var/www/shuffledp/{PAGE}`.", _CADDY, _NGINX]


def _steps_of_relay() -> list[str]:
    return [
        f"Caddy alone is the relay. {_CADDY}",
        _NGINX.replace("Or by nginx,", "Or nginx alone,"),
        f"Or our service. Install: {_INSTALL} Then `install -D -m 0644 relay.toml /etc/shuffledp/relay.toml && "
        f"cp {ROLES['relay'].unit} /etc/systemd/system/ && systemctl enable --now {ROLES['relay'].unit}`, and "
        f"`{_BEFORE_SERVICE}` as Caddyfile.",
    ]


def _steps_of_mix() -> list[str]:
    unit = ROLES["mix"].unit
    beside = "`shuffledp serve mix --config /etc/shuffledp/mix.toml"
    return [
        f"Install: {_INSTALL}",
        "Read `mix.toml`: `register` says who may ask (codes, if it is left out), `[policy]` how much, `contact` how "
        "people reach you.",
        f"`install -D -m 0644 mix.toml /etc/shuffledp/mix.toml && cp {unit} /etc/systemd/system/`",
        f"`systemctl daemon-reload && systemctl enable --now {unit}`",
        _CADDY,
        _NGINX,
        f"A code for whoever may ask, as the user whose folder the state is: {beside} --new-code`. "
        "Who asks for a sum over several institutions, each set up like this, names all: `--mix URL --code CODE` once "
        "for each.",
    ]


def _steps_of_service(role: Role, parties: Parties) -> list[str]:
    """Steps of a party with a key and the collection; without a host, the party fetches reports."""
    host, steps = parties.hosts[role.name], [f"Install: {_INSTALL}"]
    for key in parties.keys(role):
        file = f"{'/etc/shuffledp/' if host else ''}{key}.key"
        steps.append(
            f"Make the key on this machine: `shuffledp keys new --role {key} --output {file}`. "
            f"Give back `{key}.key.pub` alone, and read out its fingerprint."
        )
    steps.append(f"When `{COLLECTION}` is here, look at it and its keys: `shuffledp collect show {COLLECTION}`.")
    if not host:
        fetch = f"`shuffledp collect fetch {COLLECTION} --key analyzer.key --folder releases`"
        return [*steps, f"Before the date until which it waits: {fetch}."]
    return [
        *steps,
        *(_WALKED if role.name == "analyzer" and parties.main == "post-office" else _BESIDE.get(role.name, [])),
        f"`cp {role.name}.toml {COLLECTION} /etc/shuffledp/ && cp {role.unit} /etc/systemd/system/`",
        f"`systemctl daemon-reload && systemctl enable --now {role.unit}`",
        _CADDY,
        _NGINX,
    ]


def parties_of(folder: Path) -> Parties:
    """Parties of a kit.

    Raises:
        InvalidParameterError: if the folder is no kit, or one of another version.
    """
    try:
        found = read_toml(folder / _FILE, "the kit")
    except InvalidParameterError:
        raise InvalidParameterError(
            f"the kit must be a folder with {_FILE}, as `kit new` writes it; {folder} is none."
        ) from None
    if found.get("version") != _VERSION or not isinstance(hosts := found.get("hosts"), dict):
        raise invalid(f"of version {_VERSION}, which this shuffledp reads", kit=found.get("version"))
    for role, host in hosts.items():
        if not isinstance(host, str):
            raise invalid("a host name, as a text", **{role: host})
    return Parties(hosts=hosts)


def add_key(folder: Path, file: Path, *, force: bool = False) -> None:
    """Put the public key of a party into a kit; ``force`` replaces an earlier key of the role.

    Raises:
        InvalidParameterError: if it is no public key, that of a role which no party of the kit has, or another one of
            its role is there.
    """
    parties, published = parties_of(folder), read_public(file)
    wanted = list(_wanted(parties))
    if published.role not in wanted:
        raise InvalidParameterError(
            f"a key of the kit must be one of {', '.join(wanted)}; got {file}, which is of the role {published.role}."
        )
    place = folder / "keys" / f"{published.role}.key.pub"
    if place.exists() and not force and place.read_bytes() != file.read_bytes():
        raise InvalidParameterError(
            f"a key must be the first of its role; {place} is another. With --force it is replaced."
        )
    _copy(file, place)


def _copy(file: Path, place: Path) -> None:
    """Copy a file into a kit, whole or not at all; a link at its place is replaced.

    A file that is at its place already stays as it is.
    """
    if place.is_symlink() or not place.exists() or not place.samefile(file):
        partial = place.with_name(f".{place.name}.partial")
        partial.unlink(missing_ok=True)
        shutil.copyfile(file, partial)
        partial.replace(place)


def _wanted(parties: Parties) -> Iterator[str]:
    for name in parties.hosts:
        yield from parties.keys(role_of(name))


def missing_keys(folder: Path) -> tuple[str, ...]:
    """Roles whose public keys the kit does not have yet."""
    return tuple(each for each in _wanted(parties_of(folder)) if not (folder / "keys" / f"{each}.key.pub").exists())


def collect_command(folder: Path) -> str:
    """Command that makes the collection of a kit, with the addresses and keys of its parties."""
    parties = parties_of(folder)
    if parties.main == "mix":
        return f"shuffledp survey new QUESTION --people NUMBER --kit {folder} --code CODE --output FOLDER"
    options = [f"--shuffler {parties.url(parties.main)}"]
    if parties.hosts.get("analyzer"):
        options.append(f"--analyzer {parties.url('analyzer')}")
    options += [f"--{key}-key {folder / 'keys' / key}.key.pub" for key in _wanted(parties)]
    if parties.main == "post-office":  # it has no key: whoever signs the list of members has that of a shuffler
        options += ["--shuffler-key operator.key.pub", f"--directory {folder / parties.main / _MEMBERS}"]
    if "issuer" in parties.hosts:
        options.append(f"--issuer {parties.url('issuer')}")
    if parties.relays:
        options.append("--transport oblivious")
        options += [f"--relay {url}" for url in parties.relays]
    elif "issuer" in parties.hosts:
        options.append("--transport token")
    if "page" in parties.hosts:
        options.append(f"--web {parties.url('page')}/{PAGE}")
    return f"shuffledp collect new TASK.toml --closes DATE --output {folder / COLLECTION} " + " ".join(options)


def take_survey(folder: Path, file: Path, page: Path) -> None:
    """Keep a survey's collection file in the kit, and copy the page to the folder of the page's host."""
    _copy(file, folder / COLLECTION)
    if "page" in parties_of(folder).hosts:
        _copy(page, folder / "page" / PAGE)


def add_collection(folder: Path, file: Path) -> tuple[str, ...]:
    """Copy a collection, and its page, into a kit's folders; return the roles that have the collection.

    Raises:
        InvalidParameterError: if the collection names other addresses or keys than the kit.
    """
    parties, collection = parties_of(folder), Collection.read(file)
    expected = {"shuffler": parties.url(parties.main)} | {
        role: parties.url(role) for role in ("analyzer", "issuer") if parties.hosts.get(role)
    }
    for role, url in expected.items():
        if collection.addresses[role] != url:
            raise InvalidParameterError(f"the collection must name the {role} of the kit, {url}; it names another.")
    if collection.relays != parties.relays:
        named = " and ".join(parties.relays) or "none"
        raise InvalidParameterError(f"the collection must name the relay of the kit, {named}; it names another.")
    for key in _wanted(parties):
        place = folder / "keys" / f"{key}.key.pub"
        if not place.exists() or read_public(place).key != collection.keys[KeyRole(key)].key:
            raise InvalidParameterError(f"the collection must name the {key}'s key of the kit; it names another.")
    given = [name for name in parties.hosts if role_of(name).has_collection]
    for name in given:
        _copy(file, folder / name / COLLECTION)
    if collection.page is not None:
        server = "page" if "page" in parties.hosts else parties.main
        _copy(WebPage.beside(file), folder / server / PAGE)
        given.append(server)
    return tuple(dict.fromkeys(given))
