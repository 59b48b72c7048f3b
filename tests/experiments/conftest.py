"""Puts the source checkout on the path, so that what only experiments use is imported as they import it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
