"""The shape of the house, read from the syntax trees of ``src/shuffledp``: layers, lengths and forbidden words.

One table says what lies above what. Each rule is a function from a module to the lines that break it, and each rule is
shown to reject something: a check that cannot fail is worth nothing.
"""

import ast
import graphlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

import pytest

from shuffledp.core.upward_calls import ABOVE, above
from shuffledp.protocols import FAMILIES

ROOT = Path(__file__).parents[2]
PACKAGE = "shuffledp"
MAX_FILE_LINES = 400
MIN_FILE_LINES = 40
MAX_ROOM_LINES = 6000  # a room is a folder without the folders in it: what a reader sees of it at once
FACES = ("__init__.py", "__main__.py", "_version.py", "testing.py", "/family.py")
MAX_FUNCTION_LINES = 60
# The only files that name what lies above them, in texts: where models of all kinds live, and who shows values.
MAY_NAME_ABOVE = {"core/described.py", "core/upward_calls.py"}


@dataclass(frozen=True)
class Level:
    """Units (a module, or a whole package) of one height. Nothing imports from a higher level."""

    name: str
    units: tuple[str, ...]
    siblings_may_import: bool = False  # if so, then without circles


LEVELS = (
    Level("values", ("core", "randomness", "testing", "_version", "protocols", "parties"), siblings_may_import=True),
    Level("public structure", ("people",)),
    Level("laws", ("laws",)),
    Level("parts", ("randomizers", "shufflers", "analyzers", "accounting", "leakage")),
    Level("the flow", ("pipeline",)),
    Level("wholes", ("planning", "attacks", "wire", "store")),
    Level("survey", ("survey",)),
    Level("edges", ("files", "documents")),
    Level("what parties share", ("http", "client")),
    Level("the issuer of tokens, hosts of one sum", ("issuer", "agreement")),
    Level("parties", ("service", "distributed", "planner")),
    Level("above the parties", ("relay", "demo", "organizer", "mix", "kit")),
    Level("command line", ("cli", "__main__"), siblings_may_import=True),
)
HEIGHT = {unit: height for height, level in enumerate(LEVELS) for unit in level.units}

# A family of protocols has floors as high as the rooms of the kernel that they are called after; its face is lazy.
FLOORS = {
    "people": "people",
    "laws": "laws",
    "randomizers": "randomizers",
    "shufflers": "shufflers",
    "analyzers": "analyzers",
    "theorems": "accounting",
    "planning": "planning",
    "attacks": "attacks",
    "survey": "survey",
    "files": "files",
    "documents": "documents",
    "cli": "cli",
}
KERNEL = {
    *("core", "randomness", "people", "laws", "randomizers", "shufflers", "analyzers", "accounting", "leakage"),
    *("pipeline", "planning", "attacks", "survey", "files", "documents", "planner"),
}
# Fields that one class declares: more are several values in one. A class with more is the table of a file, as named
# here, whose keys readers know by their names.
MOST_FIELDS = 12
TABLES = {
    "planner/questions.py": {"Question": "the body of a request to the planner"},
    "survey/collection.py": {"Collection": "the collection file, which its digest is of"},
    "survey/columns.py": {"Column": "the tables of a task file with one private column"},
}

# Imports inside a function of a module that imports this one: the function is called when both are loaded.
MEET_LATE = {
    ("accounting.account", "accounting.compose"),  # several releases of one protocol
    ("accounting.theorems.swap_bounds", "accounting.lower_bounds"),  # which knows all theorems, this one too
    ("survey.questions.question_kinds", "survey.questions.question"),  # whose subclasses the registry makes
}

# Bounds and attacks are brought together by the tests alone, so that neither can be fitted to the other.
NEVER = {("leakage", "accounting"), ("attacks", "accounting")}

# Types of numpy.random that everybody may name, and what everybody may call, since our own keystream is a BitGenerator.
# Only the evaluation of attacks, and the demo's invented people, may use numpy's own generators, which are predictable.
NUMPY_TYPES = {"Generator", "BitGenerator", "RandomState"}
NUMPY_CALLS = {"Generator"}
NUMPY_GENERATORS = {"default_rng", "SeedSequence", "PCG64", "PCG64DXSM", "Philox"}
MAY_MAKE_GENERATORS = {"attacks", "demo"}

