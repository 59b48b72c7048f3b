"""One page that most tests read."""

import pytest

from documents.outcomes import make_outcome, write_page
from shuffledp.survey import ColumnOutcome
from shuffledp.testing import SeededSource


@pytest.fixture(scope="session")
def survey() -> ColumnOutcome:
    """A yes/no survey of 539 people out of 550."""
    return make_outcome(
        [0] * 440 + [1] * 99,
        flow={"received": 550, "missing": 11, "expected": 500, "detached": ("region", "age")},
        numbers=SeededSource(1),
        public=["region", "age"],
        missing="drop",
        people={"id": "person", "expected": 500},
    )


@pytest.fixture(scope="session")
def survey_folder(survey, tmp_path_factory):
    """The folder with the survey's page."""
    folder = tmp_path_factory.mktemp("survey")
    write_page(survey, folder)
    return folder


@pytest.fixture(scope="session")
def page(survey_folder) -> str:
    """The survey's page."""
    return (survey_folder / "release.html").read_text(encoding="utf-8")
