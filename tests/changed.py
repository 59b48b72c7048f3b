"""Prints the tests of the folders that a change touches, or runs them: those to run first, in seconds.

``python tests/changed.py [BASE]`` prints the files of tests for all that differs from BASE (by default HEAD), also what
git does not track yet; with ``--run`` it runs them. A test belongs to a change if it was changed itself, lies in the
folder that mirrors a changed module's and imports that module, or imports it from elsewhere. ``--far`` adds tests that
reach a changed module through other modules. No test is left out for good by this: all run before a change is sent.
"""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = Path("src/shuffledp"), Path("tests")
ALWAYS = ("tests/architecture/test_architecture.py",)
Graph = Mapping[str, set[str]]  # names of modules that each file imports


def module_of(path: Path) -> str:
    """Dotted name of a file, as it is imported."""
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str) -> Iterator[str]:
    """Names that a file imports, at any depth; of ``from a import b`` both ``a`` and ``a.b``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def graph_of(root: Path) -> dict[str, set[str]]:
    """Imports of each file of src and tests that is there."""
    paths = [path for top in (SOURCE, TESTS) for path in (root / top).rglob("*.py")]
    return {path.relative_to(root).as_posix(): set(imports_of(path.read_text(encoding="utf-8"))) for path in paths}


def related_tests(changed: Iterable[str], graph: Graph, *, far: bool = False) -> list[str]:
    """Files of tests for these changed files."""
    users: dict[str, set[str]] = defaultdict(set)
    for path, names in graph.items():
        for name in names:
            users[name].add(path)
    found = {path for path in changed if Path(path).suffix == ".py" and path in graph}
    new = set(found) | {f"{Path(path).parent.as_posix()}/__init__.py" for path in changed if not path.endswith(".py")}
    while new:
        names = {module_of(Path(path)) for path in new if Path(path).parts[0] in ("src", "tests")}
        new = {user for name in names for user in users[name]} - found
        found |= new
        if not far:  # of helpers in tests alone, the tests that import them
            new = {path for path in new if path.startswith("tests/") and not is_test(path)}
    return sorted({*ALWAYS, *filter(is_test, found)} & graph.keys())


def is_test(path: str) -> bool:
    """Whether a file holds tests."""
    return path.startswith("tests/") and Path(path).name.startswith("test_")


def changed_since(base: str) -> list[str]:
    """Files that differ from a commit, and files that git neither tracks nor ignores."""
    found = ""
    for command in (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"]):
        found += subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return found.split()


def main(arguments: list[str]) -> int:
    """Print the tests of a change, or run them; the status is that of pytest."""
    options = {each for each in arguments if each.startswith("--")}
    base = next((each for each in arguments if not each.startswith("--")), "HEAD")
    tests = related_tests(changed_since(base), graph_of(ROOT), far="--far" in options)
    if "--run" in options:
        return subprocess.run([sys.executable, "-m", "pytest", *tests], cwd=ROOT, check=False).returncode
    sys.stdout.write("".join(f"{each}\n" for each in tests))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