# First lines of docstrings are read once: they are phrases, and begin with no pronoun whose noun is elsewhere.
LEAST_WORDS = 3
RIDDLES = (
    *("That of ", "Those ", "These ", "The same ", "Themselves", "As ", "So many ", "What ", "How ", "Ways of "),
    *("Whether it ", "Whether they ", "Whether so "),
)


@dataclass(frozen=True)
class Module:
    """One source file: ``path`` is relative to the package, for example ``accounting/numerics.py``."""

    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(Path(self.path).with_suffix("").parts)

    @property
    def unit(self) -> str:
        return unit_of(self.parts)

    @property
    def family(self) -> str:
        return self.parts[1] if self.parts[0] == "protocols" else ""

    @property
    def is_root(self) -> bool:
        return self.parts == ("__init__",)


@dataclass(frozen=True)
class Found:
    """Something at a line of a module."""

    line: int
    what: str


def unit_of(parts: tuple[str, ...]) -> str:
    """Unit of a module or a name in it: the first folder, a party's own, or the room that a floor is called after."""
    if parts[0] == "protocols" and len(parts) > 2 and parts[2] in FLOORS:
        return FLOORS[parts[2]]
    return parts[1] if parts[0] == "parties" and parts[1:] not in ((), ("__init__",)) else parts[0]


