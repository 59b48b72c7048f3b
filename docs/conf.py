"""Settings of the documentation: ``sphinx-build -W -n -b html docs docs/_build``. Nothing is fetched."""

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "shuffledp"
author = "The shuffledp authors"
copyright = author  # noqa: A001
version = release = runpy.run_path(str(HERE.parent / "src" / "shuffledp" / "_version.py"))["__version__"]

extensions = ["myst_parser", "mathml"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True
numfig = True
math_number_all = False

html_theme = "furo" if find_spec("furo") else "alabaster"
html_math_renderer = "mathml"
html_title = f"shuffledp {release}"
html_static_path = ["_static"]
html_css_files = ["shuffledp.css"]
html_copy_source = False
html_show_sphinx = False
