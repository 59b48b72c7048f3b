"""The examples of how to run the services: that their tools accept them, and how little they may do."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deploy.examples import HERE, written
from deploy.nginx_files import without_tls
from shuffledp.parties.service.served_collections import MOST_BYTES

UNITS = sorted((HERE / "systemd").glob("*.service"))
MOST_EXPOSED = 3.0  # of systemd's scale from 0 to 10


@pytest.fixture
def installed(tmp_path):
    """The unit with a program that exists in place of ours, which is installed elsewhere."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")

    def installed(unit: Path) -> Path:
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text().replace("/opt/shuffledp/bin/shuffledp", shutil.which("true")))
        return copy

    return installed


def analyze(*arguments: object) -> str:
    done = subprocess.run(
        ["systemd-analyze", *map(str, arguments)], check=False, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_understood_whole(unit, installed):
    assert analyze("verify", installed(unit)) == ""


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_may_do_little(unit, installed):
    said = analyze("security", "--offline=true", installed(unit))
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert float(exposure[1]) <= MOST_EXPOSED


def test_the_examples_are_what_the_kit_makes():
    there = {str(each.relative_to(HERE)): each.read_text() for each in HERE.rglob("*") if each.is_file()}
    made = written()
    assert {place: there.get(place) for place in made} == made
    assert {place for place in there if not place.startswith("container/")} == set(made)


NGINX = sorted((HERE / "nginx").glob("*.conf"))
CADDY = sorted((HERE / "caddy").glob("*.Caddyfile"))


@pytest.mark.parametrize("example", NGINX, ids=lambda each: each.stem)
def test_each_file_of_nginx_is_understood_and_keeps_no_records(tmp_path, example):
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
    text = example.read_text()
    assert "access_log off;" in text
    assert "X-Forwarded-For" not in re.sub("#.*", "", text)
    if nginx is None:
        pytest.skip("there is no nginx here")
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/errors; events {{}}\nhttp {{ {without_tls(text, tmp_path)} }}\n"
    )
    done = subprocess.run(
        [nginx, "-t", "-c", tmp_path / "nginx.conf"], check=False, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", CADDY, ids=lambda each: each.stem.partition(".")[0])
def test_each_file_of_caddy_is_understood_and_keeps_no_records(tmp_path, example):
    caddy = shutil.which("caddy")
    assert "exclude http" in example.read_text()
    if caddy is None:
        pytest.skip("there is no caddy here")
    done = subprocess.run(
        [caddy, "validate", "--adapter", "caddyfile", "--config", example],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
        env={"HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr


def test_proxies_let_batches_of_any_length_through_to_the_analyzer_and_uploads_of_the_longest_to_the_shuffler():
    shuffler, analyzer = (Path(HERE / "nginx" / f"{role}.conf").read_text() for role in ("shuffler", "analyzer"))
    assert f"client_max_body_size   {MOST_BYTES >> 20}m;" in shuffler
    assert re.search(r"client_max_body_size +0;", analyzer)
