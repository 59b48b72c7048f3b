"""docs/schema.json describes what the commands print, and refuses what they never print."""

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from cli.running import shuffledp, stub_pages, write_answers, write_csv, write_task
from shuffledp.core.statement_terms import Kind, Status, Trust, Unit, Withdrawal
from shuffledp.survey import Missing, Task, plan

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schema.json").read_text(encoding="utf-8"))
RELEASE = Draft202012Validator(SCHEMA)
PLAN = Draft202012Validator({"$ref": "#/$defs/plan", "$defs": SCHEMA["$defs"]})
JOINT = Draft202012Validator({"$ref": "#/$defs/joint_release", "$defs": SCHEMA["$defs"]})
STAGE = Draft202012Validator({"$ref": "#/$defs/stage", "$defs": SCHEMA["$defs"]})
JOINT_STAGE = Draft202012Validator({"$ref": "#/$defs/joint_stage", "$defs": SCHEMA["$defs"]})
ACCOUNTING = Draft202012Validator({"$ref": "#/$defs/accounting", "$defs": SCHEMA["$defs"]})
AUDIT = Draft202012Validator({"$ref": "#/$defs/audit", "$defs": SCHEMA["$defs"]})
GRAPH = Draft202012Validator({"$ref": "#/$defs/graph", "$defs": SCHEMA["$defs"]})
GRAPH_DESIGN = Draft202012Validator({"$ref": "#/$defs/graph_design", "$defs": SCHEMA["$defs"]})
LEAKAGE = Draft202012Validator({"$ref": "#/$defs/leakage", "$defs": SCHEMA["$defs"]})
PEOPLE = Draft202012Validator({"$ref": "#/$defs/people_plan", "$defs": SCHEMA["$defs"]})
WEEKS = Draft202012Validator({"$ref": "#/$defs/weeks_plan", "$defs": SCHEMA["$defs"]})
KEY = Draft202012Validator({"$ref": "#/$defs/key", "$defs": SCHEMA["$defs"]})
COLLECTION = Draft202012Validator({"$ref": "#/$defs/collection", "$defs": SCHEMA["$defs"]})
CALIBRATION = Draft202012Validator({"$ref": "#/$defs/calibration", "$defs": SCHEMA["$defs"]})


