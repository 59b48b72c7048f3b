"""Weekly surveys of the same people, by the organizer's commands through a mix, all counted in one privacy ledger."""

import json

import pytest

from cli.running import refused, shuffledp
from parties.organizer.mix_in_thread import mix_in_thread
from shuffledp.accounting import compose_releases
from shuffledp.files.devices import randomize_each
from shuffledp.parties.organizer.survey_folder import SurveyFolder
from shuffledp.parties.service.client import new_client, send

CAP, DELTA = 1.0, 1e-5
PEOPLE, MINIMUM, FAKES = 400, 300, 20
OVER_THE_CAP = 7  # exit code


def asked(mix, week, ledger, *further):
    """The command of one week."""
    new = ("survey", "new", "How was your week?", "--answers", "Bad,Good", "--people", PEOPLE, "--fakes", FAKES)
    through = ("--mix", mix, "--ledger", ledger, "--output", f"week-{week}")
    return (*new, *through, *(further or ("--epsilon0", 0.5, "--minimum", MINIMUM)))


def answered(survey, yes):
    """All people answer, of whom a share says that the week was good."""
    answers = ["Good"] * yes + ["Bad"] * (PEOPLE - yes)
    (survey.path / "crowd.csv").write_text("\n".join(["answer", *answers, ""]))
    collection = survey.read()
    with new_client(to=collection) as client:
        assert send(collection, randomize_each(collection.task, survey.path / "crowd.csv"), client).stored == PEOPLE


@pytest.mark.parametrize("weeks", [4, pytest.param(52, marks=pytest.mark.deep)])
def test_the_weeks_of_a_year_stay_below_their_cap_and_one_too_many_is_refused(tmp_path, monkeypatch, weeks):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shuffledp.parties.service.batch_release.write_release", lambda *_, **_further: None)
    terms = ("--cap", CAP, "--delta", DELTA, "--releases", weeks)
    assert shuffledp("ledger", "new", *terms, "--output", "year.ledger").code == 0
    models = []
    with mix_in_thread(tmp_path / "mix", monkeypatch) as mix:
        for week in range(weeks):
            made = shuffledp(*asked(mix, week, "year.ledger"))
            assert made.code == 0, made.err
            survey = SurveyFolder(tmp_path / f"week-{week}")
            answered(survey, yes=100 + week)
            done = shuffledp("survey", "finish", survey.path, "--ledger", "year.ledger")
            assert done.code == 0, done.err
            models.append(survey.read().task.column.model(PEOPLE))
        said = refused(OVER_THE_CAP, *asked(mix, "too-much", "year.ledger", "--epsilon0", 3, "--minimum", 30))
    assert "Nothing was spent" in said
    assert not (tmp_path / "week-too-much").exists()
    shown = json.loads(shuffledp("ledger", "show", "year.ledger", "--json").out)
    assert [(each["state"], each["people"]) for each in shown["entries"]] == [("released", PEOPLE - FAKES)] * weeks
    declared = compose_releases(models[:1], delta=DELTA, num_releases=weeks).guarantee.epsilon
    assert declared <= shown["running_total"] <= min(CAP, declared * 1.1)
