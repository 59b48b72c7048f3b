"""The ``[groups]`` section, and shufflers that are about groups."""

import hashlib
import math
from types import SimpleNamespace

import numpy as np
import pytest

from cli.running import task_with
from shuffledp.core.errors import InvalidParameterError
from shuffledp.core.local_models import ProtocolModel
from shuffledp.documents.blocks import Text
from shuffledp.protocols.d_sigma.analyzers.group_preservation import preservation
from shuffledp.protocols.d_sigma.documents.mixing_document import GroupsDocument, _errors
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.planning.group_mixing import mixing_of
from shuffledp.protocols.d_sigma.shufflers.mallows import MallowsShuffler
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.survey.groups import Grouping, GroupsSection
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import UniformShuffler
from shuffledp.survey import Task, plan
from shuffledp.testing import SeededSource

SHA = "4f" * 32
GOOD = [
    (
        {"columns": ["lat", "lon"], "metric": "haversine", "radius": 10.0},
        "everybody within 10 km of them by lat and lon",
    ),
    (
        {"columns": ["age"], "neighbors": 5},
        "the 5 people nearest to them by age, and all who are as near as the last of these",
    ),
    ({"column": "PUMA"}, "everybody with the same PUMA"),
    ({"graph": "g.csv", "hops": 1}, "everybody at most 1 edge away in g.csv"),
    (
        {"graph": "g.csv", "neighbors": 3, "sha256": SHA},
        "the 3 people with the strongest ties to them in g.csv, and all whose tie is as strong",
    ),
    ({"lists": "l.csv"}, "those who are listed with them in l.csv"),
]
BAD = [
    ({}, "exactly one of columns, column, graph, lists; got none"),
    ({"column": "a", "lists": "b"}, "got column and lists"),
    ({"columns": []}, "got none"),
    ({"columns": ["a"]}, "exactly one of radius and neighbors beside columns; got none"),
    ({"columns": ["a"], "radius": 1, "neighbors": 1}, "got radius and neighbors"),
    ({"columns": ["a", "a"], "radius": 1}, "different columns"),
    ({"columns": ["a"], "radius": -1}, "radius must be a number that is 0 or more"),
    ({"columns": ["a"], "radius": math.nan}, "radius must be"),
    ({"columns": ["a"], "neighbors": 0}, "neighbors must be an integer that is 1 or more"),
    ({"columns": ["a"], "radius": 1, "metric": "miles"}, "metric must be one of"),
    ({"columns": ["a"], "radius": 1, "metric": "haversine"}, "two, latitude and longitude"),
    ({"columns": ["a"], "radius": 1, "hops": 1}, "must be without hops where groups are made from columns"),
    ({"column": "a", "radius": 1}, "must be without radius where groups are made from column"),
    ({"column": "a", "sha256": SHA}, "must be without sha256"),
    ({"graph": "g"}, "exactly one of hops and neighbors beside graph"),
    ({"graph": "g", "hops": -1}, "hops must be"),
    ({"lists": "l", "sha256": "no"}, "sha256 must be a SHA-256"),
    ({"lists": "l", "friends": 1}, "must have only the keys"),
]


def grouped(**changes):
    shuffler = {"kind": "mallows", "alpha": 1.0} | changes.pop("shuffler", {})
    return task_with(**({"public": ["place"], "shuffler": shuffler} | changes))


@pytest.mark.parametrize(("section", "words"), GOOD)
def test_groups_are_made_in_one_of_four_ways(section, words):
    read = GroupsSection.from_dict(section)
    assert read.words == words
    assert GroupsSection.from_dict(read.to_dict()) == read


