"""Three institutions each make a kit and start its mix; somebody asks for a sum over all three, to the release."""

import json
import subprocess
import sys

import httpx
import pytest

from cli.running import shuffledp
from shuffledp.parties.organizer.survey_folder import SurveyFolder
from shuffledp.parties.service.demonstration import end, free_ports, wait_for

HOSTS = ("one.example.org", "two.example.net", "three.example.com")
ROOMS = (1, 2, 2, 3, 3, 4, 5, 8)


def test_a_kit_of_a_mix_alone_says_how_it_is_one_of_several_hosts(tmp_path):
    hint = "--mix https://one.example.org --code CODE, in place of --kit"
    assert hint in shuffledp("kit", "new", tmp_path / "alone", "--mix", HOSTS[0]).out
    assert "`--mix URL --code CODE` once for each" in (tmp_path / "alone" / "mix" / "README.md").read_text()
    relayed = shuffledp("kit", "new", tmp_path / "relayed", "--mix", HOSTS[0], "--relay", HOSTS[1])
    assert (relayed.code, hint in relayed.out) == (0, False)  # before several hosts there is no relay


def institution(folder, host, running):
    """The address and a code of the mix of a kit, started as its README says, but for names and places here."""
    assert shuffledp("kit", "new", folder, "--mix", host).code == 0
    config, (port, counts) = folder / "mix" / "mix.toml", free_ports(2)
    url, text = f"http://127.0.0.1:{port}", config.read_text()
    here = {"127.0.0.1:8446": f"127.0.0.1:{port}", "127.0.0.1:9101": f"127.0.0.1:{counts}"}
    for said, instead in {**here, "/var/lib/shuffledp-mix": str(folder / "state"), f"https://{host}": url}.items():
        assert text.count(said) == 1
        text = text.replace(said, instead)
    config.write_text(text)
    run = [sys.executable, "-m", "shuffledp", "serve", "mix", "--config", str(config)]
    running.append(subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
    wait_for(running[-1])
    return url, shuffledp("serve", "mix", "--config", config, "--new-code").out.strip()


@pytest.mark.deep
def test_three_institutions_start_one_folder_each_and_a_sum_over_them_is_released_and_published(tmp_path):
    running = []
    try:
        places = [institution(tmp_path / host.partition(".")[0], host, running) for host in HOSTS]
        named = [each for url, code in places for each in ("--mix", url, "--code", code)]
        asked = ("survey", "new", "How many rooms do you have?", "--number", "0:10", "--whole", "--sum", *named)
        people = ("--people", len(ROOMS), "--minimum", 4, "--fakes", 0, "--epsilon0", 3)
        folder = tmp_path / "rooms"
        done = shuffledp(*asked, *people, "--output", folder)
        assert done.code == 0, done.err
        survey = SurveyFolder(folder)
        collection = survey.read()
        assert [each.url for each in collection.hosts] == [url for url, _ in places]
        assert "must hold whole numbers" in shuffledp("send", survey.collection_file, "--value", "2.5").err
        for person, rooms in enumerate(ROOMS):
            state = ("--state", tmp_path / f"person{person}")
            done = shuffledp("send", survey.collection_file, "--value", rooms, *state)
            assert done.code == 0, done.err
        done = shuffledp("survey", "close", folder)
        assert "hosts agree" in done.out
        done = shuffledp("survey", "finish", folder, "--publish")
        assert done.code == 0, done.err
        statement = json.loads((survey.release / "statement.json").read_text())
        (row,) = statement["estimates"]
        assert statement["flow"]["received"] == len(ROOMS)
        assert 0 <= row["lower"] <= row["upper"] <= 10
        assert (row["estimate"] * len(ROOMS)) == pytest.approx(
            round(row["estimate"] * len(ROOMS))
        )  # nothing is rounded
        assert abs(row["estimate"] - sum(ROOMS) / len(ROOMS)) < 12 * row["standard_error"]
        assert "8 answers" in httpx.get(collection.page.url).text
    finally:
        end(running)
