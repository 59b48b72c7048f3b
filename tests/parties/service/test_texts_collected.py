"""Open answers over the services: one sealed message of one length, whatever was written, and words that many wrote."""

import json

import pytest

from parties.service.at_work import collected, run
from parties.service.given import YES_NO, Parties
from parties.service.test_ticks_collected import asked, submissions_of
from shuffledp.cli.send_command import answers_typed
from shuffledp.core.errors import InputDataError
from shuffledp.files.devices import randomize_each
from shuffledp.parties.wire.grammar import UploadRequest

WORDS = b"nurse\n" * 90 + b"Truck Driver\n" * 60 + b"abcdefg\n"


def jobs(**further):
    return {
        "column": "job",
        "kind": "open",
        "code": "letters",
        "length": 6,
        "known": ["cook"],
        "randomizer": {"kind": "masked-prefix", "epsilon0": 12.0},
    } | further


def asked_openly(*further, **keys):
    return asked(jobs(), *further, least=100, people={"expected": 150}, **keys)


@pytest.mark.usefixtures("without_a_page")
def test_words_that_many_wrote_come_out_of_a_collection_with_those_known_beforehand(tmp_path):
    """Mutant: the analyzer of shares of a list, or a code of another length than the collection's."""
    parties = Parties(asked_openly())
    run(collected, tmp_path, parties, submissions_of(parties, b"job\n" + WORDS))
    found = json.loads((tmp_path / "release" / "job" / "statement.json").read_text())
    shares = {each["target"]: each for each in found["estimates"]}
    assert set(shares) == {"nurse", "truck", "cook", "(other words)"}  # cut to six letters, on each device
    assert shares["nurse"]["lower"] < 90 / 151 < shares["nurse"]["upper"]
    assert shares["cook"]["lower"] == 0
    assert "abcdef" not in json.dumps(found)
    assert found["num_reports"] == 151


@pytest.mark.usefixtures("without_a_page")
def test_an_open_question_stands_beside_others(tmp_path):
    parties = Parties(asked_openly({"column": "smokes", "randomizer": YES_NO}))
    rows = b"".join(each + (b",Yes\n" if place % 3 else b",No\n") for place, each in enumerate(WORDS.splitlines()))
    run(collected, tmp_path, parties, submissions_of(parties, b"job,smokes\n" + rows))
    found = json.loads((tmp_path / "release" / "statement.json").read_text())
    assert [each["num_reports"] for each in found["columns"]] == [151, 151]
    assert {"nurse", "Yes"} <= {each["target"] for each in found["estimates"]}


def test_uploads_have_one_form_whatever_is_written():
    """Mutant: a code as long as the word."""
    parties = Parties(asked_openly())
    sizes = {
        len(UploadRequest(tuple(submissions_of(parties, b"job\n" + word + b"\n"))).encode())
        for word in (b"a", b"truck driver and more", b"12%a$", "\u05d0b".encode())
    }
    assert len(sizes) == 1


def test_what_is_typed_is_one_persons_text_and_nothing_of_it_is_in_a_message():
    collection = Parties(asked_openly()).collection
    sent = randomize_each(collection.task, answers_typed(collection, ["job=Truck Driver"], [], ask=False))
    assert (sent.num_users, len(sent.reports[0])) == (1, 1)
    with pytest.raises(InputDataError) as error:
        randomize_each(collection.task, answers_typed(collection, ["job= "], [], ask=False))
    assert "Truck" not in str(error.value)