JOINT_TASK = """
name = "two questions"
[[value]]
column = "cheated"
randomizer = {kind = "k-rr", epsilon0 = 1.0, categories = ["No", "Yes"]}
[[value]]
column = "place"
randomizer = {kind = "oue", epsilon0 = 1.0, categories = ["Ulm", "Bonn"]}
[release]
delta = 1e-6
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the commands print with --json, by name."""
    folder = tmp_path_factory.mktemp("printed")
    answers = write_answers(folder, ["No", "Yes", "No", ""] * 250)
    places = write_csv(folder / "places.csv", ["place", "cheated"], [["Ulm", "No"], ["Bonn", "Yes"]] * 50)
    drop = write_task(folder, missing="drop", people={"expected": 2000})
    outputs = {}
    with pytest.MonkeyPatch.context() as patched:
        stub_pages(patched)

        def run(name, command, task, source, target, *options):
            result = shuffledp(command, task, "--input", source, "--output", folder / target, "--json", *options)
            assert result.code == 0, result.err
            outputs[name] = result.json

        run("run", "run", drop, answers, "run")
        run("seeded", "run", drop, answers, "seeded", "--seed", 1)
        run("randomize", "randomize", drop, answers, "reports.parquet", "--seed", 1)
        run("shuffle", "shuffle", drop, folder / "reports.parquet", "view.parquet")
        run("analyze", "analyze", drop, folder / "view.parquet", "analyzed")
        category = write_task(folder, missing="category", randomizer={"epsilon0": 20.0})
        run("category", "run", category, answers, "category")
        unshuffled = write_task(folder, public=["place"], shuffler={"kind": "none"})
        run("unshuffled", "run", unshuffled, places, "unshuffled")
        mixing = {"public": ["place"], "shuffler": {"kind": "auto", "alpha": 1.0}, "groups": {"column": "place"}}
        run("groups", "run", write_task(folder, **mixing), places, "groups")
        outputs["groups plan"] = shuffledp("plan", folder / "task.toml", "--input", places, "--json").json
        weighted = write_csv(
            folder / "w.csv", ["r", "w", "cheated"], [[one % 2, 1 + one % 3, "No"] for one in range(60)]
        )
        run("strata", "run", write_task(folder, by="r", weight="w", weight_classes=3), weighted, "strata")
        outputs["strata plan"] = shuffledp("plan", folder / "task.toml", "--input", weighted, "--json").json
        outputs["unknown strata plan"] = shuffledp("plan", folder / "task.toml", "--users", 60, "--json").json
        edges = [(one, (one + step) % 100) for one in range(100) for step in (1, 2, 5)]
        write_csv(folder / "friends.csv", ["a", "b"], edges)
        walks = {"shuffler": {"kind": "network", "graph": "friends.csv", "rounds": 3}, "randomizer": {"epsilon0": 8.0}}
        run("network", "run", write_task(folder, **walks), places, "network")
        outputs["network plan"] = shuffledp("plan", folder / "task.toml", "--json").json
        category = write_task(folder, missing="category", randomizer={"epsilon0": 20.0})
        outputs["plan"] = shuffledp("plan", category, "--users", 1000, "--json").json
        joint = folder / "joint.toml"
        joint.write_text(JOINT_TASK, encoding="utf-8")
        both = write_csv(folder / "both.csv", ["cheated", "place"], [["No", "Ulm"], ["Yes", "Bonn"]] * 50)
        run("joint", "run", joint, both, "joint")
        run("joint again", "run", joint, both, "again", "--earlier", folder / "joint" / "statement.json")
        run("joint randomize", "randomize", joint, both, "reports")
        run("joint shuffle", "shuffle", joint, folder / "reports", "views")
        run("joint analyze", "analyze", joint, folder / "views", "joint analyzed")
        outputs["joint statement.json"] = json.loads((folder / "joint" / "statement.json").read_text(encoding="utf-8"))
        outputs["column"] = json.loads((folder / "joint" / "place" / "statement.json").read_text(encoding="utf-8"))
        outputs["joint plan"] = shuffledp("plan", joint, "--users", 1000, "--json").json
        demo = shuffledp("demo", "--output", folder / "demo", "--people", 300, "--json")
        outputs["demo"] = demo.json
        outputs["statement.json"] = json.loads((folder / "run" / "statement.json").read_text(encoding="utf-8"))
    return outputs


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "name",
    [
        "run",
        "seeded",
        "analyze",
        "category",
        "unshuffled",
        "groups",
        "strata",
        "network",
        "demo",
        "statement.json",
        "column",
    ],
)
def test_what_is_printed_about_a_release_is_valid(name, printed):
    RELEASE.validate(printed[name])


@pytest.mark.parametrize("edges", ["0,1\n1,2\n2,0\n", "0,1\n1,2\n2,3\n3,0\n"])
def test_what_is_printed_about_a_graph_is_valid(edges, tmp_path):
    (tmp_path / "edges.csv").write_text(edges, encoding="utf-8")
    printed = shuffledp("graph", "inspect", tmp_path / "edges.csv", "--json").json
    GRAPH.validate(printed)
    assert not GRAPH.is_valid(printed | {"mixing_time": None})


@pytest.mark.parametrize("options", [("--users", 10), ("--users", 900, "--rounds", 3)])
def test_what_is_printed_about_overlays_to_choose_from_is_valid(options):
    printed = shuffledp("graph", "design", *options, "--json").json
    GRAPH_DESIGN.validate(printed)
    assert not GRAPH_DESIGN.is_valid(printed | {"best": -1})


def test_what_is_planned_on_an_overlay_is_valid(tmp_path):
    task = write_task(tmp_path, shuffler={"kind": "network", "overlay": {"contacts": 9}})
    printed = shuffledp("plan", task, "--users", 30, "--json").json
    PLAN.validate(printed)
    printed["columns"][0]["network"]["cost"].pop("sizes")
    assert not PLAN.is_valid(printed)


