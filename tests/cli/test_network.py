"""Tasks whose reports walk along a graph, on the command line: plan, run, the stages, and what is refused."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.networks import PEOPLE, make_folder, ring_with_chords, write_edges, write_network, write_people
from cli.running import refused, shuffledp, task_with, toml, write_csv, write_task
from shuffledp.core.errors import InputDataError
from shuffledp.protocols.network.files.graphs_of_walks import read_graphs
from shuffledp.protocols.network.planning import network_plan
from shuffledp.survey import Task

RUN = ("run", "task.toml", "--input", "people.csv", "--output", "out")


@pytest.fixture
def friends(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return make_folder(tmp_path)


@pytest.fixture
def quick(monkeypatch):
    """Of a plan, the task's own rounds: the search for others, and the table, take long."""
    monkeypatch.setattr(network_plan, "fewest_rounds", lambda *_, **__: None)
    monkeypatch.setattr(network_plan, "_rounds_to_show", lambda shuffler, *_: [shuffler.num_rounds])


def labels_of(folder):
    return pq.read_table(folder / "release.parquet").column("label").to_pylist()


@pytest.mark.usefixtures("quick")
def test_a_run_labels_reports_with_submitters_of_whom_some_have_none(friends):
    result = shuffledp(*RUN, "--json")
    assert result.code == 0, result.err
    found = result.json
    assert found["model"]["shuffle"]["kind"] == "network"
    assert len(labels_of(friends / "out")) == PEOPLE
    table = pq.read_table(friends / "out" / "release.labels.parquet")
    assert table.num_rows == PEOPLE
    assert table.column("town").to_pylist()[:4] == ["town 0", "town 1", "town 2", "town 0"]
    held = found["network"]["held"]
    assert sum(held) == PEOPLE
    assert sum(number * people for number, people in enumerate(held)) == PEOPLE
    assert held[0] == PEOPLE - len(set(labels_of(friends / "out"))) > 0
    headline = found["statements"][0]
    assert headline["guarantee"]["epsilon"] < 0.9
    assert {"relays", "unobserved"} <= set(headline["trust"])
    assert "local guarantee is left" in " ".join(headline["remarks"])


@pytest.mark.deep
def test_the_stages_come_to_what_a_run_comes_to(friends):
    stages = (
        ("randomize", "people.csv", "reports.parquet"),
        ("shuffle", "reports.parquet", "view.parquet"),
        ("analyze", "view.parquet", "analyzed"),
    )
    for stage, given, made in stages:
        result = shuffledp(stage, "task.toml", "--input", given, "--output", made, "--json")
        assert (result.code, result.err) == (0, ""), stage
    staged, ran = result.json, shuffledp(*RUN, "--json").json
    assert staged["statements"][0]["guarantee"] == ran["statements"][0]["guarantee"]
    assert staged["network"]["by_rounds"] == ran["network"]["by_rounds"]
    assert staged["model"] == ran["model"]


@pytest.mark.deep
def test_who_claims_another_graph_is_found_out(friends):
    for stage, given, made in (("randomize", "people.csv", "r.parquet"), ("shuffle", "r.parquet", "v.parquet")):
        assert shuffledp(stage, "task.toml", "--input", given, "--output", made).code == 0
    view = pq.read_table("v.parquet")
    facts = json.loads(pq.read_metadata("v.parquet").metadata[b"shuffledp"])
    claimed = facts | {"shuffle": facts["shuffle"] | {"separation": 0.0, "near_uniformity": 0.0}}
    pq.write_table(view.replace_schema_metadata({b"shuffledp": json.dumps(claimed).encode()}), "v.parquet")
    boasting = shuffledp("analyze", "task.toml", "--input", "v.parquet", "--output", "boasting", "--json").json
    assert boasting["model"]["shuffle"] == facts["shuffle"]
    assert boasting["statements"][0]["guarantee"] == shuffledp(*RUN, "--json").json["statements"][0]["guarantee"]
    another = facts | {"shuffle": facts["shuffle"] | {"graph_digest": "0" * 64}}
    pq.write_table(view.replace_schema_metadata({b"shuffledp": json.dumps(another).encode()}), "v.parquet")
    message = refused(3, "analyze", "task.toml", "--input", "v.parquet", "--output", "bad")
    assert "of another graph" in message
    fewer = facts | {"shuffle": facts["shuffle"] | {"num_rounds": 11}}
    pq.write_table(view.replace_schema_metadata({b"shuffledp": json.dumps(fewer).encode()}), "v.parquet")
    assert "another shuffle" in refused(3, "analyze", "task.toml", "--input", "v.parquet", "--output", "bad")


