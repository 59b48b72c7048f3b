"""The command line: arguments in, one library call, results printed."""

import importlib.util
import signal
import sys
from contextlib import suppress

from shuffledp._version import __version__

__all__ = ["main"]

_ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_NEEDED = ("typer", "rich", "pyarrow", "matplotlib", "jinja2")


def main() -> None:
    """Run the command line; says which packages to install where the extra is missing."""
    _end_in_order()
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


def _end_in_order() -> None:
    """So that outputs begun are taken away, once and undisturbed, when the process is asked to end."""

    def end(number: int, _: object) -> None:
        for each in _ENDINGS:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    with suppress(ValueError):  # not in the main thread
        for each in _ENDINGS:
            if signal.getsignal(each) is not signal.SIG_IGN:  # as `nohup` wants it
                signal.signal(each, end)
