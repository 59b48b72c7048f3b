"""`shuffledp tokens issue`, and answering by invitation: what is made for whom, refused, and shown to nobody."""

import csv
import json
import re
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from cli.running import refused, shuffledp
from parties.issuer.issuing import issuer_key
from parties.issuer.test_issuer import Answering
from parties.service import devices
from parties.service.devices import CERTAIN, Shuffler, refusing, service
from shuffledp.core.instants import written
from shuffledp.files.key_files import write_key
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.http.http_messages import Problem
from shuffledp.parties.issuer.invitations import digest_of
from shuffledp.parties.service import client
from shuffledp.parties.wire.grammar import ReportError
from shuffledp.parties.wire.keys import from_text, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.parties.wire.tokens import Token, TokenCheck
from shuffledp.survey import Collection, Task

ONE = {"name": "survey", "release": {"delta": 1e-6, "minimum_batch": 2}, "value": "smokes", "randomizer": CERTAIN}
ISSUE = ("tokens", "issue", "survey.collection", "--people", "list.csv")


def made(**further):
    return Collection.new(
        Task.from_dict(ONE),
        shuffler=service("https://mixer.example", devices.SHUFFLER_KEY),
        analyzer=service("https://office.example", devices.KEY, devices.NEXT),
        closes=written(devices.NOW + timedelta(days=9)),
        now=devices.NOW,
        **further,
    )


def with_tokens(**further):
    return made(transport="token", issuer=service("https://issuer.example", issuer_key()), **further)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(client, "FIRST_WAIT", 0.001)
    (tmp_path / "list.csv").write_text("name,mail\nAda,a@example.org\nBo,b@example.org\n")
    (tmp_path / "survey.collection").write_bytes(with_tokens().canonical)
    since = written(datetime.now(UTC))
    published = PublishedKey(role=issuer_key().role, key=in_text(issuer_key().public), active_from=since)
    write_key(tmp_path / "issuer.key", issuer_key(), published)
    return tmp_path


def test_each_person_gets_an_invitation_and_the_issuer_a_list_that_tells_nothing(folder):
    done = shuffledp(*ISSUE, "--output", "invitations")
    assert done.out.splitlines() == [
        "WARNING: Whoever keeps this folder can answer in anybody's place: give each person theirs, then destroy it.",
        "2 invitations, each for one person alone. people.csv says whose is which.",
        "For the issuer: invited.json, which holds digests in no order.",
        "Folder: invitations",
    ]
    names = sorted(path.name for path in (folder / "invitations").iterdir())
    assert names == ["1.invitation", "2.invitation", "invited.json", "people.csv"]
    rows = list(csv.DictReader((folder / "invitations" / "people.csv").read_text().splitlines()))
    codes = [json.loads((folder / "invitations" / row["invitation"]).read_text())["code"] for row in rows]
    assert len(set(codes)) == 2
    assert not any(code in done.out + (folder / "invitations" / "invited.json").read_text() for code in codes)
    again = refused(2, *ISSUE, "--output", "invitations")
    assert "must be a folder that does not exist yet: no invitation is ever replaced" in again
    assert "--force" not in again


def test_where_people_answer_on_a_page_each_has_a_link_and_a_code_to_print_that_the_owner_alone_may_read(folder):
    collection, _ = with_page(with_tokens(), "https://ask.example/survey.html")
    (folder / "survey.collection").write_bytes(collection.canonical)
    done = shuffledp(*ISSUE, "--output", "invitations")
    assert done.out.startswith("WARNING: Whoever keeps this folder can answer in anybody's place")
    assert "To print and cut out: print.html, with a QR code for each.\n" in done.out
    made = folder / "invitations"
    rows = list(csv.DictReader((made / "people.csv").read_text().splitlines()))
    assert [row["link"].startswith(f"{collection.page.link}&invitation=") for row in rows] == [True, True]
    sheet = (made / "print.html").read_text()
    assert re.findall('<p class="name">(.*)</p>', sheet) == ["Ada", "Bo"]
    shown = re.findall('<p class="link">(.*)</p>', sheet)
    assert shown == [row["link"].replace("&", "&amp;") for row in rows]
    assert {path.stat().st_mode & 0o777 for path in made.iterdir()} == {0o600}
    assert not any(row["link"].rpartition("=")[2] in done.out for row in rows)
    without = shuffledp(*ISSUE, "--output", "other", "--no-sheet")
    assert "print.html" not in without.out
    assert not (folder / "other" / "print.html").exists()