@pytest.mark.parametrize(("section", "message"), BAD)
def test_a_section_that_says_something_else_is_refused(section, message):
    with pytest.raises(InvalidParameterError) as error:
        GroupsSection.from_dict(section)
    assert str(error.value).startswith("[groups] ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "must have a table [groups]"),
        ({"shuffler": {"kind": "uniform", "alpha": None}, "groups": {"column": "place"}}, "must be without a table"),
        ({"groups": {"column": "elsewhere"}}, "among the task's public columns"),
        ({"groups": {"lists": "l.csv"}, "missing": "drop"}, "whose numbers are those of the rows"),
        ({"groups": {"column": "place"}, "shuffler": {"alpha": -1.0}}, "alpha must be a number that is 0 or more"),
        ({"groups": {"column": "place"}, "shuffler": {"concentration": 1.0}}, "exactly one of alpha and concentration"),
        ({"groups": {"column": "place"}, "shuffler": {"distance": "far"}}, "distance must be one of"),
        ({"groups": {"column": "place"}, "shuffler": {"order": "best"}}, "order must be one of"),
        (
            {"groups": {"column": "place"}, "shuffler": {"order": "coordinate"}},
            "another order than 'coordinate' where [groups] has column, which gives no numbers to sort by",
        ),
        (
            {"groups": {"column": "place"}, "shuffler": {"kind": "noisy-sort", "noise": "gaussian"}},
            "delta must be given",
        ),
        (
            {"groups": {"column": "place"}, "shuffler": {"kind": "noisy-sort", "delta": 0.1, "spacing": "refined"}},
            "spacing must be 'adaptive' or 'uniform'",
        ),
        (
            {"groups": {"column": "place"}, "shuffler": {"delta": 0.1, "distance": "hamming"}},
            "delta must be left out",
        ),
        ({"groups": {"column": "place"}, "shuffler": {"kind": "auto", "delta": 2.0}}, "strictly between 0 and 1"),
    ],
)
def test_a_task_whose_groups_do_not_fit_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match="must") as error:
        Task.from_dict(grouped(**changes))
    assert message in str(error.value)


def test_a_task_without_groups_says_nothing_of_them():
    assert "groups" not in Task.from_dict(task_with()).to_dict()
    task = Task.from_dict(grouped(groups={"column": "place"}))
    assert Task.from_dict(task.to_dict()) == task
    assert task.sha256 != Task.from_dict(grouped(groups={"column": "place"}, shuffler={"alpha": 2.0})).sha256


def test_the_digest_of_a_task_covers_what_is_in_the_file_of_its_groups(tmp_path):
    text = (
        'name = "x"\nvalue = "y"\n[randomizer]\nkind = "k-rr"\nepsilon0 = 1.0\ncategories = ["a", "b"]\n'
        '[shuffler]\nkind = "mallows"\nalpha = 1\n[release]\ndelta = 1e-6\n[groups]\nlists = "lists.csv"\n'
    )
    (tmp_path / "task.toml").write_text(text)
    with pytest.raises(InvalidParameterError, match=r"lists must be a file that can be read, beside the task file"):
        Task.read(tmp_path / "task.toml")
    (tmp_path / "lists.csv").write_text("group,person\n1,0\n")
    first = Task.read(tmp_path / "task.toml")
    assert first.shuffler.groups.sha256 == hashlib.sha256(b"group,person\n1,0\n").hexdigest()
    (tmp_path / "lists.csv").write_text("group,person\n1,1\n")
    assert Task.read(tmp_path / "task.toml").sha256 != first.sha256
    (tmp_path / "task.toml").write_text(text + f'sha256 = "{first.shuffler.groups.sha256}"\n')
    with pytest.raises(InvalidParameterError, match="must be the file with the sha256 that the task gives"):
        Task.read(tmp_path / "task.toml")


def grouping(points=None, radius=1.0):
    points = np.arange(200.0) if points is None else np.asarray(points, dtype=float)
    return Grouping(Groups.from_radius(points, radius), points.reshape(len(points), -1))


def task_on_a_line(**shuffler):
    return Task.from_dict(
        grouped(groups={"columns": ["place"], "radius": 1.0}, shuffler={"kind": "auto", "alpha": 1.0} | shuffler)
    )


def mixed(task, people, shuffler=None):
    made = task.shuffler.shuffler(people) if shuffler is None else shuffler
    return mixing_of(people.groups, made, coordinates=people.coordinates, metric=task.shuffler.groups.metric)


