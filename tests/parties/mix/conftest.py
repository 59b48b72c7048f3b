"""What tests of the mix share."""

import pytest

from shuffledp.parties.mix import page_inspection


@pytest.fixture
def at_once(monkeypatch):
    """Inspection in this process, which needs no start."""
    monkeypatch.setattr(page_inspection.PageInspector, "inspect", lambda _, content: page_inspection.inspected(content))


@pytest.fixture
def without_a_page(monkeypatch):
    """Releases without their page, which takes longest."""
    monkeypatch.setattr("shuffledp.parties.service.batch_release.write_release", lambda *_, **_further: None)
