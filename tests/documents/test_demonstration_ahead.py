"""What the screen of a demonstration begins with."""

import pytest

from shuffledp.documents.collections.sending_document import demonstration_ahead
from shuffledp.survey import Task


@pytest.mark.parametrize(("question", "shown"), [("Do you smoke?", "Do you smoke?"), (None, "smokes")])
def test_a_demonstration_names_its_task_and_question_after_the_danger(question, shown):
    described = {
        "name": "habits", "value": "smokes", "release": {"delta": 1e-6},
        "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]},
        **({} if question is None else {"question": question}),
    }  # fmt: skip
    (section,) = demonstration_ahead(Task.from_dict(described)).sections
    danger, asked = section.blocks
    assert danger.role == "danger"
    assert asked.text == f"habits: {shown}"
