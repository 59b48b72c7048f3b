"""Settings of the documentation: ``sphinx-build -W -n -b html docs docs/_build``. Nothing is fetched."""

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

project = "shuffledp"
author = "The shuffledp authors"
copyright = author  # noqa: A001
version = release = runpy.run_path(str(HERE.parent / "src" / "shuffledp" / "_version.py"))["__version__"]

extensions = ["myst_parser", "mathml", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True
# Types and errors of other libraries, and those that the page of names leaves out, have nowhere to link to.
nitpick_ignore_regex = [("py:.*", ".*")]

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # written out they take half the page, and each docstring says what it takes
default_role = "code"  # names in docstrings stand in single backticks
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Guarantees", "notes_style")]
numfig = True
math_number_all = False

html_theme = "furo" if find_spec("furo") else "alabaster"
html_math_renderer = "mathml"
html_title = f"shuffledp {release}"
html_static_path = ["_static"]
html_css_files = ["shuffledp.css"]
html_copy_source = False
html_show_sphinx = False
