"""A page that is written at once, but where a test asks for the real one."""

import pytest

from cli.running import stub_pages, write_answers, write_task


@pytest.fixture(autouse=True)
def quick_page(request, monkeypatch):
    if "real_page" not in request.fixturenames:
        stub_pages(monkeypatch)


@pytest.fixture
def real_page():
    """Asks for the page with its charts."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a task and answers, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_task(tmp_path)
    write_answers(tmp_path, ["No", "No", "No", "Yes"] * 50)
    return tmp_path
