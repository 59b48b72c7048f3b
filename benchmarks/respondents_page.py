"""The page on which people answer: how long until it asks, on a slow device, and how much it has to load.

Milliseconds from the beginning of the navigation until the questions can be answered, in Chromium with its processor
slowed four times, each time in a browser that has not seen the page. Other work on the machine makes it longer: the
best is nearest to a machine of its own. An empty form, in turns with it, is what the browser itself takes::

    python -m benchmarks.respondents_page
"""

import http.server
import statistics
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import which
from typing import Any

from playwright.sync_api import Browser, CDPSession, sync_playwright

from shuffledp.core.instants import written
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.wire.keys import AnalyzerKey, GatewayKey, IssuerKey, ShufflerKey, in_text
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task

SLOWED = 4
TIMES = 21
EMPTY = b"""<!doctype html><title>x</title><form id="questions" hidden>x</form>
<script>document.getElementById("questions").hidden = false;</script>"""
ASKS = """
new MutationObserver((_, observer) => {
  const form = document.getElementById("questions");
  if (form && !form.hidden) {
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.asks = performance.now(); }));  // it is on the screen
  }
}).observe(document, { attributes: true, childList: true, subtree: true });
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def page_of(url: str, *, relayed: bool) -> tuple[str, bytes]:
    """The link and the page of a question with five answers."""
    now = datetime.now(UTC)

    def party(key: ShufflerKey | AnalyzerKey | GatewayKey | IssuerKey) -> PublishedKey:
        return PublishedKey(role=key.role, key=in_text(key.public), active_from="2020-01-01")

    answers = ["never", "rarely", "monthly", "weekly", "daily"]
    task = {
        "name": "survey",
        "value": "smokes",
        "question": "How often do you smoke?",
        "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": answers},
        "release": {"delta": 1e-6, "minimum_batch": 100},
    }
    further: dict[str, Any] = {}
    if relayed:
        further = {
            "transport": "oblivious",
            "relay": "https://relay.example",
            "gateway": party(GatewayKey.generate()),
            "issuer": Service(url="https://issuer.example", key=party(IssuerKey.generate())),
        }
    collection = Collection.new(
        Task.from_dict(task),
        shuffler=Service(url="https://mixer.example", key=party(ShufflerKey.generate())),
        analyzer=Service(url="https://office.example", key=party(AnalyzerKey.generate())),
        closes=written(now + timedelta(days=9)),
        now=now,
        **further,
    )
    _, page = with_page(collection, url)
    invitation = f"&invitation={'A' * 22}" if relayed else ""
    return f"{url}#page={sha256(page).hexdigest()}{invitation}", page


def until_it_asks(browser: Browser, link: str) -> tuple[float, float]:
    """Milliseconds until the questions can be answered, and those of processor time of the page's own thread."""
    context = browser.new_context(viewport={"width": 400, "height": 800})
    tab = context.new_page()
    tab.add_init_script(ASKS)
    devtools = context.new_cdp_session(tab)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = worked(devtools)
    tab.goto(link)
    while (asks := tab.evaluate("window.asks")) is None:
        tab.wait_for_timeout(20)
    found = asks, worked(devtools) - before
    context.close()
    return found


def worked(devtools: CDPSession) -> float:
    """Milliseconds that the page's own thread has worked."""
    metrics = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    return 1000 * float(metrics["TaskDuration"])


def main() -> None:
    """The times, and the sizes."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        handler = partial(Quiet, directory=folder)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            browser = driver.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
            address = f"http://127.0.0.1:{server.server_port}/survey.html"
            pages = {
                "an empty form": (address, EMPTY),
                "direct": page_of(address, relayed=False),
                "with tokens, through a relay": page_of(address, relayed=True),
            }
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in pages}
            for _ in range(TIMES):
                for name, (link, page) in pages.items():
                    (Path(folder) / "survey.html").write_bytes(page)
                    found[name].append(until_it_asks(browser, link))
            for name, times in found.items():
                clock, used = zip(*times, strict=True)
                print(
                    f"{name}: {len(pages[name][1]):,} bytes (at most 150,000); asks after "
                    f"{statistics.median(clock):.0f} ms, at best {min(clock):.0f} (at most 300), of which its thread "
                    f"works {statistics.median(used):.0f}, at best {min(used):.0f}"
                )
            browser.close()
            server.shutdown()


if __name__ == "__main__":
    main()
