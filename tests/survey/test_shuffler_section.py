"""The generated table ``[shuffler]``: a kind that is added to the registry by one line is one of the task file."""

import pytest

from cli.running import task_with
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.protocols.family import ShufflerKind
from shuffledp.protocols.shares.shufflers.imperfect import CayleyShuffler
from shuffledp.survey import ShufflerSection, Task
from shuffledp.survey.shuffler_section import TASK_KINDS


def hurried(*, haste: float, thorough: bool = True) -> CayleyShuffler:
    """A shuffler that the tests add: less thorough, the more imperfect."""
    return CayleyShuffler(imperfection=haste if thorough else 2 * haste)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(TASK_KINDS, "hurried", ShufflerKind(lambda: hurried))


@pytest.mark.usefixtures("registered")
def test_one_line_makes_a_shuffler_a_kind_of_the_task_file():
    task = Task.from_dict(task_with(shuffler={"kind": "hurried", "haste": 0.25, "thorough": False}))
    assert task.shuffler.to_dict() == {"kind": "hurried", "haste": 0.25, "thorough": False}
    assert task.shuffler.shuffler() == CayleyShuffler(imperfection=0.5)
    assert task.shuffler.gamma == 0.5
    assert not task.shuffler.keeps_public
    assert isinstance(task.column.model(1000), ProtocolModel)
    assert Task.from_dict(task.to_dict()) == task


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "must have the key 'haste'"),
        ({"haste": -1}, "imperfection must be a number that is 0 or more"),
        ({"haste": 1, "speed": 2}, "must have only the keys kind, haste, thorough; got 'speed'"),
    ],
)
def test_its_keys_are_checked_as_those_of_any_other(keys, message):
    with pytest.raises(InvalidParameterError, match=message) as found:
        ShufflerSection.from_dict({"kind": "hurried", **keys})
    assert str(found.value).startswith("[shuffler]")
