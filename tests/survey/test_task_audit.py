"""What an audit of a task counts, remarks and refuses."""

import pytest

import shuffledp as sdp
from attacks.twins import walking
from cli.running import write_task
from shuffledp.accounting import account
from shuffledp.attacks import Verdict, audit
from shuffledp.core.errors import BatchTooSmallError, InvalidParameterError
from shuffledp.protocols.network.files.graphs_of_walks import read_graphs
from shuffledp.survey import Task
from shuffledp.survey.task_audit import audit_task
from shuffledp.testing import SeededSource

SMALL = {"people": {"expected": 10}, "release": {"delta": 0.01}, "randomizer": {"epsilon0": 1.0}}
TWO = (
    'name = "two"\n[[value]]\ncolumn = "a"\nrandomizer = {kind = "k-rr", epsilon0 = 1.0, categories = ["x", "y"]}\n'
    '[[value]]\ncolumn = "b"\nrandomizer = {kind = "one-bit-mean", epsilon0 = 1.0, lower = 0, upper = 1}\n'
    "[release]\ndelta = 0.01\n"
)
SHARES = (
    'name = "s"\nvalue = "v"\n[people]\nexpected = 30\n[protocol]\nkind = "split-and-mix"\nepsilon = 1.0\n'
    "lower = 0\nupper = 10\n"
)


def task_of(folder, text):
    (folder / "given.toml").write_text(text, encoding="utf-8")
    return Task.read(folder / "given.toml")


def audited(task, people=None, **options):
    return audit_task(task, people, **{"trials": 60, "source": SeededSource(1)} | options)


def test_what_is_stated_of_all_columns_together_is_counted_once_as_not_audited(tmp_path):
    found = audited(task_of(tmp_path, TWO), 4)
    assert len(found.not_audited) == 1
    of_columns = sum(column.verdicts[Verdict.NOT_AUDITED] for column in found.columns)
    assert found.verdicts[Verdict.NOT_AUDITED] == of_columns + 1
    assert found.to_dict()["verdicts"]["not-audited"] == of_columns + 1
    alone = audited(Task.read(write_task(tmp_path, **SMALL)))
    assert alone.verdicts == alone.columns[0].verdicts


def test_claims_that_so_few_trials_could_hardly_refute_are_counted_apart(tmp_path):
    task = Task.read(write_task(tmp_path, **SMALL | {"people": {"expected": 1}}))
    few, enough = audited(task, trials=30), audited(task, trials=3000)
    assert few.weak == few.to_dict()["weak"] == few.verdicts[Verdict.CONSISTENT] > 0
    assert f"{few.weak} could hardly have been" in few.outcome
    assert enough.weak == 0
    assert "hardly" not in enough.outcome


def test_a_confidence_that_cannot_be_shared_is_refused_by_the_number_that_was_given(tmp_path):
    task, close = Task.read(write_task(tmp_path, **SMALL)), 1 - 2**-53
    with pytest.raises(InvalidParameterError, match=r"shared by 2 audits.* got confidence=0\.99999"):
        audited(task, confidence=close, leakage=True)
    assert not audited(task, confidence=close).refuted


def test_shares_of_fewer_people_than_expected_are_refused_without_saying_that_anything_was_collected(tmp_path):
    with pytest.raises(BatchTooSmallError, match=r"got 20\. Nothing would be released\."):
        audited(task_of(tmp_path, SHARES + '[shuffler]\nkind = "uniform"\n[release]\ndelta = 1e-3\n'), 20)


def test_a_graph_drawn_for_another_number_of_people_is_said_to_be_another_one(tmp_path):
    walks = {"kind": "network", "graph": "random-regular:4", "rounds": 4}
    task = Task.read(write_task(tmp_path, **SMALL | {"people": {"expected": 20}, "shuffler": walks}))
    remarks = {
        people: audited(task, people, graphs=read_graphs(task.shuffler, people, tmp_path)).remarks
        for people in (20, 30)
    }
    assert remarks[20] == ()
    (said,) = remarks[30]
    assert "drawn for 30 people, and is another one than that of the 20 people expected" in said


def test_a_claim_about_fewer_people_passes_for_a_part_of_the_graph_only():
    edges = [(one, other) for one in range(10) for other in range(one)]
    two_parts = sdp.Graph.from_edges([*edges, *((10 + one, 10 + other) for one in range(6) for other in range(one))])
    one_part = sdp.Graph.from_edges([(one, other) for one in range(16) for other in range(one)])
    claims = {}
    for people in (6, 8, 10):
        graph = sdp.Graph.from_edges([(one, other) for one in range(people) for other in range(one)])
        claims[people] = account(walking(graph=graph, num_rounds=4).model(people), delta=1e-2)
    options = {"num_users": 16, "trials": 60, "source": SeededSource(1)}
    for people in (6, 10):
        assert not audit(walking(graph=two_parts, num_rounds=4), claims[people], **options).refuted
    for graph, people in ((two_parts, 8), (one_part, 6)):
        with pytest.raises(InvalidParameterError, match=f"statement about num_users={people}"):
            audit(walking(graph=graph, num_rounds=4), claims[people], **options)
