"""The command `survey`: what it refuses before anything is made, what it says, and what it never says."""

import io
import threading

import pytest

from cli.running import refused, shuffledp
from parties.organizer.played_mix import URL, PlayedMix
from shuffledp.parties.organizer import local_survey
from shuffledp.parties.organizer.mix_client import MixClient
from shuffledp.parties.organizer.survey_folder import SurveyFolder

ASKED = ("survey", "new", "Really?", "--people", 30, "--output", "made", "--address", "127.0.0.1")


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "--mix URL must be given, of a mix that somebody else runs, or --local"),
        (("--mix", "https://mix.example.org"), "--address must be left out without --local"),
        (("--mix", "https://mix.example.org", "--local"), "and not both"),
        (
            ("--local", "--invite", "people.csv"),
            "--invite, --page-at, --relay and the others of a mix must be left out",
        ),
        (("--local", "--epsilon0", 3.5), "--epsilon0 must be at most 3 where one operator runs everything"),
        (("--local", "--people", 10_000, "--epsilon0", 4), "--epsilon0 must be at most 3"),
        (("--local", "--people", 1), "--people must be"),
        (("--local", "--minimum", 31), "--minimum must be at most people=30"),
        (("--local", "--fakes", 15), "--fakes must be below minimum=15"),
        (("--local", "--answers", "Yes"), "--answers must be two or more"),
        (("--local", "--questions", "q.toml"), "QUESTION must be given, or --questions in its place"),
        (("--local", "--closes", "2001-01-01"), "--closes must be after"),
        (("--local", "--address", "8.8.8.8"), "must be an https address"),
        (("--local", "--language", "not a language"), "language"),
        (("--local", "--sum"), "--sum must be left out with --local: whoever serves the page"),
    ],
)
def test_what_cannot_be_asked_so_is_refused_in_a_line_and_leaves_nothing(inside, arguments, why):
    assert why in refused(2, *ASKED, *arguments)
    assert list(inside.iterdir()) == []


def test_a_folder_that_is_there_is_never_replaced(inside):
    (inside / "made").mkdir()
    (inside / "made" / "letters").touch()
    told = refused(2, *ASKED, "--local")
    assert "--output must be a folder that does not exist yet; got " in told
    assert "--force" not in told  # there is none
    assert [each.name for each in (inside / "made").iterdir()] == ["letters"]


def test_a_folder_of_something_else_is_no_survey(inside):
    assert "which has no survey.collection" in refused(2, "survey", "finish", ".")


@pytest.mark.deep
def test_a_survey_says_what_is_protected_and_where_to_go_and_shows_no_secret(inside, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    done = shuffledp(*ASKED, "--local", "--fakes", 3)
    assert done.code == 4
    assert "there were fewer, which the shuffler has destroyed, or fewer that the analyst's key opens." in done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("WARNING: One operator, in one local network without encryption")
    assert "epsilon0 = 2: with 30 answers a share is known to +-15 points" in done.out
    assert "If at most 3 of the answers are made up" in done.out
    assert "Open on each phone: http://127.0.0.1:" in done.out
    for key in ("analyst.key", "operator.key"):
        secret = (inside / "made" / key).read_text().splitlines()[1]
        assert secret not in done.out + done.err


def test_a_closed_input_ends_nothing(monkeypatch):
    from shuffledp.cli.survey_command import _read_line

    asked = threading.Event()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    _read_line(asked)
    assert not asked.is_set()
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    _read_line(asked)
    assert asked.is_set()


def test_a_machine_without_a_network_says_so(monkeypatch):
    class Nowhere:
        def __init__(self, *_):
            raise OSError

    monkeypatch.setattr(local_survey.socket, "socket", Nowhere)
    assert "--address must be given" in refused(2, *ASKED[:-2], "--local")


@pytest.fixture
def played(monkeypatch):
    """A mix that the test plays, and nothing else on the network."""
    mix = PlayedMix()
    monkeypatch.setattr("shuffledp.parties.service.client.new_client", mix.client)
    return mix


def test_through_a_mix_every_step_says_what_to_do_next_and_a_changed_page_is_told(inside, played):
    (inside / "people.csv").write_text("name\nAda\nBo\nCleo\n")
    asked = ("survey", "new", "Really?", "--invite", "people.csv", "--output", "made", "--mix", URL)
    done = shuffledp(*asked, "--contact", 'the "office"')
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].startswith(f"WARNING: {URL} takes the answers in and serves the page, too")
    assert "If those whom you invite are real people, none of them you" in done.out
    assert [each for each in ("status", "remind", "finish") if f"shuffledp survey {each} made" in done.out] == [
        *("status", "remind", "finish")
    ]
    secret = (inside / "made" / "analyst.key").read_text().splitlines()[1]
    codes = [line.rpartition("=")[2] for line in (inside / "made/invitations/people.csv").read_text().split()[1:]]
    assert not any(each in done.out + done.err for each in (secret, *codes))
    played.page = (inside / "made" / "survey.html").read_bytes()
    assert "shuffledp survey finish made --publish" in shuffledp("survey", "status", "made").out
    played.page += b" "
    assert "it is ANOTHER ONE" in refused(2, "survey", "status", "made")
    assert "3 reminders, for all" in shuffledp("survey", "remind", "made").out
    assert "Next: shuffledp survey finish made --publish" in shuffledp("survey", "close", "made").out
    assert "must be of a survey that is open, so that people can still answer" in refused(2, "survey", "remind", "made")
    assert len(list((inside / "made").glob("reminder-*"))) == 1
    survey = SurveyFolder(inside / "made")
    MixClient(URL, played.client()).publish(survey.read(), survey.analyst_key(), None)
    told = shuffledp("survey", "status", "made").out
    assert f"That nothing was released is published: {survey.read().result}" in told
    assert "finish" not in told
    assert "--wait must be left out where a mix takes" in refused(2, "survey", "finish", "made", "--wait")