@pytest.mark.parametrize(
    "options",
    [("--users", 3), ("--users", 3, "--compare"), ("--users", 90, "--compare", "--adversary", "strong")],
    ids=["small", "compared", "strong"],
)
def test_what_is_printed_about_leakage_is_valid(options):
    printed = shuffledp("leakage", "--categories", 3, "--epsilon0", 1, *options, "--json").json
    LEAKAGE.validate(printed)
    for key in printed:
        assert not LEAKAGE.is_valid({other: value for other, value in printed.items() if other != key})
    for way in (printed["comparison"] or {"ways": []})["ways"]:
        broken = copy.deepcopy(printed)
        broken["comparison"]["ways"][0]["name"] = way["name"].upper()
        assert not LEAKAGE.is_valid(broken)


def test_what_is_printed_about_an_audit_is_valid(tmp_path):
    task = write_task(tmp_path, people={"expected": 5}, release={"delta": 0.01})
    printed = shuffledp("audit", task, "--trials", 100, "--leakage", "--json").json
    AUDIT.validate(printed)
    finding = printed["columns"][0]["findings"][0]
    assert finding["evidence"] is not None
    for change in ({"verdict": "passed"}, {"verdict": "not-audited"}, {"evidence": None}, {"reason": "x"}):
        wrong = printed | {"columns": [{"value": "x", "findings": [finding | change]}]}
        assert not AUDIT.is_valid(wrong)


def test_what_is_printed_about_keys_and_a_collection_is_valid(tmp_path):
    for role in ("shuffler", "analyzer"):
        KEY.validate(shuffledp("keys", "new", "--role", role, "--output", tmp_path / role, "--json").json)
    rotated = shuffledp("keys", "rotate", tmp_path / "analyzer", "--output", tmp_path / "next", "--json").json
    KEY.validate(rotated)
    keys = ("--shuffler-key", tmp_path / "shuffler", "--analyzer-key", tmp_path / "next", "--closes", "9000-01-01")
    parties = ("--shuffler", "https://mixer.example", "--analyzer", "https://office.example", *keys)
    file = tmp_path / "collection"
    printed = shuffledp("collect", "new", write_task(tmp_path), *parties, "--output", file, "--json").json
    COLLECTION.validate(printed)
    assert shuffledp("collect", "show", file, "--json").json == printed
    for validator, found in ((KEY, rotated), (COLLECTION, printed)):
        for key in found:
            assert not validator.is_valid({other: value for other, value in found.items() if other != key}), key
    assert not KEY.is_valid(rotated | {"state": "lost"})
    assert not COLLECTION.is_valid(printed | {"collection": printed["collection"] | {"key": "private"}})


@pytest.mark.parametrize("name", ["randomize", "shuffle"])
def test_what_is_printed_about_a_stage_is_valid(name, printed):
    STAGE.validate(printed[name])


@pytest.mark.parametrize("name", ["joint randomize", "joint shuffle"])
def test_what_is_printed_about_a_stage_of_several_columns_is_valid(name, printed):
    JOINT_STAGE.validate(printed[name])
    assert not STAGE.is_valid(printed[name])
    for key in printed[name]:
        assert not JOINT_STAGE.is_valid({other: value for other, value in printed[name].items() if other != key})


def test_each_earlier_release_names_the_protocols_that_it_counts_by(printed):
    again = printed["joint again"]
    assert [len(each["models"]) for each in again["earlier"]] == [2]
    broken = copy.deepcopy(again)
    del broken["earlier"][0]["models"]
    assert not JOINT.is_valid(broken)


@pytest.mark.parametrize("name", ["joint", "joint statement.json", "joint analyze", "joint again"])
def test_what_is_printed_about_several_columns_is_valid(name, printed):
    JOINT.validate(printed[name])
    assert not RELEASE.is_valid(printed[name])
    assert not JOINT.is_valid(printed["run"])


@pytest.mark.parametrize("key", ["task", "task_sha256", "estimates", "statements", "seeded", "columns", "files"])
def test_no_key_of_a_release_of_several_columns_may_be_left_out(key, printed):
    assert not JOINT.is_valid({name: value for name, value in printed["joint"].items() if name != key})


