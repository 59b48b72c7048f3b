"""Reports or a view in several files: a folder of parts, and beside them what one file would say of itself.

The parts are called so that their order is that of the rows. Whoever reads such folders leaves out files whose names
begin with _, so that any reader of Parquet takes the folder for one table.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from shuffledp.core import validate
from shuffledp.core.described import Described
from shuffledp.files.parquet import FileFacts
from shuffledp.survey.section import require_sha256

_MARK = "_parts.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Described):
    """File of a part: its name in the folder, how many rows it has, and its digest."""

    name: str
    rows: int
    sha256: str

    def __post_init__(self) -> None:
        validate.integer_at_least(0, rows=self.rows)
        require_sha256(sha256=self.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsFolder(Described):
    """What a folder of parts says about itself: the facts of the whole, and all parts in order."""

    facts: FileFacts
    parts: tuple[Part, ...]

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write it beside the parts; the names of all files."""
        content = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / _MARK).write_text(content + "\n", encoding="utf-8")
        return (*(part.name for part in self.parts), _MARK)
