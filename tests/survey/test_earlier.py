"""Earlier releases about the same people: what is read, what is refused, and what all lose together."""

import copy
import hashlib
import json
from pathlib import Path

import pytest

from cli.running import task_with, write_answers
from shuffledp.accounting import account_all, compose_releases
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import CentralDP, LocalDP
from shuffledp.core.statement_terms import Kind
from shuffledp.core.statements import PrivacyStatement
from shuffledp.core.text import in_digits
from shuffledp.files import stages
from shuffledp.survey import EarlierRelease, Task, composed_with, plan, read_earlier
from shuffledp.testing import SeededSource

OTHER = "4f" * 32


def task(*earlier: str, name: str = "risk survey", **changes) -> Task:
    return Task.from_dict(task_with(name=name, people={"earlier": list(earlier)}, **changes))


def release(folder: Path, task_of: Task, name: str, **options) -> Path:
    """The statement.json of a release of a task, run on 200 answers."""
    (folder / name).mkdir()
    stages.run(task_of, write_answers(folder, ["No", "Yes"] * 100), folder / name, **options)
    return folder / name / "statement.json"


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Path:
    return release(tmp_path_factory.mktemp("first"), task(), "first")


def composition(*files: Path, delta: float = 1e-6) -> float:
    """What the first releases in these files lose together by their protocols, at this delta."""
    models = [model for path in files for model in EarlierRelease.read(path).released[0].models]
    return compose_releases(models, delta=delta).guarantee.epsilon


def changed(path: Path, change) -> Path:
    data = json.loads(path.read_text())
    change(data)
    other = path.with_name("changed.json")
    other.write_text(json.dumps(data))
    return other


def without_models(data) -> None:
    """As files of older versions are."""
    data.pop("model")
    for each in data["earlier"]:
        del each["models"]


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
    with pytest.raises(InvalidParameterError, match=r"^\[people\] earlier must be a SHA-256"):
        task(sha256)


def test_an_earlier_task_is_named_once():
    with pytest.raises(InvalidParameterError, match="earlier must be all different"):
        task(OTHER, OTHER)


def test_naming_an_earlier_task_makes_another_task():
    assert task(OTHER).sha256 != task().sha256


# ---- what releases lose together ------------------------------------------------------------------------------------


def test_releases_about_the_same_people_compose_at_one_delta(tmp_path, first):
    second = task(task().sha256, name="second")
    outcome = release(tmp_path, second, "second", earlier=[first])
    statements = [PrivacyStatement.from_dict(each) for each in json.loads(outcome.read_text())["statements"]]
    mine, theirs = (part.statement for part in statements[0].parts)
    assert theirs == EarlierRelease.read(first).headline
    assert statements[0].guarantee == CentralDP(epsilon=composition(first, outcome), delta=1e-6)
    added = mine.guarantee.epsilon + theirs.guarantee.epsilon
    assert max(mine.guarantee.epsilon, theirs.guarantee.epsilon) < statements[0].guarantee.epsilon < 0.8 * added
    assert "This holds for releases planned beforehand" in statements[0].remarks[1]
    assert f"limit set beforehand: epsilon = {in_digits(added, 'at most')}, delta = 2e-06." in statements[0].remarks[1]
    assert statements[0].kind is Kind.UPPER_BOUND
    assert f"task {task().sha256[:12]} (risk survey) takes epsilon = " in str(statements[0])
    assert f"task {second.sha256[:12]} (second) takes epsilon = " in str(statements[0])
    assert [each.guarantee.epsilon for each in statements if isinstance(each.guarantee, LocalDP)] == [
        pytest.approx(4.0, abs=1e-4)
    ]


