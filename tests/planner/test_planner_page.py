"""The page in a real browser: sliders, copy, refusals, keyboard, narrow and dark screens."""

import asyncio
import itertools
import os
import threading
import tomllib
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
import uvicorn

from shuffledp.planner.answers import answer
from shuffledp.planner.planner_server import planner_app
from shuffledp.survey import Task

PICTURES = os.environ.get("SHUFFLEDP_PICTURES")  # a folder for screenshots, to be looked at
DONE = "answers are for what is set"
USUAL = {"people": 500}


@cache
def _answered(asked):
    return answer(dict(asked))


async def real_answers(question):
    """Of few people and two shufflers, to save time; the others are never answered in time."""
    if question["about"] == "choices":
        found = answer(question)
        return found | {"usual": found["usual"] | USUAL}
    if question["shuffler"] not in ("uniform", "none"):
        return {"refused": "Not answered within 5 s.", "commands": ["shuffledp plan task.toml"]}
    if question["about"] == "bracket":
        epsilon = 10 / question["people"] ** 0.5
        return {"people": question["people"], "epsilon_upper": epsilon, "epsilon_lower": None, "cells": ["e", "–"]}
    return await asyncio.to_thread(_answered, tuple(sorted(question.items())))


@contextmanager
def served(ask):
    """The address of a page that asks this."""
    config = uvicorn.Config("", host="127.0.0.1", port=0, log_level="critical", lifespan="off")
    with config.bind_socket() as listening:
        port = listening.getsockname()[1]
        config.app = planner_app(ask, token="t0ken", port=port)  # noqa: S106
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/t0ken/"
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.fixture(scope="module")
def address():
    with served(real_answers) as found:
        yield found


