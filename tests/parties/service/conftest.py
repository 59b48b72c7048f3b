"""What several tests of the services share."""

import pytest


@pytest.fixture
def without_a_page(monkeypatch):
    """Releases without their page, which takes longest; also in processes that are copies of this one."""
    monkeypatch.setattr("shuffledp.parties.service.batch_release.write_release", lambda *_, **_further: None)
