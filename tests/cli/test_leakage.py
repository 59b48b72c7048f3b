"""The command about what can be guessed about one person."""

import re

import pytest

from cli.networks import PEOPLE, make_folder
from cli.running import refused, shuffledp, write_csv, write_task
from shuffledp.core.local_models import ProtocolModel
from shuffledp.laws import DISTANCES
from shuffledp.leakage import examine_target, target_vulnerability
from shuffledp.protocols.family import NamedShuffle, ShufflerKind
from shuffledp.protocols.shares.shufflers.imperfect import ImperfectShuffleModel
from shuffledp.randomizers import model_of_kind
from shuffledp.shufflers import IdentityShuffleModel, UniformShuffleModel, UniformShuffler
from shuffledp.shufflers.shuffler_kinds import KINDS
from shuffledp.survey import Task

THREE = ("leakage", "--categories", 3, "--epsilon0", 1)


def text(*arguments):
    result = shuffledp(*arguments)
    assert (result.code, result.err) == (0, "")
    return " ".join(result.out.split())


def protocol(users, shuffle=None, size=3):
    local = model_of_kind("k-rr", epsilon0=1.0, domain_size=size)
    return ProtocolModel(local=local, shuffle=shuffle or UniformShuffleModel(num_users=users))


def test_it_opens_with_a_sentence_and_says_the_kind_of_every_number(folder):
    said = text(*THREE, "--users", 30)
    assert said.startswith("right 36.6% before 33.3% 30 reports, each epsilon0 = 1 After seeing the shuffled table, ")
    assert "the best guess about one person is right 36.6% of the time" in said
    for name in ("prior vulnerability 0.333333", "posterior vulnerability", "additive leakage", "capacity"):
        assert name in said
    assert said.count("exact") == 4
    assert "households, leak more" in said
    assert "way people" not in said


def test_more_people_than_are_evaluated_are_refused_by_the_name_of_the_option():
    for people in ("10000000001", "1" + 30 * "0"):
        assert "--users must be at most 10,000,000,000" in refused(2, *THREE, "--users", people)


def test_the_household_of_a_task_is_read_where_none_is_asked_for(tmp_path):
    write_task(tmp_path, people={"expected": 100, "household": 4})
    at_home = shuffledp("leakage", tmp_path / "task.toml", "--agreement", 0.5, "--json").json["household"]
    assert (at_home["household"], at_home["agreement"]) == (4, 0.5)
    asked = shuffledp("leakage", tmp_path / "task.toml", "--household", 2, "--json").json["household"]
    assert asked["household"] == 2
    assert "household" not in shuffledp("leakage", tmp_path / "task.toml", "--adversary", "strong", "--json").json
    write_task(tmp_path, people={"expected": 100})
    assert "household" not in shuffledp("leakage", tmp_path / "task.toml", "--json").json


def test_json_is_that_of_the_library(folder):
    printed = shuffledp(*THREE, "--users", 30, "--prior", "1/5,0.3,0.5", "--compare", "--json").json
    expected = examine_target(protocol(30), prior=[0.2, 0.3, 0.5], compare=True).to_dict()
    assert printed | {"seconds": 0} == expected | {"seconds": 0}
    assert printed["posterior"] == pytest.approx(printed["prior"] + printed["additive_leakage"])


@pytest.mark.parametrize(
    ("option", "shuffle"),
    [
        ("uniform", UniformShuffleModel(num_users=20)),
        ("none", IdentityShuffleModel(num_users=20)),
        ("imperfect:0.5", ImperfectShuffleModel(num_users=20, imperfection=0.5, construction="assumed")),
    ],
)
def test_a_shuffler_is_described_by_its_option(folder, option, shuffle):
    printed = shuffledp(*THREE, "--users", 20, "--shuffler", option, "--json").json
    assert ProtocolModel.from_dict(printed["model"]) == protocol(20, shuffle)
    assert printed["posterior"] == target_vulnerability(protocol(20, shuffle)).value


def test_a_mallows_shuffle_tells_more_than_a_uniform_one_and_less_than_none(folder):
    found = [
        shuffledp(*THREE, "--users", 6, "--shuffler", option, "--json").json["posterior"]
        for option in ("uniform", "mallows:0", "mallows:0.5", "none")
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-12)
    assert found[1] < found[2] < found[3]