PROTOCOLS = pytest.mark.parametrize(
    ("protocol", "each"), [({"protocol": "single"}, 1), ({"protocol": "padded", "submissions": 2}, 2)]
)


@PROTOCOLS
def test_everybody_hands_in_equally_many_with_dummies(friends, protocol, each):
    write_network(friends, rounds=2, **protocol)
    for stage, given, made in (("randomize", "people.csv", "r.parquet"), ("shuffle", "r.parquet", "v.parquet")):
        assert shuffledp(stage, "task.toml", "--input", given, "--output", made).code == 0
    assert pq.read_table("v.parquet").column("label").to_pylist() == sorted(list(range(PEOPLE)) * each)


@pytest.mark.deep
@PROTOCOLS
def test_dummies_are_taken_out_of_the_estimates(friends, protocol, each):
    write_network(friends, rounds=2, **protocol)
    found = shuffledp(*RUN, "--json").json
    assert found["network"]["held"] == [*[0] * each, PEOPLE]
    assert sum(row["estimate"] for row in found["estimates"]) == pytest.approx(1.0)
    errors = [row["standard_error"] for row in found["estimates"]]
    options = shuffledp("plan", "task.toml", "--json").json["columns"][0]["options"]
    expected = next(option for option in options if option["chosen"])["error"]["standard_error"]
    assert max(errors) == pytest.approx(expected, rel=0.2)


@pytest.mark.deep
def test_lost_reports_are_not_released_and_are_said(friends):
    write_network(friends, rounds=5, dropouts=0.1)
    result = shuffledp(*RUN)
    assert result.code == 0, result.err
    count = len(labels_of(friends / "out"))
    assert 30 < count < 105
    assert f"{count} of {PEOPLE} reports released. The others got lost on their way." in " ".join(result.out.split())


@pytest.mark.deep
def test_rounds_are_found_and_are_the_fewest(friends):
    write_network(friends, rounds="auto")
    plan = shuffledp("plan", "task.toml", "--json").json["columns"][0]["network"]
    assert plan["rounds"] == plan["fewest_rounds"]
    assert plan["epsilon"] <= 1.05 * plan["uniform"]
    write_network(friends, rounds=plan["rounds"] - 1)
    fewer = shuffledp("plan", "task.toml", "--json").json["columns"][0]["network"]
    assert fewer["epsilon"] > 1.05 * fewer["uniform"]
    assert fewer["fewest_rounds"] == plan["rounds"]


@pytest.mark.deep
def test_a_plan_says_guarantee_and_cost_against_rounds(friends):
    result = shuffledp("plan", "task.toml", "--table", "-v")
    assert result.code == 0, result.err
    text = " ".join(result.out.split())
    assert "After 12 rounds epsilon = " in text
    assert "Mixing time by the gap, log(people) / gap: " in text
    assert "Mixing time by distance, until all laws are within 0.01 of one in total variation: " in text
    assert "12 (yours)" in text
    assert "passes on 12.0 reports on average (12 bits)" in text
    short = shuffledp("plan", "task.toml", "-v").out
    assert "(yours)" in short
    assert "12 (yours)" not in short


@pytest.mark.deep
def test_a_graph_in_parts_gives_each_its_own_guarantee(friends):
    edges = ring_with_chords(80, 300) + ring_with_chords(40, 150, first=80)
    write_edges(friends / "friends.csv", edges)
    found = shuffledp(*RUN, "--json").json
    network = found["network"]
    assert [part["people"] for part in network["parts"]] == [80, 40]
    large, small = (part["epsilon"] for part in network["parts"])
    assert large < small == network["epsilon"] == found["statements"][0]["guarantee"]["epsilon"] < 1
    assert "parts" in found["warnings"][0]
    assert "weakest part, of 40 people" in " ".join(found["statements"][0]["remarks"])
    assert found["statements"][-1]["basis"]["theorem"] == "local-randomizer"