@contextmanager
def opened(browser, address, *, width=1200, scheme="light"):
    """The page when all answers are there; nothing may go wrong in it."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, permissions=["clipboard-read", "clipboard-write"]
    )
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))
    page.goto(address)
    page.get_by_text(DONE).wait_for(timeout=120_000)
    yield page
    context.close()
    assert wrong == []


def cells(page, kind):
    return page.locator(f"#row-{kind} td").all_inner_texts()


def shown_of(page, kind, **set_to):
    """The answer to the usual question with some numbers set; waits until the row of a shuffler shows it."""
    asked = answer({"about": "choices"})["usual"] | USUAL | {"about": "promise", "shuffler": kind, **set_to}
    found = _answered(tuple(sorted(asked.items())))
    page.locator(f"#row-{kind} td").first.get_by_text(found["cells"]["epsilon"], exact=True).wait_for(timeout=60_000)
    return found


def test_sliders_and_numbers_change_what_is_asked_and_shown(browser, address):
    with opened(browser, address) as page:
        first = shown_of(page, "uniform")
        assert any(text.endswith("% (bounds)") for text in cells(page, "uniform"))
        assert [text for text in cells(page, "uniform") if "%" not in text] == [
            first["cells"][name] for name in ("epsilon", "error", "curator", "sampling", "bits", "messages")
        ]
        page.locator("#epsilon0").fill("2")
        second = shown_of(page, "uniform", epsilon0=2)
        assert second["cells"]["epsilon"] != first["cells"]["epsilon"]
        page.locator("#epsilon0-slider").focus()
        page.keyboard.press("Home")
        assert page.locator("#epsilon0").input_value() == "0.1"
        shown_of(page, "uniform", epsilon0=0.1)
        page.get_by_text(DONE).wait_for(timeout=120_000)
        assert page.locator("#chart path.curve").count() == 2


def test_the_copied_task_is_one_that_plan_accepts(browser, address):
    with opened(browser, address) as page:
        page.locator("#chosen").select_option("none")
        page.get_by_role("button", name="Copy the task file").click()
        page.get_by_text("Copied.").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        task = Task.from_dict(tomllib.loads(copied))
        assert (task.shuffler.kind, task.people.expected) == ("none", 500)
        assert page.locator("#commands").inner_text().startswith("shuffledp plan task.toml")


def test_no_task_is_copied_before_it_is_the_one_asked_for(browser, address):
    with opened(browser, address) as page:
        set_people = "const box = document.querySelector('#people'); box.value = '600';"
        told = "box.dispatchEvent(new Event('input', {bubbles: true}));"
        assert page.evaluate(f"() => {{ {set_people} {told} return document.querySelector('#copy').disabled; }}")
        page.locator("#task").get_by_text("expected = 600").wait_for(timeout=60_000)
        page.get_by_text(DONE).wait_for(timeout=120_000)
        assert page.locator("#copy").is_enabled()
    assert 'id="copy" disabled>' in files("shuffledp.planner").joinpath("page", "planner.html").read_text()


def test_refusals_are_shown_as_text_and_dangers_first(browser, address):
    with opened(browser, address) as page:
        assert cells(page, "network") == ["Not answered within 5 s."]
        assert "shuffledp plan task.toml" in page.locator("#card-network").inner_text()
        page.locator("#randomizer").select_option("split-and-mix")
        page.locator("#card-none").get_by_text("must go with a shuffler that hides who sent what").wait_for(
            timeout=60_000
        )
        danger = page.locator("#card-uniform .danger").first
        danger.wait_for(timeout=60_000)
        assert "whoever has them reads the answer" in danger.inner_text()
        assert page.locator("#categories").is_hidden()
        assert page.locator("#lower").is_visible()


@pytest.mark.deep
@pytest.mark.parametrize("width", [1200, 400])
def test_hosts_are_set_for_split_and_mix_and_all_ways_to_the_mean_are_drawn(browser, address, width):
    with opened(browser, address, width=width) as page:
        page.locator("#settings").evaluate("each => { each.open = true; }")
        for hidden in ("hosts", "colluding_hosts", "buffers", "ways"):
            assert page.locator(f"#{hidden}").is_hidden()
        page.locator("#randomizer").select_option("split-and-mix")
        assert page.locator("label[for=epsilon0]").inner_text() == "Epsilon of the result"
        page.locator("#hosts").fill("4")
        page.locator("#colluding_hosts").fill("1")
        page.locator("#buffers").select_option("host")
        page.locator("#task").get_by_text('buffers = "host"').wait_for(timeout=60_000)
        page.get_by_text(DONE).wait_for(timeout=120_000)
        protocol = tomllib.loads(page.locator("#task").inner_text())["protocol"]
        assert (protocol["hosts"], protocol["colluding_hosts"]) == (4, 1)
        assert "as an operator does who plays all hosts" in page.locator("#card-uniform").inner_text()
        assert page.locator("#ways-chart path.curve").count() == 5
        assert page.locator("#ways-table tbody tr").count() == 5
        assert page.locator("#ways-table b").all_inner_texts() == ["anything"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if PICTURES:
            page.screenshot(path=Path(PICTURES) / f"planner-hosts-{width}.png", full_page=True)
        page.locator("#colluding_hosts").fill("4")
        page.locator("#card-uniform").get_by_text("colluding_hosts must be below hosts=4").wait_for(timeout=60_000)
        page.locator("#colluding_hosts").fill("2")
        page.locator("#randomizer").select_option("vector-sum")
        page.locator("#task").get_by_text('kind = "vector-sum"').wait_for(timeout=60_000)
        assert "colluding_hosts = 2" in page.locator("#task").inner_text()
        page.get_by_text(DONE).wait_for(timeout=120_000)
        assert page.locator("#ways").is_hidden()


def test_everything_is_reached_by_keyboard(browser, address):
    with opened(browser, address) as page:
        reached = []
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
            if reached[-1] == "commands":
                break
        assert {"people", "people-slider", "randomizer", "contacts-slider", "SUMMARY", "chosen", "task", "copy"} <= set(
            reached
        )
        page.locator("#copy").focus()
        page.keyboard.press("Enter")
        page.get_by_text("Copied.").wait_for()


def test_narrow_and_dark_screens_hold_the_page(browser, address):
    for width, scheme in itertools.product((1200, 400), ("light", "dark")):
        with opened(browser, address, width=width, scheme=scheme) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 26)"}[scheme]
            if PICTURES:
                page.screenshot(path=Path(PICTURES) / f"planner-{scheme}-{width}.png", full_page=True)


def test_on_a_narrow_screen_numbers_come_before_sliders_which_wait_in_a_fold(browser, address):
    with opened(browser, address, width=400) as page:
        assert page.locator("#people-slider").is_hidden()
        top = page.locator("#row-uniform td").first.bounding_box()["y"]
        assert top < 900
        page.get_by_text("What is planned: people").click()
        assert page.locator("#people-slider").is_visible()
        page.set_viewport_size({"width": 1200, "height": 900})
        assert page.locator("#people-slider").is_visible()
        page.set_viewport_size({"width": 400, "height": 900})
        page.locator("#people-slider").wait_for(state="hidden")


def test_what_comes_too_late_is_asked_again_after_all_others(browser):
    asked = []

    async def late_at_first(question):
        key = (question["about"], question.get("shuffler"))
        asked.append(key)
        if key == ("promise", "uniform") and asked.count(key) < 3:
            return {"refused": "Not answered within 5 s.", "too_late": True}
        return await real_answers(question)

    with served(late_at_first) as late, opened(browser, late) as page:
        assert shown_of(page, "uniform")["cells"]["epsilon"] in cells(page, "uniform")
    promise = ("promise", "uniform")
    assert asked.count(promise) == 3
    assert asked[-1] == promise


def test_the_page_of_the_plan_is_saved(browser, address, tmp_path):
    with opened(browser, address) as page:
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Save the page of this plan").click()
        assert downloading.value.suggested_filename == "plan.html"
        downloading.value.save_as(tmp_path / "plan.html")
    shown = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "It holds as long as" in shown
    assert "A plan, before anybody is asked" in shown


def test_a_page_without_a_server_asks_through_one_function(browser, address):
    with opened(browser, address) as page:
        page.add_init_script(
            "window.asked = []; const json = text => JSON.parse(text);"
            "window.shuffledpAsk = async question => { window.asked.push(question.about);"
            " return (await fetch('ask', {method: 'POST', body: JSON.stringify(question)})).json(); }"
        )
        page.reload()
        page.get_by_text(DONE).wait_for(timeout=120_000)
        assert set(page.evaluate("window.asked")) == {"choices", "promise", "guesses", "bracket", "ways"}