def test_the_estimates_of_several_columns_name_their_columns(printed):
    broken = copy.deepcopy(printed["joint"])
    del broken["estimates"][0]["value"]
    assert not JOINT.is_valid(broken)


def test_what_is_printed_about_a_plan_of_a_protocol_is_valid():
    task = {
        "name": "commute",
        "value": "minutes",
        "people": {"expected": 200},
        "protocol": {"kind": "split-and-mix", "epsilon": 2.0, "lower": 0, "upper": 100},
        "release": {"delta": 1e-6},
    }
    planned = plan(Task.from_dict(task)).to_dict()
    PLAN.validate(planned)
    found = planned["columns"][0]["protocol"]
    for key in list(found["certificate"]):
        value = found["certificate"].pop(key)
        assert not PLAN.is_valid(planned), key
        found["certificate"][key] = value
    planned["task"]["randomizer"] = planned["task"]["protocol"]
    assert not PLAN.is_valid(planned)


def test_what_is_printed_about_a_plan_is_valid_and_of_one_choice(printed):
    PLAN.validate(printed["plan"])
    PLAN.validate(printed["network plan"])
    PLAN.validate(printed["strata plan"])
    PLAN.validate(printed["unknown strata plan"])
    PLAN.validate(printed["joint plan"])
    for option in printed["plan"]["columns"][0]["options"]:
        option["chosen"] = True
    assert not PLAN.is_valid(printed["plan"])


ACCOUNT = ("account", "--users", 1000, "--delta", 1e-6, "--json")


@pytest.mark.parametrize(
    "options",
    [
        ("--epsilon0", 1),
        ("--epsilon0", 1, "--table"),
        ("--epsilon0", 1, "--renyi", "2,8"),
        ("--epsilon0", 1, "--releases", 3),
        ("--epsilon0", 1, "--local-delta", 1e-12),
        ("--randomizer", "k-rr", "--categories", 2, "--epsilon0", 2, "--table"),
    ],
    ids=str,
)
def test_what_is_printed_about_a_protocol_is_valid(options):
    printed = shuffledp(*ACCOUNT, *options).json
    ACCOUNTING.validate(printed)
    for key in printed:
        assert not ACCOUNTING.is_valid({name: value for name, value in printed.items() if name != key}), key
    assert not ACCOUNTING.is_valid(printed | {"further": 1})
    assert not ACCOUNTING.is_valid(printed | {"epsilon_upper": -1})
    assert not ACCOUNTING.is_valid(printed | {"statements": []})


@pytest.mark.parametrize("given", [("--users", 1000), ("--epsilon0", 1)], ids=str)
def test_what_is_printed_about_a_solved_parameter_is_valid(given):
    printed = shuffledp("calibrate", "--target-epsilon", 0.5, "--delta", 1e-6, "--json", *given).json
    CALIBRATION.validate(printed)
    for key in printed:
        assert not CALIBRATION.is_valid({name: value for name, value in printed.items() if name != key}), key
    assert not CALIBRATION.is_valid(printed | {"solved": "delta"})


@pytest.mark.parametrize("given", [("--target-epsilon", 1), ("--epsilon0", 1)], ids=str)
def test_what_is_printed_about_people_for_an_error_is_valid(given):
    coin = ("--randomizer", "k-rr", "--categories", 2, "--delta", 1e-6)
    printed = shuffledp("calibrate", "--target-error", 0.05, "--json", *coin, *given).json
    PEOPLE.validate(printed)
    for key in printed:
        assert not PEOPLE.is_valid({name: value for name, value in printed.items() if name != key}), key
    for key in printed["options"][0]:
        less = {name: value for name, value in printed["options"][0].items() if name != key}
        assert not PEOPLE.is_valid(printed | {"options": [less]}), key


