"""The client's modules in a browser, from an address that no network has."""

from contextlib import contextmanager

from shuffledp.parties.client.bundle import source_of

ADDRESS = "https://client.test"


NO_ANSWER = "Failed to load resource"  # which the browser says of every request that fails, whoever expects it


def watched(page):
    """What goes wrong in a page, or is written to its console, from now on."""
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: None if message.text.startswith(NO_ANSWER) else wrong.append(message.text))
    return wrong


@contextmanager
def loaded(browser):
    """A page into which every module of the client can be imported; nothing may go wrong in it."""
    context = browser.new_context()
    page = context.new_page()
    wrong = watched(page)

    def answer(route):
        name = route.request.url.removeprefix(f"{ADDRESS}/")
        if name.endswith(".js"):
            route.fulfill(body=source_of(name), content_type="text/javascript")
        else:
            empty = "<!doctype html><title>modules</title><link rel=icon href=data:,>"
            route.fulfill(body=empty, content_type="text/html")

    page.route(f"{ADDRESS}/**", answer)
    page.goto(f"{ADDRESS}/")
    yield page
    context.close()
    assert wrong == []