def test_who_takes_the_tightest_statement_of_a_kind_takes_one_about_all_releases(tmp_path, first):
    second = task(task().sha256, name="second")
    data = json.loads(release(tmp_path, second, "second", earlier=[first]).read_text())
    upper = [each["guarantee"] for each in data["statements"] if each["kind"] in ("upper-bound", "exact")]
    assert sorted(each["type"] for each in upper) == ["central-dp", "local-dp"]
    lower = [each for each in data["statements"] if each["kind"] == "lower-bound"]
    assert len(lower) == 1
    assert "all together lose at least as much" in lower[0]["remarks"][0]


def test_a_task_that_is_run_again_on_the_same_people_is_told_apart_by_its_release(tmp_path, first):
    again = release(tmp_path, task(), "again", earlier=[first])
    third = release(tmp_path, task(), "third", earlier=[again])
    one = EarlierRelease.read(first)
    assert [EarlierRelease.read(path).headline.guarantee for path in (again, third)] == [
        CentralDP(epsilon=composition(*[first] * count), delta=1e-6) for count in (2, 3)
    ]
    data = json.loads(third.read_text())
    assert [each["statement_sha256"] for each in data["earlier"]] == [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in (again, first)
    ]
    assert (
        one.label == f"release {data['earlier'][1]['statement_sha256'][:12]} of task {task().sha256[:12]} (risk survey)"
    )


def test_two_runs_of_one_task_add_up_in_a_later_one(tmp_path, first):
    other = release(tmp_path, task(), "other")
    later = task(task().sha256, name="later")
    assert len(read_earlier(later, [first, other])) == 2


def test_what_another_earlier_release_counts_already_is_not_counted_again(tmp_path, first):
    second = task(task().sha256, name="second")
    second_file = release(tmp_path, second, "second", earlier=[first])
    third = task(task().sha256, second.sha256, name="third")
    for files in ([second_file], [first, second_file], [second_file, first]):
        (found,) = read_earlier(third, files)
        assert found.task_sha256 == second.sha256


def test_a_release_that_two_others_count_is_counted_once(tmp_path, first):
    second, third = (task(task().sha256, name=name) for name in ("second", "third"))
    files = [release(tmp_path, each, each.name, earlier=[first]) for each in (second, third)]
    last = task(second.sha256, third.sha256, name="last")
    headline, *_, local = (
        PrivacyStatement.from_dict(each)
        for each in json.loads(release(tmp_path, last, "last", earlier=files).read_text())["statements"]
    )
    assert len(headline.parts) == len(local.parts) == 4
    assert headline.guarantee == CentralDP(epsilon=composition(*[first] * 4), delta=1e-6)
    assert local.guarantee.epsilon == pytest.approx(8.0, abs=1e-4)


def test_parts_that_state_less_than_protocols_lose_count_as_what_these_lose(tmp_path, first):
    second = task(task().sha256, name="second")
    file = release(tmp_path, second, "second", earlier=[first])

    def lower(data):
        data["statements"][0]["parts"][1]["statement"]["guarantee"]["epsilon"] = 0.0

    third = task(second.sha256, name="third")
    (honest,), (wrong,) = read_earlier(third, [file]), read_earlier(third, [changed(file, lower)])
    assert [share.part.statement.guarantee for share in wrong.released] == [
        pytest.approx(share.part.statement.guarantee) for share in honest.released
    ]
    assert [share.models for share in wrong.released] == [share.models for share in honest.released]
    (whole,) = read_earlier(third, [changed(file, lambda data: (lower(data), without_models(data)))])[0].released
    assert whole.part.statement.guarantee == honest.headline.guarantee


def test_a_release_that_counts_others_says_so_in_its_first_statement(tmp_path, first):
    mark = {"task_sha256": OTHER, "statement_sha256": OTHER}
    changed_file = changed(first, lambda data: data.update(earlier=[mark]))
    assert "must begin with the sum over the earlier releases" in refusal(task(task().sha256), changed_file)


