"""The examples of how to run the services: that their tools accept them, and how little they may do."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from shuffledp.parties.service.served_collections import MOST_BYTES

HERE = Path(__file__).parents[2] / "deploy"
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


def test_there_is_a_unit_for_each_role():
    assert [unit.stem.removeprefix("shuffledp-") for unit in UNITS] == ["analyzer", "issuer", "mix", "shuffler"]


@pytest.mark.parametrize("name", ["shuffledp.conf", "mix.conf"])
def test_the_example_of_a_proxy_is_understood_and_keeps_no_records(tmp_path, name):
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if nginx is None:
        pytest.skip("there is no nginx here")
    example = (HERE / "nginx" / name).read_text()
    assert "access_log off;" in example
    assert "X-Forwarded-For" not in re.sub("#.*", "", example)
    plain = re.sub(r"^\s*ssl_certificate.*$", "", example, flags=re.MULTILINE).replace(" ssl;", ";")
    plain = plain.replace("listen 443", "listen 127.0.0.1:8480").replace("listen [::]:443;", "")
    plain = plain.replace("/run/shuffledp-nginx", str(tmp_path / "bodies"))
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/errors; events {{}}\nhttp {{ {plain} }}\n"
    )
    done = subprocess.run(
        [nginx, "-t", "-c", tmp_path / "nginx.conf"], check=False, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr


def test_the_example_of_a_proxy_lets_batches_of_any_length_through_to_the_analyzer():
    shuffler, analyzer = (HERE / "nginx" / "shuffledp.conf").read_text().split("\nserver {")[1:]
    assert "proxy_pass http://127.0.0.1:8443;" in shuffler
    assert "proxy_pass http://127.0.0.1:8444;" in analyzer
    assert f"client_max_body_size   {MOST_BYTES >> 20}m;" in shuffler
    assert re.search(r"client_max_body_size +0;", analyzer)
