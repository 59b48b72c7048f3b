"""Open answers in a task: from texts to words, with everything that is fixed beforehand in its digest."""

import json

import pytest
from jsonschema import Draft202012Validator

from cli.running import shuffledp, task_with, write_csv, write_task
from docs.test_schema import RELEASE, SCHEMA
from shuffledp.analyzers import OTHERS
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.survey import Task, audit_task, plan
from shuffledp.testing import SeededSource

PLAN = Draft202012Validator({"$ref": "#/$defs/plan", "$defs": SCHEMA["$defs"]})
OPEN = {
    "kind": "open",
    "code": "letters",
    "length": 4,
    "known": ["tram"],
    "randomizer": {"kind": "masked-prefix", "epsilon0": 6.0, "categories": None},
}
ANSWERS = ["Bus "] * 400 + ["BIKE!"] * 250 + ["..."] * 5 + ["wälk"] * 150 + ["z\u202ez"] * 5


def written(**changes):
    return {key: value for key, value in task_with(**(OPEN | changes)).items() if value is not None}


def task(**changes) -> Task:
    return Task.from_dict(written(**changes))


def test_a_task_is_written_as_it_was_read_and_its_digest_covers_code_length_words_and_alpha():
    own = task()
    assert own.to_dict()["kind"] == "open"
    assert Task.from_dict(own.to_dict()) == own
    others = [task(code="bytes", known=["tram"]), task(length=5), task(known=[]), task(alpha=0.01)]
    assert len({own.sha256, *(each.sha256 for each in others)}) == 5


def test_texts_are_normalized_and_what_nothing_is_left_of_is_missing():
    outcome = task(missing="drop").run({"cheated": ANSWERS}, source=SeededSource(3)).columns[""]
    assert outcome.flow.missing == 5
    found = outcome.release.estimate
    assert found.target[0] == "bus"
    assert set(found.target) >= {"bus", "bike", "walk", "tram", OTHERS}
    assert found.level == 0.95


def test_people_who_write_nothing_send_a_code_that_no_text_has():
    """Mutants: the empty text, which says "(not asked)"; the code counted among words that are not spelled."""
    for code in ("letters", "bytes"):
        own = task(missing="category", code=code)
        assert own.columns[0].randomizer.text_code.text_of(own.columns[0].randomizer.text_code.no_answer) is None
        found = own.run({"cheated": [*ANSWERS, *[""] * 395]}, source=SeededSource(3)).columns[""].release.estimate
        shares = dict(zip(found.target, found.estimate, strict=True))
        assert shares["(missing)"] == pytest.approx(0.33, abs=0.12)
        assert found.not_spelled == 0
    assert "missing_category" not in json.dumps(task().to_dict())
    again = Task.from_dict(json.loads(json.dumps(own.to_dict())))
    assert (again, again.sha256 != task().sha256) == (own, True)


def test_missing_answers_are_refused_by_row():
    from shuffledp.core.errors import InputDataError

    with pytest.raises(InputDataError, match="must hold an answer in every row") as caught:
        task().run({"cheated": ["bus", "...", "bike"]})
    assert "..." not in str(caught.value).replace("...)", "")


def test_numbers_are_no_texts():
    from shuffledp.core.errors import InputDataError

    with pytest.raises(InputDataError, match="must hold text; its type is"):
        task().run({"cheated": [31337, 2]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"code": "words"}, "code must be one of"),
        ({"length": 0}, "length must be"),
        ({"length": 65}, "length must be at most 64"),
        ({"alpha": 1.0}, "alpha must be"),
        ({"known": ["Tram"]}, "known must be texts as 'letters' of length 4 spell them, such as 'tram'"),
        ({"shuffler": {"kind": "mallows", "alpha": 1.0}, "groups": {"column": "x"}, "public": ["x"]}, "uniformly"),
        ({"by": "region"}, "uniformly"),
        ({"randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": None}}, "kind"),
        (
            {"randomizer": {"kind": "masked-prefix", "epsilon0": 6.0, "prefix_bits": 21, "categories": None}},
            "at most 20",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        task(**changes)


def test_the_plan_says_what_is_found_and_what_a_report_gives_away():
    planned = plan(task(), 5000)
    words = planned.columns[0].of_question
    assert 0 < words.share < 0.2
    assert words.people == pytest.approx(words.share * 5000, abs=1)
    assert 0 < words.told < 0.5
    assert [each.epsilon0 for each in words.losses] == sorted(each.epsilon0 for each in words.losses)
    PLAN.validate(json.loads(json.dumps(planned.to_dict())))
    few = plan(task(randomizer={"kind": "masked-prefix", "epsilon0": 3.0, "categories": None}), 50)
    assert few.columns[0].of_question.share is None
    assert any("No word would be found" in each and "With " in each for each in few.warnings)


def test_the_release_says_which_words_may_be_missing_and_names_no_floor(tmp_path):
    path = write_task(tmp_path, **OPEN, missing="drop", people={"expected": 800})
    answers = write_csv(tmp_path / "a.csv", ["cheated"], [[each] for each in ANSWERS])
    result = shuffledp("run", path, "--input", answers, "--output", tmp_path / "out", "--json")
    assert result.code == 0, result.err
    RELEASE.validate(result.json)
    page = (tmp_path / "out" / "release.html").read_text(encoding="utf-8")
    assert "people or more wrote is shown with a chance of 95%" in page
    assert "Words of fewer people may be shown too" in page  # the size found with 95% is no floor
    assert "Not shown" not in page
    assert "reports that chose no word" in page
    text = shuffledp("plan", path).out
    assert "is found with a chance of 95%" in " ".join(text.split())


def test_stages_by_separate_parties_lead_to_words_too(tmp_path):
    path = write_task(tmp_path, **OPEN, missing="drop")
    answers = write_csv(tmp_path / "a.csv", ["cheated"], [[each] for each in ANSWERS])
    for command, source, target in (
        ("randomize", answers, "r.parquet"),
        ("shuffle", tmp_path / "r.parquet", "v.parquet"),
        ("analyze", tmp_path / "v.parquet", "out"),
    ):
        result = shuffledp(command, path, "--input", source, "--output", tmp_path / target)
        assert result.code == 0, result.err
    assert "bus" in result.out


def test_reports_have_one_length_on_the_wire_and_malformed_ones_are_named():
    randomizer = task().column.randomizer.randomizer()
    code = task().column.randomizer.text_code
    layout = ReportLayout.of(randomizer.model)
    reports = randomizer.randomize(randomizer.coded(["bus", "a", "bike"], code))
    blobs = layout.encode(reports)
    assert {len(blob) for blob in blobs} == {layout.length}
    back, malformed = layout.decode([*blobs, b"\xff" * layout.length])
    assert back == reports
    assert malformed.tolist() == [3]


@pytest.mark.deep
def test_attacks_on_open_answers_gain_no_more_than_is_stated():
    small = task(randomizer={"kind": "masked-prefix", "epsilon0": 2.0, "categories": None})
    found = audit_task(small, 10, trials=2000, source=SeededSource(4))
    assert not found.refuted
    assert found.audited