def test_the_headline_of_a_release_covers_those_that_it_names(tmp_path, first):
    second = task(task().sha256, name="second")
    third = task(second.sha256, name="third")
    second_file = release(tmp_path, second, "second", earlier=[first])
    outcome = EarlierRelease.read(release(tmp_path, third, "third", earlier=[second_file]))
    assert outcome.headline.guarantee == CentralDP(epsilon=composition(*[first] * 3), delta=1e-6)
    assert outcome.local.guarantee.epsilon == pytest.approx(6.0, abs=1e-4)


def test_the_stages_end_with_the_same_statements_as_a_run(tmp_path, first):
    second = task(task().sha256, name="second")
    answers = write_answers(tmp_path, ["No", "Yes"] * 100)
    stages.randomize(second, answers, tmp_path / "reports.parquet")
    stages.shuffle(second, tmp_path / "reports.parquet", tmp_path / "view.parquet")
    with pytest.raises(InvalidParameterError, match="--earlier FILE must be given for each"):
        stages.analyze(second, tmp_path / "view.parquet", tmp_path)
    analyzed = stages.analyze(second, tmp_path / "view.parquet", tmp_path, earlier=[first])
    run = EarlierRelease.read(release(tmp_path, second, "second", earlier=[first]))
    assert analyzed.statements[0].guarantee == run.headline.guarantee


def test_a_plan_tells_what_will_add_up(first):
    second = task(task().sha256, name="second")
    planned = plan(second, 200, earlier=[first])
    mine = planned.columns[0].statements[0]
    assert planned.statements[0].guarantee.epsilon > mine.guarantee.epsilon
    assert planned.statements[0].parts[0].statement == mine
    with pytest.raises(InvalidParameterError, match="--earlier"):
        plan(second, 200)


def test_without_earlier_releases_nothing_changes():
    statements = account_all(task().column.model(200), delta=1e-6)
    assert composed_with(task(), (), statements, ()) == statements


def test_a_seeded_release_withdraws_the_composition_and_says_what_it_would_have_been(tmp_path, first):
    second = task(task().sha256, name="second")
    data = json.loads(release(tmp_path, second, "second", earlier=[first], source=SeededSource(3)).read_text())
    assert {each["withdrawn"] for each in data["statements"]} == {"seeded"}
    assert data["statements"][0]["claimed"]["delta"] == 1e-6


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_every_task_that_is_named_needs_its_file(first):
    assert f"none is given of {task().sha256[:12]}" in refusal(task(task().sha256))
    assert f"none is given of {OTHER[:12]}" in refusal(task(OTHER, task().sha256), first)


def test_a_file_of_a_task_that_is_not_named_is_refused(first):
    assert "must be of this task or of one named in [people] earlier" in refusal(task(name="x"), first)


def test_the_same_release_twice_is_refused(first):
    assert "must be given once: it is the same release" in refusal(task(task().sha256), first, first)


def test_a_run_without_the_files_is_refused_before_it_reads_an_answer(tmp_path):
    with pytest.raises(InvalidParameterError, match="none is given"):
        stages.run(task(OTHER), tmp_path / "no such answers.csv", tmp_path)


def test_a_withdrawn_release_cannot_be_composed_with(tmp_path):
    seeded = release(tmp_path, task(), "seeded", source=SeededSource(1))
    assert "its first statement is withdrawn" in refusal(task(task().sha256), seeded)


def test_a_release_whose_first_statement_is_a_lower_bound_is_refused(first):
    swapped = changed(first, lambda data: data["statements"].reverse() or data["statements"].pop(0))
    assert "it begins with a statement of kind lower-bound" in refusal(task(task().sha256), swapped)


def test_a_release_that_does_not_say_what_reports_guarantee_is_refused(first):
    bare = changed(first, lambda data: data.update(statements=data["statements"][:1]))
    assert "say what the reports guarantee by themselves" in refusal(task(task().sha256), bare)