def test_a_sum_is_offered_first_and_says_in_bold_what_is_left_without_trust_before_anybody_is_asked(inside, played):
    asked = ("survey", "new", "Really?", "--people", 30, "--fakes", 0, "--mix", URL, "--epsilon0", 1)
    left = "If the mix and whoever has analyst.key work together, nothing is left"
    offered = shuffledp(*asked, "--output", "reports").out
    best = "Best asked as a sum: a share is known to +-13 points, in place of +-34 points."
    assert best in offered
    assert offered.index(best) < offered.index(left) < offered.index("epsilon0 = 1: with 30 answers")
    assert "For that add --sum to the command." in offered
    assert "as anybody who has the link could, reads that one" in " ".join(offered.split())
    done = shuffledp(*asked, "--output", "made", "--sum")
    assert done.code == 0, done.err
    assert f"WARNING: {left}" in done.out
    assert "WARNING: If one device lies, the result may be any number" in done.out
    assert "epsilon = 1, of a sum: with 30 answers a share is known to +-13 points." in done.out
    assert "15 of 30 people may stay away, and not one more" in done.out
    assert "Best asked" not in done.out
    collection = played.collection
    assert (collection.minimum, collection.most) == (15, 30)
    assert collection.promised()[0].guarantee.epsilon <= 1.0
    assert {"not-together", "all-shares"} <= {each.value for each in collection.trust + collection.promised()[0].trust}
    page = (inside / "made" / "survey.html").read_text()
    assert "together could read your answer" in page
    told = shuffledp("collect", "show", "made/survey.collection").out
    assert "when it closes, if 15 people have answered; more than 30 cannot" in " ".join(told.split())


def test_a_class_of_thirty_is_told_first_of_the_sum_though_nobody_said_who_is_real(inside, played):
    offered = shuffledp("survey", "new", "Really?", "--people", 30, "--mix", URL, "--output", "made").out
    said = " ".join(offered.split())
    assert (
        "Best asked as a sum: a share is known to +-7 points, in place of +-15 points. For that add --sum --fakes 0"
        in said
    )
    assert said.index("Best asked") < said.index("epsilon0 = 2: with 30 answers")


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2)])
def test_at_a_terminal_the_sum_is_offered_before_anything_is_made(inside, played, monkeypatch, answer, code):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    asked = ("survey", "new", "How much?", "--number", "0:10000", "--people", 30, "--mix", URL, "--output", "made")
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    done = shuffledp(*asked)
    assert (done.code, (inside / "made").exists()) == (code, code == 0)
    assert "Best asked as a sum: a mean is known to +-750, in place of +-1,800." in done.out
    assert ("nothing was made. For that add --sum --fakes 0 to the command." in done.err) == (code == 2)
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert shuffledp(*asked[:-1], "other", "--reports").code == 0  # whoever chose is not asked


def test_a_mean_wage_is_asked_by_one_command_as_a_sum_or_by_reports(inside, played):
    asked = ("survey", "new", "What do you earn?", "--number", "0:10000", "--people", 30, "--fakes", 0, "--mix", URL)
    done = shuffledp(*asked, "--sum", "--output", "made")
    assert done.code == 0, done.err
    assert "epsilon = 2, of a sum: with 30 answers a mean is known to +-750." in done.out
    (column,) = played.collection.task.columns
    assert (column.randomizer.kind, column.randomizer.ends) == ("split-and-mix", (0, 10000))
    by_reports = shuffledp(*asked, "--reports", "--output", "reports").out
    assert "epsilon0 = 2: with 30 answers a mean is known to +-1,800." in by_reports
    assert played.collection.task.columns[0].randomizer.kind == "rounded-mean"
    total = shuffledp(*asked, "--sum", "--total", "--output", "total").out
    assert "a total is known to +-22,000" in total
    assert "total must be left out without --sum" in refused(2, *asked, "--total", "--output", "none")
    whole = shuffledp(*asked, "--sum", "--whole", "--output", "whole")
    assert whole.code == 0, whole.err
    assert played.collection.task.columns[0].randomizer.integer
    assert "whole must be left out without --sum" in refused(2, *asked, "--whole", "--output", "none")
    assert "the least and the largest number that counts" in refused(2, *asked, "--number", "high", "--output", "none")
    assert "must be a range of numbers" in refused(2, *asked, "--number", "9:1", "--output", "none")
    assert "--answers must be left out with --number" in refused(2, *asked, "--answers", "A,B", "--output", "none")


