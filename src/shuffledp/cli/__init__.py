"""The command line: arguments in, one library call, results printed.

In reading order: `app` (the commands); `options`, `protocol_options` (a protocol from options or a task) and
`progress_bars`, which they share.

* Before a collection: `init_command` (a task to begin with), `account_command` (account, calibrate), `leakage_command`,
  `plan_command` (plan, planner, audit), `graph_command`.
* Answers in files: `release_command` (run and its stages), `difference_command`, `ledger_command`.
* Collections over a network: `collection_options`, `collect_new_command`, `collect_command`, `states_command`,
  `keys_command`, `tokens_command`, `kit_command`, `serve_command`, `relay_command`, and `send_command` for people who
  answer.
* Surveys of one organizer: `survey_new_command`, `survey_command`.
"""

import atexit
import importlib.util
import os
import signal
import sys
import time
from contextlib import suppress

from shuffledp._version import __version__

__all__ = ["main"]

_ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SECONDS_TO_END = 5.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # more threads would only wait for each other
_NEEDED = ("typer", "rich", "pyarrow", "matplotlib", "jinja2")


def main() -> None:
    """Run the command line; if its packages are missing, say how to install them."""
    asked = _end_in_order()
    for name in _THREADS:  # read when numpy is imported
        os.environ.setdefault(name, "1")
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

    run_app(asked)


def _end_in_order() -> list[int]:
    """Make signals end the process in order; return the list of received signals, empty at first.

    Whoever presses the key again waits for that exit, some seconds at most; then the process ends at once.
    """
    asked: list[int] = []
    since: list[float] = []

    def end(number: int, _: object) -> None:
        asked.append(number)
        if len(asked) == 1:
            since.append(time.monotonic())
            atexit.register(_ignore_endings)  # a process that is taken down can answer no signal any more
            sys.exit(128 + number)
        if time.monotonic() > since[0] + _SECONDS_TO_END:
            os._exit(128 + asked[0])

    with suppress(ValueError):  # not in the main thread
        for each in _ENDINGS:
            if signal.getsignal(each) is not signal.SIG_IGN:  # as `nohup` wants it
                signal.signal(each, end)
    return asked


def _ignore_endings() -> None:
    for each in _ENDINGS:
        signal.signal(each, signal.SIG_IGN)
