"""Earlier releases about the same people: what is read, what is refused, and how losses add up."""

import copy
import json
from pathlib import Path

import pytest

from cli.running import task_with, write_answers
from shuffledp.errors import InvalidParameterError
from shuffledp.guarantees import CentralDP, LocalDP
from shuffledp.statements import Kind, PrivacyStatement
from shuffledp.tables import analyze_file, randomize_file, run_file, shuffle_file
from shuffledp.tasks import EarlierRelease, Task, composed_with, plan, read_earlier
from shuffledp.testing import SeededSource

OTHER = "4f" * 32


def task(*earlier: str, name: str = "risk survey", **changes) -> Task:
    return Task.from_dict(task_with(name=name, people={"earlier": list(earlier)}, **changes))


def release(folder: Path, task_of: Task, name: str, **options) -> Path:
    """The statement.json of a release of a task, run on 5000 answers."""
    (folder / name).mkdir()
    run_file(task_of, write_answers(folder, ["No", "Yes"] * 2500), folder / name, **options)
    return folder / name / "statement.json"


@pytest.fixture
def first(tmp_path) -> Path:
    return release(tmp_path, task(), "first")


def changed(path: Path, change) -> Path:
    data = json.loads(path.read_text())
    change(data)
    other = path.with_name("changed.json")
    other.write_text(json.dumps(data))
    return other


def refusal(task_of: Task, *files: Path) -> str:
    with pytest.raises(InvalidParameterError) as caught:
        read_earlier(task_of, files)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert not message.endswith("..")
    return message


# ---- what a task names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sha256", ["", "4f", "4F" * 32, "zz" * 32, "4f" * 33, f"{OTHER}\n"])
def test_earlier_tasks_are_named_by_their_digests(sha256):
    with pytest.raises(InvalidParameterError, match=r"^\[people\] earlier must be the SHA-256 of tasks"):
        task(sha256)


def test_an_earlier_task_is_named_once():
    with pytest.raises(InvalidParameterError, match="earlier must be all different"):
        task(OTHER, OTHER)


def test_naming_an_earlier_task_makes_another_task():
    assert task(OTHER).sha256 != task().sha256


# ---- how losses add up ----------------------------------------------------------------------------------------------


def test_epsilon_and_delta_of_releases_about_the_same_people_add_up(tmp_path, first):
    second = task(task().sha256, name="second")
    outcome = release(tmp_path, second, "second", earlier=[first])
    statements = [PrivacyStatement.from_dict(each) for each in json.loads(outcome.read_text())["statements"]]
    mine, theirs = statements[1], EarlierRelease.read(first).headline
    assert statements[0].guarantee == CentralDP(epsilon=mine.guarantee.epsilon + theirs.guarantee.epsilon, delta=2e-6)
    assert statements[0].kind is Kind.UPPER_BOUND
    assert f"task {task().sha256[:12]} (risk survey) takes epsilon = " in str(statements[0])
    assert f"task {second.sha256[:12]} (second) takes epsilon = " in str(statements[0])
    assert [type(each.guarantee) for each in statements[-2:]] == [LocalDP, LocalDP]
    assert statements[-2].guarantee.epsilon == pytest.approx(4.0, abs=1e-4)
    assert statements[-1].guarantee.epsilon == pytest.approx(2.0, abs=1e-4)


def test_the_headline_of_a_release_covers_those_that_it_names(tmp_path, first):
    second = task(task().sha256, name="second")
    third = task(second.sha256, name="third")
    second_file = release(tmp_path, second, "second", earlier=[first])
    outcome = EarlierRelease.read(release(tmp_path, third, "third", earlier=[second_file]))
    assert outcome.headline.guarantee.epsilon == pytest.approx(
        3 * EarlierRelease.read(first).headline.guarantee.epsilon
    )
    assert outcome.headline.guarantee.delta == pytest.approx(3e-6)
    assert outcome.local.guarantee.epsilon == pytest.approx(6.0, abs=1e-4)


def test_the_stages_end_with_the_same_statements_as_a_run(tmp_path, first):
    second = task(task().sha256, name="second")
    answers = write_answers(tmp_path, ["No", "Yes"] * 2500)
    randomize_file(second, answers, tmp_path / "reports.parquet")
    shuffle_file(second, tmp_path / "reports.parquet", tmp_path / "view.parquet")
    with pytest.raises(InvalidParameterError, match="--earlier FILE must be given once"):
        analyze_file(second, tmp_path / "view.parquet", tmp_path)
    analyzed = analyze_file(second, tmp_path / "view.parquet", tmp_path, earlier=[first])
    run = EarlierRelease.read(release(tmp_path, second, "second", earlier=[first]))
    assert analyzed.release.statements[0].guarantee == run.headline.guarantee


def test_a_plan_tells_what_will_add_up(first):
    second = task(task().sha256, name="second")
    planned = plan(second, 5000, earlier=[first])
    mine = planned.columns[0].statements[0]
    assert planned.statements[0].guarantee.epsilon > mine.guarantee.epsilon
    assert planned.statements[1] == mine
    with pytest.raises(InvalidParameterError, match="--earlier"):
        plan(second, 5000)


