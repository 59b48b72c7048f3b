"""Sums through a mix in a process of its own, which is killed: the sum is exact, or nothing is released."""

import asyncio
import json
import os
import secrets
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from parties.client.answering import asking
from parties.mix.mixing import Survey
from parties.mix.test_mix_processes import place, send
from parties.service.processes import kill_soon
from parties.service.test_sums_collected import tampered
from shuffledp.core.errors import BatchTooSmallError, InputDataError
from shuffledp.files.devices import randomize_each
from shuffledp.files.reading import CsvInMemory
from shuffledp.parties.service.client import configs_of, sealed
from shuffledp.parties.service.fetched_release import fetch_release
from shuffledp.survey import EarlierRelease

pytestmark = [pytest.mark.usefixtures("without_a_page"), pytest.mark.deep]

EACH, LEAST = 5, 10
SHARES = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 100, "integer": True, "dropout_fraction": 0.5}


def survey_of(terms, kind="split-and-mix"):
    table = SHARES if kind == "split-and-mix" else {key: SHARES[key] for key in SHARES if key != "integer"}
    block = {"column": "wage", "protocol": table | {"kind": kind}}
    return Survey(terms, page=None, asked=asking(block, people={"expected": 2 * LEAST}))


def submissions_of(collection, numbers):
    content = "wage\n" + "".join(f"{each}\n" for each in numbers)
    sent = randomize_each(collection.task, CsvInMemory(content.encode()))
    return sealed(collection, sent, configs_of(collection, datetime.now(UTC))[0])


@pytest.mark.parametrize("kind", ["split-and-mix", "counted-bits"])
@pytest.mark.parametrize("at", ["answers", "close", "fetch"])
def test_whatever_moment_the_mix_is_killed_at_the_sum_is_that_of_all_who_were_acknowledged(
    tmp_path, monkeypatch, kind, at
):
    """Mutant: a submission stored without its last share, or twice, is noise in the sum, which nothing else shows."""
    monkeypatch.setattr(
        "shuffledp.protocols.shares.randomizers.polya.polya_noise", lambda *given, **_: np.zeros(given[2], dtype=int)
    )
    with place(tmp_path) as (where, mix, http):
        where.start()
        survey = survey_of(mix.terms(), kind)
        collection = survey.collection
        mix.register(collection)
        numbers = np.arange(4 * EACH) * 100 // (4 * EACH - 1)
        for some in (numbers[start : start + EACH] for start in range(0, len(numbers), EACH)):
            submissions = submissions_of(collection, some)
            if at == "answers":
                child = kill_soon(where.process)
            acknowledged = send(http, collection, submissions)
            if at == "answers":
                os.waitpid(child, 0)
            if not acknowledged or at == "answers":
                where.kill()
                where.start()
                assert send(http, collection, submissions)
        mix.close(collection, survey.key)
        if at == "close":  # between the close and the batches, or after them
            time.sleep(secrets.randbelow(30) / 1000)
            where.kill()
            where.start()
        if at == "fetch":
            asyncio.run(fetch_release(collection, [survey.key], tmp_path / "office", once=True))
            where.kill()
            where.start()
        found = asyncio.run(fetch_release(collection, [survey.key], tmp_path / "office"))
        (told,) = found.releases.values()
        (row,), local = told["estimates"], collection.task.columns[0].randomizer.randomizer().model
        assert told["columns"][0]["num_reports"] == len(numbers) * local.num_messages
        assert told["columns"][0]["flow"]["collected"]["malformed"] == 0
        if kind == "split-and-mix":
            assert row["estimate"] == pytest.approx(numbers.mean(), abs=1e-9)
        else:
            assert abs(row["estimate"] - numbers.mean()) < 5 * row["standard_error"]


@pytest.mark.parametrize("come", [LEAST, LEAST - 1])
def test_one_less_than_the_planned_share_and_the_mix_destroys_all(tmp_path, come):
    with place(tmp_path) as (where, mix, http):
        where.start()
        survey = survey_of(mix.terms())
        mix.register(survey.collection)
        assert send(http, survey.collection, submissions_of(survey.collection, [50] * come))
        mix.close(survey.collection, survey.key)
        if come == LEAST:
            assert asyncio.run(fetch_release(survey.collection, [survey.key], tmp_path / "office")).releases
            return
        with pytest.raises(BatchTooSmallError, match=f"the reports of at least {LEAST} people"):
            asyncio.run(fetch_release(survey.collection, [survey.key], tmp_path / "office"))
        assert not (tmp_path / "office" / "release").exists()


def test_a_spoilt_share_is_told_by_name_when_the_batches_are_fetched_and_again_later(tmp_path):
    with place(tmp_path) as (where, mix, http):
        where.start()
        survey = survey_of(mix.terms())
        mix.register(survey.collection)
        people = submissions_of(survey.collection, [50] * (LEAST + 2))
        assert send(http, survey.collection, tampered(survey.collection, people, "of another round"))
        mix.close(survey.collection, survey.key)
        for _ in range(2):
            with pytest.raises(InputDataError, match=r"needs every message of everybody once.*--earlier"):
                asyncio.run(fetch_release(survey.collection, [survey.key], tmp_path / "office"))
        said = json.loads((tmp_path / "office" / "release" / "statement.json").read_bytes())
        local = survey.collection.task.columns[0].randomizer.randomizer().model
        assert said["columns"][0]["num_reports"] == (LEAST + 1) * local.num_messages
        assert said["statements"][0]["guarantee"]["epsilon"] <= 1.0
        assert EarlierRelease.read(tmp_path / "office" / "release" / "statement.json").headline.guarantee.epsilon <= 1.0
