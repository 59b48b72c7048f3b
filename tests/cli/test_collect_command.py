"""`shuffledp collect new` and `show`: what people are invited to, and what it will guarantee."""

import hashlib
import json

import pytest

from cli.running import refused, shuffledp, write_task
from shuffledp.files.key_files import read_public
from shuffledp.parties.client.link_codes import link_code
from shuffledp.parties.wire.keys import in_text
from shuffledp.survey import Collection

PARTIES = ("--shuffler", "https://mixer.example", "--analyzer", "https://office.example")
KEYS = ("--shuffler-key", "mixer.pem.pub", "--analyzer-key", "office.pem")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    roles = {"shuffler": "mixer.pem", "analyzer": "office.pem", "gateway": "gate.pem", "issuer": "mint.pem"}
    for role, file in roles.items():
        assert shuffledp("keys", "new", "--role", role, "--output", folder / file).code == 0
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch, keys):
    monkeypatch.chdir(tmp_path)
    for file in keys.iterdir():
        (tmp_path / file.name).symlink_to(file)
    write_task(tmp_path, release={"minimum_batch": 500}, people={"fakes": 20})
    return tmp_path


def new(*options, output="survey.collection"):
    return shuffledp("collect", "new", "task.toml", *PARTIES, *KEYS, *options, "--output", output)


def test_a_collection_is_written_and_shown_with_its_promise_parties_and_dates(folder):
    made, shown = new("--closes", "9000-12-01"), shuffledp("collect", "show", "survey.collection")
    collection = Collection.read(folder / "survey.collection")
    assert made.out.startswith(shown.out)
    assert made.out.endswith("Written: survey.collection. Send it to both parties and to all who answer.\n")
    first = next(line for line in shown.out.splitlines() if not line.startswith("WARNING"))
    assert first.startswith("risk survey   epsilon <= 0.5")
    assert "from 500 reports on" in first
    mixer, office = (read_public(folder / file).fingerprint for file in ("mixer.pem", "office.pem"))
    assert f"https://mixer.example, key {mixer}\n" in shown.out
    assert f"https://office.example, key {office}\n" in shown.out
    assert "cheated (No, Yes; k-rr, epsilon0 = 2)" in shown.out
    assert "Closes                9000-12-01 23:59:59 UTC" in shown.out
    assert "when it closes, if there are 500 reports or more" in shown.out
    assert in_text(collection.id) in shown.out


def test_that_nobody_checks_who_answers_is_said_first_and_the_parties_are_named_in_the_promise(folder):
    new("--closes", "9000-12-01")
    shown = shuffledp("collect", "show", "survey.collection", "-v").out
    assert shown.startswith("WARNING: This holds only as long as nobody sends more reports than one")
    assert (
        "the analyst (https://office.example) does not work together with the shuffler (https://mixer.example)" in shown
    )
    assert "at most 20 of the 500 reports are by fake senders" in shown


def test_json_holds_the_file_its_id_and_the_statements_of_the_smallest_batch(folder):
    made = new("--closes", "9000-12-01", "--every", 600, "--opens", "2026-01-01", "--json").json
    assert made["collection"] == json.loads((folder / "survey.collection").read_text())
    assert made["collection_id"] == in_text(Collection.read(folder / "survey.collection").id)
    planned = shuffledp("plan", "task.toml", "--users", 500, "--json").json["statements"]
    assert [each["guarantee"] for each in made["statements"]] == [each["guarantee"] for each in planned]
    assert all("one-answer" in each["trust"] for each in made["statements"])
    assert (
        "whenever there are 600, and the rest when it closes" in shuffledp("collect", "show", "survey.collection").out
    )


@pytest.mark.parametrize("role", ["shuffler", "analyzer", "relay", "issuer", "page"])
def test_help_says_that_a_name_never_stands_without_the_address(role):
    words = " ".join(shuffledp("collect", "new", "--help").out.split())
    assert f"--{role}-name NAME Name of this party, as you claim it; its address is always shown too." in words


def test_one_host_for_two_parties_is_warned_of_with_what_is_left(folder):
    given = ("--shuffler", "https://vps.example.org", "--analyzer", "https://vps.example.org:8444")
    made = shuffledp(
        "collect", "new", "task.toml", *given, *KEYS, "--closes", "9000-12-01", "--output", "one.collection"
    )
    (warning,) = [line for line in made.out.splitlines() if line.startswith("WARNING: One operator")]
    assert "the shuffler (https://vps.example.org) and the analyst (https://vps.example.org:8444)" in warning
    collection = Collection.read(folder / "one.collection")
    left = next(each for each in collection.promised() if each.guarantee.type == "local-dp")
    assert left.guarantee.epsilon == pytest.approx(2)
    assert warning.endswith(f"leaves this: {left.sentence_of(left.guarantee)}")
    assert "operator" in made.out
    assert "One operator" not in new("--closes", "9000-12-01").out


