"""Results of long runs, kept in a folder that git ignores until the code or the settings change."""

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import shuffledp

FOLDER = Path(__file__).parent / ".cache"

Rows = list[dict[str, Any]]


def cached(
    compute: Callable[[dict[str, Any]], Rows],
    settings: dict[str, Any],
    folder: Path = FOLDER,
    data: Sequence[Path] = (),
) -> Rows:
    """What ``compute`` gives for these settings, from the folder if it has been computed by this very code.

    Args:
        compute: a function; what counts is the source of its module, of the modules about experiments that it imports
            from, and of the whole package.
        settings: what it is called with; JSON can write it.
        folder: where results are kept.
        data: files that it reads; what is in them counts too.
    """
    here = Path(compute.__code__.co_filename)
    sources = [here, *_imported(compute), *sorted(Path(shuffledp.__file__).parent.rglob("*.py"))]
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for source in [*sources, *data]:
        key.update(source.read_bytes())
    kept = folder / f"{here.parent.name}-{here.stem}-{key.hexdigest()[:16]}.json"
    if kept.exists():
        found: Rows = json.loads(kept.read_text(encoding="utf-8"))
        return found
    rows = compute(settings)
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(rows), encoding="utf-8")
    return rows


def _imported(compute: Callable[[dict[str, Any]], Rows]) -> list[Path]:
    """Sources of the modules about experiments that functions in this one come from."""
    modules = {str(getattr(value, "__module__", "")) for value in compute.__globals__.values()}
    used = sorted(name for name in modules if name.startswith("experiments.") and name != "experiments.showing")
    return [Path(str(sys.modules[name].__file__)) for name in used]
