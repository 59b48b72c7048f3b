"""Results of long runs, kept in a folder that git ignores until the code or the settings change."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import shuffledp

__all__ = ["FOLDER", "cached"]

FOLDER = Path(__file__).parent / ".cache"

Rows = list[dict[str, Any]]


def cached(
    compute: Callable[[dict[str, Any]], Rows],
    settings: dict[str, Any],
    folder: Path = FOLDER,
    *,
    also: Sequence[Path] = (),
) -> Rows:
    """What ``compute`` gives for these settings, from the folder if it has been computed by this very code.

    Args:
        compute: a function whose module's source counts, as the source of the whole package does.
        settings: what it is called with; JSON can write it.
        folder: where results are kept.
        also: further files whose content counts.
    """
    here = Path(compute.__code__.co_filename)
    sources = [here, *also, *sorted(Path(shuffledp.__file__).parent.rglob("*.py"))]
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for source in sources:
        key.update(source.read_bytes())
    kept = folder / f"{here.parent.name}-{here.stem}-{key.hexdigest()[:16]}.json"
    if kept.exists():
        found: Rows = json.loads(kept.read_text(encoding="utf-8"))
        return found
    rows = compute(settings)
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(rows), encoding="utf-8")
    return rows
