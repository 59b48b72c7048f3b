"""The command line: arguments in, one library call, results printed."""

import importlib.util
import sys

from shuffledp._version import __version__

__all__ = ["main"]

_NEEDED = ("typer", "rich", "pyarrow", "matplotlib", "jinja2")


def main() -> None:
    """Run the command line; says which packages to install where the extra is missing."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing and sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"shuffledp {__version__}\n")
        return
    if missing:
        needed = ", ".join(missing)
        sys.exit(
            f'shuffledp: the command line needs {needed}; install it with: pip install "shuffledp[cli]" '
            '(in a source checkout: pip install ".[cli]")'
        )
    from shuffledp.cli.app import run_app

    run_app()
