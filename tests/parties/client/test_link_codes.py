"""Links as QR codes, and the sheet of invitations: what a scanner reads from them is the link, and nothing else."""

import re
from io import BytesIO

import numpy as np
import pytest
import segno
import zxingcpp
from PIL import Image

from parties.client.answering import ADDRESS, asking
from parties.client.loading import watched
from parties.issuer.issuing import WithTokens
from parties.service.given import Parties
from shuffledp.core.errors import InvalidParameterError
from shuffledp.parties.client.bundle import allowed, source_of
from shuffledp.parties.client.invitation_sheet import invitation_sheet
from shuffledp.parties.client.link_codes import is_link_code, link_code, printed_code
from shuffledp.parties.client.respondents_page import with_page
from shuffledp.parties.issuer.invitations import new_invitations, ready_made_invitations

LINK = f"https://ask.example/survey.html#page={'ab' * 32}&invitation=AbCdEfGhIjKlMnOpQrStUv"
QUIET = 4  # modules, ISO/IEC 18004


def drawn(svg):
    """The modules of a code, 1 is dark, as its SVG draws them: lines of a path, each a row of dark ones."""
    scale = re.search(r"scale\((\S+)\)", svg)
    modules = round(float(re.search(r'width="([\d.]+)', svg)[1]) / float(scale[1]))
    (path,) = re.findall(r'stroke="#000"[^>]* d="([^"]*)"', svg)
    found, row, column = np.zeros((modules, modules), np.uint8), -0.5, 0
    for command, numbers in re.findall(r"([Mmh])([^Mmh]*)", path):
        first, *others = map(float, numbers.split())
        if command == "h":
            found[int(row), int(column) : int(column + first)] = 1
            column += first
        else:
            column, row = (first, others[0]) if command == "M" else (column + first, row + others[0])
    return found


def read(modules):
    """What a scanner reads."""
    (found,) = zxingcpp.read_barcodes(np.kron(255 * (1 - modules), np.ones((4, 4), np.uint8)))
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    return found.text


@pytest.mark.parametrize("svg", [link_code(LINK).decode(), printed_code(LINK)], ids=["file", "printed"])
def test_a_code_is_read_as_the_link_and_leaves_four_modules_free(svg):
    modules = drawn(svg)
    assert read(modules) == LINK
    assert modules.sum() > modules[QUIET:-QUIET, QUIET:-QUIET].size / 3
    assert modules[:QUIET].sum() == modules[:, :QUIET].sum() == modules[-QUIET:].sum() == modules[:, -QUIET:].sum() == 0
    assert modules[QUIET, QUIET] == modules[QUIET, -QUIET - 1] == modules[-QUIET - 1, QUIET] == 1
    assert 'fill="#fff"' in svg


def test_a_code_is_read_with_a_tenth_of_it_lost_and_not_with_a_third():
    modules = drawn(link_code(LINK).decode())
    size = len(modules)
    modules[size // 2 : size // 2 + size // 10, 16 : size - 16] = 0
    assert read(modules) == LINK
    modules[16:-16, 12:-12] = 0
    assert zxingcpp.read_barcodes(np.kron(255 * (1 - modules), np.ones((4, 4), np.uint8))) == []


def test_a_code_asks_nobody_for_anything_and_is_known_again(tmp_path):
    file = tmp_path / "survey.svg"
    file.write_bytes(link_code(LINK))
    assert link_code(LINK) == link_code(LINK)
    assert re.findall(rb"https?://[^\"]*", file.read_bytes()) == [b"http://www.w3.org/2000/svg"]
    assert is_link_code(file)
    file.write_bytes(b"<svg/>")
    assert not is_link_code(file)
    assert not is_link_code(tmp_path / "absent.svg")


def test_a_link_that_no_code_can_hold_is_refused():
    longest = "https://ask.example/".ljust(2331, "x")
    assert segno.make_qr(longest, error="m").version == 40
    link_code(longest)
    for make in (link_code, printed_code):
        with pytest.raises(
            InvalidParameterError, match=r"short enough for a QR code, which holds 2,331 bytes; got 2,332"
        ):
            make(f"{longest}x")


def sheet_of(parties, *names):
    collection, _ = with_page(parties.collection, ADDRESS)
    if collection.ready_made:
        made = ready_made_invitations(collection, len(names), parties.issuer_key)
    else:
        made, _ = new_invitations(collection, len(names))
    links = [each.link(collection.page) for each in made]
    return invitation_sheet(collection, zip(names, links, strict=True)), links


def scanned(browser, sheet):
    """What a scanner reads from a sheet in a browser, in order; the browser asks nobody for anything."""
    context = browser.new_context(viewport={"width": 800, "height": 1000}, device_scale_factor=2)
    tab, asked = context.new_page(), []
    wrong = watched(tab)
    tab.on("request", lambda request: asked.append(request.url))
    tab.route("https://sheet.test/", lambda route: route.fulfill(body=sheet, content_type="text/html"))
    tab.goto("https://sheet.test/")
    pictures = [each.screenshot() for each in tab.locator("article").all()]
    context.close()
    assert (wrong, asked) == ([], ["https://sheet.test/"])
    found = [zxingcpp.read_barcodes(Image.open(BytesIO(picture))) for picture in pictures]
    return [each.text for codes in found for each in codes]


@pytest.mark.parametrize("further", [{}, {"ready_made": True}])
def test_from_the_sheet_a_scanner_reads_the_link_of_each_person_beside_their_name(browser, further):
    names = ["Ada", "<b>Bo</b> &amp;", "{link}\x1b"]
    sheet, links = sheet_of(WithTokens(asking(name="<i>{name}</i>"), **further), *names)
    assert scanned(browser, sheet) == links
    assert [sheet.count(link.replace("&", "&amp;")) for link in links] == [1, 1, 1]
    shown = ["Ada", "&lt;b&gt;Bo&lt;/b&gt; &amp;amp;", "{link}\\x1b"]
    assert re.findall('<p class="name">(.*)</p>', sheet) == shown


def test_the_sheet_warns_first_runs_nothing_and_speaks_the_language_of_the_task():
    sheet, _ = sheet_of(WithTokens(asking(language="fr-CA")), "Ada")
    assert f"default-src 'none'; style-src {allowed(source_of('sheet.css'))}" in sheet
    assert not re.search(r"<script|<link|src=|href=|url\(|@import", sheet)
    assert '<html lang="fr">' in sheet
    assert sheet.index("Chaque code de cette page est le secret") < sheet.index("<article>")
    assert "Scannez le code avec un téléphone" in sheet
    assert "Questions sur cette enquête" in sheet


def test_where_there_is_no_contact_none_is_named():
    sheet, _ = sheet_of(WithTokens(asking(release={"delta": 1e-6, "minimum_batch": 10})), "Ada")
    assert "Questions about" not in sheet
    collection, _ = with_page(Parties(asking()).collection, ADDRESS)
    assert "<article>" not in invitation_sheet(collection, [])
