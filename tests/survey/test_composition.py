"""What several columns and releases lose together, composed from their protocols; and what of that cannot be forged."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from cli.running import write_csv
from shuffledp._version import __version__
from shuffledp.accounting import account, account_all, compose_releases
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.guarantees import CentralDP
from shuffledp.core.statements import Part, PrivacyStatement
from shuffledp.files import stages
from shuffledp.randomizers import LdpModel
from shuffledp.shufflers import IdentityShuffleModel
from shuffledp.survey import EarlierRelease, Task, composed_columns, composed_with, read_earlier
from shuffledp.survey.budget import Share, composed

YES_NO = {"kind": "k-rr", "epsilon0": 1.0, "categories": ["No", "Yes"]}
NO_SHUFFLE = IdentityShuffleModel(num_users=1)
PEOPLE = 50


def questions(*names: str, delta: float = 1e-6, randomizer=YES_NO, earlier=(), **changes) -> Task:
    """A task of a column for each name."""
    blocks = [{"column": name, "randomizer": randomizer} for name in names]
    people = {"earlier": [task.sha256 for task in earlier]}
    return Task.from_dict({"name": "q", "value": blocks, "people": people, "release": {"delta": delta}, **changes})


def run(task: Task, folder: Path, people: int = PEOPLE, earlier=()) -> Path:
    """The statement.json of a release."""
    folder.mkdir()
    names = [column.value for column in task.columns]
    categories = task.columns[0].randomizer.targets
    rows = [[categories[(row + place) % len(categories)] for place in range(len(names))] for row in range(people)]
    stages.run(task, write_csv(folder.parent / "answers.csv", names, rows), folder, earlier=earlier)
    return folder / "statement.json"


def headline(path: Path) -> PrivacyStatement:
    return PrivacyStatement.from_dict(json.loads(path.read_text())["statements"][0])


def epsilon(task: Task, count: int, delta: float = 1e-6, people: int = PEOPLE) -> float:
    """What the first column loses in so many releases."""
    return compose_releases([task.columns[0].model(people)] * count, delta=delta).guarantee.epsilon


def changed(path: Path, change) -> Path:
    data = json.loads(path.read_text())
    change(data)
    other = path.with_name("changed.json")
    other.write_text(json.dumps(data))
    return other


def composed_after(path: Path, task: Task) -> CentralDP:
    """What is stated of one more release after the one in this file."""
    model = task.columns[0].model(PEOPLE)
    own = statements_of(model, task.release.delta)
    return composed_with(task, read_earlier(task, [path]), own, [model])[0].guarantee


@cache
def statements_of(model, delta: float):
    return account_all(model, delta=delta)


def over_columns(task: Task, people: int = PEOPLE) -> PrivacyStatement:
    """What is stated of a release of several columns."""
    models = [column.model(people) for column in task.columns]
    return composed_columns(task.columns, [statements_of(model, task.release.delta) for model in models], models)[0]


# ---- columns --------------------------------------------------------------------------------------------------------


def test_three_questions_to_539_people_lose_less_than_their_sum_at_one_delta(tmp_path):
    task = questions("a", "b", "c", delta=3e-6)
    found = headline(run(task, tmp_path / "out", people=539))
    assert found.guarantee.delta == 3e-6
    assert 0.2928 < found.guarantee.epsilon < 0.35
    assert found.basis.theorem == "adding-losses"
    alone = account(task.columns[0].model(539), delta=3e-6).guarantee
    assert [(part.label, part.statement.guarantee) for part in found.parts] == [(name, alone) for name in "abc"]
    assert "seen in all the released data together" in str(found)
    assert "One person answers in 3 columns" in str(found)
    assert "planned beforehand" not in str(found)


@pytest.mark.deep
def test_ten_questions_to_ten_thousand_people():
    found = over_columns(questions(*"abcdefghij"), 10_000).guarantee
    assert found.delta == 1e-6
    assert 0.1217 <= found.epsilon <= 0.1486


def test_different_columns_compose_with_each_other():
    blocks = [
        {"column": "a", "randomizer": YES_NO},
        {"column": "b", "randomizer": {"kind": "one-bit-mean", "epsilon0": 0.5, "lower": 0.0, "upper": 1.0}},
    ]
    task = Task.from_dict({"name": "q", "value": blocks, "release": {"delta": 1e-6}})
    found, models = over_columns(task), [column.model(PEOPLE) for column in task.columns]
    assert found.guarantee == compose_releases(models, delta=1e-6).guarantee
    alone = [part.statement.guarantee.epsilon for part in found.parts]
    assert max(alone) < found.guarantee.epsilon < sum(alone)


def test_where_nothing_is_gained_losses_are_added_up_and_keep_no_remainder():
    found = over_columns(questions("a", "b", shuffler={"kind": "none"}))
    assert found.guarantee == CentralDP(epsilon=sum(part.statement.guarantee.epsilon for part in found.parts))
    assert found.guarantee.epsilon == pytest.approx(2.0, abs=1e-4)
    assert found.basis.theorem == "basic-composition"


def test_sums_of_which_nothing_is_known_at_a_part_of_delta_count_by_what_they_state():
    protocol = {"kind": "split-and-mix", "epsilon": 1.0, "lower": 0, "upper": 10}
    blocks = [{"column": name, "protocol": protocol} for name in "ab"]
    document = {"name": "q", "value": blocks, "people": {"expected": 100}, "release": {"delta": 1e-6}}
    task = Task.from_dict(document)
    found = over_columns(task, 100).guarantee
    assert (found.epsilon, found.delta) == (pytest.approx(2.0, rel=1e-5), 2e-6)
    known = Part(label="a", statement=account(task.columns[0].model(100), delta=1e-6))
    model = questions("b").columns[0].model(PEOPLE)
    other = Part(label="b", statement=account(model, delta=1e-9))
    shares = [Share(part=known, models=(task.columns[0].model(100),)), Share(part=other, models=(model,))]
    both = composed(shares, delta=1e-9).guarantee
    assert both.delta == pytest.approx(1e-6 + 1e-9)
    alone = [part.statement.guarantee.epsilon for part in (known, other)]
    assert max(alone) < both.epsilon <= sum(alone) * (1 + 1e-12)


def test_a_column_alone_is_stated_as_it_is():
    task = questions("a")
    statements = statements_of(task.columns[0].model(PEOPLE), 1e-6)
    assert composed_columns(task.columns, [statements], [task.columns[0].model(PEOPLE)]) == statements


# ---- releases -------------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_four_weekly_releases_lose_little_more_than_two(tmp_path):
    answers = {"kind": "k-rr", "epsilon0": 2.0, "categories": [f"c{value}" for value in range(16)]}
    task = questions("a", randomizer=answers)
    last: list[Path] = []
    for week in range(4):
        last = [run(task, tmp_path / f"week {week}", people=10_000, earlier=last)]
    found = headline(last[0])
    assert found.guarantee.delta == 1e-6
    assert 0.1418 <= found.guarantee.epsilon <= 0.1419
    assert len(found.parts) == 4
    assert "epsilon = 0.27, delta = 4e-06" in found.remarks[1]


def test_columns_of_all_releases_compose_along_a_chain(tmp_path):
    two, one = questions("a", "b"), questions("c")
    first = run(two, tmp_path / "first")
    second = questions("d", earlier=[two])
    third = run(second, tmp_path / "second", earlier=[first])
    assert headline(third).guarantee == CentralDP(epsilon=epsilon(one, 3), delta=1e-6)
    last = questions("e", earlier=[second])
    assert composed_after(third, last) == CentralDP(epsilon=epsilon(one, 4), delta=1e-6)
    told = json.loads(third.read_text())["earlier"]
    assert [len(each["models"]) for each in told] == [2]


@pytest.mark.parametrize("shuffler", [{"kind": "none"}, {"kind": "imperfect", "imperfection": 0.5}])
def test_a_release_by_any_shuffler_counts_by_its_protocol(tmp_path, shuffler):
    path = run(questions("a", shuffler=shuffler), tmp_path / "first")
    (share,) = EarlierRelease.read(path).released
    assert [model.shuffle.kind for model in share.models] == [shuffler["kind"]]
    assert share.part.statement == headline(path)


def test_the_delta_is_that_of_the_new_task(tmp_path):
    task = questions("a", delta=1e-4)
    later = questions("b", delta=1e-8, earlier=[task])
    found = composed_after(run(task, tmp_path / "first"), later)
    assert found == CentralDP(epsilon=epsilon(later, 2, delta=1e-8), delta=1e-8)


# ---- files of which less is known, or that were changed -------------------------------------------------------------


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """The file of the second of two releases, and a task for one more."""
    folder, task = tmp_path_factory.mktemp("chain"), questions("a")
    second = questions("b", earlier=[task])
    path = run(second, folder / "second", earlier=[run(task, folder / "first")])
    return path, questions("c", earlier=[second])


def with_pairs(*pairs: CentralDP) -> CentralDP:
    """One release, and others of which nothing but their pairs is known."""
    model = questions("a").columns[0].model(PEOPLE)
    responses = [replace(model, local=LdpModel(epsilon0=pair.epsilon), shuffle=NO_SHUFFLE) for pair in pairs]
    found = compose_releases([model, *responses], delta=1e-6).guarantee
    for pair in pairs:
        found = found.compose(CentralDP(epsilon=0.0, delta=pair.delta))
    return found


def as_older(data) -> None:
    """Without any protocol, as files of older versions are."""
    for each in data["columns"]:
        del each["model"]
    for each in data["earlier"]:
        del each["models"]


def test_an_older_file_counts_by_its_epsilon_and_delta_alone(tmp_path):
    task = questions("a", "b")
    path = run(task, tmp_path / "first")
    pair, after = headline(path).guarantee, questions("c", earlier=[task])
    found = composed_after(changed(path, as_older), after)
    assert found == with_pairs(pair)
    assert found.delta == pytest.approx(2e-6)
    assert composed_after(path, after).epsilon < found.epsilon <= pair.epsilon + epsilon(task, 1)


def test_so_does_it_in_a_chain(tmp_path):
    """The second release is told of no protocol of the first one, and hands its pair on to the third."""
    task = questions("a", "b")
    path = changed(run(task, tmp_path / "first"), as_older)
    second = questions("c", earlier=[task])
    third = run(second, tmp_path / "second", earlier=[path])
    assert headline(third).guarantee == with_pairs(headline(path).guarantee)
    assert composed_after(third, questions("d", earlier=[second])).delta == pytest.approx(2e-6)


def test_an_older_chain_counts_by_one_pair(chain):
    path, after = chain
    pair = headline(path).guarantee
    assert composed_after(changed(path, as_older), after) == with_pairs(pair)
    (share,) = EarlierRelease.read(changed(path, as_older)).released
    assert share.part.statement.guarantee == pair


def double(model) -> None:
    model["shuffle"]["num_users"] *= 2


def more_noise(model) -> None:
    model["local"]["share"] //= 2


@pytest.mark.parametrize("change", [double, more_noise])
def test_a_protocol_that_is_not_that_of_the_task_and_its_reports_is_refused(chain, change):
    path = changed(chain[0], lambda data: change(data["columns"][0]["model"]))
    with pytest.raises(
        InvalidParameterError, match=r"must describe as its model the protocol of its task, for as many"
    ):
        EarlierRelease.read(path)


def test_one_of_another_version_counts_by_its_pair(chain):
    def change(data):
        double(data["columns"][0]["model"])
        data["library_version"] = f"{__version__}.other"

    assert composed_after(changed(chain[0], change), chain[1]) == with_pairs(headline(chain[0]).guarantee)


def none_of_the_first(data) -> None:
    data["earlier"][0]["models"] = []
    data["statements"][0]["parts"].pop()


def more_people(data) -> None:
    """In the protocol, and in the number of reports, but not in what is stated."""
    double(data["columns"][0]["model"])
    data["columns"][0]["num_reports"] *= 2


@pytest.mark.parametrize(
    "change",
    [
        none_of_the_first,
        more_people,
        lambda data: data["earlier"][0].update(models=[]),
        lambda data: double(data["earlier"][0]["models"][0]),
        lambda data: data["earlier"][0]["models"][0]["shuffle"].update(num_users=10**300),
        lambda data: data["statements"][0].update(parts=data["statements"][0]["parts"] * 2),
    ],
)
def test_protocols_that_lose_less_than_is_stated_count_for_nothing(chain, change):
    path, after = chain
    found = composed_after(changed(path, change), after)
    assert found == with_pairs(headline(path).guarantee)
    assert found.epsilon > composed_after(path, after).epsilon


def test_a_headline_below_what_the_protocols_lose_changes_nothing(chain):
    def lower(data):
        data["statements"][0]["guarantee"]["epsilon"] *= 0.9

    path, after = chain
    assert composed_after(changed(path, lower), after) == composed_after(path, after)


def test_trust_is_asked_for_in_every_part(chain):
    def forget(data):
        data["statements"][0]["parts"][0]["statement"]["trust"] = []

    with pytest.raises(InvalidParameterError, match="takes trust in own-device"):
        EarlierRelease.read(changed(chain[0], forget))


@pytest.mark.parametrize("models", [3, [3], [{}], "all", [{"local": {}, "shuffle": {}}]])
def test_protocols_that_are_none_are_refused(chain, models):
    with pytest.raises(InvalidParameterError, match="the earlier release"):
        EarlierRelease.read(changed(chain[0], lambda data: data["earlier"][0].update(models=models)))


# ---- later releases that results decide on --------------------------------------------------------------------------


def test_stopping_when_the_composed_curve_is_full_is_no_filter():
    """Each way to go on keeps the pair of releases at 2/9, but all that is shown has 8/27; adding up has room for it.

    First a response of ratio 2; after + another one, after - the answer itself with chance 2/9. At a factor of 2.
    """
    response = {("+", 0): Fraction(1, 3), ("+", 1): Fraction(2, 3), ("-", 0): Fraction(2, 3), ("-", 1): Fraction(1, 3)}
    shown = Fraction(2, 9)
    reveal = {(view, bit): (1 - shown) if view == "none" else shown * (int(view) == bit)
              for view, bit in product(("none", "0", "1"), (0, 1))}  # fmt: skip

    def law(bit: int, after) -> dict:
        """Of the first response and what comes after it."""
        return {
            (first, view): response[first, bit] * chance
            for first in "+-"
            for (view, of), chance in after(first).items()
            if of == bit
        }

    def remainder(after) -> Fraction:
        both = [law(bit, after) for bit in (0, 1)]
        return max(sum(max(p[view] - 2 * q[view], Fraction()) for view in p) for p, q in (both, both[::-1]))

    assert remainder(lambda _: response) == remainder(lambda _: reveal) == Fraction(2, 9)
    adaptive = remainder(lambda first: response if first == "+" else reveal)
    assert adaptive == Fraction(8, 27) > Fraction(2, 9)
