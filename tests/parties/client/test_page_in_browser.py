"""The page on which people answer, in a real browser: what it sends, to whom, and what it remembers."""

import json
import re
from datetime import timedelta

import pytest

from parties.client.answering import AGAIN, LATE, RANDOMIZE, SEND, SMOKES, Asked, asking, picture, randomize, says
from parties.service.given import Parties
from shuffledp.parties.wire.grammar import ReportError
from shuffledp.parties.wire.keys import in_text
from shuffledp.survey import Collection

ANSWERED = "This browser has answered already"
PENDING = "Your randomized answer is sealed on this device"


@pytest.fixture(scope="module")
def asked():
    return Asked()


@pytest.fixture
def device(asked, browser):
    asked.uploads.clear()
    asked.requests.clear()
    asked.mood = "up"
    with asked.device(browser) as context:
        yield context


def remembered(tab):
    return tab.evaluate("JSON.stringify(localStorage)")


def is_asked(tab):
    return tab.get_by_role("button", name=RANDOMIZE).is_visible()


def test_an_answer_is_randomized_shown_sent_and_remembered(asked, device):
    with asked.opened(device) as tab:
        before = tab.locator("body").inner_text()
        assert "Your answer never leaves this browser" in before
        assert "at least 10 people" in before
        tab.get_by_label("Yes").check()
        (shown,) = randomize(tab)
        assert not asked.uploads
        kept = remembered(tab)
        assert not is_asked(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    (report,) = asked.reports()
    assert ["No", "Yes"][report[0]] == shown
    assert list(json.loads(kept).values()) == [f"{in_text(asked.collection.id)} {in_text(asked.uploads[0])}"]
    assert asked.requests == [
        ("GET", asked.link.partition("#")[0]),
        ("POST", f"https://mixer.example{asked.collection.path}/reports"),
    ]


def test_until_when_is_said_in_local_time_and_where_the_result_will_be_before_and_after(browser):
    further = {"result": "https://union.example/result", "closes": "2999-12-31T23:30:00Z"}
    asked = Asked(parties=Parties(asking(), demonstration=True, **further))
    with asked.device(browser, timezone_id="Asia/Tokyo") as device, asked.opened(device) as tab:
        facts = tab.locator("#facts").inner_text()
        assert "Open until January 1, 3000 at 08:30 AM GMT+9." in facts
        assert "the result will be at https://union.example/result, if at least 10 people have answered." in facts
        assert tab.locator("#facts time").get_attribute("datetime") == "2999-12-31T23:30:00Z"
        assert tab.locator(".banner").bounding_box()["y"] == 0
        assert "Demonstration: this survey is for show." in tab.locator(".banner").inner_text()
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND, exact=True).click()
        says(tab, "Stored by the shuffler")
        assert tab.locator("#notice a").get_attribute("href") == "https://union.example/result"
        picture(tab, "demonstration")


def test_without_a_connection_the_page_says_so_at_once_and_sends_when_there_is_one(asked, device):
    with asked.opened(device) as tab:
        tab.get_by_label("No").check()
        randomize(tab)
        device.set_offline(True)
        asked.mood = "down"  # a route is asked without a connection, too
        tab.get_by_role("button", name=SEND).click()
        says(tab, "The shuffler did not answer")
        assert len(asked.uploads) == 1
        assert tab.evaluate("document.activeElement.textContent") == AGAIN
        asked.mood = "up"
        device.set_offline(False)
        says(tab, "Stored by the shuffler")
    assert asked.uploads[0] == asked.uploads[1]


def test_a_second_answer_is_refused_after_a_reload_and_in_another_tab(asked, device):
    with asked.opened(device) as tab:
        tab.get_by_label("No").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
        assert re.fullmatch(r'\{"shuffledp [A-Za-z0-9_-]{43}":"answered"\}', remembered(tab))
        tab.reload()
        says(tab, ANSWERED)
        assert not is_asked(tab)
    with asked.opened(device) as tab:
        says(tab, ANSWERED)
        assert not is_asked(tab)
    assert len(asked.uploads) == 1


