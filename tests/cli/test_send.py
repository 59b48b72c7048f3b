"""The command of those who answer: what it refuses before anything is sent, and what it says."""

import json

import httpx
import pytest

from cli.running import shuffledp
from parties.service.devices import CERTAIN, Shuffler, collection_of, refusing
from shuffledp.parties.service import client
from shuffledp.parties.wire.grammar import ReportError, UploadRequest
from shuffledp.survey import Collection

ONE = {"name": "survey", "release": {"delta": 1e-6, "minimum_batch": 2}, "value": "smokes", "randomizer": CERTAIN}


@pytest.fixture
def sending(tmp_path, monkeypatch):
    """Runs the command on a collection file, with a shuffler that answers as it is told."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(client, "FIRST_WAIT", 0.001)
    file = tmp_path / "survey.collection"

    def sending(*arguments, answers=(), task=None, **further):
        if not file.exists():
            file.write_bytes(collection_of(task, **further).canonical)
        shuffler = Shuffler(*answers, num_columns=len(Collection.read(file).task.columns))
        monkeypatch.setattr(client, "new_client", lambda **_: shuffler.client())
        return shuffledp("send", file.name, *arguments), shuffler

    return sending


def test_a_person_answers_with_one_line(sending):
    done, shuffler = sending("--value", "Yes", task=ONE)
    assert done.out == "1 answer stored by https://mixer.example, each randomized here.\n"
    assert len(UploadRequest.decode(shuffler.bodies[0], num_columns=1).submissions) == 1


def test_every_question_is_answered_by_its_name(sending):
    done, shuffler = sending("--value", "smokes=Yes", "--value", "drinks=No")
    assert done.code == 0
    assert len(UploadRequest.decode(shuffler.bodies[0], num_columns=2).submissions[0].reports) == 2


def test_a_pair_and_a_number_in_bins_are_answered_by_their_columns(sending):
    pair = {"columns": ["smokes", "drinks"], "randomizer": CERTAIN | {"categories": [["No", "Yes"]] * 2}}
    bins = {"column": "age", "randomizer": CERTAIN | {"categories": None, "lower": 0, "upper": 120, "bins": 12}}
    bins["randomizer"] = {key: value for key, value in bins["randomizer"].items() if value is not None}
    task = {key: value for key, value in ONE.items() if key != "randomizer"} | {"value": [pair, bins]}
    answers = [option for each in ("smokes=Yes", "drinks=No", "age=34") for option in ("--value", each)]
    done, shuffler = sending(*answers, task=task)
    assert done.code == 0, done.err
    assert len(UploadRequest.decode(shuffler.bodies[0], num_columns=2).submissions[0].reports) == 2


def test_an_answer_that_is_not_given_is_asked_for_by_the_question_of_the_task(sending, monkeypatch):
    prompts = []
    monkeypatch.setattr("typer.prompt", lambda text: prompts.append(text) or "Yes")
    done, shuffler = sending(task=ONE | {"question": "Do you smoke?"})
    assert done.code == 0, done.err
    assert prompts == ["Do you smoke? (No, Yes)"]
    assert len(shuffler.bodies) == 1


def test_a_second_answer_from_one_device_is_refused_before_anything_is_sent(sending):
    sending("--value", "Yes", task=ONE)
    done, shuffler = sending("--value", "No")
    assert (done.code, done.out) == (2, "")
    assert "this device has answered the collection already" in done.err
    assert not shuffler.bodies


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--value", "perhaps"], "'No', 'Yes', exactly"),
        (["--value", "Yes", "--value", "No"], "--value must be COLUMN=VALUE, once for each of the columns smokes"),
        (["--value", "Yes", "--public", "x=1"], "--public must be COLUMN=VALUE"),
        (["--input", "answers.csv"], "--people-are-simulated must be given beside --input"),
        (["--people-are-simulated"], "--people-are-simulated must be left out without --input"),
        (["--input", "answers.csv", "--value", "Yes"], "--value and --public must be left out"),
    ],
)
def test_what_cannot_be_sent_is_refused_and_shown_to_nobody(sending, arguments, named):
    (done, shuffler) = sending(*arguments, task=ONE)
    assert done.code in (2, 3)
    assert named in done.err
    assert "perhaps" not in done.err
    assert not shuffler.bodies


def test_a_public_column_that_goes_beside_the_report_is_asked_for_by_the_name_of_its_option(sending):
    near = {"public": ["x"], "groups": {"columns": ["x"], "radius": 1.0}, "shuffler": {"kind": "mallows", "alpha": 1.0}}
    done, shuffler = sending(task=ONE | near)  # nothing is asked before
    assert (done.code, done.out) == (2, "")
    assert "--public must give each column beside the report; it lacks x." in done.err
    assert not shuffler.bodies


def test_a_crowd_is_said_to_be_simulated(sending, tmp_path):
    (tmp_path / "answers.csv").write_text("smokes,drinks\n" + "Yes,No\n" * 7)
    done, shuffler = sending("--input", "answers.csv", "--people-are-simulated", demonstration=True)
    shown, *others = done.out.splitlines()
    assert shown.startswith("WARNING: Demonstration: answers are made up")
    assert others == [
        "WARNING: The people are simulated: nothing of this may be released as if people had answered.",
        "7 answers stored by https://mixer.example, each randomized here.",
    ]
    assert b"Yes" not in shuffler.bodies[0]


def test_a_crowd_is_refused_where_people_answer(sending, tmp_path):
    (tmp_path / "answers.csv").write_text("smokes,drinks\n" + "Yes,No\n" * 7)
    done, shuffler = sending("--input", "answers.csv", "--people-are-simulated")
    assert (done.code, done.out, shuffler.bodies) == (2, "", [])
    assert "must be left out of a collection that is no demonstration" in done.err


def test_a_person_who_answers_a_demonstration_is_told_that_it_is_one(sending):
    done, _ = sending("--value", "Yes", task=ONE, demonstration=True)
    assert done.out.startswith("WARNING: Demonstration: answers are made up")


def test_a_refusal_is_told_and_ends_the_command_with_an_error(sending):
    done, _ = sending("--value", "Yes", "--json", task=ONE, answers=[refusing(ReportError.TASK_EXPIRED)])
    assert (done.code, json.loads(done.out)["refused"]) == (2, {"task_expired": 1})


def test_where_the_shuffler_does_not_answer_the_report_stays_to_be_sent(sending):
    lost, first = sending("--value", "Yes", "--patience", "0.01", task=ONE, answers=[httpx.ConnectError("")] * 50)
    assert (lost.code, lost.out) == (9, "")
    done, second = sending()
    assert done.code == 0
    assert first.bodies[0] == second.bodies[0]
