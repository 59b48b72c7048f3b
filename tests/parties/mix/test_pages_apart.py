"""Pages of a mix that have a host name each, as a browser sees them: over TLS, by names that lead to this machine."""

import pytest

from parties.client.answering import RANDOMIZE, SEND, says
from parties.client.loading import watched
from parties.http.floods import certified
from parties.mix.mixing import Survey
from parties.organizer.test_survey_through_mix import mix_at_work
from planner.browsing import FOUND
from shuffledp.parties.mix.mix_config import MixConfig
from shuffledp.parties.mix.mix_folder import MixFolder
from shuffledp.parties.mix.run_mix import terms_by


@pytest.fixture
def surfing(browser):
    """A browser for which all names below mix.test are this machine, and any certificate is good."""
    rules = "MAP *.mix.test 127.0.0.1, MAP mix.test 127.0.0.1"
    started = browser.browser_type.launch(
        executable_path=FOUND, args=["--no-sandbox", f"--host-resolver-rules={rules}"]
    )
    yield started.new_context(ignore_https_errors=True)
    started.close()


@pytest.mark.deep
def test_two_surveys_of_one_mix_are_answered_at_names_of_their_own_and_share_no_storage(surfing, tmp_path):
    further = f'pages = "origin"\n{certified(tmp_path)}'
    with mix_at_work(tmp_path, origin="https://mix.test", further=further) as mix:
        terms = terms_by(MixConfig.read(tmp_path / "mix.toml"), MixFolder(tmp_path / "mix"))
        surveys = [Survey(terms) for _ in range(2)]
        for each in surveys:  # at rest, since only the browser knows the mix by its name
            given = {"page": each.html, "promised": (), "key": None}
            MixFolder(tmp_path / "mix").register(each.collection, "anybody", **given)
        mix.kill()
        mix.start()
        kept = []
        for each in surveys:
            tab = surfing.new_page()
            wrong = watched(tab)
            tab.goto(each.collection.page.link)
            assert tab.evaluate("localStorage.length") == 0
            tab.get_by_label("Yes").check()
            tab.get_by_role("button", name=RANDOMIZE).click()
            tab.get_by_role("button", name=SEND).click()
            says(tab, "Stored by the shuffler")
            kept.append(tab.evaluate("[location.origin, localStorage.length]"))
            assert wrong == []
        assert [number > 0 for _, number in kept] == [True] * 2
        assert [origin for origin, _ in kept] == [each.collection.page.url for each in surveys]
        assert tab.goto(f"{surveys[0].collection.page.url}/mix").status == 404
        assert tab.goto(f"{mix.url}/").status == 200
        assert tab.evaluate("localStorage.length") == 0