def test_without_an_answer_of_the_shuffler_the_very_same_bytes_are_sent_after_a_reload(asked, device):
    asked.mood = "down"
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "The shuffler did not answer")
        assert tab.get_by_role("button", name=AGAIN).is_enabled()
        tab.reload()
        says(tab, PENDING)
        assert not is_asked(tab)
        asked.mood = "up"
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    assert len(asked.uploads) > 1
    assert len(set(asked.uploads)) == 1


def test_as_soon_as_there_is_a_connection_again_what_was_asked_to_be_sent_is_sent(asked, device):
    asked.mood = "down"
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.evaluate("dispatchEvent(new Event('online'))")
        assert asked.uploads == []  # nobody has asked for it yet
        tab.get_by_role("button", name=SEND).click()
        says(tab, "The shuffler did not answer")
        asked.mood = "up"
        tab.evaluate("dispatchEvent(new Event('online'))")
        says(tab, "Stored by the shuffler")
        sent = len(asked.uploads)
        tab.evaluate("dispatchEvent(new Event('online'))")
    assert len(set(asked.uploads)) == 1
    assert len(asked.uploads) == sent


def test_who_leaves_between_sealing_and_sending_finds_the_same_and_nothing_of_the_answer(asked, device):
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        kept = remembered(tab)
        tab.close()
    with asked.opened(device) as tab:
        says(tab, PENDING)
        assert remembered(tab) == kept
        assert not tab.locator("#randomized").is_visible()
        assert tab.locator("input:checked").count() == 0
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")


def test_of_two_tabs_one_answers(asked, device):
    with asked.opened(device) as first, asked.opened(device) as second:
        first.get_by_label("Yes").check()
        second.get_by_label("No").check()
        randomize(first)
        says(second, PENDING)
        assert not is_asked(second)
        first.get_by_role("button", name=SEND).click()
        says(first, "Stored by the shuffler")
        says(second, ANSWERED)
        assert len(asked.uploads) == 1
        first.evaluate("localStorage.clear()")
        second.get_by_role("button", name=RANDOMIZE).wait_for()
        assert second.locator("#notice").inner_text() == ""  # of what this browser has forgotten


def test_a_link_with_another_digest_leads_to_no_second_answer(asked, device):
    with asked.opened(device, asked.link[:-8] + "00000000") as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        kept = remembered(tab)
    with asked.opened(device) as tab:
        says(tab, "This browser has sealed an answer to this survey by another link")
        assert not is_asked(tab)
        assert not tab.get_by_role("button", name=SEND).is_visible()
        assert remembered(tab) == kept
    assert asked.uploads == []


@pytest.mark.parametrize(
    ("mood", "said"),
    [
        (LATE, "The collection is closed"),
        (ReportError.TASK_NOT_STARTED, "The collection is not open yet"),
        (ReportError.REPORT_DROPPED, "as many answers as its shuffler takes"),
        (ReportError.HPKE_UNKNOWN_CONFIG_ID, "The shuffler refused it"),
        (ReportError.INVALID_MESSAGE, "The shuffler refused it"),
    ],
)
def test_a_refusal_is_said_and_lets_nobody_randomize_again(asked, device, mood, said):
    asked.mood = mood
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, said)
        assert tab.get_by_role("button", name=AGAIN).is_visible() == (mood not in (LATE, ReportError.REPORT_DROPPED))
        tab.reload()
        says(tab, PENDING)
        assert not is_asked(tab)


@pytest.mark.parametrize(("hours", "key"), [(-24, "analyzer_key"), (13, "successor"), (24, "successor")])
def test_where_the_clock_says_that_the_key_has_expired_its_successor_is_sealed_to(browser, hours, key):
    parties = Parties.with_successor(asking())
    asked = Asked(parties=parties)
    with asked.device(browser) as device:
        device.clock.set_fixed_time(parties.now + timedelta(hours=hours))  # right, or wrong by a day
        with asked.opened(device) as tab:
            tab.get_by_label("Yes").check()
            randomize(tab)
            tab.get_by_role("button", name=SEND).click()
            says(tab, "Stored by the shuffler")
    assert len(asked.reports(getattr(parties, key))) == 1