def test_without_earlier_releases_nothing_changes():
    statements = plan(task(), 5000).statements
    assert composed_with(task(), (), statements) == statements


def test_a_seeded_release_withdraws_the_composition_and_says_what_it_would_have_been(tmp_path, first):
    second = task(task().sha256, name="second")
    data = json.loads(release(tmp_path, second, "second", earlier=[first], source=SeededSource(3)).read_text())
    assert {each["withdrawn"] for each in data["statements"]} == {"seeded"}
    assert data["statements"][0]["claimed"]["delta"] == 2e-6


def test_an_earlier_release_without_a_local_statement_still_adds_to_the_headline(tmp_path, first):
    bare = changed(first, lambda data: data.update(statements=data["statements"][:1]))
    (earlier,) = read_earlier(task(task().sha256), [bare])
    assert earlier.local is None
    own = plan(task(), 5000).statements
    assert composed_with(task(), [earlier], own)[1:] == own


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_every_task_that_is_named_needs_its_file(first):
    assert f"none is given of {task().sha256[:12]}" in refusal(task(task().sha256))
    assert f"none is given of {OTHER[:12]}" in refusal(task(OTHER, task().sha256), first)


def test_a_file_of_a_task_that_is_not_named_is_refused(first):
    assert "must be of a task named in [people] earlier" in refusal(task(), first)


def test_two_files_of_one_task_are_refused(first):
    assert "must be the only one of its task" in refusal(task(task().sha256), first, first)


def test_a_run_without_the_files_is_refused_before_it_reads_an_answer(tmp_path):
    with pytest.raises(InvalidParameterError, match="none is given"):
        run_file(task(OTHER), tmp_path / "no such answers.csv", tmp_path)


def test_a_withdrawn_release_cannot_be_composed_with(tmp_path):
    seeded = release(tmp_path, task(), "seeded", source=SeededSource(1))
    assert "its first statement is withdrawn" in refusal(task(task().sha256), seeded)


def test_a_release_whose_first_statement_is_a_lower_bound_is_refused(first):
    swapped = changed(first, lambda data: data["statements"].reverse() or data["statements"].pop(0))
    assert "it begins with a statement of kind lower-bound" in refusal(task(task().sha256), swapped)


BROKEN = {
    "a statement with an unknown key": lambda data: data["statements"][0].update(unheard_of=1),
    "a statement without a guarantee": lambda data: data["statements"][0].pop("guarantee"),
    "a negative epsilon": lambda data: data["statements"][0]["guarantee"].update(epsilon=-1),
    "no statement": lambda data: data.update(statements=[]),
    "statements that are no list": lambda data: data.update(statements=3),
    "no task": lambda data: data.pop("task"),
    "a task that is none": lambda data: data.update(task="survey"),
    "another delta": lambda data: data["task"]["release"].update(delta=0.5),
    "another digest": lambda data: data.update(task_sha256=OTHER),
    "a name of two lines": lambda data: data["task"].update(name="a\nb"),
    "a name that is a number": lambda data: data["task"].update(name=3),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_breaks_the_schema_is_refused(first, change):
    message = refusal(task(task().sha256), changed(first, copy.deepcopy(change)))
    assert message.startswith(f"the earlier release {first.with_name('changed.json')} must ")


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b'"text"', b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_release_is_refused(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    assert "the earlier release" in refusal(task(OTHER), tmp_path / "x.json")


def test_a_file_that_is_absent_is_refused(tmp_path):
    assert "must be readable: No such file" in refusal(task(OTHER), tmp_path / "x.json")
    assert "must be readable" in refusal(task(OTHER), tmp_path)


# ---- whom people must trust -----------------------------------------------------------------------------------------


def trusting(*members: str, place: int = 0):
    def change(data):
        data["statements"][place]["trust"] = list(members)

    return change


def test_a_statement_that_asks_for_no_trust_at_all_is_refused(first):
    for place in (0, -1):
        assert "takes trust in own-device" in refusal(task(task().sha256), changed(first, trusting(place=place)))
    bare = changed(first, trusting("shuffler", "no-collusion"))
    assert "takes trust in own-device" in refusal(task(task().sha256), bare)


@pytest.mark.parametrize("members", [("own-device",), ("own-device", "operator")])
def test_an_amplified_statement_that_names_nobody_who_shuffles_is_refused(first, members):
    message = refusal(task(task().sha256), changed(first, trusting(*members)))
    assert "say whom people must trust for the shuffle" in message


def test_so_is_one_that_was_put_together_from_amplified_ones(tmp_path, first):
    second = task(task().sha256, name="second")
    file = release(tmp_path, second, "second", earlier=[first])
    third = task(second.sha256, name="third")
    assert read_earlier(third, [file])
    assert "trust for the shuffle" in refusal(third, changed(file, trusting("own-device")))


def test_a_release_without_a_shuffle_asks_for_trust_in_devices_only_and_is_taken(tmp_path):
    unshuffled = task(shuffler={"kind": "none"})
    file = release(tmp_path, unshuffled, "unshuffled")
    (read,) = read_earlier(task(unshuffled.sha256), [changed(file, trusting("own-device"))])
    assert read.headline.trust == ("own-device",)
