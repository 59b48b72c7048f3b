"""What notebooks show of values can be read under the styles of JupyterLab and of VS Code, as a browser lays it out."""

import pytest

import shuffledp as sdp
from shuffledp.leakage import compare_ways, examine_target

PIPELINE = sdp.Pipeline(
    randomizer=sdp.KaryRandomizedResponse(epsilon0=2.0, categories=["No", "Yes"]),
    shuffler=sdp.UniformShuffler(),
    analyzer=sdp.FrequencyAnalyzer(),
)
# What VS Code says of the elements in an output.
VS_CODE = """
table, thead, tr, th, td, tbody { border: none !important; border-spacing: 0; border-collapse: collapse; }
table, th, tr { vertical-align: middle; text-align: right; }
thead { font-weight: bold; background-color: rgba(130, 130, 130, 0.16); }
th, td { padding: 4px 8px; }
tr:nth-child(even) { background-color: rgba(130, 130, 130, 0.08); }
tbody th { font-weight: normal; }
body { font: 13px sans-serif; padding: 0 24px; }
"""
# Of each output: which pieces of text lie over each other, reach beyond it, or are cut; and how it is laid out.
LAID_OUT = """() => [...document.querySelectorAll('.shuffledp-top')].map(top => {
  const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT), pieces = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, holder = node.parentElement;
    if (!node.textContent.trim() || holder.closest('style, .unseen, details:not([open]) > :not(summary)')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects())
      if (box.width > 1 && box.height > 1) pieces.push({text: node.textContent.trim().slice(0, 40), box, node});
  }
  const over = [], beyond = [], edge = top.getBoundingClientRect();
  pieces.forEach((one, place) => pieces.slice(place + 1).forEach(other => {
    if (one.node === other.node) return;
    const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    const least = Math.min(one.box.height, other.box.height);
    if (wide > 2 && high > 0.35 * least) over.push([one.text, other.text]);
  }));
  for (const {text, box} of pieces) if (box.right > edge.right + 1 || box.left < edge.left - 1) beyond.push(text);
  const styles = (which, property) => [...new Set([...top.querySelectorAll(which)].map(
    each => getComputedStyle(each)[property]))];
  return {
    pieces: pieces.length, over, beyond,
    scrolled: [...top.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth + 1).length,
    floats: styles('dt, dd', 'float'), quotes: styles('blockquote', 'borderLeftWidth'),
    heads: styles('tbody th', 'textAlign'), stripes: styles('tbody tr', 'backgroundColor'),
  };
})"""


@pytest.fixture(scope="module")
def outputs():
    """What a notebook shows of a value of each kind."""
    release = PIPELINE.run(["No"] * 800 + ["Yes"] * 200, delta=1e-6)
    small = PIPELINE.model(20)
    values = [
        release,
        release.estimate,
        release.statements[0],
        sdp.bracket(PIPELINE.model(1000), delta=1e-6),
        sdp.Graph.random_regular(4, 100),
        examine_target(small),
        compare_ways(small),
    ]
    return [value._repr_html_() for value in values]


def as_jupyterlab(outputs):
    """The page that nbconvert makes with JupyterLab's styles."""
    exporters = pytest.importorskip("nbconvert", reason="nbconvert has the styles of JupyterLab")
    from nbformat import v4

    shown = [v4.new_output("execute_result", {"text/html": html}, execution_count=1) for html in outputs]
    cells = [v4.new_code_cell("value", outputs=[each], execution_count=1) for each in shown]
    notebook = v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python", "pygments_lexer": "python"}})
    return exporters.HTMLExporter(template_name="lab").from_notebook_node(notebook)[0]


def as_vs_code(outputs):
    bodies = "".join(f"<div class='output'>{html}</div>" for html in outputs)
    return f"<!DOCTYPE html><meta charset='utf-8'><style>{VS_CODE}</style><body>{bodies}</body>"


def laid_out(browser, html, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.route("**/*", lambda route: route.abort())  # nothing is loaded from anywhere
    page.set_content(html, wait_until="domcontentloaded")
    found = page.evaluate(LAID_OUT)
    page.close()
    return found


@pytest.mark.parametrize("styled", [as_jupyterlab, as_vs_code])
@pytest.mark.parametrize("width", [1200, pytest.param(760, marks=pytest.mark.deep)])
def test_no_text_lies_over_another_and_none_is_cut(browser, outputs, styled, width):
    found = laid_out(browser, styled(outputs), width)
    assert len(found) == len(outputs)
    for each in found:
        assert each["pieces"] > 4
        assert each["over"] == []
        assert each["beyond"] == []
        assert each["scrolled"] == 0
        assert set(each["floats"]) <= {"none"}
        assert set(each["quotes"]) <= {"0px"}
        assert set(each["heads"]) <= {"left", "start"}
        assert set(each["stripes"]) <= {"rgba(0, 0, 0, 0)"}


@pytest.mark.deep
def test_labels_over_numbers_are_found(browser, outputs):
    """The styles of a notebook, were they not undone."""
    bare = [
        html.replace(":where(*) { all: revert; }", "").replace(".shuffledp-top" * 3, ".shuffledp-top")
        for html in outputs
    ]
    found = laid_out(browser, as_jupyterlab(bare), 1200)
    assert any("remainder (delta)" in pair for each in found for pair in each["over"])
    assert any("5px" in each["quotes"] for each in found)
