"""Records anew what commands print, into ``tests/golden/commands/``.

``python tests/golden/record_commands.py`` records all cases, in some minutes; ``... account run/k-rr`` records those
families and cases. Record only after a change that is meant to change an output, look at the difference
(``git diff tests/golden``), and say in the commit why it changed. The seconds of each case are printed; above one, it
belongs among the slow ones of ``command_cases.py``.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.command_cases import CASES
from golden.command_outputs import RECORDS, outputs, record


def main(wanted: list[str]) -> None:
    """Record the cases of these families, or with these names; all, if there is none."""
    RECORDS.mkdir(exist_ok=True)
    for case in CASES:
        if wanted and case.family not in wanted and case.id not in wanted:
            continue
        began = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            record(case.family, {case.name: outputs(case, Path(folder))})
        sys.stdout.write(f"{time.process_time() - began:6.2f} s  {case.id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
