"""Tasks with a response under a blanket: how they are written, run and planned, and where they are refused."""

import json

import pytest

from cli.running import shuffledp
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.statement_terms import Trust
from shuffledp.files import stages
from shuffledp.survey import Column, Task, plan

TOWNS = [f"town {number}" for number in range(100)]


def task(kind=None, categories=TOWNS, **further):
    randomizer = {"kind": "k-rr", "blanket": True, "epsilon0": 10.0, "blanket_messages": 0.43} | (kind or {})
    table = {"name": "x", "value": "town", "randomizer": randomizer | {"categories": list(categories)}}
    return Task.from_dict(table | {"release": {"delta": 1e-6, "minimum_batch": 10}} | further)


def test_a_task_is_written_and_read_again_as_k_rr_with_a_blanket():
    found = task()
    written = json.loads(json.dumps(found.to_dict()))
    assert written["randomizer"] | {"categories": []} == {
        "kind": "k-rr",
        "blanket": True,
        "epsilon0": 10.0,
        "blanket_messages": 0.43,
        "categories": [],
        "missing_category": False,
    }
    assert Task.from_dict(written) == found
    assert Column.from_dict(json.loads(json.dumps(found.column.to_dict()))) == found.column
    own = {**written["randomizer"], "kind": "k-rr-blanket"}
    del own["blanket"]
    assert Task.from_dict(written | {"randomizer": own}).sha256 == found.sha256  # its name in the registry


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ({"blanket": False}, "blanket must be true"),
        ({"blanket": 1}, "blanket must be true"),
        ({"kind": "oue"}, "blanket must be true, beside kind"),
        ({"blanket_messages": 0.0}, "blanket_messages must be"),
        ({"blanket_messages": 2000.0}, "blanket_messages must be at most 1000"),
        ({"epsilon0": 50.0}, "epsilon0 must be"),
        ({"bins": 3}, "must have only the keys"),
    ],
)
def test_other_keys_are_refused(kind, message):
    with pytest.raises(InvalidParameterError, match=message):
        task(kind)


@pytest.mark.parametrize(
    "further",
    [{"by": "region"}, {"shuffler": {"kind": "imperfect", "imperfection": 0.1}}, {"people": {"unvouched": True}}],
)
def test_other_shuffles_are_refused(further):
    with pytest.raises(InvalidParameterError):
        task(**further)


def test_no_category_has_the_name_of_an_empty_message():
    """Mutant: such a category and the empty messages are one row in files, and estimates are of both."""
    with pytest.raises(InvalidParameterError, match="the name of an empty message"):
        task(categories=[*TOWNS, "(no message)"])


def test_a_run_says_first_on_whose_messages_its_promise_rests(tmp_path):
    table = {"town": [TOWNS[person % 10] for person in range(2000)]}
    many = {"blanket_messages": 4.0}
    few = task(many, people={"fakes": 500}, release={"delta": 1e-6, "minimum_batch": 1000}).run(table)
    statement = few.column.statements[0]
    assert statement.trust[0] is Trust.BLANKET
    assert statement.guarantee.epsilon > task(many).run(table).column.statements[0].guarantee.epsilon
    estimate = few.column.release.estimate
    assert estimate.target == tuple(TOWNS)
    assert estimate.estimate.sum() == pytest.approx(1.0)
    assert (abs(estimate.estimate[:10] - 0.1) < 5 * estimate.standard_error[:10]).all()
    assert few.column.release.num_reports == 10_000


def test_stages_are_as_a_whole_run_and_files_hold_names(tmp_path):
    (tmp_path / "answers.csv").write_text("id,town\n" + "".join(f"{n},{TOWNS[n % 3]}\n" for n in range(300)))
    found = task({"epsilon0": 20.0})
    stages.randomize(found, tmp_path / "answers.csv", tmp_path / "reports.parquet")
    stages.shuffle(found, tmp_path / "reports.parquet", tmp_path / "view.parquet")
    (tmp_path / "out").mkdir()
    outcome = stages.analyze(found, tmp_path / "view.parquet", tmp_path / "out")
    assert outcome.column.release.model.num_users == 300
    assert outcome.column.release.estimate.estimate[:3] == pytest.approx([1 / 3] * 3, abs=0.05)


def test_a_missing_answer_is_one_more_category():
    found = task(missing="category", categories=["a", "b"]).run({"town": ["a", None, "b", "a"] * 50})
    assert found.column.release.estimate.target == ("a", "b", "(missing)")


def test_a_plan_names_it_where_it_wins_and_shows_what_other_losses_need():
    randomizer = {"kind": "k-rr", "epsilon0": 5.4, "categories": TOWNS}
    table = {"name": "x", "value": "town", "randomizer": randomizer, "release": {"delta": 1e-6}}
    better = plan(Task.from_dict(table), 10_000).columns[0]
    assert better.of_question.is_better
    (option,) = better.of_question.options
    assert option.standard_error < 0.8 * better.chosen.error.standard_error
    own = better.statements[0].guarantee.epsilon
    known = task({"epsilon0": option.epsilon0, "blanket_messages": option.blanket_messages})
    assert plan(known, 10_000).statements[0].guarantee.epsilon <= own * (1 + 1e-3)
    shown = plan(known, 10_000).columns[0].of_question
    assert [each.epsilon for each in shown.options] == [0.25, 0.5, 1.0, 2.0]
    assert [each.blanket_messages for each in shown.options] == sorted(
        (each.blanket_messages for each in shown.options), reverse=True
    )
    few = {**table, "randomizer": {**randomizer, "categories": ["a", "b", "c"]}}
    assert plan(Task.from_dict(few), 10_000).columns[0].of_question is None


def test_the_plan_says_whose_messages_it_rests_on(tmp_path):
    path = tmp_path / "task.toml"
    path.write_text(
        'name = "towns"\nvalue = "town"\n[randomizer]\nkind = "k-rr"\nblanket = true\nepsilon0 = 8.0\n'
        f"blanket_messages = 0.09\ncategories = {json.dumps(TOWNS[:20])}\n[release]\ndelta = 1e-6\n"
    )
    done = shuffledp("plan", path, "--users", "10000")
    assert done.code == 0
    assert "Trusting: other people's messages, devices" in done.out
    assert "say how many are fake" in done.out