@pytest.mark.parametrize("given", [(), ("--epsilon", 2)], ids=str)
def test_what_is_printed_about_weeks_is_valid(tmp_path, given):
    task = write_task(tmp_path, people={"expected": 50})
    printed = shuffledp("plan", task, "--weeks", 2, "--json", *given).json
    WEEKS.validate(printed)
    for key in printed:
        assert not WEEKS.is_valid({name: value for name, value in printed.items() if name != key}), key
    for key in printed["columns"][0]:
        less = {name: value for name, value in printed["columns"][0].items() if name != key}
        assert not WEEKS.is_valid(printed | {"columns": [less]}), key


def test_a_release_is_no_stage_and_a_stage_no_release(printed):
    assert not STAGE.is_valid(printed["run"])
    assert not RELEASE.is_valid(printed["shuffle"])


def at(document, path):
    for key in path:
        document = document[key]
    return document


def places(document, path=()):
    """Every place in a document: the path to it."""
    children = document.items() if isinstance(document, dict) else enumerate(document) if type(document) is list else ()
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


OPEN = {"randomizer", "shuffler", "local", "shuffle"}  # their parameters depend on the kind
OPTIONAL = {"sampling_error", "where"}


def test_no_key_may_be_left_out(printed):
    removed = 0
    for path in places(printed["run"]):
        if isinstance(path[-1], int) or path[-1] in OPTIONAL or (path[0] == "files" and len(path) > 1):
            continue
        if len(path) > 1 and path[-2] in OPEN and path[-1] not in ("kind", "num_users"):
            continue
        broken = copy.deepcopy(printed["run"])
        del at(broken, path[:-1])[path[-1]]
        assert not RELEASE.is_valid(broken), path
        removed += 1
    assert removed > 50


def test_no_key_may_be_added_to_what_is_described(printed):
    added = 0
    for path in [(), *places(printed["run"])]:
        broken = copy.deepcopy(printed["run"])
        table = at(broken, path)
        if isinstance(table, dict) and (not path or path[-1] not in OPEN):
            table["unheard of"] = 1
            assert not RELEASE.is_valid(broken), path
            added += 1
    assert added > 10


def test_no_value_may_become_one_of_another_type(printed):
    for path in places(printed["run"]):
        if any(key in OPEN for key in path[:-1]) and path[-1] not in ("kind", "num_users"):
            continue
        broken = copy.deepcopy(printed["run"])
        at(broken, path[:-1])[path[-1]] = {"an": "object"} if not isinstance(at(broken, path), dict) else ["a list"]
        assert not RELEASE.is_valid(broken), path


BROKEN = [
    (("task_sha256",), "E3B0"),
    (("num_reports",), 0),
    (("num_reports",), 10.5),
    (("num_reports",), "750"),
    (("estimates",), []),
    (("estimates", 0, "level"), 1.0),
    (("estimates", 0, "standard_error"), -0.1),
    (("estimates", 0, "estimate"), "inf"),
    (("estimates", 0, "target"), ""),
    (("statements",), []),
    (("statements", 0, "guarantee", "epsilon"), -1.0),
    (("statements", 0, "guarantee", "epsilon"), "infinity"),
    (("statements", 0, "guarantee", "epsilon"), None),
    (("statements", 0, "guarantee", "delta"), 1.5),
    (("statements", 0, "guarantee", "neighbors"), "add-one"),
    (("statements", 0, "guarantee", "type"), "Central DP"),
    (("statements", 0, "kind"), "proven"),
    (("statements", 0, "trust"), ["nobody"]),
    (("statements", 0, "trust"), ["shuffler", "shuffler"]),
    (("statements", 0, "unit"), "one-household"),
    (("statements", 0, "withdrawn"), "regretted"),
    (("statements", 0, "withdrawn"), "seeded"),
    (("statements", 0, "claimed"), {"type": "local-dp", "epsilon": 1.0, "delta": 0.0, "neighbors": "replace-one"}),
    (("statements", 0, "basis", "status"), "believed"),
    (("statements", 0, "basis", "hypotheses", 0, "holds"), "true"),
    (("statements", 0, "basis", "parts"), [{"theorem": "basic-composition"}]),
    (("seeded",), True),
    (("flow", "missing"), -1),
    (("flow", "detached"), "region"),
    (("files", "release.parquet"), "0" * 63),
    (("files", ""), "0" * 64),
    (("model", "shuffle", "num_users"), 0),
    (("model", "local", "kind"), ""),
    (("task", "missing"), "ignore"),
    (("task", "public"), ["region", "region"]),
    (("task", "release", "delta"), 0.0),
]