def test_ready_made_tokens_are_for_a_collection_that_says_so(folder):
    assert "--key must be left out" in refused(2, *ISSUE, "--output", "x", "--key", "issuer.key")
    collection = with_tokens(ready_made=True)
    (folder / "survey.collection").write_bytes(collection.canonical)
    assert "--key must be given where tokens are ready-made" in refused(2, *ISSUE, "--output", "x")
    done = shuffledp(*ISSUE, "--output", "x", "--key", "issuer.key")
    assert done.out.startswith("WARNING: Whoever keeps this folder can tell whose token is whose")
    assert not (folder / "x" / "invited.json").exists()
    shown = shuffledp("collect", "show", "survey.collection", "-v").out
    assert "the issuer (https://issuer.example) made each person's token, would know it again" in shown
    assert "makes a token for each invited person" in shown


def test_nobody_is_invited_where_anybody_may_answer(folder):
    (folder / "survey.collection").write_bytes(made().canonical)
    assert "must have an issuer that signs blindly" in refused(2, *ISSUE, "--output", "x")
    assert not (folder / "x").exists()


# ---- answering ------------------------------------------------------------------------------------------------------


class Network(httpx.MockTransport):
    """The shuffler and the issuer of a collection, by their addresses."""

    def __init__(self, *answers):
        self.shuffler, self.issuer = Shuffler(*answers, num_columns=1), Answering(IssuerOnly())
        super().__init__(self._lead)

    def _lead(self, request):
        of = {"mixer.example": self.shuffler, "issuer.example": self.issuer}
        return of[request.url.host].handler(request)


class IssuerOnly:
    issuer_key = issuer_key()


@pytest.fixture
def answering(folder, monkeypatch):
    shuffledp(*ISSUE, "--output", "invitations")

    def answering(*arguments, answers=(), ways=()):
        network = Network(*answers)
        network.shuffler.ways = list(ways)
        monkeypatch.setattr(client, "new_client", lambda **_: httpx.Client(transport=network))
        return shuffledp("send", "survey.collection", *arguments), network

    return answering


def test_a_person_answers_by_invitation_and_the_token_goes_to_the_shuffler_alone(folder, answering):
    done, network = answering("--value", "Yes", "--invitation", "invitations/1.invitation")
    assert done.out == "1 answer stored by https://mixer.example, each randomized here.\n"
    (request,) = network.shuffler.requests
    token = Token.of_shown(request.headers["authorization"])
    collection = Collection.read(folder / "survey.collection")
    TokenCheck(collection.challenge, [issuer_key().public])(token)
    (body,) = network.issuer.bodies
    assert token.nonce not in body
    assert token.authenticator not in body
    assert [path.suffix for path in (folder / "state").rglob("*") if path.is_file()] == [".answered"]


def test_where_the_shuffler_does_not_answer_the_same_report_comes_with_the_same_token(answering):
    lost = [httpx.ConnectError("")] * 50
    first, before = answering(
        "--value", "Yes", "--invitation", "invitations/1.invitation", "--patience", "0.01", answers=lost
    )
    second, after = answering()  # neither the answer nor the invitation is needed again
    assert (first.code, second.code) == (9, 0)
    assert before.shuffler.bodies[0] == after.shuffler.bodies[0]
    assert before.shuffler.requests[0].headers["authorization"] == after.shuffler.requests[0].headers["authorization"]
    assert after.issuer.bodies == []


@pytest.mark.parametrize(
    ("way", "words", "code"),
    [
        (
            httpx.Response(401, text="a relay that asks for a password"),
            "must be reached; somebody else has answered",
            2,
        ),
        (httpx.Response(403), "must answer; got: 403", 2),
        (httpx.Response(404), "must answer; got: 404", 2),
        (Problem.UNAVAILABLE, "must answer; got: 503 unavailable", 9),
        (Problem.NOT_AUTHORIZED, "must answer; got: 403 the collection is closed, or knows no such invitation", 2),
    ],
)
def test_an_invitation_is_not_used_where_the_way_does_not_lead_to_the_shuffler(answering, way, words, code):
    given = ("--value", "Yes", "--invitation", "invitations/1.invitation", "--patience", "0.01")
    shut, network = answering(*given, ways=[way] * 50)
    assert shut.code == code
    assert words in shut.err
    assert shut.err.endswith("The invitation was not used.\n")
    assert (network.issuer.bodies, network.shuffler.requests) == ([], [])
    again, network = answering(*given)  # from any device
    assert (again.code, len(network.shuffler.tries), len(network.issuer.bodies)) == (0, 1, 1)