@pytest.mark.deep
def test_a_drawn_graph_is_the_same_for_all_parties(friends):
    write_network(friends, graph="random-regular:6")
    assert "num_users must be given" in refused(2, "plan", "task.toml")
    section = Task.read("task.toml").shuffler
    (one,), (again,) = (read_graphs(section, PEOPLE, friends) for _ in range(2))
    assert one.degrees.tolist() == [6] * PEOPLE
    assert one == again != read_graphs(replace(section, graph_seed=1), PEOPLE, friends)[0]
    assert shuffledp(*RUN, "--json").json["model"]["shuffle"]["graph_digest"] == one.digest
    with pytest.raises(InputDataError, match="must be even"):
        read_graphs(replace(section, graph="random-regular:7"), PEOPLE + 1, friends)


@pytest.mark.deep
def test_graphs_follow_each_other(friends):
    write_edges(friends / "sunday.csv", ring_with_chords(PEOPLE, 400)[PEOPLE:] + ring_with_chords(PEOPLE, 0))
    write_network(friends, graph=["friends.csv", "sunday.csv"], rounds=5)
    found = shuffledp(*RUN, "--json")
    assert found.code == 0, found.err
    assert found.json["network"]["num_graphs"] == 2
    assert found.json["network"]["mixing_time"] is None
    digests = found.json["model"]["shuffle"]["graph_digest"].split(",")
    assert len(digests) == 5
    assert digests[0] == digests[2] == digests[4] != digests[1] == digests[3]


@pytest.mark.deep
def test_several_columns_walk_each_by_themselves(friends):
    blocks = [
        {"column": name, "randomizer": {"kind": "k-rr", "epsilon0": 0.5, "categories": list(categories)}}
        for name, categories in {"cheated": ("No", "Yes"), "town": ("town 0", "town 1", "town 2")}.items()
    ]
    lines = [
        'name = "two"',
        *(f"[[value]]\ncolumn = {json.dumps(each['column'])}\n[value.randomizer]\n"
          + "\n".join(f"{key} = {json.dumps(value)}" for key, value in each["randomizer"].items()) for each in blocks),
        '[shuffler]\nkind = "network"\ngraph = "friends.csv"\nrounds = 8\n[release]\ndelta = 1e-3',
    ]  # fmt: skip
    (friends / "task.toml").write_text("\n".join(lines), encoding="utf-8")
    result = shuffledp(*RUN, "--json")
    assert result.code == 0, result.err
    assert len(result.json["columns"]) == 2
    assert len({labels_of(friends / "out" / name).__repr__() for name in ("cheated", "town")}) == 2
    assert shuffledp("plan", "task.toml").code == 0


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (1, 500)], "names 500"),
        ([(0, -1)], "names -1"),
        ([("Ann", "Bob"), (1, 2)], "line 2 holds something else than numbers"),
        ([(0, 1), (1, 2)], "everybody must have a neighbor"),
        ([], "has no edges"),
    ],
)
def test_graphs_that_do_not_fit_are_refused(friends, edges, message):
    write_edges(friends / "friends.csv", edges)
    assert message in refused(3, *RUN)


def test_a_graph_of_other_people_is_refused(friends):
    write_people(friends, PEOPLE - 1)
    assert f"must fit the {PEOPLE - 1} people of the input" in refused(3, *RUN)
    write_people(friends, PEOPLE + 2)
    message = refused(3, *RUN)
    assert f"the person of row {PEOPLE} (counted from 0) has none, 2 in all" in message


def test_an_absent_or_changed_file_is_refused(friends):
    write_network(friends, graph="nobody.csv")
    assert "graph must be a file that can be read" in refused(2, *RUN)
    write_network(friends, sha256="0" * 64)
    assert "graph must be the file with the sha256" in refused(2, *RUN)


def test_rows_without_an_answer_are_refused_where_they_are_people_of_a_graph(friends):
    rows = [[f"town {person % 3}", "" if person == 7 else "No"] for person in range(PEOPLE)]
    write_csv(friends / "people.csv", ["town", "cheated"], rows)
    assert "must hold an answer in every row" in refused(3, *RUN)
    dropping = task_with(missing="drop", shuffler={"kind": "network", "graph": "friends.csv"})
    (friends / "task.toml").write_text(toml(dropping), encoding="utf-8")
    assert "whoever is left out passes nothing on" in refused(2, *RUN)


