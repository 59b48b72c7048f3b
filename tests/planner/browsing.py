"""A real browser, where there is one."""

import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOUND = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="module")
def browser():
    if FOUND is None:
        pytest.skip("there is no Chromium here: `apt-get install chromium` has one")
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser, and is not installed")
    with api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=FOUND, args=["--no-sandbox"])
        yield started
        started.close()
