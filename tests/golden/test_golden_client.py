"""The vectors that the browser's client is held to are what this library makes."""

import hashlib
import json

from golden import record_client
from shuffledp.parties.client.browser_randomizers import KINDS
from shuffledp.parties.client.bundle import script_of, source_of


def test_reports_of_recorded_words_are_those_of_the_vectors():
    assert json.loads(record_client.FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(record_client.vectors()))


def test_codes_of_texts_are_those_of_the_vectors():
    assert json.loads(record_client.TEXTS_FILE.read_text(encoding="utf-8")) == json.loads(
        json.dumps(record_client.texts())
    )


def test_every_kind_of_the_browser_has_vectors():
    made = (*record_client.randomizers(), *record_client.tick_randomizers(), *record_client.message_randomizers())
    assert {randomizer.model.kind for randomizer, _ in made} == set(KINDS)


def test_the_vendored_module_is_the_one_that_its_head_names():
    head, body = source_of("vendor/hpke.js").split(" */\n", 1)
    assert f"ends this comment: {hashlib.sha256(body.encode()).hexdigest()}\n" in head
    assert "MIT License" in head


def test_the_script_holds_each_module_once_and_imports_nothing():
    script = script_of("page.js")
    assert script.count("const module_wire = (() => {") == 1
    assert (
        script.index("const module_vendor_hpke")
        < script.index("const module_sealing")
        < script.index("const module_page ")
    )
    assert "\nimport " not in script
    assert "\nexport " not in script
    assert "</script" not in script
