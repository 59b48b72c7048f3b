"""What the source distribution holds."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_patterns_of_the_source_distribution_are_files_and_folders_of_the_root_and_nothing_deeper():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    patterns = build["targets"]["sdist"]["include"]
    for pattern in patterns:
        assert pattern.startswith("/"), f"{pattern} would match at every depth"
        assert pattern.count("/") == 1
        assert (ROOT / pattern.removeprefix("/")).exists()
    documents = {path.name for path in ROOT.iterdir() if path.suffix in (".md", ".cff")} | {"LICENSE"}
    assert {f"/{name}" for name in documents} <= set(patterns)
