"""The protocol page names all that goes over the wire: addresses, problems, errors and media types."""

import re
from pathlib import Path

import pytest

from shuffledp.parties.http.http_messages import Problem
from shuffledp.parties.service import local_intake
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.wire import close_request, fetch_request, grammar, organizer_requests, registrant_proofs
from shuffledp.randomizers import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()


def test_the_page_lists_every_problem_with_its_status():
    rows = re.findall(r"^\| (\d+) \| `([\w:/.#-]+)` \|", PAGE[PAGE.index("## HTTP") :], flags=re.MULTILINE)
    assert [(int(status), name) for status, name in rows] == [problem.value for problem in Problem]


def test_the_page_lists_every_error_of_a_report_with_its_number():
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE[: PAGE.index("## HTTP")], flags=re.MULTILINE)
    assert [(int(number), name) for number, name in rows] == [
        (error.value, error.name.lower()) for error in grammar.ReportError
    ]


def test_the_page_says_of_every_kind_what_its_bytes_are_and_how_a_device_draws_them():
    parts = PAGE[PAGE.index("## A report") :], PAGE[PAGE.index("## From an answer to a report") :]
    for part, kinds in zip(parts, (set(KINDS), set(KINDS) - {"vector-sum"}), strict=True):
        rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", part[: part.index("\n## ", 5)], flags=re.MULTILINE)
        assert {kind for row in rows for kind in re.findall(r"`([a-z-]+)`", row)}.intersection(KINDS) == kinds


@pytest.mark.parametrize("phase", Phase)
def test_the_page_names_every_phase(phase):
    assert f"`{phase}`" in PAGE


def test_the_page_names_every_media_type():
    types = {
        value
        for module in (grammar, close_request, fetch_request, local_intake, organizer_requests, registrant_proofs)
        for name, value in vars(module).items()
        if name.endswith("_TYPE")
    }
    assert types == set(re.findall(r"`(application/vnd\.shuffledp\.[\w-]+)`", PAGE))