def test_a_report_that_was_randomized_is_sealed_anew_where_the_shuffler_wants_another_key(browser):
    asked = Asked(parties=Parties.with_successor(asking()))
    asked.mood = ReportError.OUTDATED_CONFIG
    with asked.device(browser) as device, asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "The shuffler refused it")
    parties = asked.parties
    assert len(asked.uploads) == 2
    second = asked.reports(parties.successor)
    asked.uploads.pop()
    assert asked.reports() == second


def test_every_kind_of_question_is_asked_and_becomes_what_the_task_says(browser, asked, monkeypatch):
    promised = asked.collection.promised()
    monkeypatch.setattr(Collection, "promised", lambda _: promised)  # of five columns it takes seconds to account for
    section = {"epsilon0": 30.0}  # at which a report is what was answered, but for a chance of 1e-12
    pair = {"kind": "k-rr", **section, "categories": [["a", "b"], ["x", "y", "z"]]}
    bins = {"kind": "k-rr", **section, "edges": [0, 18, 65, 120], "out_of_range": "clip"}
    many = {"kind": "hadamard", **section, "categories": [f"c{each}" for each in range(20)]}
    rounded = {"kind": "rounded-mean", **section, "lower": 0, "upper": 10, "num_levels": 10}
    bit = {"kind": "one-bit-mean", **section, "lower": -1, "upper": 1}
    task = asking(
        {"columns": ["first", "second"], "randomizer": pair},
        {"column": "age", "question": "How old?", "randomizer": bins},
        {"column": "city", "question": "Where?", "randomizer": many},
        {"column": "mark", "question": "Which mark?", "randomizer": rounded},
        {"column": "end", "question": "Which end?", "randomizer": bit},
    )
    asked = Asked(task)
    with asked.device(browser) as device, asked.opened(device) as tab:
        tab.get_by_role("radiogroup", name="first").get_by_label("b").check()
        tab.get_by_role("button", name=RANDOMIZE).click()
        assert tab.locator("#wrong").inner_text() == "Please answer: first & second"
        tab.get_by_role("radiogroup", name="second").get_by_label("y").check()
        group = tab.get_by_role("group", name="How old?")
        group.get_by_role("spinbutton").fill("65")
        tab.get_by_label("Where?").select_option("c7")
        tab.get_by_role("group", name="Which mark?").get_by_role("spinbutton").fill("11")
        tab.get_by_role("group", name="Which end?").get_by_role("spinbutton").fill("1")
        tab.get_by_role("button", name=RANDOMIZE).click()
        assert tab.locator("#wrong").inner_text() == "Please answer: Which mark?"
        tab.get_by_role("group", name="Which mark?").get_by_role("spinbutton").fill("7")
        shown = randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    reports = asked.reports()
    assert [report[0] for place, report in enumerate(reports) if place != 2] == [1 * 3 + 1, 2, 7, 1]
    assert shown[:2] + shown[3:] == ["b, y", "65 to 120", "7", "1"]
    assert "c7" in shown[2].split("; ")
    assert (reports[2][0] & 8).bit_count() % 2 == 0


def test_not_saying_is_an_answer_where_the_task_takes_it_for_one(browser):
    unary = {"kind": "k-rr", "epsilon0": 30.0, "categories": ["a", "b"]}
    asked = Asked(asking({"column": "first", "randomizer": unary}, missing="category"))
    with asked.device(browser) as device, asked.opened(device) as tab:
        tab.get_by_label("I would rather not say").check()
        assert randomize(tab) == ["no answer"]
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    assert asked.reports() == [b"\x02"]


def test_text_of_the_task_is_shown_as_text(browser):
    evil = "</script><script>document.title='x'</script><!-- <b>&amp;"
    block = SMOKES | {
        "question": evil,
        "randomizer": SMOKES["randomizer"] | {"categories": ["No", evil]},
    }
    asked = Asked(asking(block, name="<i>survey {script} {data}</i>"))
    with asked.device(browser) as device, asked.opened(device) as tab:
        assert tab.title() == "<i>survey {script} {data}</i>" == tab.locator("h1").inner_text()
        assert "</script><script>" in tab.locator("legend").inner_text()
        tab.get_by_label("No", exact=True).check()
        randomize(tab)
        tab.get_by_role("button", name=SEND).click()
        says(tab, "Stored by the shuffler")
    assert len(asked.reports()) == 1


