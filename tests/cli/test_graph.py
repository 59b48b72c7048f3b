"""`shuffledp graph inspect` and `shuffledp graph design`."""

import re

import pytest

from cli.running import shuffledp, write_task
from shuffledp.protocols.network.laws import walk_distributions


@pytest.fixture
def edges(tmp_path):
    file = tmp_path / "friends.csv"
    file.write_text("from,to\n0,1\n1,2\n2,0\n2,3\n3,2\n5,6\n7,7\n", encoding="utf-8")
    return file


def test_it_says_what_a_graph_is_like(edges):
    printed = shuffledp("graph", "inspect", edges).out
    assert "8 people, 5 edges, taken in both directions" in printed
    assert "merged 1 repeated edge, dropped 1 loop\n" in printed
    assert "Part 1, of person 0 and others: 4 people, 4 edges" in printed
    assert "Part 2, of person 5 and others: 2 people, 1 edge" in printed
    assert "near one law          after 14 rounds: everybody's positions, to 0.01 in total variation" in printed
    assert "reports that mix last those of person 3" in printed
    assert "weights" not in printed
    assert "1.125000" in printed
    assert "0.27128645" in printed
    assert "5.1 rounds" in printed
    assert "2 people have no neighbor" in printed
    assert "0 to 3" in printed


def test_json_holds_the_same_numbers(edges):
    found = shuffledp("graph", "inspect", edges, "--json").json
    assert (found["num_users"], found["num_components"], found["least_degree"]) == (8, 4, 0)
    large, small = found["parts"]
    assert (large["irregularity"], large["mixing_rounds"], large["worst_start"]) == (1.125, [14, 14], 3)
    assert (small["first"], small["is_bipartite"], small["mixing_rounds"]) == (5, True, None)
    assert found["graph"] == str(edges)


def test_a_plan_says_the_same_rounds_of_the_same_graph(tmp_path, monkeypatch):
    """Of a clique with a tail, where the person with the fewest neighbors is not the last whose reports mix."""
    clique = [(one, other) for one in range(12) for other in range(one)]
    tail = [(0, 12), (1, 13), (13, 14), (14, 15), (15, 13), (15, 16), (16, 17), (17, 15)]
    file = tmp_path / "tail.csv"
    file.write_text("".join(f"{one},{other}\n" for one, other in [*clique, *tail]), encoding="utf-8")
    monkeypatch.setattr(walk_distributions, "_LARGEST_MATRIX", 4)
    inspected = shuffledp("graph", "inspect", file, "--json").json["parts"][0]
    task = write_task(tmp_path, shuffler={"kind": "network", "graph": file.name, "rounds": 20})
    planned = shuffledp("plan", task, "--json").json["columns"][0]["network"]
    assert planned["distance_rounds"] == inspected["mixing_rounds"]
    assert planned["mixing_time"] == inspected["mixing_time"]
    assert inspected["late_start"] in (16, 17)


def test_a_graph_of_two_sides_is_pointed_out(tmp_path):
    file = tmp_path / "ring.txt"
    file.write_text("0 1\n1 2\n2 3\n3 0\n", encoding="utf-8")
    printed = shuffledp("graph", "inspect", file).out
    assert "on which side of a bipartite part a report began" in printed
    assert "never" in printed
    assert shuffledp("graph", "inspect", file, "--json").json["parts"][0]["mixing_time"] == "inf"


@pytest.mark.parametrize(("text", "code"), [("from,to\nAnn,Bob\n", 3), ("0,1\n1,two\n", 3), ("0,-1\n", 3), ("", 3)])
def test_what_is_no_edge_list_is_refused_in_one_line(tmp_path, text, code):
    file = tmp_path / "bad.csv"
    file.write_text(text, encoding="utf-8")
    result = shuffledp("graph", "inspect", file)
    assert result.code == code
    assert result.err.count("\n") == 1


def test_a_file_that_is_not_there(tmp_path):
    result = shuffledp("graph", "inspect", tmp_path / "none.csv")
    assert (result.code, "there is no such file" in result.err) == (3, True)


def test_a_drawn_graph_is_no_file_and_loops_alone_are_nothing_to_walk_along(tmp_path):
    result = shuffledp("graph", "inspect", "random-regular:8")
    assert (result.code, "a random graph, drawn for the people of a task" in result.err) == (3, True)
    file = tmp_path / "loops.csv"
    file.write_text("0,0\n1,1\n", encoding="utf-8")
    printed = shuffledp("graph", "inspect", file).out
    assert "Everybody is alone: there is nothing to walk along." in printed
    assert "irregularity" not in printed