def test_a_task_brings_its_answers_and_its_shuffler(folder):
    said = text("leakage", "task.toml", "--users", 2, "-v")
    assert "reports seen of No, Yes probability" in said
    assert "2, 0" in said
    printed = shuffledp("leakage", "task.toml", "--users", 500, "--json").json
    assert ProtocolModel.from_dict(printed["model"]) == Task.read("task.toml").column.model(500)
    write_task(folder, people={"expected": 70}, shuffler={"kind": "none"})
    printed = shuffledp("leakage", "task.toml", "--json").json
    assert (printed["num_users"], printed["model"]["shuffle"]["kind"]) == (70, "none")


def test_a_gain_is_read_from_its_file(folder):
    (folder / "gain.csv").write_text("1,0,0\n0,1,1\n\n1/2,.5,0.5\n", encoding="utf-8")
    printed = shuffledp(*THREE, "--users", 9, "--gain", "gain.csv", "--json").json
    gain = [[1, 0, 0], [0, 1, 1], [0.5, 0.5, 0.5]]
    assert printed["posterior"] == target_vulnerability(protocol(9), gain=gain).value
    assert printed["counts_right"] is False
    assert "is worth 0.66" in text(*THREE, "--users", 9, "--gain", "gain.csv", "--compare")


def test_the_comparison_has_every_way_and_answers_in_words(folder):
    said = text("leakage", "--categories", 5, "--epsilon0", 1, "--users", 1000, "--compare")
    for row in (
        "Nothing seen 20.00% 20.00%",
        "Randomizing only 1,000 0.04781 40.46% 40.46%",
        "Shuffling only 1,000 0 21.66% 100.00%",
        "Shuffling only, a random sample 65 0.048 20.43% 25.20%",
        "Randomizing and shuffling 1,000 0.04781 20.42% 20.45 to 20.67%",
    ):
        assert row in said
    assert " %" not in said


def test_the_comparison_without_a_shuffle_has_no_rows_of_one(folder):
    options = (*THREE, "--users", 30, "--shuffler", "none", "--compare")
    assert [way["name"] for way in shuffledp(*options, "--json").json["comparison"]["ways"]] == ["randomizing"]
    said = text(*options)
    assert "Nothing is shuffled" in said
    assert "huffling only" not in said


def test_what_would_take_too_long_is_bounded_and_says_why(folder):
    options = (*THREE, "--users", 1000, "--prior", "0.3,0.34,0.36")
    printed = shuffledp(*options, "--shuffler", "mallows:0.5", "--json").json
    assert (printed["kind"], printed["method"]) == ("upper-bound", "heaviest")
    assert printed["posterior_lower"] < printed["posterior"] < 0.5761
    said = text(*options, "--shuffler", "mallows:0.5", "--compare", "-v")
    assert "right at most 43.6% of the time" in said
    assert "The exact value would take too long, so this is a bound of it" in said
    assert "Left out: both" not in said


def test_what_can_be_compared_is_shown_where_the_rest_is_refused(folder):
    refusing = ("leakage", "--categories", 4, "--epsilon0", 1, "--users", 2000, "--prior", "0.1,0.2,0.3,0.4")
    refusing = (*refusing, "--method", "quick", "--adversary", "strong")
    assert "takes too long" in refused(2, *refusing)
    assert "takes too long" in refused(2, *refusing, "--compare", "--json")
    said = text(*refusing, "--compare")
    assert said.startswith("The protocol's own number is not known; it is at most that of randomizing only.")
    assert "Randomizing only 2,000" in said
    assert "Left out: both, for the strong adversary" in said


def test_an_uneven_prior_of_a_thousand_people_is_exact(folder):
    options = ("--randomizer", "k-rr", "--categories", 5, "--epsilon0", 1, "--users", 1000)
    printed = shuffledp("leakage", *options, "--prior", "0.2,0.3,0.1,0.1,0.3", "--json").json
    assert (printed["kind"], printed["note"]) == ("exact", "")
    assert printed["additive_leakage"] == pytest.approx(0.00288184, abs=1e-8)


def test_an_imperfect_shuffler_of_a_known_law_says_the_worst_of_all_as_imperfect_ones(folder):
    write_task(folder, shuffler={"kind": "imperfect", "imperfection": 2.0})
    printed = shuffledp("leakage", "task.toml", "--users", 200, "--json").json
    assumed = shuffledp(*THREE[:2], 2, *THREE[3:], "--users", 200, "--shuffler", "imperfect:2", "--json").json
    assert assumed["worst"] is None
    assert printed["worst"]["kind"] == "upper-bound"
    assert printed["kind"] == "exact"
    assert printed["posterior"] < printed["worst"]["value"]
    assert "worst posterior" in text("leakage", "task.toml", "--users", 200)