def test_a_copy_on_the_disk_randomizes_and_sends_nothing(asked, device, tmp_path):
    copy = tmp_path / "survey.html"
    copy.write_bytes(asked.page)
    with asked.opened(device, f"{copy.as_uri()}#{asked.link.partition('#')[2]}") as tab:
        says(tab, "This is a copy to look at")
        for _ in range(2):
            tab.get_by_label("Yes").check()
            assert randomize(tab)[0] in ("No", "Yes")
        assert not tab.get_by_role("button", name=SEND).is_visible()
        assert remembered(tab) == "{}"
    assert [method for method, url in asked.requests if not url.startswith("file:")] == []


def test_without_https_or_without_the_whole_link_nothing_is_asked(asked, device):
    plain = asked.link.replace("https:", "http:")
    device.route("http://ask.example/**", lambda route: route.fulfill(body=asked.page, content_type="text/html"))
    for link, said in ((plain, "opened over https"), (asked.link.partition("#")[0], "The link is not complete")):
        with asked.opened(device, link) as tab:
            says(tab, said)
            assert not is_asked(tab)
            assert not tab.get_by_role("button", name=SEND).is_visible()


def test_a_browser_that_keeps_nothing_sends_nothing(asked, device):
    device.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full'); };")
    with asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        tab.get_by_role("button", name=RANDOMIZE).click()
        says(tab, "This browser may not remember")
        assert not tab.locator("#review").is_visible()
    assert asked.uploads == []


def test_on_a_small_screen_what_became_of_an_answer_is_in_sight(asked, browser):
    asked.mood = "down"
    seen = "() => { const { top, bottom } = document.getElementById('notice').getBoundingClientRect(); "
    seen += "return top >= -1 && bottom <= innerHeight + 1; }"  # scrolled to whole pixels
    with asked.device(browser, viewport={"width": 400, "height": 700}) as device, asked.opened(device) as tab:
        tab.get_by_label("Yes").check()
        randomize(tab)
        for mood, said in (("down", "The shuffler did not answer"), ("up", "Stored by the shuffler")):
            asked.mood = mood
            tab.locator("#send").click()
            says(tab, said)
            assert tab.evaluate(seen)


def test_it_is_answered_by_keyboard_alone(asked, device):
    with asked.opened(device) as tab:
        for key in ("Tab", "ArrowDown", "Tab", "Enter"):
            tab.keyboard.press(key)
        tab.get_by_role("heading", name="This is what will be sent").wait_for()
        assert tab.evaluate("document.activeElement.id") == "review-title"
        while tab.evaluate("document.activeElement.id") != "send":
            tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        says(tab, "Stored by the shuffler")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 400)])
def test_it_can_be_read_by_everybody_and_fits_on_a_narrow_screen(asked, browser, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed").Axe()
    asked.mood = "down"

    def look(tab, number, *rules):
        """No rule of axe-core is broken: contrast, names of fields, landmarks, headings; and nothing is too wide."""
        picture(tab, f"respondents-{scheme}-{number}")
        found = axe.run(tab, options={"resultTypes": ["violations", "passes"]})
        assert found.generate_snapshot() == ""
        assert {"color-contrast", *rules} <= {each["id"] for each in found.response["passes"]}
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")

    with (
        asked.device(browser, color_scheme=scheme, viewport={"width": width, "height": 800}) as device,
        asked.opened(device) as tab,
    ):
        for each in tab.locator("#promise summary").all():
            each.click()
        look(tab, 1, "label")
        tab.get_by_label("Yes").check()
        randomize(tab)
        tab.locator("#review summary").click()
        look(tab, 2, "button-name")
        tab.get_by_role("button", name=SEND).click()
        says(tab, "The shuffler did not answer")
        look(tab, 3, "button-name")