@pytest.mark.parametrize(("path", "value"), BROKEN, ids=lambda part: str(part)[:60])
def test_a_broken_release_is_rejected(path, value, printed):
    broken = copy.deepcopy(printed["run"])
    at(broken, path[:-1])[path[-1]] = value
    assert not RELEASE.is_valid(broken)


@pytest.mark.parametrize(
    ("key", "value"),
    [("stage", "analyze"), ("task_sha256", None), ("num_reports", -1), ("files", {}), ("seeded", 1), ("flow", {})],
)
def test_a_broken_stage_is_rejected(key, value, printed):
    assert not STAGE.is_valid(printed["shuffle"] | {key: value})


def test_a_seeded_release_has_no_statement_that_promises(printed):
    seeded = copy.deepcopy(printed["seeded"])
    assert [statement["guarantee"]["epsilon"] for statement in seeded["statements"]] == ["inf"] * len(
        seeded["statements"]
    )
    seeded["statements"][0] = printed["run"]["statements"][0]
    assert not RELEASE.is_valid(seeded)


def test_another_type_of_guarantee_may_have_further_keys(printed):
    other = copy.deepcopy(printed["run"])
    other["statements"][0]["guarantee"] |= {"type": "central-dp", "alpha": 2.0}
    assert not RELEASE.is_valid(other)
    other["statements"][0]["guarantee"]["type"] = "sigma-privacy"
    RELEASE.validate(other)


def test_the_words_of_the_schema_are_those_of_the_library():
    statement, basis = SCHEMA["$defs"]["statement"]["properties"], SCHEMA["$defs"]["basis"]["properties"]
    assert statement["kind"]["enum"] == list(Kind)
    assert statement["trust"]["items"]["enum"] == list(Trust)
    assert statement["unit"]["enum"] == list(Unit)
    assert statement["withdrawn"]["enum"] == [*Withdrawal, None]
    assert basis["status"]["enum"] == list(Status)
    assert SCHEMA["$defs"]["task"]["properties"]["missing"]["enum"] == list(Missing)


PAIR = {"kind": "k-rr", "epsilon0": 1.0, "categories": [["No", "Yes"], ["No", "Yes"]]}
BINS = {"kind": "oue", "epsilon0": 1.0, "lower": 0, "upper": 10, "bins": 4}


@pytest.mark.parametrize("in_blocks", [False, True])
def test_a_pair_of_columns_and_a_number_in_bins_are_described(in_blocks):
    pair, bins = {"columns": ["a", "b"], "randomizer": PAIR}, {"value": "c", "randomizer": BINS}
    blocks = [{"value": [pair, {"column": "c", "randomizer": BINS}]}] if in_blocks else [pair, bins]
    for asked in blocks:
        task = Task.from_dict({"name": "survey", **asked, "release": {"delta": 1e-6}})
        outcome = task.run({"a": ["No", "Yes"] * 50, "b": ["Yes"] * 100, "c": [1.0, 9.0] * 50})
        printed = json.loads(json.dumps(outcome.to_dict() | {"files": {"release.parquet": "0" * 64}}))
        (JOINT if in_blocks else RELEASE).validate(printed)
        PLAN.validate(json.loads(json.dumps(plan(task, 1000).to_dict())))


@pytest.mark.parametrize("wrong", [{"value": "a"}, {"columns": ["a"]}, {"columns": ["a", "a"]}, {"columns": None}])
def test_a_task_of_two_columns_names_just_them(wrong):
    task = {"name": "survey", "columns": ["a", "b"], "randomizer": PAIR, "release": {"delta": 1e-6}}
    written = json.loads(json.dumps(Task.from_dict(task).to_dict()))
    described = Draft202012Validator({"$ref": "#/$defs/task", "$defs": SCHEMA["$defs"]})
    described.validate(written)
    broken = {key: value for key, value in (written | wrong).items() if value is not None or key == "part_of"}
    assert not described.is_valid(broken)
