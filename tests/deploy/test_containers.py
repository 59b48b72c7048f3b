"""The container files: what a service may do is read here; the image is built where a builder and its base are."""

import json
import re
import shutil
import subprocess

import pytest

from cli.running import shuffledp
from deploy.examples import HERE

ROOT, BASE = HERE.parent, "docker.io/library/python:3.13-slim"
DOCKERFILE = (HERE / "container" / "Dockerfile").read_text()
SECONDS = 900.0
NOT_BUILT = "the container files are read, and no test builds them here: "


def lines(name):
    """What each line of an instruction says."""
    return re.findall(rf"^{name} +(.+)$", DOCKERFILE, re.MULTILINE)


def test_the_image_holds_the_package_alone_and_runs_as_nobody():
    known = {"FROM", "COPY", "RUN", "USER", "VOLUME", "ENTRYPOINT"}
    assert {line.split()[0] for line in DOCKERFILE.splitlines() if line and not line.startswith("#")} == known
    assert {each.split()[0] for each in lines("FROM")} == {BASE.rpartition("/")[2]}
    assert lines("COPY") == [". /source", "--from=build /opt/shuffledp /opt/shuffledp"]
    assert lines("USER") == ["shuffledp"]
    assert json.loads(lines("ENTRYPOINT")[0]) == ["/opt/shuffledp/bin/shuffledp", "serve"]
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert ignored[0] == "*"
    assert all((ROOT / each.removeprefix("!")).exists() for each in ignored[1:])


def test_a_service_in_a_container_may_do_little_and_is_one_that_there_is():
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load((HERE / "container" / "compose.yaml").read_text())
    for name, service in found["services"].items():
        role, option, config = service["command"]
        assert (role, service["profiles"]) == (name, [name])  # so that nobody starts both by mistake
        assert f"shuffledp serve {role}" in shuffledp("serve", role, "--help").out
        assert (option, config) == ("--config", f"/etc/shuffledp/{role}.toml")
        assert (service["read_only"], service["cap_drop"], service["ulimits"]) == (True, ["ALL"], {"core": 0})
        assert "no-new-privileges:true" in service["security_opt"]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert all(each in found["secrets"] for each in service["secrets"])
        assert (ROOT / service["build"]["dockerfile"]).exists()
    assert "environment" not in json.dumps(found)


@pytest.mark.deep
def test_the_image_is_built_and_serves():
    builder = next(filter(shutil.which, ("buildah", "podman", "docker")), None)
    if builder is None:
        pytest.skip(f"{NOT_BUILT}there is no builder")

    def asked(*given):
        return subprocess.run(
            [builder, *given], check=False, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )

    if asked("inspect", BASE).returncode and asked("pull", BASE).returncode:
        pytest.skip(f"{NOT_BUILT}{builder} cannot get {BASE}")
    build = "bud" if builder == "buildah" else "build"
    built = asked(build, "-t", "shuffledp-test", "-f", str(HERE / "container" / "Dockerfile"), str(ROOT))
    assert built.returncode == 0, built.stderr[-2000:]
    if builder == "buildah":
        container = asked("from", "shuffledp-test").stdout.strip()
        said = asked("run", "--user", "shuffledp", container, "/opt/shuffledp/bin/shuffledp", "serve", "shuffler", "-h")
        asked("rm", container)
    else:
        said = asked("run", "--rm", "shuffledp-test", "shuffler", "-h")
    asked("rmi", "shuffledp-test")
    assert "serve shuffler" in said.stdout, said.stderr