def test_an_open_survey_knows_nobody_by_name_and_a_page_elsewhere_has_to_be_put_there(inside, played):
    asked = ("survey", "new", "Really?", "--people", 30, "--output", "made", "--mix", URL)
    done = shuffledp(*asked, "--page-at", "https://paper.example/survey.html", "--questions", "q.toml")
    assert done.code == 2  # a question, or a file of them
    (inside / "q.toml").write_text(
        '[[question]]\ntext = "A?"\nanswers = ["x", "y"]\n[[question]]\ntext = "B?"\nanswers = ["1", "2"]\n'
    )
    asked = (*asked[:2], *asked[3:], "--page-at", "https://paper.example/survey.html", "--questions", "q.toml")
    done = shuffledp(*asked)
    assert done.code == 0, done.err
    assert "WARNING" not in done.out
    assert "First put made/survey.html, as it is, at https://paper.example/survey.html." in done.out
    assert len(played.collection.task.columns) == 2
    assert "So epsilon0 is all that is promised." in done.out
    assert played.collection.promised()[0].guarantee.epsilon == 2.0
    assert played.collection.promised()[0].guarantee.delta == 0.0
    assert all(each.people.unvouched for each in played.collection.task.columns)
    link = played.collection.page.link
    assert f"of another one, send {link} again." in refused(2, "survey", "remind", "made")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "--people must be given"),
        (("--people", 30, "--epsilon0", 3.5), "--epsilon0 must be at most 3 among 30 people"),
        (("--people", 30, "--reminders"), "--reminders must be left out without people who are invited by name"),
        (("--invite", "people.csv", "--people", 4), "--people must be at most 3, who are invited"),
        (("--invite", "people.csv", "--people", 2, "--sum"), "--people must be left out with --sum and --invite"),
        (("--people", 30, "--sum"), "fakes must be given for a sum"),
        (("--people", 30, "--page-at", "http://paper.example"), "--page-at must be an https address"),
        (("--people", 30, "--code", "no code"), "--code must be one that a mix's operator handed out"),
        (("--people", 1001), "--people must be at most 1000, which https://mix.example.org takes"),
        (("--people", 30, "--closes", "2999-01-01"), "--closes must be at most 31 days from now, which https://mix"),
        (("--people", 30, "--page-at", f"{URL}:8443/it"), "--page-at must be at another host than https://mix.example"),
        (("--people", 30, "--page-at", "https://a.mix.example.org"), "--page-at must be at another host than"),
    ],
)
def test_what_a_mix_cannot_do_is_refused_and_leaves_nothing(inside, played, arguments, why):
    (inside / "people.csv").write_text("name\nAda\nBo\nCleo\n")
    assert why in refused(2, "survey", "new", "Really?", "--output", "made", "--mix", URL, *arguments)
    assert [each.name for each in inside.iterdir()] == ["people.csv"]
    assert played.requests == []


def test_a_mix_on_this_machine_is_one_operator(inside):
    asked = ("survey", "new", "Really?", "--output", "made", "--people", 1000, "--epsilon0", 4)
    assert "where one operator runs everything" in refused(2, *asked, "--mix", "http://127.0.0.1:1")


def test_a_kit_names_mix_relay_and_page_and_is_given_what_they_serve(inside, played):
    host = URL.partition("://")[2]
    given = ("--relay", "relay.example.edu", "--relay", "relay.example.uk", "--page", "page.example.net")
    done = shuffledp("kit", "new", "kit", "--mix", host, *given)
    assert "Next: shuffledp survey new QUESTION --people NUMBER --kit kit" in done.out
    asked = ("survey", "new", "Really?", "--people", 30, "--output", "made", "--kit", "kit")
    done = shuffledp(*asked)
    assert done.code == 0, done.err
    collection = played.collection
    assert collection.relays == ("https://relay.example.edu/survey", "https://relay.example.uk/survey")
    assert collection.shuffler.url == URL
    assert collection.page.url == "https://page.example.net/survey.html"
    assert (inside / "kit" / "page" / "survey.html").read_bytes() == (inside / "made" / "survey.html").read_bytes()
    assert (inside / "kit" / "survey.collection").read_bytes().strip() == collection.canonical
    assert "must be left out with --kit" in refused(2, *asked, "--mix", URL)
    assert shuffledp("kit", "new", "other", "--shuffler", host).code == 0
    assert "must be a kit with a mix" in refused(2, *asked[:-1], "other")
    three = [each for number in range(3) for each in ("--relay", f"relay{number}.example.edu")]
    assert "--relay must be given twice at most; got 3 hosts" in refused(
        2, "kit", "new", "third", "--mix", host, *three
    )
    assert "no party besides" in refused(2, "kit", "new", "third", "--mix", host, "--analyzer", "office.example")