def test_the_automatic_choice_displaces_least_of_those_compared_and_is_the_same_each_time():
    task, people = task_on_a_line(delta=1e-6), grouping()
    first, second = (task.shuffler.shuffler(people) for _ in range(2))
    assert first.model(200) == second.model(200)
    assert isinstance(first, MallowsShuffler | NoisySortShuffler)
    compared = mixed(task, people, first).compared
    assert len(compared) == 4  # Mallows, and sorts of Laplace noise and of Gaussian noise with two spacings
    assert list(compared.values()) == sorted(compared.values())
    assert next(iter(compared)).startswith(first.model(200).kind)
    assert mixed(task, people, MallowsShuffler(groups=people.groups, alpha=1.0)).compared == {}


def test_mixing_of_a_line_follows_the_loss():
    near, far = (mixed(task_on_a_line(alpha=alpha), grouping()) for alpha in (30.0, 0.001))
    assert near.displacement < 1 < far.displacement
    assert near.kept > 0.9 > far.kept
    assert not near.mixes_all
    assert near.warning == ""
    assert far.mixes_all
    assert "everything is shuffled with everything" in far.warning
    assert far.displacement == pytest.approx(far.displacement_uniform, rel=0.1)
    assert near.sensitivity == far.sensitivity == 3


def test_shares_that_stay_are_exact_where_they_are_known_and_simulated_elsewhere_and_labelled():
    task = task_on_a_line(kind="mallows", alpha=4.0)
    exact = mixed(task, grouping())
    assert (exact.kept_exactly, exact.how_kept) == (1.0, "exact")
    simulated = mixed(task_on_a_line(kind="noisy-sort", alpha=4.0), grouping())
    assert (simulated.kept_exactly, simulated.how_kept) == (0.0, "simulated")
    points = np.concatenate([np.arange(20.0), np.arange(100.0, 280.0, 1.0), [400.0]])
    some = mixed(task_on_a_line(kind="noisy-sort", alpha=4.0), grouping(points))
    assert some.how_kept.startswith("exact for ")  # who is alone keeps everything
    people = grouping()
    shuffler = task.shuffler.shuffler(people)
    shares = preservation(shuffler, people.groups, num_draws=400, source=SeededSource(3)).mean
    assert exact.kept == pytest.approx(shares[people.groups.own].mean(), abs=0.01)
    assert exact.kept_least == pytest.approx(shares.min(), abs=0.01)


def test_people_alone_and_infinite_losses_are_said_to_be_unprotected():
    alone = mixed(task_on_a_line(), grouping(np.arange(0.0, 50.0, 5)))
    assert (alone.num_alone, alone.displacement, alone.alpha) == (10, 0.0, 0.0)
    assert "nothing is shuffled" in alone.warning
    infinite = mixed(task_on_a_line(kind="mallows", alpha=math.inf), grouping())
    assert infinite.displacement == 0
    assert "nothing is shuffled" in infinite.warning


@pytest.mark.parametrize("alpha", [math.inf, 4.0])
def test_both_kinds_count_the_same_people_as_alone(alpha):
    people = grouping(np.concatenate([np.arange(20.0), [100.0]]))
    found = [mixed(task_on_a_line(kind=kind, alpha=alpha), people) for kind in ("mallows", "noisy-sort")]
    expected = (21, 21) if math.isinf(alpha) else (1, 2)
    assert [(each.num_alone, each.num_blocks) for each in found] == [expected, expected]


def test_the_warning_fits_a_loss_of_0_and_groups_of_everybody():
    nothing = mixed(task_on_a_line(kind="mallows", alpha=0.0), grouping())
    assert nothing.warning.startswith("alpha = 0 in one block is the uniform shuffle of everybody")
    assert 'Take kind = "uniform", about which more is known, or a larger alpha or smaller groups.' in nothing.warning
    assert "g^2" not in nothing.warning
    everybody = mixed(task_on_a_line(kind="mallows", alpha=1.0), grouping(radius=math.inf))
    assert "larger alpha" not in everybody.warning
    assert "Take smaller groups, or the uniform shuffle" in everybody.warning
    small = mixed(task_on_a_line(kind="mallows", alpha=0.001), grouping())
    assert "Take a larger alpha, smaller groups, or the uniform" in small.warning


