"""Commands print the numbers, and tasks have the digests, that they had when they were recorded.

``record_commands.py`` says how to record them anew. Compared are the JSON of a command, all numbers on its screen, and
the columns of the files it writes; wording, pictures, times, versions and paths are not. Nor is the order that a noisy
sort draws, whose keys come from the machine's mathematical library.
"""

import json

import pytest

from golden.command_cases import CASES, TASKS
from golden.command_outputs import RECORDS, differences, numbers, outputs, recorded


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id, marks=[pytest.mark.deep] if case.deep else []) for case in CASES]
)
def test_a_command_gives_what_was_recorded(case, tmp_path):
    found = differences(recorded(case.family)[case.name], outputs(case, tmp_path))
    assert not found, "\n".join(found[:20])


def test_every_record_belongs_to_a_case_and_every_task_has_a_digest():
    kept = {f"{file.stem}/{name}" for file in RECORDS.glob("*.json") for name in recorded(file.stem)}
    assert kept == {case.id for case in CASES}
    digests = {name: found["json"]["task_sha256"] for name, found in recorded("stages").items()}
    assert set(digests) == set(TASKS)
    assert len(set(digests.values())) == len(TASKS)


def test_a_number_that_changed_is_noticed():
    expected = recorded("account")["ldp-table"]
    assert not differences(expected, expected)
    for change in (lambda value: value * (1 + 1e-8), str, lambda value: -value):
        wrong = json.loads(json.dumps(expected))
        wrong["json"]["epsilon_upper"] = change(expected["json"]["epsilon_upper"])
        (line,) = differences(expected, wrong)
        assert ".json.epsilon_upper" in line
    close = json.loads(json.dumps(expected))
    close["json"]["epsilon_upper"] *= 1 + 1e-12
    assert not differences(expected, close)


def test_a_number_that_is_lost_from_the_screen_or_new_on_it_is_noticed():
    expected = {"numbers": " ".join(numbers("1,000 people: epsilon = 0.25 at delta = 1e-6 (12.5%), again 0.25"))}
    assert expected["numbers"].split() == ["0.000001", "0.25", "0.25", "12.5", "1000"]
    assert numbers("task 76e1ef86d0d5 of k-rr2, v1.2.3") == []
    for text in ("1000 0.25 1e-06 12.5%", "1000 .25 0.25 1e-6 12.5 7", "1000 0.25 0.26 1e-6 12.5"):
        found = {"numbers": " ".join(numbers(text))}
        assert differences(expected, found)
    assert not differences(expected, {"numbers": " ".join(numbers("Of 1000: 0.25, 12.5, .25; 1e-6."))})


@pytest.mark.parametrize("path", [("json", "task_sha256"), ("files", "reports.parquet")])
def test_another_digest_is_noticed(path):
    expected = recorded("stages")["k-rr"]
    wrong = json.loads(json.dumps(expected))
    wrong[path[0]][path[1]] = "0" * 64
    assert differences(expected, wrong)