@pytest.mark.parametrize("distance", ["hamming", "cayley"])
def test_mallows_shuffles_of_other_distances_have_options(folder, distance):
    printed = shuffledp(*THREE, "--users", 20, "--shuffler", f"mallows-{distance}:0.5", "--json").json
    assert (printed["model"]["shuffle"]["distance"], printed["kind"]) == (distance, "exact")


def test_guesses_that_are_as_good_are_marked(folder):
    said = text("leakage", "--categories", 2, "--epsilon0", 1, "--users", 2, "-v")
    assert "1, 1 0.5 0 or 1 50.0%" in said
    assert "Guesses with an 'or' between them are equally good." in said


def test_capacity_is_said_to_be_of_aims_without_losses(folder):
    (folder / "gain.csv").write_text("1,-2\n-2,1\n0,0\n", encoding="utf-8")
    said = text("leakage", "--categories", 2, "--epsilon0", 1, "--users", 10, "--gain", "gain.csv")
    assert "multiplicative leakage inf" in said
    assert "no aim without losses, makes more of it" in said


def test_a_capacity_that_is_only_a_lower_bound_does_not_claim_to_be_the_most(folder):
    said = text(*THREE, "--users", 1000, "--adversary", "strong")
    assert "lower-bound: some belief about the person makes as much of it; others may make more" in said
    assert "no belief" not in said


def test_a_shown_number_is_within_its_shown_interval(folder):
    for shuffler in ("imperfect:0.5", "imperfect:0.7", "imperfect:2"):
        said = text(*THREE, "--users", 50, "--shuffler", shuffler)
        value, least, most = map(
            float, re.search(r"posterior vulnerability (\S+) upper-bound \S+ from (\S+) to (\S+)", said).groups()
        )
        assert least <= value <= most


def test_best_guesses_name_the_kinds_of_reports(folder):
    three = ("--categories", 2, "--epsilon0", 1, "--users", 3, "-v")
    assert "reports seen of 0, 1 probability" in text("leakage", *three)
    said = text("leakage", "--randomizer", "oue", *three)
    assert "reports seen of kinds 0 to 3 probability" in said


def test_an_estimate_is_made_by_name_only(folder):
    wide = ("leakage", "--categories", 4, "--epsilon0", 1, "--users", 10_000, "--prior", "0.1,0.2,0.3,0.4")
    bound = shuffledp(*wide, "--json").json
    assert bound["kind"] == "upper-bound"
    assert "'monte-carlo' estimates it" in bound["note"]
    printed = shuffledp(*wide, "--method", "monte-carlo", "--json").json
    assert (printed["kind"], printed["method"]) == ("estimate", "monte-carlo")
    assert printed["posterior_lower"] <= printed["posterior"] <= printed["posterior_upper"]
    assert "right about 40" in text(*wide, "--method", "monte-carlo")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--users", 5, "--epsilon0", 0), "epsilon0 must be a finite number above 0"),
        (("--users", 5, "--epsilon0", -1), "epsilon0 must be a finite number above 0"),
        (("--users", 0), "--users must be an integer that is 1 or more"),
        ((), "--users must be given"),
        (("--users", 5, "--prior", "0.2,0.2,0.2"), "prior must sum to 1; got another sum"),
        (("--users", 5, "--prior", "0.5,0.5"), "prior must be 3 probabilities"),
        (("--users", 5, "--prior", "1.5,-0.5,0"), "prior must be probabilities of 0 or more"),
        (("--users", 5, "--prior", "a,b,c"), "--prior must be probabilities with commas"),
        (("--users", 5, "--prior", "1/0,1,1"), "--prior must be probabilities with commas"),
        (("--users", 5, "--adversary", "weak"), "adversary must be one of 'uninformed', 'strong'"),
        (("--users", 5, "--method", "guess"), "method must be one of"),
        (("--users", 5, "--shuffler", "cards"), "shuffler must be one of"),
        (("--users", 5, "--shuffler", "mallows"), "--shuffler must be of the form mallows:CONCENTRATION"),
        (("--users", 5, "--shuffler", "uniform:1"), "--shuffler must be of the form uniform"),
        (("--users", 5, "--shuffler", "imperfect:x"), "--shuffler must be of the form imperfect:IMPERFECTION"),
        (("--users", 5, "--shuffler", "imperfect:-1"), "imperfection must be"),
        (("--users", 5, "--gain", "absent.csv"), "gain must be a file that can be read"),
        (("--users", 5, "--randomizer", "olh"), "leakage needs the randomizer as a table"),
    ],
)
def test_bad_input_is_refused_in_one_line(folder, options, said):
    assert said in refused(2, *THREE, *options)


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("1,0\n0,1\n", 2, "gain must be a table with a row for each guess and 3 columns"),
        ("1,0,0\n0,1\n", 3, "must have rows of one length"),
        ("1,0,x\n", 3, "must hold numbers; line 1, entry 3 is none"),
        ("", 3, "must have a row for each guess"),
        ("-1,-1,-1\n", 2, "gain must have a guess worth 0 or more for every view"),
    ],
)
def test_a_bad_gain_is_refused(folder, content, code, said):
    (folder / "gain.csv").write_text(content, encoding="utf-8")
    assert said in refused(code, *THREE, "--users", 5, "--gain", "gain.csv")


