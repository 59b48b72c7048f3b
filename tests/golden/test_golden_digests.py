"""Digests of tasks, of one private column and of several, which no later version may change."""

import json
from pathlib import Path

import pytest

from shuffledp.survey import Task

VECTORS = json.loads((Path(__file__).parent / "digests.json").read_text())["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_a_task_and_its_columns_keep_their_digests(vector):
    task = Task.from_dict(vector["task"])
    again = Task.from_dict(json.loads(json.dumps(task.to_dict())))
    for each in (task, again):
        assert each.sha256 == vector["sha256"]
        assert [column.sha256 for column in each.columns] == vector["columns"]
        assert list(each.folders) == vector["folders"]