@pytest.mark.deep
def test_a_bipartite_graph_is_run_with_advice_and_gets_no_number_of_rounds(friends):
    write_edges(friends / "friends.csv", ring_with_chords(PEOPLE, 0))
    result = shuffledp("plan", "task.toml")
    assert "laziness = 0.1 mixes the sides" in " ".join(result.out.split())
    write_network(friends, rounds="auto")
    assert "With laziness = 0.1 the sides mix" in refused(2, *RUN)


@pytest.mark.usefixtures("quick")
def test_no_rounds_leave_the_local_guarantee(friends):
    write_network(friends, rounds=0)
    found = shuffledp(*RUN, "--json").json
    assert labels_of(friends / "out") == list(range(PEOPLE))
    assert found["statements"][0]["guarantee"]["epsilon"] == 1.0
    assert "rounds = 0" in found["warnings"][0]


@pytest.mark.deep
def test_auto_is_refused_where_nothing_is_gained_or_too_much_is_lost(friends):
    write_network(friends, rounds="auto", dropouts=0.2)
    assert "reports get lost on the way" in refused(2, "plan", "task.toml")
    task = task_with(shuffler={"kind": "network", "graph": "friends.csv"}, release={"delta": 1e-30})
    (friends / "task.toml").write_text(toml(task), encoding="utf-8")
    assert "even a uniform shuffle of 120 people gains next to nothing" in refused(2, "plan", "task.toml")


def test_nothing_is_released_if_all_reports_get_lost(friends):
    write_network(friends, rounds=40, dropouts=0.9)
    message = refused(3, *RUN)
    assert f"none of the {PEOPLE} reports of column 'cheated' was handed in: all were lost on their way" in message
    assert not (friends / "out" / "release.parquet").exists()


def test_the_table_is_of_networks_only(friends):
    write_task(friends)
    assert "--table must be left out" in refused(2, "plan", "task.toml", "--users", 10, "--table")


@pytest.mark.deep
def test_edges_in_parquet_are_inspected_and_walked_along(friends):
    edges = ring_with_chords(PEOPLE, 500)
    table = pa.table({"from": [a for a, _ in edges], "to": [b for _, b in edges]})
    pq.write_table(table, friends / "friends.parquet")
    one, other = (shuffledp("graph", "inspect", f"friends.{ending}", "--json").json for ending in ("csv", "parquet"))
    assert one | {"graph": ""} == other | {"graph": ""}
    write_network(friends, graph="friends.parquet")
    assert shuffledp(*RUN).code == 0


# ---- overlays --------------------------------------------------------------------------------------------------------


@pytest.fixture
def laid_out(friends):
    write_network(friends, graph=None, rounds=None, overlay={"groups": [10, 12]})
    return friends


def test_a_run_on_an_overlay_takes_one_round_for_each_of_its_groups(laid_out):
    result = shuffledp(*RUN, "--json")
    assert result.code == 0, result.err
    found = result.json
    shuffle, plan = found["model"]["shuffle"], found["network"]
    assert (shuffle["sizes"], shuffle["num_rounds"], shuffle["near_uniformity"]) == ([10, 12], 2, 0.0)
    assert (plan["cost"]["contacts"], plan["own"]["rounds"]) == (20, 2)
    assert plan["own"]["messages"] == pytest.approx(0.9 + 11 / 12)
    assert sum(plan["held"]) == PEOPLE
    assert len(labels_of(laid_out / "out")) == PEOPLE


def test_a_plan_of_an_overlay_says_that_it_shuffles_uniformly(laid_out):
    printed = " ".join(shuffledp("plan", "task.toml", "--users", PEOPLE, "--verbose").out.split())
    assert "After 2 rounds every report is with everybody equally likely, exactly, and epsilon = " in printed
    assert "Each person passes on 1.8 reports on average" in printed
    assert "the first to receive somebody's report is one of them with a chance of at most" in printed


