"""The reference pages name every key, command, option and public name; figures are what their scripts draw."""

import json
import pkgutil
import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import typer

import shuffledp
from cli.running import task_with
from shuffledp.cli.app import app
from shuffledp.core.described import keys_of
from shuffledp.core.errors import InvalidParameterError
from shuffledp.protocols.d_sigma.survey.groups import GroupsSection
from shuffledp.protocols.shares.survey.protocol_section import ProtocolSection
from shuffledp.survey import Column, PeopleSection, Question, ReleaseSection, ShufflerSection, Task

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "examples", "experiments", "benchmarks")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
PLACEHOLDER = re.compile(r"@@|\b(TODO|FIXME)\b")
RANDOMIZERS = list(Question.members().values())


def text_of(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_no_page_has_a_placeholder():
    pages = [page for page in PAGES if "_build" not in page.parts]
    assert [page.name for page in pages if PLACEHOLDER.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("text", ["@@RESULTS@@", "a TODO here", "FIXME: later"])
def test_a_placeholder_is_found(text):
    assert PLACEHOLDER.search(text)


def test_the_page_of_the_task_file_names_every_key_and_kind():
    text = text_of("task-file.md")
    shufflers = list(ShufflerSection.members().values())
    protocols = list(ProtocolSection.members().values())
    for section in (Column, PeopleSection, ReleaseSection, GroupsSection, *RANDOMIZERS, *protocols, *shufflers):
        keys = [field.name for field in keys_of(section) if field.init]
        missing = [key for key in keys if not re.search(rf"`(\[)?{key}(\])?`", text)]
        assert missing == [], section
    kinds = [section.kind for section in (*RANDOMIZERS, *protocols, *shufflers)]
    assert [kind for kind in kinds if f'`"{kind}"`' not in text] == []
    assert list(ShufflerSection.members()) == [
        "auto",
        "imperfect",
        "mallows",
        "network",
        "noisy-sort",
        "none",
        "uniform",
    ]


@pytest.mark.parametrize("section", RANDOMIZERS, ids=lambda section: section.kind)
def test_the_page_of_randomizers_names_every_kind(section):
    assert f"`{section.kind}`" in text_of("randomizers.md")


@pytest.mark.parametrize("page", ["randomizers.md", "task-file.md", "api.md", "protocol.md"])
def test_tables_of_kinds_names_and_state_machines_are_those_of_the_registries(page):
    script = runpy.run_path(str(ROOT / "docs" / "kinds.py"))
    assert text_of(page) == script["written"](page, text_of(page))


GIVEN = {
    "imperfect": {"imperfection": 1.0},
    "mallows": {"alpha": 1.0},
    "noisy-sort": {"alpha": 1.0},
    "network": {"graph": "random-regular:8"},
}
NEAR_OTHERS = {"public": ["x"], "groups": {"columns": ["x"], "radius": 1.0}}


def task_with_shuffler(kind, keys):
    others = NEAR_OTHERS if kind in {"mallows", "noisy-sort"} else {}
    return Task.from_dict(task_with(shuffler={"kind": kind, **keys}, **others)).columns[0].shuffler


def keys_in_the_table(kind):
    """What the table of shufflers says of each key in parentheses; nothing of a key that is required."""
    row = next(line for line in text_of("task-file.md").splitlines() if line.startswith(f'| `"{kind}"` |'))
    return dict(re.findall(r"`(\w+)`(?: \(([^)]*)\))?", row.split("|")[4]))


@pytest.mark.parametrize("kind", GIVEN)
def test_the_table_of_shufflers_says_which_keys_are_required_and_what_the_others_are_where_left_out(kind):
    section = type(task_with_shuffler(kind, GIVEN[kind]))
    said = keys_in_the_table(kind)
    assert {name for name, words in said.items() if not words or words.startswith("required")} == set(GIVEN[kind])
    assert set(said) == {each.name for each in keys_of(section) if each.init}
    with pytest.raises(InvalidParameterError, match="must"):
        task_with_shuffler(kind, {})
    assert "chosen" not in said.values()


def commands_below(group, before=""):
    """Every command by all its words."""
    for name, command in group.commands.items():
        yield from commands_below(command, f"{name} ") if hasattr(command, "commands") else [(before + name, command)]


SCREEN = {"--verbose", "--quiet", "--color"}  # of every command


def test_the_page_of_commands_names_every_command_and_option():
    text = text_of("commands.md")
    for name, command in commands_below(typer.main.get_command(app)):
        row = next(line for line in text.splitlines() if re.match(rf"\| `{name}\b", line))
        named = [option for each in command.params for option in (*each.opts, *each.secondary_opts)]
        options = [option for option in named if option.startswith("--")]
        assert set(options) > SCREEN
        assert set(re.findall(r"--[\w-]+", row)) == set(options) - SCREEN - {"--help"}


def test_the_page_of_names_has_every_public_name_once():
    public = r"^\.\. auto\w+:: shuffledp\.(?:planning\.(?=calibrate$))?(\w+)$"
    named = re.findall(public, text_of("api.md"), re.MULTILINE)
    names = [name for name in named if name != "errors"]
    assert sorted(names) == sorted(set(shuffledp.__all__) - {"__version__"})


def test_the_picture_of_variances_is_what_its_script_draws():
    drawn = runpy.run_path(str(ROOT / "docs" / "figures" / "variance.py"))["picture"]()
    assert drawn == text_of("figures/variance.svg")
    ET.fromstring(drawn)  # noqa: S314


def test_the_picture_of_how_far_one_machine_goes_is_what_its_script_draws_and_its_table_what_was_measured():
    drawn = runpy.run_path(str(ROOT / "docs" / "figures" / "far.py"))["picture"]()
    assert drawn == text_of("figures/far.svg")
    runs = json.loads((ROOT / "benchmarks" / "far.json").read_text(encoding="utf-8"))
    named = {"uniform": "uniform", "mallows": "near an order"}
    for run in runs:
        row = f"| {named[run['kind']]} | 10^{len(str(run['people'])) - 1} | {run['seconds']} | {run['mib']:,} |"
        assert row in text_of("far.md"), row


def test_the_picture_of_bounds_has_the_panels_that_its_script_draws():
    """Not byte by byte: its curves are numbers that may change in the last digit."""
    drawn = ET.fromstring(runpy.run_path(str(ROOT / "docs" / "figures" / "bounds.py"))["picture"]())  # noqa: S314
    kept = ET.fromstring(text_of("figures/bounds.svg"))  # noqa: S314
    panels = [[each.get("id") for each in svg.iter() if "axes_" in each.get("id", "")] for svg in (drawn, kept)]
    assert panels[0] == panels[1] == ["axes_1", "axes_2", "axes_3", "axes_4"]
    assert drawn.get("viewBox") == kept.get("viewBox")


@pytest.mark.deep
def test_the_picture_of_ratios_names_the_theorems_that_its_script_draws():
    """Not byte by byte, for the same reason."""
    drawn = runpy.run_path(str(ROOT / "docs" / "figures" / "ratios.py"))["picture"]()
    words = [
        {each.text for each in ET.fromstring(svg).iter() if each.tag.endswith("text")}  # noqa: S314
        for svg in (drawn, text_of("figures/ratios.svg"))
    ]
    assert words[0] == words[1]
    published = {"fmt21-pair (Feldman et al. 2021)", "balle19-bennett (Balle et al. 2019)"}
    own = {
        "strong-pair (after Feldman et al. 2023)",
        "variation-ratio-corrected (after Wang et al. 2023)",
        "swap-bound (own)",
    }
    assert published | own <= words[0]


def test_the_picture_of_overlays_has_the_rounds_that_its_script_draws():
    """Not byte by byte, for the same reason."""
    drawn = runpy.run_path(str(ROOT / "docs" / "figures" / "overlays.py"))["picture"]()
    words = [
        [each.text for each in ET.fromstring(svg).iter() if each.tag.endswith("text")]  # noqa: S314
        for svg in (drawn, text_of("figures/overlays.svg"))
    ]
    assert words[0] == words[1]
    assert "best: 4 rounds" in words[0]


def test_every_name_of_the_page_of_names_is_there():
    entries = re.findall(r"^\.\. auto(?:function|class|data|exception):: (\S+)$", text_of("api.md"), flags=re.MULTILINE)
    assert len(entries) > 100
    for entry in entries:
        pkgutil.resolve_name(entry)
    with pytest.raises(AttributeError):
        pkgutil.resolve_name("shuffledp.laws.no_such_law")