def test_two_names_of_one_address_are_warned_of_when_a_collection_is_made_and_not_later(folder, monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", lambda *_: [(2, 1, 6, "", ("192.0.2.1", 0))])
    made, shown = new("--closes", "9000-12-01"), shuffledp("collect", "show", "survey.collection")
    assert "WARNING: mixer.example and office.example have the same address of the network" in made.out
    assert "same address" not in shown.out
    assert not Collection.read(folder / "survey.collection").one_operator


def test_a_demonstration_and_the_names_of_parties_are_shown_and_named_as_claims(folder):
    names = ("--shuffler-name", "University of X", "--analyzer-name", "The union's office")
    made = new("--closes", "9000-12-01", "--demonstration", *names, "--result", "https://union.example/result")
    assert "WARNING: Demonstration: answers are made up" in made.out
    assert 'Shuffler              "University of X", https://mixer.example, key ' in made.out
    assert "nobody has checked them" in made.out
    assert "Result                https://union.example/result, after the close" in made.out
    read = Collection.read(folder / "survey.collection")
    assert (read.demonstration, read.names.shuffler, read.result) == (
        True, "University of X", "https://union.example/result",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--page-name", "Paper"], "--page-name must be left out without --web"),
        (["--relay-name", "Paper"], "--relay-name must be left out where there is no relay"),
        (["--shuffler-name", 'X" at'], "--shuffler-name must be at most 80 letters without quotation marks"),
        (["--result", "http://union.example"], "--result must be an https address"),
    ],
)
def test_a_name_or_a_result_that_cannot_be_is_refused(folder, options, words):
    done = new("--closes", "9000-12-01", *options)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert not (folder / "survey.collection").exists()


def test_the_same_task_twice_is_two_collections(folder):
    first = new("--closes", "9000-12-01", "--json").json["collection_id"]
    assert "must be a file that does not exist yet" in new("--closes", "9000-12-01").err
    assert new("--closes", "9000-12-01", "--force", "--json").json["collection_id"] != first
    (folder / "notes.txt").write_text("mine")
    assert new("--closes", "9000-12-01", "--force", output="notes.txt").code == 2
    assert (folder / "notes.txt").read_text() == "mine"


def test_reports_that_stay_near_their_senders_have_a_promise_only_where_people_are_known(folder):
    near = {"public": ["x"], "groups": {"columns": ["x"], "radius": 1.0}, "shuffler": {"kind": "mallows", "alpha": 1.0}}
    write_task(folder, release={"minimum_batch": 500}, **near)
    shown = new("--closes", "9000-12-01").out
    assert "says it of people like them" in shown
    assert shown.startswith("WARNING: Whatever will be promised holds only as long as nobody sends more reports")
    assert "epsilon <=" not in shown
    refusal = new("--closes", "9000-12-01", "--every", 600, output="often.collection").err
    assert "--every must be absent with [groups], whose reference order covers all people" in refusal


OBLIVIOUS = ("--transport", "oblivious", "--relay", "https://relay.example/survey", "--gateway-key", "gate.pem.pub")


