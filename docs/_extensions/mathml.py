"""Formulas as MathML, which browsers draw themselves: the pages need no script and no network."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOGGER = logging.getLogger(__name__)


def _mathml(node: nodes.Element, as_block: bool) -> str:
    try:
        return tex2mathml(node.astext().strip(), as_block=as_block)
    except MathError as error:
        LOGGER.warning("cannot write as MathML: %s (%s)", node.astext(), error, location=node)
        return node.astext()


def visit_math(translator: Any, node: nodes.math) -> None:
    """Draw a formula inside a line."""
    translator.body.append(f'<span class="math">{_mathml(node, as_block=False)}</span>')
    raise nodes.SkipNode


def visit_math_block(translator: Any, node: nodes.math_block) -> None:
    """Draw a formula on its own line, with its number if it has a label."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    # A box of its own, so that a wide formula scrolls in it and never runs into its number.
    translator.body.append(f'<div class="formula" tabindex="0">{_mathml(node, as_block=True)}</div>')
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