def test_a_spent_token_is_said_to_be(answering):
    done, _ = answering(
        "--value", "Yes", "--invitation", "invitations/1.invitation", answers=[refusing(ReportError.TOKEN_SPENT)]
    )
    assert done.code == 2
    assert "the token has been spent: whoever had the invitation has answered already" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--value", "Yes"], "--invitation must be given: people answer this collection by invitation alone"),
        (["--value", "Yes", "--invitation", "list.csv"], "--invitation must be a file that `tokens issue` wrote"),
        (["--input", "list.csv", "--people-are-simulated"], "--input must be left out: people answer this collection"),
    ],
)
def test_without_an_invitation_nothing_is_sent(answering, arguments, words):
    done, network = answering(*arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert network.shuffler.requests == []


def test_an_invitation_to_what_is_open_to_all_is_refused(folder, answering):
    (folder / "survey.collection").write_bytes(made().canonical)
    done, _ = answering("--value", "Yes", "--invitation", "invitations/1.invitation")
    assert "--invitation must be left out: anybody may answer" in done.err


def test_invitations_are_replaced_by_others_and_the_issuer_is_told_which_are_good_no_more(folder):
    shuffledp(*ISSUE, "--output", "invitations")
    replace = ("tokens", "replace", "survey.collection", "--invitation", "invitations/2.invitation")
    done = shuffledp(*replace, "--output", "again")
    assert "good no more" in done.out
    assert "the task's `fakes` = 0 covers none of them" in " ".join(done.out.split())
    old, new = (json.loads((folder / name / "invited.json").read_text()) for name in ("invitations", "again"))
    code = json.loads((folder / "invitations" / "2.invitation").read_text())["code"]
    assert new["cancelled"] == [in_text(digest_of(from_text(code, name="code")))]
    assert set(new["cancelled"]) < set(old["codes"])
    assert not set(new["codes"]) & set(old["codes"])
    assert code not in "".join(path.read_text() for path in (folder / "again").iterdir())
    assert (folder / "again" / "people.csv").read_text().splitlines()[1] == "invitations/2.invitation,1.invitation"
    assert "must be a folder that does not exist yet" in refused(2, *replace, "--output", "again")


def test_an_invitation_is_replaced_by_its_link(folder):
    collection, _ = with_page(with_tokens(), "https://ask.example/survey.html")
    (folder / "survey.collection").write_bytes(collection.canonical)
    shuffledp(*ISSUE, "--output", "invitations", "--no-sheet")
    rows = csv.DictReader((folder / "invitations" / "people.csv").read_text().splitlines())
    link = next(rows)["link"]
    done = shuffledp(
        "tokens", "replace", "survey.collection", "--link", link, "--output", "again", "--no-sheet", "--json"
    )
    assert json.loads(done.out) == {"collection": collection.id.hex(), "invitations": 1, "cancelled": 1, "fakes": 0}
    for wrong in (link[:-1], "https://else.example/x", link.replace("ask", "other")):
        found = refused(2, "tokens", "replace", "survey.collection", "--link", wrong, "--output", "x", "--no-sheet")
        assert "link must be that of an invitation to https://ask.example/survey.html" in found
        assert link.rpartition("=")[2][:-1] not in found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "must name one or more invitations, all different"),
        (("--invitation", "1.invitation", "--invitation", "1.invitation"), "all different"),
        (("--link", "https://x.example"), "--link must be left out"),
    ],
)
def test_what_is_to_be_replaced_must_be_named_once(folder, given, words):
    shuffledp(*ISSUE, "--output", "invitations")
    named = [str(folder / "invitations" / each) if each.endswith(".invitation") else each for each in given]
    assert words in refused(2, "tokens", "replace", "survey.collection", *named, "--output", "again")


def test_ready_made_tokens_cannot_be_replaced(folder):
    (folder / "survey.collection").write_bytes(with_tokens(ready_made=True).canonical)
    found = refused(2, "tokens", "replace", "survey.collection", "--invitation", "x", "--output", "again")
    assert "nobody can take a ready-made token back" in found