@pytest.mark.parametrize("change", [{"seeded": True}, {"seeded": 0}, {"seeded": None}])
def test_a_release_that_says_or_hides_that_it_is_seeded_is_refused(first, change):
    message = refusal(task(task().sha256), changed(first, lambda data: data.update(change)))
    assert "its randomness came from no seed" in message


def test_a_release_of_which_one_statement_is_withdrawn_is_refused(tmp_path, first):
    seeded = json.loads(release(tmp_path, task(), "seeded", source=SeededSource(1)).read_text())
    mixed = changed(first, lambda data: data["statements"].append(seeded["statements"][-1]))
    assert "its randomness came from no seed" in refusal(task(task().sha256), mixed)


@pytest.mark.parametrize("place", [0, -1])
def test_a_claim_that_nothing_withdrew_is_refused(first, place):
    def claim(data):
        statement = data["statements"][place]
        statement["claimed"] = {**statement["guarantee"], "epsilon": 1e-9, "delta": 0.0}

    assert "claimed must be None in a statement that is not withdrawn" in refusal(
        task(task().sha256), changed(first, claim)
    )


def test_a_withdrawn_statement_that_promises_is_refused(first):
    assert "guarantee must be nothing in a statement that is withdrawn" in refusal(
        task(task().sha256), changed(first, lambda data: data["statements"][0].update(withdrawn="seeded"))
    )


@pytest.mark.parametrize("control", ["\x1b[2J", "\x07", "\r", "\x9b", "\x7f", "\x00"])
@pytest.mark.parametrize(
    "write",
    [
        lambda statement, text: statement["remarks"].append(text),
        lambda statement, text: statement["basis"].update(citation=text),
        lambda statement, text: statement["basis"]["hypotheses"].append(
            {"name": "n", "requirement": text, "value": "v", "holds": True}
        ),
    ],
    ids=["remark", "citation", "hypothesis"],
)
def test_texts_that_could_command_a_terminal_are_refused(first, control, write):
    message = refusal(
        task(task().sha256), changed(first, lambda data: write(data["statements"][0], f"take this{control}"))
    )
    assert "without control characters" in message
    assert control not in message


@pytest.mark.parametrize(
    ("place", "named"), [(-1, "at least the loss of its randomizers"), (0, "at least the provable loss")]
)
def test_a_loss_below_what_the_task_costs_is_refused(first, place, named):
    def lower(data):
        data["statements"][place]["guarantee"]["epsilon"] *= 0.1

    binary = task(task().sha256)
    assert read_earlier(binary, [first])
    assert named in refusal(binary, changed(first, lower))


@pytest.mark.parametrize("count", [None, "500", -1, 10**400, 0.5])
def test_a_number_of_reports_that_is_none_is_refused(first, count):
    refusal(task(task().sha256), changed(first, lambda data: data.update(num_reports=count)))


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


def test_every_one_of_several_earlier_releases_adds_its_loss(tmp_path):
    digests, files = [], []
    for number, epsilon0 in enumerate((0.5, 1.0, 2.0)):
        one = task(name=f"survey {number}", randomizer={**task_with()["randomizer"], "epsilon0": epsilon0})
        digests.append(one.sha256)
        files.append(release(tmp_path, one, f"release{number}"))
    last = task(*digests, name="last")
    releases = read_earlier(last, files)
    model = task().column.model(200)
    own = account_all(model, delta=1e-6)
    statements = composed_with(last, releases, own, [model])
    losses = [each.headline.guarantee.epsilon for each in releases]
    assert len(set(losses)) == 3
    models = [model, *(each for release in releases for each in release.released[0].models)]
    assert statements[0].guarantee == compose_releases(models, delta=1e-6).guarantee
    assert statements[-1].guarantee.epsilon == pytest.approx(own[-1].guarantee.epsilon + 3.5, abs=1e-4)
    assert str(statements[0]).count(" takes epsilon = ") == 4
    for each in releases:
        assert f"task {each.task_sha256[:12]} ({each.name}) takes epsilon = " in str(statements[0])
