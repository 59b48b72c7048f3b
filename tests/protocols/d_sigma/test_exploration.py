"""Settings tried on a pilot: what the numbers are, what is refused, and what the page says and leaves out."""

import csv
import json
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from shuffledp.core.errors import InputDataError, InvalidParameterError
from shuffledp.core.text import percent
from shuffledp.documents.blocks import Cell, Medium, Table
from shuffledp.documents.page import page_of
from shuffledp.protocols.d_sigma.attacks.nearest_match import nearest_match_success
from shuffledp.protocols.d_sigma.attacks.pilot_attacks import PilotAttacks
from shuffledp.protocols.d_sigma.attacks.side_information import similar_people
from shuffledp.protocols.d_sigma.documents.exploration_document import _row, exploration_document, task_lines
from shuffledp.protocols.d_sigma.files.pilots import read_pilot
from shuffledp.protocols.d_sigma.people.assignment import Groups
from shuffledp.protocols.d_sigma.shufflers.noisy_sort import NoisySortShuffler
from shuffledp.protocols.d_sigma.survey.exploration import _settings, explore
from shuffledp.protocols.d_sigma.survey.groups import Grouping
from shuffledp.protocols.d_sigma.survey.pilot import made_up_answers, section_of, stretches
from shuffledp.protocols.d_sigma.survey.pilot_results import is_dominated, picks_of
from shuffledp.randomizers import KaryRandomizedResponse
from shuffledp.shufflers import IdentityShuffler
from shuffledp.survey import Task
from shuffledp.testing import SeededSource


def task(**changes):
    return Task.from_dict(
        {
            "name": "by age",
            "value": "ill",
            "public": ["age", "job"],
            "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": ["no", "yes"]},
            "shuffler": {"kind": "auto", "alpha": 4.0},
            "groups": {"columns": ["age"], "radius": 2},
            "release": {"delta": 1e-6},
            **changes,
        }
    )


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """400 people of 40 ages: the young are seldom ill, and who is ill often has another job."""
    draw = np.random.default_rng(3)
    ages = draw.integers(20, 60, 400)
    ill = draw.random(400) < np.where(ages < 40, 0.1, 0.9)
    jobs = np.where(draw.random(400) < 0.8, ill, draw.random(400) < 0.5)
    folder = tmp_path_factory.mktemp("pilot")
    for name, columns in (("pilot.csv", 3), ("public.csv", 2)):
        with (folder / name).open("w", newline="") as file:
            rows = [["age", "job", "ill"]] + [
                [str(age), "ab"[int(job)], ["no", "yes"][int(sick)]]
                for age, job, sick in zip(ages, jobs, ill, strict=True)
            ]
            csv.writer(file).writerows(row[:columns] for row in rows)
    return folder


@pytest.fixture(scope="module")
def found(people):
    pilot = read_pilot(task(), people / "pilot.csv", people)
    return explore(task().column, pilot, alphas=(4.0, 64.0), reaches=(1.0,))


def test_every_mechanism_is_tried_at_every_loss_and_reach_between_no_shuffle_and_a_uniform_one(found):
    settings = [(each.setting.mechanism, each.setting.alpha, each.setting.reach) for each in found.tried[2:]]
    mechanisms = ("mallows", "mallows, with delta", "noisy-sort, laplace", "noisy-sort, gaussian")
    assert settings == [(name, alpha, reach) for reach in (1.0, 2.0) for alpha in (4.0, 64.0) for name in mechanisms]
    assert found.none.displacement == 0
    assert found.none.guessed.best > max(each.guessed.best for each in found.tried[2:])
    assert found.uniform.learned == max(each.learned for each in found.tried)
    assert found.overlapping
    assert found.num_users == 400
    assert not found.made_up


def test_settings_that_nothing_beats_are_on_the_frontier_and_the_picks_are_among_them(found):
    for one in found.tried:
        beaten = any(
            found.found_out(other) < found.found_out(one) - 0.006 and other.learned < one.learned - 0.006
            for other in found.tried
        )
        assert one.dominated or not beaten
        assert one.dominated == is_dominated(one, found)
    assert set(found.picks) <= {"balanced", "hides more", "shows more"}
    assert "balanced" in found.picks
    for number in found.picks.values():
        assert found.tried[number].is_ours
        assert not found.tried[number].dominated