def test_weights_are_said_to_be_passed_over(tmp_path):
    file = tmp_path / "ties.csv"
    file.write_text("0,1,2\n1,2,1\n2,0,1\n", encoding="utf-8")
    assert "weights are not looked at" in shuffledp("graph", "inspect", file).out


def test_small_parts_are_summed_up_and_json_has_them(tmp_path):
    ring = [(one, (one + step) % 300) for one in range(300) for step in (1, 2)]
    small = [(300 + 3 * part + one, 300 + 3 * part + other) for part in range(5) for one, other in ((0, 1), (1, 2))]
    file = tmp_path / "many.csv"
    file.write_text("".join(f"{one},{other}\n" for one, other in ring + small), encoding="utf-8")
    printed = shuffledp("graph", "inspect", file).out
    assert "Part 1, of person 0 and others: 300 people" in printed
    assert "5 further parts of 3 people each; --json describes them." in printed
    assert printed.count("irregularity") == 1
    assert len(shuffledp("graph", "inspect", file, "--json").json["parts"]) == 6


# ---- overlays to choose from -----------------------------------------------------------------------------------------


def test_overlays_are_listed_with_the_best_and_the_lines_of_its_task(tmp_path):
    printed = shuffledp("graph", "design", "--users", 10_000, "--contacts", 40).out
    assert "overlays   epsilon <= 0.04321   delta 1e-06   10,000 people, each epsilon0 = 1\n" in printed
    assert "Best with at most 40 contacts: groups of 10, 10, 10 and 10, 4 rounds, 36 contacts and 3.6 mes" in printed
    assert 'kind = "network"\noverlay = {contacts = 40}\n' in printed
    rows = [line.split("<=")[0].split() for line in printed.splitlines() if " <= 0.04321 " in line][1:]
    assert rows[1] == ["100^2", "198", "2", "2.0", "191"]
    assert rows[3] == ["10^4", "(best)", "36", "4", "3.6", "346"]
    assert "random graph, degree 8" in " ".join(printed.split())
    assert "Everybody must be online in every round." in printed


def test_the_gate_to_paste_has_a_number_of_rounds_and_is_below_what_each_report_promises(tmp_path):
    printed = " ".join(shuffledp("graph", "design", "--users", 100, "--contacts", 20, "--delta", 1e-3).out.split())
    gate, rounds = re.search(r"gate = ([0-9.]+) with rounds = (\d+), the most, in the task", printed).groups()
    lines = f'kind = "network"\noverlay = {{contacts = 20}}\ngate = {gate}\nrounds = {rounds}'
    randomizer = 'kind = "k-rr"\nepsilon0 = 1.0\ncategories = ["No", "Yes"]'
    text = f'name = "t"\nvalue = "v"\n[randomizer]\n{randomizer}\n[shuffler]\n{lines}\n[release]\ndelta = 1e-3\n'
    (tmp_path / "gated.toml").write_text(text, encoding="utf-8")
    planned = shuffledp("plan", tmp_path / "gated.toml", "--users", 100).out
    assert f"epsilon <= {gate} " in planned
    assert f"or after {rounds} rounds not at all" in " ".join(planned.split())
    assert "gate" not in shuffledp("graph", "design", "--users", 2).out


def test_the_listed_overlays_are_json_too_and_drawn_once(tmp_path):
    picture = tmp_path / "overlays.svg"
    found = shuffledp("graph", "design", "--users", 900, "--rounds", 2, "--figure", picture, "--json").json
    best = found["designs"][found["best"]]
    assert (best["sizes"], best["contacts"], best["slots"]) == ([30, 30], 58, 203)
    assert found["task_lines"][-1] == "overlay = {groups = [30, 30]}"
    assert b"best: 2 rounds" in picture.read_bytes()
    again = shuffledp("graph", "design", "--users", 900, "--figure", picture)
    assert again.code == 2
    assert "--figure must be a file that does not exist yet" in again.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--users", 900, "--contacts", 10), "contacts must be at least 14"),
        (("--users", 900, "--contacts", 30, "--rounds", 2), "--rounds must be 3 or more with contacts=30"),
        (("--users", 1), "--users must be an integer that is 2 or more"),
        (("--users", 10**8), "--users must be at most 10000000 here"),
        (("--users", 900, "--colluders", 1), "--colluders must be below 1"),
        (("--users", 900, "--figure", "overlays.pdf"), "--figure must be one of"),
    ],
)
def test_designs_that_do_not_exist_are_refused(options, reason):
    result = shuffledp("graph", "design", *options)
    assert result.code == 2
    assert reason in result.err
