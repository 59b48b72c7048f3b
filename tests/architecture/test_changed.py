"""The map from a change to its tests: nearest ones first, and further ones when asked for."""

import pytest

from changed import graph_of, imports_of, module_of, related_tests

GRAPH = {
    "src/shuffledp/core/errors.py": set(),
    "src/shuffledp/core/flow.py": {"shuffledp.core.errors", "shuffledp.core.errors.invalid"},
    "tests/core/test_flow.py": {"shuffledp.core", "shuffledp.core.flow", "pytest"},
    "tests/core/test_errors.py": {"shuffledp.core.errors"},
    "tests/core/making.py": {"shuffledp.core.flow"},
    "tests/laws/test_laws.py": {"core.making"},
    "tests/laws/test_others.py": {"numpy"},
    "tests/architecture/test_architecture.py": {"ast"},
}
ALWAYS = "tests/architecture/test_architecture.py"


@pytest.mark.parametrize(
    ("changed", "far", "expected"),
    [
        (["tests/laws/test_others.py"], False, ["tests/laws/test_others.py"]),
        (["src/shuffledp/core/errors.py"], False, ["tests/core/test_errors.py"]),
        (
            ["src/shuffledp/core/errors.py"],
            True,
            ["tests/core/test_errors.py", "tests/core/test_flow.py", "tests/laws/test_laws.py"],
        ),
        (["src/shuffledp/core/flow.py"], False, ["tests/core/test_flow.py", "tests/laws/test_laws.py"]),
        (["src/shuffledp/core/words.json"], False, ["tests/core/test_flow.py"]),
        (["src/shuffledp/core/gone.py", "README.md"], False, []),
    ],
)
def test_a_change_has_the_tests_that_import_it(changed, far, expected):
    assert related_tests(changed, GRAPH, far=far) == [ALWAYS, *expected]


def test_names_of_modules_and_imports_are_those_of_python(tmp_path):
    assert set(imports_of("import a.b\ndef f():\n    from c import d")) == {"a.b", "c", "c.d"}
    (tmp_path / "tests" / "core").mkdir(parents=True)
    (tmp_path / "tests" / "core" / "__init__.py").write_text("import pytest\n")
    assert graph_of(tmp_path) == {"tests/core/__init__.py": {"pytest"}}
    assert [module_of(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py")] == ["core"]