def test_no_attack_is_called_the_best_that_does_worse_than_the_commonest_answer(found):
    assert all(each.guessed.best >= found.naive for each in found.tried)
    near = similar_people(Groups.from_radius(np.arange(100), 2))
    answers = np.random.default_rng(5).permutation(np.arange(100) // 64)
    attacks = PilotAttacks(answers, np.full((2, 2), 0.5), near)
    model = KaryRandomizedResponse(epsilon0=1e-6, domain_size=2)
    reports = model.randomize(answers, source=SeededSource(5))
    guessed = attacks.guessed(IdentityShuffler().shuffle(reports, source=SeededSource(0)), None, None)
    assert max(guessed.every["vote"], guessed.every["posterior"]) < 0.64
    assert (guessed.best, guessed.attack) == (0.64, "the commonest answer")


def test_what_is_said_to_hide_more_promises_no_less_than_what_is_balanced(found):
    def tried(learned, rho, named):
        protected = replace(found.tried[2].protected, named_most=named, named_median=named)
        return replace(found.tried[2], learned=learned, rho=rho, dominated=False, protected=protected)

    ends = [replace(found.none, rho=1.0, learned=0.0), replace(found.uniform, rho=0.0, learned=1.0)]
    middle, better, worse = tried(0.3, 0.3, 0.041), tried(0.8, 0.1, 0.04), tried(0.7, 0.15, 0.9)
    three = replace(found, by_rho=True, tried=(*ends, middle, worse))
    assert picks_of(three) == {"balanced": 2}
    assert picks_of(replace(three, tried=(*three.tried, better))) == {"balanced": 2, "hides more": 4}


def test_a_pilot_whose_settings_differ_by_less_than_chance_is_said_to_decide_nothing(found):
    assert all(each.learned_error > 0 for each in found.tried if each.is_ours)
    assert not found.is_undecided
    wide = replace(found, tried=tuple(replace(each, learned_error=1.0) for each in found.tried))
    assert wide.learned_error == 1.0
    said = [" ".join(getattr(block, "text", "") for block in page(each)[0].promise.headline) for each in (found, wide)]
    assert ["decides nothing" in each for each in said] == [False, True]


def test_a_pilot_from_which_nothing_is_learned_without_a_shuffle_either_says_so(found):
    """Mutant: settings are named as if one of them taught something."""
    blind = replace(found, tried=tuple(replace(each, learned=1 + each.learned) for each in found.tried))
    said = [" ".join(getattr(block, "text", "") for block in page(each)[0].promise.headline) for each in (found, blind)]
    assert ["No setting teaches anything" in each for each in said] == [False, True]


def test_a_setting_is_grayed_only_for_a_difference_of_lambda_beyond_chance(found):
    def tried(learned, error):
        return replace(found.tried[2], learned=learned, rho=0.5, learned_error=error)

    def grayed(error):
        some = (tried(0.3, error), tried(0.4, error))
        return is_dominated(some[1], replace(found, by_rho=True, tried=(found.none, found.uniform, *some)))

    assert (grayed(0.01), grayed(0.2)) == (True, False)


def test_the_terminal_says_what_chance_leaves_why_fewer_are_named_and_that_answers_are_made_up(found):
    def said(explored):
        return " ".join(getattr(block, "text", "") for block in page(explored)[0].promise.headline)

    one = replace(found, picks={"balanced": found.picks["balanced"]})
    assert "No more settings are named" in said(one)
    assert "Fewer than" not in said(replace(one, picks=dict.fromkeys(("balanced", "hides more", "shows more"), 2)))
    assert f"Chance leaves a rho of {percent(found.uniform.rho)}" in said(one)
    assert "answers are made up" in said(replace(found, made_up=True))
    assert "answers are made up" not in said(found)
    assert "No setting is named" in said(replace(found, picks={}))
    assert "No setting is named" not in said(one)


def test_no_table_of_the_page_is_wider_than_it_and_together_they_have_all_numbers(found):
    def inside(blocks):
        return [each for block in blocks for each in (block, *inside(block.inside))]

    tables = [block for block in inside(page(found)[0].sections[1].blocks) if isinstance(block, Table)]
    whole = [table for table in tables if Medium.PAGE not in table.on]
    kept = [table for table in tables if Medium.PAGE in table.on]
    assert len(kept) == 2 * len(whole) > 0
    assert all(len(table.columns) <= 9 for table in kept)
    for each, choice, details in zip(whole, kept[::2], kept[1::2], strict=True):
        assert {column.head for column in choice.columns + details.columns} == {column.head for column in each.columns}
        for row, one, other in zip(each.rows, choice.rows, details.rows, strict=True):
            assert set(map(str, row)) == set(map(str, one + other))


def test_names_of_attacks_are_short_in_a_table(found):
    guessed = replace(found.tried[0].guessed, attack="the commonest answer")
    row = _row(replace(found.tried[0], guessed=guessed), "")
    assert [cell.note for cell in row if isinstance(cell, Cell) and cell.note] == ["commonest"]


@pytest.mark.deep
def test_guarantees_do_not_depend_on_answers(people, found):
    made_up = read_pilot(task(), people / "public.csv", people)
    assert made_up.made_up
    again = explore(task().column, made_up, alphas=(4.0,), reaches=(2.0,))
    same = [each for each in found.tried if each.setting in [one.setting for one in again.tried]]
    assert len(same) == 6
    assert [each.protected for each in again.tried] == [each.protected for each in same]
    assert [each.guessed for each in again.tried] != [each.guessed for each in same]


def test_no_attack_names_reports_more_often_than_is_promised(found):
    for each in found.tried:
        assert each.protected.named_by_attack <= each.protected.named_most
        assert each.protected.named_median <= each.protected.named_most
        assert each.protected.central_median <= each.protected.central_most <= found.epsilon0


@pytest.mark.deep
def test_what_is_found_is_the_same_each_time_and_survives_json(people, found):
    pilot = read_pilot(task(), people / "pilot.csv", people)
    again = explore(task().column, pilot, alphas=(4.0, 64.0), reaches=(1.0,))
    assert json.loads(json.dumps(again.to_dict())) == json.loads(json.dumps(found.to_dict()))


def page(found):
    groups = section_of(task().column)[1]
    document = exploration_document(found, name="by age", digest="0" * 64, value="ill", groups=groups)
    return document, page_of(document).decode()


def test_the_page_says_that_a_pilot_is_data_and_has_nothing_to_quote(found):
    document, html = page(found)
    assert "must not answer the collection" in html
    assert "carries no guarantee" in html
    assert not document.quote
    assert "To quote" not in html
    assert not document.charts  # a picture as a file would lose the banner
    html = page(replace(found, made_up=True))[1]
    assert "DEMONSTRATION" in html
    assert "made-up answers" in html


def test_the_lines_to_paste_make_the_setting(found):
    groups = section_of(task().column)[1]
    for each in found.tried[2:]:
        lines = tomllib.loads("\n".join(task_lines(each.setting, groups)))
        table = {**task().to_dict()["groups"], **lines["groups"]}
        pasted = task(shuffler=lines["shuffler"], groups={k: v for k, v in table.items() if v})
        section = pasted.column.shuffler
        assert section.kind == each.setting.mechanism.partition(",")[0]
        assert section.alpha == each.setting.alpha
        assert section.groups.radius == each.setting.reach
        assert (getattr(section, "delta", None) or 0.0) == each.setting.delta


@pytest.mark.deep
def test_groups_that_do_not_overlap_are_shuffled_uniformly_and_alpha_costs_nothing(people):
    labels = task(groups={"column": "job"})
    found = explore(labels.column, read_pilot(labels, people / "pilot.csv", people))
    assert [(each.setting.mechanism, each.setting.alpha) for each in found.tried[2:]] == [
        ("mallows", 0.0)
    ]  # as in plan
    assert not found.overlapping
    document = exploration_document(found, name="x", digest="0" * 64, value="ill", groups=section_of(labels.column)[1])
    assert "alpha = 0 hides most" in page_of(document).decode()
    with pytest.raises(InvalidParameterError, match="--reach must be left out"):
        explore(labels.column, read_pilot(labels, people / "pilot.csv", people), reaches=(1.0,))


@pytest.mark.deep
def test_several_answers_and_numbers_of_neighbors_are_explored_too(people):
    several = task(
        randomizer={"kind": "k-rr", "epsilon0": 2.0, "categories": ["no", "yes", "perhaps"]},
        groups={"columns": ["age"], "neighbors": 20},
        public=["age"],
    )
    found = explore(several.column, read_pilot(several, people / "pilot.csv", people), alphas=(8.0,), reaches=(5.0,))
    assert {each.setting.reach for each in found.tried[2:]} == {5.0, 20.0}
    assert 0 <= found.uniform.rho <= found.none.rho <= 1


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"shuffler": {"kind": "uniform"}, "groups": None}, "must have a table"),
        ({"randomizer": {"kind": "oue", "epsilon0": 2.0, "categories": ["no", "yes"]}}, "kind 'k-rr'"),
    ],
)
def test_tasks_of_other_kinds_are_refused(people, changes, match):
    base = {key: value for key, value in (task().to_dict() | changes).items() if value is not None}
    with pytest.raises(InvalidParameterError, match=match):
        read_pilot(Task.from_dict(base), people / "pilot.csv", people)


