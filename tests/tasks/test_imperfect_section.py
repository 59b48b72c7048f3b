"""The section of imperfect shufflers: its keys, its errors, and a task run through all stages."""

import pytest

from cli.running import shuffledp, task_with, write_answers, write_task
from shuffledp.errors import InvalidParameterError
from shuffledp.shufflers import CayleyShuffler, DelayShuffler
from shuffledp.tasks import Task
from shuffledp.tasks.shufflers import ShufflerSection


def section(**keys):
    return ShufflerSection.from_dict({"kind": "imperfect", **keys})


def test_its_keys_are_those_of_the_shuffler():
    assert section(imperfection=0.5).shuffler() == CayleyShuffler(imperfection=0.5)
    delays = section(imperfection=2.0, construction="delay", offsets=[0.0, 1.0]).shuffler()
    assert isinstance(delays, DelayShuffler)
    assert delays.offsets.tolist() == [0.0, 1.0]
    assert not section(imperfection=0.5).keeps_public
    assert ShufflerSection.from_dict(section(imperfection=0.5).to_dict()) == section(imperfection=0.5)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "must have the key 'imperfection'"),
        ({"imperfection": -1}, "imperfection must be a number that is 0 or more"),
        ({"imperfection": "inf"}, "imperfection must be finite"),
        ({"imperfection": 1, "construction": "assumed"}, "construction must be one of 'cayley', 'delay'"),
        ({"imperfection": 1, "offsets": [0.5]}, "offsets must be None unless construction is 'delay'"),
        ({"imperfection": 1, "construction": "delay", "offsets": [2.0]}, r"offsets\[0\] is not"),
        ({"imperfection": 1, "gamma": 1}, "must have only the keys"),
    ],
)
def test_what_it_does_not_know_is_refused_with_the_name_of_the_table(keys, message):
    with pytest.raises(InvalidParameterError, match=message) as found:
        section(**keys)
    assert str(found.value).startswith("[shuffler]")


def test_a_task_states_gamma_on_top_of_the_uniform_shuffle():
    imperfect, uniform = (
        Task.from_dict(task_with(shuffler=shuffler)).model(1000)
        for shuffler in ({"kind": "imperfect", "imperfection": 0.25}, {"kind": "uniform"})
    )
    assert imperfect.local == uniform.local
    assert imperfect.shuffle.imperfection == 0.25


def test_all_stages_take_it_and_the_page_says_what_the_order_tells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_answers(tmp_path, ["No", "Yes"] * 300)
    write_task(tmp_path, public=["other"], shuffler={"kind": "imperfect", "imperfection": 0.25})
    stages = (
        ("randomize", "answers.csv", "reports.parquet"),
        ("shuffle", "reports.parquet", "view.parquet"),
        ("analyze", "view.parquet", "out"),
    )
    for stage, given, made in stages:
        result = shuffledp(stage, "task.toml", "--input", given, "--output", made)
        assert (result.code, result.err) == (0, ""), stage
    text = " ".join(result.out.split())
    assert "gamma = 0.25 is a promise about the shuffler: nothing here measures it" in text
    assert "Released beside each report: the number of its position." in text
    page = (tmp_path / "out" / "release.html").read_text(encoding="utf-8")
    assert "by an imperfect shuffle" in page
    assert "The order of the released reports is not quite uniform" in page
    assert "in the order in which the shuffler put them out" in page