def test_options_beside_a_task_are_refused(folder):
    for option in (("--shuffler", "none"), ("--epsilon0", 1), ("--randomizer", "k-rr")):
        said = refused(2, "leakage", "task.toml", "--users", 5, *option)
        assert "left out beside a task file" in said
        assert f"got {option[0]} {option[1]}" in said


def test_a_task_with_groups_reads_public_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "km.csv", ["km"], [[f"{place / 2:.1f}"] for place in range(40)])
    write_task(
        tmp_path, public=["km"], shuffler={"kind": "mallows", "alpha": 4.0}, groups={"columns": ["km"], "radius": 2.0}
    )
    assert "--input must be given for a task with [groups]" in refused(2, "leakage", "task.toml")
    printed = shuffledp("leakage", "task.toml", "--input", "km.csv", "--compare", "--json").json
    assert (printed["num_users"], printed["model"]["shuffle"]["kind"]) == (40, "mallows")
    assert printed["prior"] < printed["posterior"] <= printed["comparison"]["ways"][0]["uninformed"]["value"]
    assert "--users must be left out, or 40" in refused(2, "leakage", "task.toml", "--input", "km.csv", "--users", 41)


def test_a_task_with_a_graph_reads_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path)
    printed = shuffledp("leakage", "task.toml", "--json").json
    assert (printed["num_users"], printed["model"]["shuffle"]["kind"]) == (PEOPLE, "network")
    assert printed["posterior"] > printed["prior"]
    assert "--input must be left out" in refused(2, "leakage", "task.toml", "--input", "people.csv")


def test_one_of_several_columns_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = "".join(
        f'[[value]]\ncolumn = "{name}"\nrandomizer = {{kind = "k-rr", epsilon0 = 1.0, categories = ["a", "b"]}}\n'
        for name in ("smokes", "drinks")
    )
    (tmp_path / "task.toml").write_text(f'name = "two"\n{blocks}[release]\ndelta = 1e-6\n')
    assert "--value COLUMN" in refused(2, "leakage", "task.toml", "--users", 9)
    said = text("leakage", "task.toml", "--users", 9, "--value", "drinks", "-v")
    assert "reports seen of a, b" in said
    assert "--value must be one of 'smokes', 'drinks'" in refused(2, "leakage", "task.toml", "--value", "km")
    assert "--value must be left out without a task file" in refused(2, *THREE, "--users", 9, "--value", "km")


def test_a_comparison_says_why_no_sample_is_in_it(folder):
    for shuffler in ("mallows:1", "imperfect:0.5"):
        said = text(*THREE, "--users", 20, "--shuffler", shuffler, "--compare")
        assert "Left out: a random sample: it is compared with a uniform shuffle only." in said
    assert "Left out" not in text(*THREE, "--users", 20, "--compare")


def test_a_shuffler_of_the_registry_is_known_by_the_names_that_it_gives(folder, monkeypatch):
    def hurried(num_users, haste):
        assert haste == 0.5
        return UniformShuffleModel(num_users=num_users)

    row = ShufflerKind(lambda: UniformShuffler, described={"hurried": NamedShuffle(hurried, "haste")})
    monkeypatch.setitem(KINDS, "hurried", row)
    assert text(*THREE, "--users", 6, "--shuffler", "hurried:0.5") == text(*THREE, "--users", 6)
    assert "hurried:HASTE; got hurried." in refused(2, *THREE, "--users", 6, "--shuffler", "hurried")
    assert "--shuffler must be one of" in refused(2, *THREE, "--users", 6, "--shuffler", "hasty")


def test_every_distance_of_mallows_has_a_name():
    assert set(KINDS["mallows"].described) == {"mallows", *(f"mallows-{distance}" for distance in DISTANCES)}


def test_kendalls_distance_may_be_named(folder):
    both = (
        shuffledp(*THREE, "--users", 6, "--shuffler", f"{kind}:0.5", "--json").json
        for kind in ("mallows", "mallows-kendall")
    )
    named, meant = ({**each, "seconds": 0} for each in both)
    assert named == meant