@pytest.mark.parametrize(("distance", "sensitivity"), [("kendall", 3), ("hamming", 3), ("cayley", 2)])
def test_the_sensitivity_is_that_of_the_distance_that_shuffles(distance, sensitivity):
    found = mixed(task_on_a_line(kind="mallows", alpha=4.0, distance=distance), grouping())
    assert (found.sensitivity, found.sensitivity_distance) == (sensitivity, distance)
    assert found.kind == ("mallows" if distance == "kendall" else f"mallows ({distance})")


def test_a_plan_warns_of_a_loss_that_randomizing_alone_keeps_within():
    most = 2.0 * 3  # epsilon0 for each of three people
    few, many = (
        plan(task_on_a_line(kind="mallows", alpha=most * factor), grouping=grouping()) for factor in (0.99, 1.01)
    )
    assert few.warnings == ()
    (warning,) = many.warnings
    assert "The shuffle adds nothing to what randomizing promises" in warning
    assert "each of the 3 people of the largest, alpha = 6, and the shuffle's own alpha is 6.06" in warning
    assert many.to_dict()["warnings"] == [warning]


def test_a_loss_that_randomizing_alone_keeps_within_is_no_alarm_where_slots_are_hidden():
    task = Task.from_dict(
        task_with(
            public=["km"],
            randomizer={"kind": "k-rr", "epsilon0": 0.5, "categories": ["No", "Yes"]},
            shuffler={"kind": "noisy-sort", "alpha": 30.0},
            groups={"columns": ["km"], "radius": 10},
        )
    )
    places = np.arange(300.0)[:, None]
    found = plan(task, grouping=Grouping(Groups.from_radius(places, 10), places))
    assert found.of_shuffle.promises.named.half <= 0.5
    assert found.warnings == ()
    (section,) = [each for each in GroupsDocument().plan_sections(found) if each.anchor == "groups"]
    said = [block.text for block in section.blocks if isinstance(block, Text)]
    assert sum("promises nothing beyond randomizing" in each for each in said) == 1


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("kind", ["auto", "mallows", "noisy-sort"])
def test_one_and_two_people_can_be_shuffled(kind, people):
    found = mixed(task_on_a_line(kind=kind), grouping(np.zeros(people)))
    assert found.num_users == people
    assert found.num_alone == (people == 1)


def test_a_plan_covers_losses_and_reaches_and_needs_the_people():
    task, people = task_on_a_line(), grouping()
    found = plan(task, grouping=people)
    assert found.num_users == 200
    assert [each.alpha for each in found.of_shuffle.by_alpha] == pytest.approx([1 / 16, 1 / 4, 1, 4, 16])
    assert [each.value for each in found.of_shuffle.by_reach] == [0.25, 0.5, 2.0, 4.0]
    moved = [each.displacement for each in found.of_shuffle.by_alpha]
    assert moved == sorted(moved, reverse=True)
    sizes = [each.mixing.largest for each in found.of_shuffle.by_reach]
    assert sizes == [1, 1, 5, 9]
    assert "d-sigma" in [statement.guarantee.type for statement in found.statements]
    with pytest.raises(InvalidParameterError, match="groups must be given for a 'auto' shuffle"):
        plan(task, 200)
    with pytest.raises(InvalidParameterError, match="num_users must be the number of people in the input, 200"):
        plan(task, 100, grouping=people)


def test_errors_by_group_of_several_columns_say_which_one_they_are_of():
    plan = SimpleNamespace(mixing=SimpleNamespace(smallest=10, median=20, largest=30, kept=1.0), sharpened=None)
    uniform = UniformShuffler().model(30)
    locals_ = [KaryRandomizedResponse(epsilon0=each, domain_size=2).model for each in (1.0, 0.5)]
    models = [ProtocolModel(local=local, shuffle=uniform) for local in locals_]
    assert [" at epsilon0 = " in said for said in _errors(plan, [models[0]])] == [False]
    assert [said.split(":")[0].split(" at ")[1] for said in _errors(plan, models)] == ["epsilon0 = 1", "epsilon0 = 0.5"]