def test_files_that_do_not_fit_are_refused_without_an_answer(people, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("age,job,ill\n20,a,no\n21,b,yes\n")
    with pytest.raises(InvalidParameterError, match="at least 50 people; got 2"):
        read_pilot(task(), few, tmp_path)
    without = tmp_path / "without.csv"
    without.write_text("age,ill\n20,no\n")
    with pytest.raises(InputDataError, match="lacks 'job'"):
        read_pilot(task(), without, tmp_path)
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("age,job,ill\n" + "20,a,secret\n" * 60)
    with pytest.raises(InputDataError) as error:
        read_pilot(task(), wrong, tmp_path)
    assert "secret" not in str(error.value)
    twice = tmp_path / "twice.csv"
    twice.write_text("age,job,ill,ill\n" + "20,a,no,no\n" * 60)
    with pytest.raises(InputDataError, match="several"):
        read_pilot(task(), twice, tmp_path)


def test_the_nearest_match_is_the_simulated_attack():
    draw = np.random.default_rng(0)
    starts, lie, keep = np.array([0, 5, 12]), 0.3, 0.7
    ranks = np.concatenate([draw.permutation(5), 5 + draw.permutation(7)])
    exact, landed = nearest_match_success(ranks, starts, keep, lie), np.argsort(ranks)
    for person in (0, 2, 6, 11):
        block = np.arange(0, 5) if person < 5 else np.arange(5, 12)
        hits = 0.0
        for _ in range(4000):
            says = draw.random(12) < lie
            says[landed[person]] = draw.random() < keep
            seen = block[says[block]]
            if seen.size:
                nearest = seen[np.abs(seen - person) == np.abs(seen - person).min()]
                hits += (landed[person] in nearest) / nearest.size
        assert exact[person] == pytest.approx(hits / 4000, abs=0.04)


def test_rho_by_a_permutation_is_what_drawn_runs_say():
    answers = np.arange(300) % 2
    near = similar_people(Groups.from_radius(np.arange(300) // 10, 2))
    model = KaryRandomizedResponse(epsilon0=1.5, domain_size=2)
    attacks = PilotAttacks(answers, np.asarray(model.model.channel().matrix), near)
    shuffler = NoisySortShuffler(groups=Groups.from_radius(np.arange(300), 5), alpha=3.0)
    numbers = iter(range(10**6))

    def randomize(held):
        return model.randomize(held, source=SeededSource(next(numbers))).columns["value"].astype(int)

    star = shuffler.draw(source=SeededSource(1))
    exact = attacks.rho(star, randomize)
    attacks._always = None  # then runs are drawn
    assert exact == pytest.approx(attacks.rho(star, randomize), abs=0.05)


def test_made_up_answers_change_along_the_order_and_stretches_stay_inside_blocks():
    order = np.random.default_rng(0).permutation(3000)
    answers = made_up_answers(order, 3)
    along = answers[order]
    assert [int(np.bincount(part).argmax()) for part in np.array_split(along, 5)][::2] == [0, 1, 2]
    assert np.array_equal(answers, made_up_answers(order, 3))
    found = stretches(np.arange(10), np.array([0, 4, 10]), 3)
    assert found.tolist() == [0, 0, 0, 1, 2, 2, 2, 3, 3, 3]


def test_the_one_shuffle_of_groups_that_do_not_overlap_has_the_name_that_plans_give_it():
    """Mutant: a noisy sort, which at alpha 0 is the same shuffle."""
    apart = Grouping(Groups.from_labels(np.repeat(np.arange(4), 10)))
    assert [(each.mechanism, each.alpha) for each in _settings({None: apart}, None, (), 1e-6, 40)] == [("mallows", 0.0)]
