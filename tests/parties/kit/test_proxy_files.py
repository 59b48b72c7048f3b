"""A file of nginx or Caddy that logs, passes on or refuses what it should not is found, with the line to change."""

from pathlib import Path

import pytest

from cli.running import refused, shuffledp
from deploy.examples import HERE
from parties.kit.test_doctor import wrong
from parties.kit.test_kit import kit
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.kit.doctor import examine_kit
from shuffledp.parties.kit.proxy_files import flaws_of

EXAMPLES = sorted([*(HERE / "nginx").iterdir(), *(HERE / "caddy").iterdir()])


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_nothing_is_wrong_with_the_files_of_a_kit(file):
    assert flaws_of(file) == []


NGINX = [
    ("access_log off;", "access_log /var/log/nginx/access.log;", "it would hold addresses and times"),
    ("error_log  /dev/null crit;", "error_log /var/log/nginx/error.log;", "it would hold addresses and times"),
    ("access_log off;", "", "no access_log: what nginx writes without one"),
    ("error_log  /dev/null crit;", "", "no error_log"),
    ("ssl_protocols       TLSv1.3;", "ssl_protocols TLSv1 TLSv1.2;", "ssl_protocols TLSv1 TLSv1.2"),
    ("client_max_body_size   16m;", "client_max_body_size 2m;", "is below that of the service"),
    ("client_max_body_size   16m;", "", "nginx refuses bodies above 1 MB"),
    ("proxy_request_buffering on;", "proxy_request_buffering off;", "proxy_request_buffering off: slow senders"),
    (
        "client_body_temp_path  /run/shuffledp-nginx;",
        "client_body_temp_path /var/tmp/b;",
        "b: bodies are written to a disk",
    ),
    ("client_body_temp_path  /run/shuffledp-nginx;", "", "no client_body_temp_path"),
    ("proxy_http_version 1.1;", "proxy_set_header X-Forwarded-For $remote_addr;", "would learn who sends"),
    ("proxy_http_version 1.1;", "proxy_set_header X-Real-IP $remote_addr;", "would learn who sends"),
]
OF_RELAY = [
    (
        "proxy_ssl_protocols TLSv1.2 TLSv1.3;",
        "proxy_ssl_protocols TLSv1.2;",
        "proxy_ssl_protocols TLSv1.2: a gateway may take TLS 1.3",
    ),
    ("proxy_ssl_protocols TLSv1.2 TLSv1.3;", "", "no proxy_ssl_protocols: as a client"),
]
CADDY = [
    ("\t\texclude http\n", "", "log: it would hold addresses and times"),
    ("\trespond /metrics 404", "\tlog\n\trespond /metrics 404", "log: it would hold addresses and times"),
    ("header_up -X-Forwarded-*", "", "reverse_proxy adds X-Forwarded-For with the address"),
    ("header_up -X-Forwarded-*", "header_up -X-Forwarded-*\n\t\theader_up X-Real-IP {remote_host}", "learn who sends"),
    ("max_size 16MiB", "max_size 1MB", "is below that of the service"),
]


@pytest.mark.parametrize(
    ("example", "good", "bad", "seen"),
    [("nginx/shuffler.conf", *each) for each in NGINX]
    + [("nginx/relay.conf", *each) for each in OF_RELAY]
    + [("caddy/shuffler.Caddyfile", *each) for each in CADDY],
)
def test_each_flaw_is_found_alone_with_its_line(tmp_path, example, good, bad, seen):
    text = (HERE / example).read_text()
    assert text.count(good) == 1
    file = tmp_path / Path(example).name
    file.write_text(text.replace(good, bad))
    (flaw,) = flaws_of(file)
    assert seen in flaw.seen
    assert flaw.change
    lines = file.read_text().splitlines()
    assert flaw.line == 0 or flaw.seen.split(" ")[0].rstrip(":") in lines[flaw.line - 1]


def test_what_is_no_file_of_a_proxy_is_refused(tmp_path):
    (tmp_path / "hosts").write_text("127.0.0.1 localhost\n")
    for file, why in ((tmp_path / "hosts", "must be of nginx or Caddy"), (tmp_path / "none", "must be readable")):
        with pytest.raises(InvalidParameterError, match=why):
            flaws_of(file)


def test_the_doctor_names_file_and_line_and_finds_changed_files_of_a_kit(tmp_path):
    file = tmp_path / "shuffler.conf"
    file.write_text((HERE / "nginx" / "shuffler.conf").read_text())
    assert "it writes nothing about who sends" in shuffledp("doctor", file).out
    file.write_text(file.read_text().replace("access_log off", "access_log on"))
    said = shuffledp("doctor", file)
    number = next(at for at, line in enumerate(file.read_text().splitlines(), 1) if "access_log" in line)
    assert f"WRONG {file}:{number}: access_log on: it would hold addresses and times -> access_log off;" in said.out
    assert "1 of what was looked at is not" in said.err
    made = kit(tmp_path, shuffler="shuffler.invalid", analyzer="", issuer=None, relay=None)
    changed = made / "shuffler" / "Caddyfile"
    changed.write_text(changed.read_text().replace("header_up -X-Forwarded-*", ""))
    assert any(each.startswith("reverse_proxy adds X-Forwarded-For") for each in wrong(examine_kit(made)))
    assert "must be a folder with kit.toml" in refused(2, "doctor", tmp_path / "none")