def resolved_imports(module: Module) -> Iterator[Found]:
    """Every module that is imported, at any depth of the file, as an absolute dotted name."""
    package = (PACKAGE, *module.parts[:-1])
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Found(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            for alias in node.names:
                yield Found(node.lineno, ".".join(part for part in (base, node.module, alias.name) if part))
        elif isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in {"import_module", "__import__"}:
            yield from (Found(node.lineno, str(name.value)) for name in node.args[:1] if isinstance(name, ast.Constant))


def imported_units(module: Module) -> Iterator[Found]:
    """The units of our own package that are imported; what is not in the table is a name in the package root."""
    for found in resolved_imports(module):
        first, _, rest = found.what.partition(".")
        if first == PACKAGE:
            yield Found(found.line, unit_of(tuple(rest.split("."))))


def imported_families(module: Module) -> Iterator[Found]:
    """The families of protocols that are imported, also by a name that the face of a room passes on for them."""
    for found in resolved_imports(module):
        parts = found.what.split(".")
        if parts[:2] == [PACKAGE, "protocols"] and parts[2:3] and parts[2] in FAMILIES:
            yield Found(found.line, parts[2])
        elif parts[0] == PACKAGE and len(parts) == 3 and parts[2] in NAMES_OF_FAMILIES:
            yield Found(found.line, NAMES_OF_FAMILIES[parts[2]])


def names_of(family: str) -> list[str]:
    """Public names of a family, which the faces of the kernel's rooms have too."""
    stub = ROOT / "src" / PACKAGE / "protocols" / family / "__init__.pyi"
    return re.findall(r"import \w+ as (\w+)", stub.read_text(encoding="utf-8"))


NAMES_OF_FAMILIES = {name: family for family in FAMILIES for name in names_of(family)}


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def is_call_of_method(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


# ---- rules ----------------------------------------------------------------------------------------------------------


def has_its_place(module: Module) -> Iterator[Found]:
    if not module.is_root and module.unit not in HEIGHT:
        yield Found(1, f"{module.unit} has no place in LEVELS; say there how high it lies")


def imports_downward(module: Module) -> Iterator[Found]:
    """Downward only; siblings only where the table allows it; nobody imports the package root or the command line."""
    for line, target in ((found.line, found.what) for found in imported_units(module)):
        if target == module.unit:
            continue
        if module.is_root:
            if HEIGHT.get(target) == HEIGHT["cli"]:
                yield Found(line, f"the package root imports {target}, which needs an extra")
        elif target not in HEIGHT:
            yield Found(line, f"{module.unit} imports {target or 'a name'} from the package root; name its module")
        elif (module.unit, target) in NEVER:
            yield Found(line, f"{module.unit} imports {target}; the tests bring bounds and attacks together")
        elif HEIGHT[target] > HEIGHT.get(module.unit, len(LEVELS)):
            yield Found(line, f"{module.unit} imports {target}, which lies above it")
        elif HEIGHT[target] == HEIGHT.get(module.unit) and not LEVELS[HEIGHT[target]].siblings_may_import:
            yield Found(line, f"{module.unit} imports its sibling {target}")


def names_no_family(module: Module) -> Iterator[Found]:
    """The kernel and the planner name no family of protocols, and no family names another."""
    if module.family or module.parts[0] in KERNEL:
        for found in imported_families(module):
            if found.what != module.family:
                yield Found(found.line, f"{module.parts[0]} imports the family {found.what}; give it a door")


def names_nothing_above(module: Module) -> Iterator[Found]:
    """No module is named in a text, to be loaded by it, that could not be imported: but in the files that may."""
    if module.path in MAY_NAME_ABOVE:
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and re.fullmatch(rf"{PACKAGE}(\.\w+)+", str(node.value)):
            parts = tuple(str(node.value).split(".")[1:])
            target = unit_of(parts)
            if HEIGHT.get(target, -1) > HEIGHT.get(module.unit, len(LEVELS)):
                yield Found(node.lineno, f"{module.unit} names {target} in a text, which lies above it")
            elif parts[0] == "protocols" and parts[1:2] and parts[1] != module.family and module.parts[0] in KERNEL:
                yield Found(node.lineno, f"{module.unit} names the family {parts[1]} in a text; give it a door")


def is_short(module: Module) -> Iterator[Found]:
    """Files and functions fit on a few screens; a function's docstring is not counted."""
    length = len(module.source.splitlines())
    if length > MAX_FILE_LINES:
        yield Found(MAX_FILE_LINES + 1, f"the file has {length} lines, more than {MAX_FILE_LINES}")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                first = node.body[0]
                lines -= (first.end_lineno or first.lineno) - first.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield Found(node.lineno, f"{node.name} has {lines} lines, more than {MAX_FUNCTION_LINES}")


def declares_few_fields(module: Module) -> Iterator[Found]:
    """A class declares at most 12 fields, unless it is the table of a file."""
    excepted = TABLES.get(module.path, {})
    for node, number in large_classes(module):
        if node.name not in excepted:
            yield Found(node.lineno, f"{node.name} declares {number} fields, more than {MOST_FIELDS}; split it")


def large_classes(module: Module) -> Iterator[tuple[ast.ClassDef, int]]:
    """Classes that declare too many fields, and how many; class variables are none."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            declared = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            number = sum("ClassVar" not in ast.unparse(each.annotation) for each in declared)
            if number > MOST_FIELDS:
                yield node, number


def is_no_splinter(module: Module) -> Iterator[Found]:
    lines = module.source.count("\n")
    if lines < MIN_FILE_LINES and not module.path.endswith(FACES):
        yield Found(1, f"the file has {lines} lines, fewer than {MIN_FILE_LINES}: its idea belongs to another file")


def has_a_docstring(module: Module) -> Iterator[Found]:
    if not ast.get_docstring(module.tree):
        yield Found(1, "the module has no docstring")


def is_read_once(module: Module) -> Iterator[Found]:
    """The first line of a docstring names its noun itself: it is a phrase, and no pronoun stands for the noun."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            line = node.body[0].lineno if node.body else 1
            if first and len(first.split()) < LEAST_WORDS:
                yield Found(line, f"the first line {first!r} has fewer than {LEAST_WORDS} words")
            if first.startswith(RIDDLES):
                yield Found(line, f"the first line {first!r} begins with a pronoun in place of its noun")
            if " so many " in first:
                yield Found(line, f"the first line {first!r} says so many in place of the number's name")


def draws_from_a_source(module: Module) -> Iterator[Found]:
    """No randomness that is shared, predictable or hidden: not ``random``, not the global state of numpy and scipy."""
    for found in resolved_imports(module):
        if found.what == "random" or found.what.startswith("random."):
            yield Found(found.line, "the standard library's random is predictable and shared")
    generators = NUMPY_GENERATORS if module.unit in MAY_MAKE_GENERATORS else set()
    for found in numpy_random_names(module):
        name, is_call = found.what.removesuffix("()"), found.what.endswith("()")
        if name not in (NUMPY_CALLS if is_call else NUMPY_TYPES) | generators:
            yield Found(found.line, f"numpy.random.{name} is not drawn from a source")
    for node in ast.walk(module.tree):
        if is_call_of_method(node, "rvs") and "random_state" not in {keyword.arg for keyword in node.keywords}:
            yield Found(node.lineno, "rvs without random_state draws from numpy's global state")
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            for node in ast.walk(statement.value):
                if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in RANDOMNESS_MAKERS:
                    yield Found(statement.lineno, "a source or generator at module level is global state")


RANDOMNESS_MAKERS = {"Generator", "RandomState", "default_rng", "SecureSource", "SeededSource", "RecordedSource"}


def numpy_random_names(module: Module) -> Iterator[Found]:
    """What is used of numpy.random, under whatever name it was imported; a call ends with ``()``."""
    called = {id(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
    aliases = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                aliases[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy":
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"numpy.{alias.name}"
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy.random":
            yield from (Found(node.lineno, alias.name) for alias in node.names)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = dotted(node).partition(".")
            name = f"{aliases.get(first, first)}.{rest}".split(".")
            if name[:2] == ["numpy", "random"] and len(name) == 3:
                yield Found(node.lineno, name[2] + "()" * (id(node) in called))


def never_prints(module: Module) -> Iterator[Found]:
    if module.unit not in LEVELS[-1].units:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and dotted(node.func) in {"print", "sys.stdout.write", "sys.stderr.write"}:
                yield Found(node.lineno, f"{dotted(node.func)} outside the command line")


def never_asserts(module: Module) -> Iterator[Found]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assert):
            yield Found(node.lineno, "assert vanishes under python -O; raise an error that names the parameter")


Rule = Callable[[Module], Iterator[Found]]
RULES: tuple[Rule, ...] = (
    has_its_place,
    imports_downward,
    names_no_family,
    names_nothing_above,
    is_short,
    is_no_splinter,
    declares_few_fields,
    has_a_docstring,
    is_read_once,
    draws_from_a_source,
    never_prints,
    never_asserts,
)


def violations(rule: Rule, modules: Iterable[Module]) -> list[str]:
    return [f"src/{PACKAGE}/{module.path}:{found.line}: {found.what}" for module in modules for found in rule(module)]


def large_rooms(modules: Iterable[Module]) -> list[str]:
    """Rooms whose own files, without those of rooms inside, have too many lines together."""
    lines: Counter[str] = Counter()
    for module in modules:
        lines[Path(module.path).parent.as_posix()] += module.source.count("\n")
    return [f"{room} has {number} lines; split it" for room, number in lines.items() if number > MAX_ROOM_LINES]


def unnamed_files(modules: Iterable[Module]) -> list[str]:
    """Files that neither the docstring of their package, in reading order, nor the registry of their room names."""
    doc = {Path(each.path).parent: ast.get_docstring(each.tree) for each in modules if each.parts[-1] == "__init__"}
    registry = {Path(each.path).parent: each.source for each in modules if each.path.endswith("_kinds.py")}
    found = []
    for module in modules:
        path = Path(module.path)
        is_kind = re.search(rf"\.{path.stem}(\.| import )", registry.get(path.parent, ""))
        if not module.path.endswith(FACES) and not is_kind and f"`{path.stem}`" not in (doc[path.parent] or ""):
            found.append(f"src/{PACKAGE}/{path.parent}/__init__.py does not say when to read {path.stem}")
    return found


def import_circles(modules: Iterable[Module], *, late: bool = False) -> list[str]:
    """A circle of modules that import each other, as ``core.a -> randomness.b -> core.a``.

    Of imports that run when a module loads; ``late`` counts those inside functions too, but for the pairs in
    ``MEET_LATE``. Imports for types alone never count.
    """
    known = {name_of(module): module for module in modules}
    graph: dict[str, set[str]] = {name: set() for name in known}
    for name, module in known.items():
        for target in targets_of(module, late=late):
            owner = owner_of(target, known)
            if owner != name and (name, owner) not in MEET_LATE:
                graph[name] |= {owner} - {""}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [" -> ".join(error.args[1])]
    return []


def name_of(module: Module) -> str:
    return ".".join(module.parts[:-1] if module.parts[-1] == "__init__" else module.parts)


def targets_of(module: Module, *, late: bool) -> Iterator[str]:
    """Dotted names within the package that a module imports: when it loads, or ``late`` in its functions too."""
    lines = set(lines_of_imports(module.tree.body, late=late))
    for found in resolved_imports(module):
        if found.line in lines and found.what.startswith(f"{PACKAGE}."):
            yield found.what.removeprefix(f"{PACKAGE}.")


def lines_of_imports(nodes: Iterable[ast.AST], *, late: bool) -> Iterator[int]:
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from lines_of_imports(node.orelse, late=late)
        elif late or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from lines_of_imports(ast.iter_child_nodes(node), late=late)


def owner_of(target: str, known: Iterable[str]) -> str:
    """The module that an imported name is, or is defined in; "" if it is none of these."""
    return max((name for name in known if target == name or target.startswith(f"{name}.")), key=len, default="")


# ---- the rules hold in src ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    folder = ROOT / "src" / PACKAGE
    paths = sorted(folder.rglob("*.py"))
    return [Module(path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def test_there_is_something_to_check(modules):
    assert {"core/errors.py", "core/validate.py"} <= {module.path for module in modules}


def test_every_unit_lies_on_one_level():
    units = [unit for level in LEVELS for unit in level.units]
    assert len(units) == len(set(units))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_source_keeps_the_rule(rule, modules):
    found = violations(rule, modules)
    assert not found, "\n" + "\n".join(found)


def test_every_file_has_a_name_of_its_own(modules):
    names = [Path(module.path).name for module in modules if not module.path.endswith(FACES)]
    assert [name for name in set(names) if names.count(name) > 1] == []


def test_nothing_in_a_lazy_face_is_called_as_its_module():
    """Whoever imports something else of that module first would get the module in its place."""
    stubs = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / PACKAGE).rglob("*.pyi")}
    named = [
        f"{path}: {name}" for path, text in stubs.items() for name in re.findall(r"from \.(\w+) import \1\b", text)
    ]
    assert stubs
    assert named == []


def test_no_room_is_too_large(modules):
    assert large_rooms(modules) == []


def test_every_package_names_its_files_in_reading_order(modules):
    assert unnamed_files(modules) == []


def test_every_folder_of_a_family_has_its_line(modules):
    assert {module.family for module in modules if len(module.parts) > 2 and module.family} == set(FAMILIES)


def test_every_class_that_may_be_large_is_large(modules):
    found = {module.path: {node.name for node, _ in large_classes(module)} for module in modules}
    excepted = {path: set(names) for path, names in TABLES.items()}
    assert excepted == {path: names for path, names in found.items() if names}


def test_what_is_named_above_is_there():
    for what in ABOVE:
        assert callable(above(what))


@pytest.mark.parametrize("late", [False, True])
def test_no_modules_import_each_other_in_a_circle(modules, late):
    assert import_circles(modules, late=late) == []


def test_every_pair_that_may_meet_late_does(modules):
    known = {name_of(module): module for module in modules}
    for name, other in MEET_LATE:
        targets = [owner_of(target, known) for target in targets_of(known[name], late=True)]
        assert other in targets
        assert other not in [owner_of(target, known) for target in targets_of(known[name], late=False)]


# ---- and can be broken ----------------------------------------------------------------------------------------------

LONG_FUNCTION = "def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES
FIELDS = "class A:\n" + "".join(f"    field{number}: int\n" for number in range(MOST_FIELDS))
LONG_DOCSTRING = 'def f():\n    """One.\n' + "\n" * 80 + '    """\n    return 1\n'

BROKEN = [
    (has_its_place, "helpers.py", "", "helpers has no place"),
    (imports_downward, "core/local_models.py", "from shuffledp.accounting import account", "which lies above it"),
    (imports_downward, "core/local_models.py", "from shuffledp import pipeline", "which lies above it"),
    (imports_downward, "core/local_models.py", "from ..accounting import account", "which lies above it"),
    (imports_downward, "core/local_models.py", "def f():\n    import shuffledp.cli", "which lies above it"),
    (
        imports_downward,
        "core/flow.py",
        "import importlib\nimportlib.import_module('shuffledp.laws')",
        "which lies above it",
    ),
    (names_no_family, "core/flow.py", "from shuffledp.protocols.strata import Strata", "imports the family strata"),
    (names_no_family, "attacks/game.py", "from shuffledp.shufflers import MallowsShuffler", "the family d_sigma"),
    (names_no_family, "planning/rounds.py", "from shuffledp.protocols import network", "imports the family network"),
    (
        names_no_family,
        "protocols/strata/survey/keys.py",
        "from shuffledp.protocols.d_sigma.people import assignment",
        "imports the family d_sigma",
    ),
    (
        imports_downward,
        "protocols/strata/shufflers/near.py",
        "from shuffledp.protocols.strata.documents import page",
        "which lies above it",
    ),
    (names_nothing_above, "core/flow.py", 'ABOVE = "shuffledp.documents.page"', "names documents in a text"),
    (names_nothing_above, "core/flow.py", 'ABOVE = "shuffledp.parties.service.intake"', "names service in a text"),
    (names_nothing_above, "core/flow.py", 'ABOVE = "shuffledp.protocols.strata.survey.keys"', "names survey in a text"),
    (names_nothing_above, "files/stages.py", 'FAMILY = "shuffledp.protocols.strata.laws"', "names the family strata"),
    (imports_downward, "randomizers/bounded.py", "from ..shufflers import uniform", "imports its sibling shufflers"),
    (imports_downward, "leakage/bayes.py", "import shuffledp.accounting.numerics", "bring bounds and attacks together"),
    (imports_downward, "attacks/infer.py", "from shuffledp.accounting import account", "bring bounds and attacks"),
    (imports_downward, "survey/task.py", "from shuffledp.documents import page", "which lies above it"),
    (imports_downward, "documents/page.py", "from shuffledp import files", "imports its sibling files"),
    (imports_downward, "documents/page.py", "from shuffledp import View", "from the package root"),
    (imports_downward, "documents/page.py", "import shuffledp", "from the package root"),
    (imports_downward, "__init__.py", "from shuffledp.cli import main", "which needs an extra"),
    (is_short, "core/flow.py", "x = 1\n" * (MAX_FILE_LINES + 1), "the file has 401 lines"),
    (is_short, "core/flow.py", LONG_FUNCTION, "f has 61 lines"),
    (
        is_short,
        "core/flow.py",
        "class A:\n    async " + LONG_FUNCTION.replace("\n", "\n    ").rstrip(),
        "f has 61 lines",
    ),
    (declares_few_fields, "core/flow.py", FIELDS + "    last: int = 0", "A declares 13 fields"),
    (declares_few_fields, "survey/task.py", FIELDS + "    last: int = 0", "A declares 13 fields"),
    (is_no_splinter, "core/flow.py", "x = 1\n" * (MIN_FILE_LINES - 1), "the file has 39 lines"),
    (has_a_docstring, "core/flow.py", "x = 1", "no docstring"),
    (has_a_docstring, "laws/__init__.py", "", "no docstring"),
    (is_read_once, "core/flow.py", 'def f():\n    """Those of the last round."""', "begins with a pronoun"),
    (is_read_once, "core/flow.py", 'class A:\n    """The same without fakes."""', "begins with a pronoun"),
    (is_read_once, "core/flow.py", '"""As many reports as there are people."""', "begins with a pronoun"),
    (is_read_once, "core/flow.py", 'async def f():\n    """The view."""', "has fewer than 3 words"),
    (is_read_once, "core/flow.py", 'def f():\n    """Whether it is shuffled."""', "begins with a pronoun"),
    (
        is_read_once,
        "core/flow.py",
        'def f():\n    """Profiles of so many releases."""',
        "in place of the number's name",
    ),
    (draws_from_a_source, "core/flow.py", "import random", "predictable"),
    (draws_from_a_source, "core/flow.py", "import numpy as np\nnp.random.seed(1)", "numpy.random.seed"),
    (draws_from_a_source, "core/flow.py", "import numpy.random as r\nr.rand()", "numpy.random.rand"),
    (draws_from_a_source, "core/flow.py", "from numpy import random as r\nr.rand()", "numpy.random.rand"),
    (draws_from_a_source, "core/flow.py", "from numpy.random import normal", "numpy.random.normal"),
    (draws_from_a_source, "core/flow.py", "import numpy as np\ndef f():\n    np.random.RandomState(1)", "RandomState"),
    (
        draws_from_a_source,
        "core/flow.py",
        "import numpy\ndef f():\n    numpy.random.default_rng()",
        "default_rng is not",
    ),
    (draws_from_a_source, "attacks/infer.py", "import numpy as np\nnp.random.shuffle([])", "numpy.random.shuffle"),
    (draws_from_a_source, "attacks/infer.py", "import numpy as np\nR = np.random.default_rng(1)", "global state"),
    (draws_from_a_source, "laws/positions.py", "SOURCE = SecureSource()", "global state"),
    (draws_from_a_source, "laws/positions.py", "from scipy import stats\nstats.norm.rvs(5)", "without random_state"),
    (never_prints, "pipeline.py", "print('x')", "print outside the command line"),
    (never_prints, "documents/page.py", "import sys\nsys.stdout.write('x')", "outside the command line"),
    (never_asserts, "pipeline.py", "def f(x):\n    assert x", "assert vanishes"),
]

KEPT = [
    (names_no_family, "parties/relay/terms.py", "from shuffledp.protocols.network.people import overlays"),
    (names_no_family, "protocols/strata/survey/keys.py", "from shuffledp.protocols.strata import Strata"),
    (names_nothing_above, "core/upward_calls.py", 'ABOVE = "shuffledp.documents.page"'),
    (names_nothing_above, "documents/page.py", 'FOLDER = "shuffledp.documents"'),
    (has_its_place, "__init__.py", ""),
    (has_its_place, "protocols/d_sigma/theorems/meehan22.py", ""),
    (
        imports_downward,
        "core/local_models.py",
        "from shuffledp.core import validate\nfrom shuffledp.core.errors import HypothesisError",
    ),
    (imports_downward, "core/local_models.py", "from shuffledp.core.guarantees import CentralDP\nimport numpy"),
    (imports_downward, "accounting/account.py", "from shuffledp.accounting import numerics\nfrom . import theorems"),
    (imports_downward, "documents/page.py", "from shuffledp.survey import Task"),
    (imports_downward, "__init__.py", "from shuffledp.pipeline import Pipeline"),
    (imports_downward, "cli/run.py", "import shuffledp.documents"),
    (is_short, "core/flow.py", "x = 1\n" * MAX_FILE_LINES),
    (is_short, "core/flow.py", LONG_DOCSTRING),
    (declares_few_fields, "core/flow.py", FIELDS + "    kind: ClassVar[str]"),
    (declares_few_fields, "survey/columns.py", (FIELDS + "    last: int = 0").replace("A", "Column")),
    (is_no_splinter, "core/flow.py", "x = 1\n" * MIN_FILE_LINES),
    (is_no_splinter, "laws/__init__.py", "x = 1\n"),
    (has_a_docstring, "core/flow.py", '"""What this is for."""'),
    (is_read_once, "core/flow.py", '"""Reports of one round."""\ndef f():\n    """Assign reports to rounds."""'),
    (is_read_once, "core/flow.py", 'def f():\n    """Mean overlap, in nats.\n\n    As in papers.\n    """'),
    (
        draws_from_a_source,
        "randomness/sources.py",
        "import numpy as np\ndef f(bits) -> np.random.Generator:\n    return bits",
    ),
    (
        draws_from_a_source,
        "randomness/sources.py",
        "import numpy as np\ndef f(x):\n    isinstance(x, np.random.RandomState)",
    ),
    (
        draws_from_a_source,
        "randomness/sources.py",
        "import numpy as np\ndef f(bits):\n    return np.random.Generator(bits)",
    ),
    (draws_from_a_source, "attacks/audit.py", "import numpy as np\ndef f():\n    return np.random.default_rng(1)"),
    (draws_from_a_source, "laws/positions.py", "def f(law, source):\n    return law.rvs(5, random_state=source)"),
    (draws_from_a_source, "laws/positions.py", "def f(rng):\n    return rng.random()"),
    (never_prints, "cli/run.py", "print('x')"),
    (never_prints, "pipeline.py", '"""print(statement)"""'),
    (never_asserts, "pipeline.py", '"""assert nothing"""'),
]


@pytest.mark.parametrize(("rule", "path", "source", "message"), BROKEN)
def test_a_broken_rule_is_found_and_its_place_is_named(rule, path, source, message):
    found = violations(rule, [Module(path, source)])
    assert len(found) == 1
    assert message in found[0]
    place, line, _ = found[0].split(":", 2)
    assert place == f"src/{PACKAGE}/{path}"
    assert 1 <= int(line) <= max(1, source.count("\n") + 1)


@pytest.mark.parametrize(("rule", "path", "source"), KEPT)
def test_what_the_rule_allows_is_not_reported(rule, path, source):
    assert violations(rule, [Module(path, source)]) == []


def test_every_rule_is_shown_to_reject_and_to_accept():
    assert {rule for rule, *_ in BROKEN} == {rule for rule, *_ in KEPT} == set(RULES)


def test_the_reported_line_is_the_line_of_the_violation():
    module = Module("core/flow.py", '"""Text."""\n\nimport numpy as np\n\n\ndef f():\n    return np.random.rand()\n')
    assert violations(draws_from_a_source, [module]) == [
        "src/shuffledp/core/flow.py:7: numpy.random.rand is not drawn from a source"
    ]


def test_a_room_is_too_large_by_its_own_files_alone():
    full = [Module(f"core/{number}.py", "x = 1\n" * (MAX_ROOM_LINES // 2)) for number in range(2)]
    assert large_rooms([*full, Module("core/inner/more.py", "x = 1\n")]) == []
    assert large_rooms([*full, Module("core/more.py", "x = 1\n")]) == ["core has 6001 lines; split it"]


def test_a_file_that_its_package_does_not_name_is_reported():
    package = Module("core/__init__.py", '"""Values.\n\nFirst `errors`, then text."""')
    assert unnamed_files([package, Module("core/errors.py", "x = 1\n")]) == []
    found = unnamed_files([package, Module("core/text.py", "x = 1\n")])
    assert found == ["src/shuffledp/core/__init__.py does not say when to read text"]


def test_a_new_kind_needs_its_line_in_the_registry_alone():
    package, kind = (
        Module("randomizers/__init__.py", '"""First `any_kinds`."""'),
        Module("randomizers/coin.py", "x = 1\n"),
    )
    imports = Module("randomizers/any_kinds.py", "from shuffledp.randomizers.coin import Coin\n")
    names = Module("randomizers/any_kinds.py", 'KINDS = {"coin": "shuffledp.randomizers.coin.Coin"}\n')
    assert unnamed_files([package, kind, imports]) == unnamed_files([package, kind, names]) == []
    others = Module("randomizers/any_kinds.py", "from shuffledp.randomizers.coins import Coin\n")
    assert unnamed_files([package, kind, others]) == [
        "src/shuffledp/randomizers/__init__.py does not say when to read coin"
    ]


def test_a_circle_of_modules_is_found_whether_they_load_or_call_each_other():
    loading = [
        Module("core/local_models.py", "from shuffledp.core.flow import View"),
        Module("core/flow.py", "class A:\n    from shuffledp.core.local_models import LocalModel"),
    ]
    (found,) = import_circles(loading)
    assert found in (
        "core.local_models -> core.flow -> core.local_models",
        "core.flow -> core.local_models -> core.flow",
    )
    assert import_circles(loading[:1]) == []
    calling = [loading[0], Module("core/flow.py", "def f():\n    from shuffledp.core.local_models import LocalModel")]
    assert import_circles(calling) == []
    assert len(import_circles(calling, late=True)) == 1
    typed = [
        loading[0],
        Module("core/flow.py", "if TYPE_CHECKING:\n    from shuffledp.core.local_models import LocalModel"),
    ]
    assert import_circles(typed, late=True) == []