def test_where_colluders_leave_the_local_guarantee_a_plan_says_why_without_being_asked(laid_out):
    why = "If any 1.67% of the people collude, the first to receive somebody's report is one of them"
    assert why not in " ".join(shuffledp("plan", "task.toml", "--users", PEOPLE).out.split())
    write_network(laid_out, graph=None, rounds=None, overlay={"groups": [10, 12]}, colluding=0.015)
    printed = " ".join(shuffledp("plan", "task.toml", "--users", PEOPLE).out.split())
    assert "epsilon <= 0.95" in printed
    assert why in printed


def test_an_overlay_that_people_do_not_fit_is_refused_with_one_that_they_would(laid_out):
    result = shuffledp("plan", "task.toml", "--users", 50)
    assert result.code == 3
    assert "an overlay cannot be laid out for 50 people: sizes must multiply to" in result.err
    assert "[7, 7] would fit" in result.err
    result = shuffledp("plan", "task.toml")
    assert "to lay out an overlay; got neither" in result.err


def test_with_people_offline_an_overlay_is_warned_of_and_left_with_the_local_guarantee(laid_out):
    write_network(laid_out, graph=None, rounds=None, overlay={"contacts": 30}, offline=0.01)
    printed = " ".join(shuffledp("plan", "task.toml", "--users", PEOPLE).out.split())
    assert "epsilon <= 1 " in printed
    assert "On an overlay each report has one way to each place" in printed
    assert "before the run nothing is known of positions" in printed


@pytest.mark.deep
@pytest.mark.parametrize(("links", "theorem"), [("naive", "network-gate"), ("constant", "network-constant-pattern")])
def test_behind_a_gate_the_plan_and_the_release_state_the_same_and_the_record_goes_with_the_view(
    laid_out, links, theorem
):
    gated = {"graph": None, "overlay": {"contacts": 30}, "rounds": 30, "offline": 0.01, "gate": 0.9, "links": links}
    write_network(laid_out, **gated)
    plan = shuffledp("plan", "task.toml", "--users", PEOPLE)
    printed = " ".join(plan.out.split())
    assert "epsilon <= 0.9 " in printed
    assert "are handed in then, or after 30 rounds not at all. In 3 simulated schedules that took" in printed
    planned = shuffledp("plan", "task.toml", "--users", PEOPLE, "--json").json
    assert planned["columns"][0]["network"]["churn"]["gate"]["epsilon"] == 0.9
    stages = (
        ("randomize", "task.toml", "--input", "people.csv", "--output", "reports.parquet"),
        ("shuffle", "task.toml", "--input", "reports.parquet", "--output", "view.parquet"),
        ("analyze", "task.toml", "--input", "view.parquet", "--output", "staged", "--json"),
    )
    for stage in stages:
        result = shuffledp(*stage)
        assert result.code == 0, result.err
    found, shuffle = result.json, result.json["model"]["shuffle"]
    headline = found["statements"][0]
    assert (headline["guarantee"]["epsilon"], headline["basis"]["theorem"]) == (0.9, theorem)
    assert len(shuffle.get("slots", [])) == shuffle["num_rounds"] * (links == "constant")
    assert shuffle["schedule"]["rounds"] == shuffle["num_rounds"] <= 30
    assert found["network"]["churn"]["opened"] == []
    assert found["network"]["churn"]["recorded"] >= 0
    write_network(laid_out, **gated | {"gate": 0.8})
    result = shuffledp(*stages[-1], "--force")
    assert result.code != 0
    assert "view.parquet" in result.err  # it is of another task


def test_a_gate_that_stays_shut_releases_nothing(laid_out):
    write_network(laid_out, graph=None, overlay={"contacts": 30}, rounds=1, offline=0.1, gate=0.9)
    result = shuffledp(*RUN)
    assert result.code != 0
    assert "the gate stayed shut: after num_rounds=1 rounds" in result.err
    assert not (laid_out / "out").exists()


def test_a_run_with_people_offline_states_what_holds_given_who_was_online(laid_out):
    write_network(laid_out, graph=None, overlay={"contacts": 30}, rounds=20, offline=0.01)
    result = shuffledp(*RUN, "--json")
    assert result.code == 0, result.err
    headline = result.json["statements"][0]
    assert headline["guarantee"]["epsilon"] < 0.9
    assert headline["basis"]["theorem"] == "network-overlap"
    assert "everybody-counted" in headline["trust"]
    assert result.json["network"]["churn"]["gate"] is None