def test_a_relay_is_named_and_makes_no_number_smaller(folder):
    direct = new("--closes", "9000-12-01", "--json").json
    made = new("--closes", "9000-12-01", *OBLIVIOUS, "--json", output="relayed.collection").json
    assert made["collection"]["relay"] == "https://relay.example/survey"
    assert made["fingerprints"]["gateway"] == read_public(folder / "gate.pem").fingerprint
    for first, second in zip(direct["statements"], made["statements"], strict=True):
        assert first["guarantee"] == second["guarantee"]
        assert set(second["trust"]) - set(first["trust"]) == {"relay-apart"}
    shown = shuffledp("collect", "show", "relayed.collection", "-v").out
    assert "Relay                 https://relay.example/survey" in shown
    assert "the relay (https://relay.example/survey) tells nobody who sent what" in shown
    assert Collection.read(folder / "relayed.collection").is_oblivious
    second = ("--relay", "https://second.example/survey")
    assert (
        "https://relay.example/survey or https://second"
        in new("--closes", "9000-12-01", *OBLIVIOUS, *second, output="two.collection").out
    )


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({}, ["--closes", "2020-01-01"], "--closes must be after"),
        ({}, ["--closes", "soon"], "--closes must be a date in UTC"),
        ({}, ["--closes", "9000-12-01", "--every", 499], "--every must be at least minimum_batch=500"),
        ({}, ["--closes", "9000-12-01", "--shuffler", "http://mixer.example"], "--shuffler must be an https address"),
        ({}, ["--closes", "9000-12-01", "--web", "https://ask.example/x?y"], "--web must be an address such as"),
        ({}, ["--closes", "9000-12-01", "--shuffler-key", "office.pem"], "must be given equally often; got 1 and 2"),
        ({}, ["--closes", "9000-12-01", "--analyzer-key", "absent"], "a public key file must be readable"),
        ({}, ["--closes", "9000-12-01", *3 * OBLIVIOUS[2:4]], "--relay must be given twice at most; got 3"),
        ({}, ["--closes", "9000-12-01", *OBLIVIOUS[:4]], "gateway_key must be given for transport='oblivious'"),
        ({}, ["--closes", "9000-12-01", *OBLIVIOUS[:2], *OBLIVIOUS[4:]], "relay must be given for transport"),
        ({}, ["--closes", "9000-12-01", *OBLIVIOUS[2:4]], "--relay must be absent for transport='direct'"),
        (
            {},
            ["--closes", "9000-12-01", *OBLIVIOUS, "--gateway-key", "office.pem"],
            "--gateway-key must be the gateway's",
        ),
        (
            {},
            ["--closes", "9000-12-01", *OBLIVIOUS, "--relay", "https://mixer.example/x"],
            "--relay must be of another host",
        ),
        (
            {},
            ["--closes", "9000-12-01", *OBLIVIOUS, "--web", "https://Mixer.example/pages/survey"],
            "page must be of another host than the shuffler",
        ),
        (
            {},
            ["--closes", "9000-12-01", *OBLIVIOUS, "--issuer", "https://mixer.example", "--issuer-key", "mint.pem.pub"],
            "--issuer must be of another host than the shuffler",
        ),
        (
            {},
            ["--closes", "9000-12-01", *OBLIVIOUS, "--relay", "http://relay.example"],
            "--relay must be an https address",
        ),
        ({"shuffler": {"kind": "none"}}, ["--closes", "9000-12-01"], "nothing would be shuffled"),
        ({"by": "place"}, ["--closes", "9000-12-01"], "without by or weight: no service shuffles inside strata yet"),
        (
            {"shuffler": {"kind": "network", "graph": "random-regular:8"}},
            ["--closes", "9000-12-01"],
            "walks need the directory of those who pass reports on",
        ),
    ],
)
def test_what_has_no_service_or_no_key_or_no_time_left_is_refused(folder, changes, options, words):
    write_task(folder, **{"release": {"minimum_batch": 500}} | changes)
    result = new(*options)
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert not (folder / "survey.collection").exists()


def test_a_collection_that_somebody_changed_is_refused(folder):
    new("--closes", "9000-12-01")
    file = folder / "survey.collection"
    file.write_text(file.read_text().replace('"opens"', ' "opens"'))
    assert "to the byte" in refused(2, "collect", "show", file)


PAGE = "https://ask.example/survey.html"


def test_a_page_is_written_beside_the_collection_with_the_link_that_people_are_invited_by(folder):
    made = new("--closes", "9000-12-01", "--web", PAGE)
    collection = Collection.read(folder / "survey.collection")
    content = (folder / "survey.html").read_bytes()
    assert collection.page.sha256 == hashlib.sha256(content).hexdigest()
    assert f"Written: survey.html. Have it served as it is at {PAGE}, best not by the shuffler.\n" in made.out
    assert "The page asks for cheated by that name alone" in made.out
    assert made.out.endswith(f"Invite people by the whole of this link: {PAGE}#page={collection.page.sha256}\n")
    assert f"{PAGE}#page=" in shuffledp("collect", "show", "survey.collection").out.replace("\n", "").replace(" ", "")
    assert "Written: survey.svg, the link below as a QR code" in made.out
    assert (folder / "survey.svg").read_bytes() == link_code(collection.page.link)
    assert "page" in new("--closes", "9000-12-01", "--web", PAGE, "--json", "--force").json["statements"][0]["trust"]


def test_a_page_with_a_randomizer_that_the_browser_lacks_is_refused_before_anything_is_written(folder):
    write_task(folder, randomizer={"kind": "olh"}, release={"minimum_batch": 500})
    made = new("--closes", "9000-12-01", "--web", PAGE)
    assert made.code == 2
    assert "which the browser has for such answers; got kind='olh' in column 'cheated'" in made.err
    assert not list(folder.glob("survey.*"))


def test_a_page_takes_the_place_of_no_other_file_and_is_not_the_collection(folder):
    for name in ("survey.html", "survey.svg"):
        (folder / name).write_text("mine")
        found = new("--closes", "9000-12-01", "--web", PAGE, "--force")
        assert found.code == 2
        assert name in found.err
        assert (folder / name).read_text() == "mine"
        assert not (folder / "survey.collection").exists()
        (folder / name).unlink()
    for name in ("other.html", "other.svg"):
        assert "must not be called as the page" in new("--closes", "9000-12-01", "--web", PAGE, output=name).err


def test_a_kind_that_browsers_lack_is_refused_by_name_before_anything_is_written(folder):
    write_task(folder, release={"minimum_batch": 500}, randomizer={"kind": "olh"})
    found = new("--closes", "9000-12-01", "--web", PAGE)
    assert found.code == 2
    assert "got kind='olh' in column 'cheated'" in found.err
    assert not list(folder.glob("survey.*"))
