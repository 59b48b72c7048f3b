"""The commands that account without data."""

import json
import math
import re

import pytest

from cli.running import refused, shuffledp, write_task
from shuffledp.accounting import THEOREMS, account, examine
from shuffledp.core.local_models import ProtocolModel
from shuffledp.planning import calibrate
from shuffledp.randomizers import KaryRandomizedResponseModel, LdpModel
from shuffledp.shufflers import UniformShuffleModel
from shuffledp.survey import Task

LDP = ("account", "--epsilon0", 1, "--users", 10_000, "--delta", 1e-6)


def text(*arguments):
    result = shuffledp(*arguments)
    assert (result.code, result.err) == (0, "")
    return " ".join(result.out.split())


def protocol(local, users=10_000):
    return ProtocolModel(local=local, shuffle=UniformShuffleModel(num_users=users))


def without_time(printed):
    return {key: value for key, value in printed.items() if key != "seconds"}


# ---- account --------------------------------------------------------------------------------------------------------


def test_an_account_says_what_holds_what_it_means_and_how_far_it_is_from_the_best():
    found = examine(protocol(LdpModel(epsilon0=1.0)), delta=1e-6)
    lines = shuffledp(*LDP).out.splitlines()
    assert lines[0] == "epsilon <= 0.04321   delta 1e-06   10,000 reports, each epsilon0 = 1"
    assert len(lines) == 5
    assert lines[-1].startswith("`--sharp` works out bounds that take seconds, which may be less")
    said = text(*LDP, "-v")
    assert " ".join(str(found.upper).split()) in said
    assert all(hypothesis.text in said for hypothesis in found.upper.basis.hypotheses)
    assert re.search(r"guesses right between two at most 5\d\.\d% of the time", said)
    assert re.search(
        r"The best possible epsilon is between 0\.03\d+ and 0\.0\d+: what is stated is at most 1\.\d+", said
    )
    assert re.search(r"has epsilon0 = 1; shuffling 10,000 of them divides that by 2\d\.\d\.", said)
    assert "theorem " not in said


SUM = """name = "t"
value = "v"
[people]
expected = 200
fakes = 20
[protocol]
kind = "KIND"
epsilon = 2.0
lower = 0
upper = 1
dropout_fraction = 0.2
[shuffler]
kind = "imperfect"
imperfection = 0.01
[release]
delta = 1e-6
minimum_batch = 100
"""


@pytest.mark.parametrize("kind", ["split-and-mix", "counted-bits"])
def test_messages_of_fake_senders_are_counted_too(kind, tmp_path):
    (tmp_path / "task.toml").write_text(
        SUM.replace("KIND", kind).replace('kind = "imperfect"\nimperfection = 0.01', 'kind = "uniform"')
    )
    said = text("account", tmp_path / "task.toml")
    each = Task.read(tmp_path / "task.toml").column.randomizer.randomizer().num_messages
    assert f"{200 * each:,} messages of 200 people" in said


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["split-and-mix", "counted-bits"])
def test_rounds_with_fake_senders_are_drawn(kind, tmp_path):
    (tmp_path / "task.toml").write_text(SUM.replace("KIND", kind))
    drawn = shuffledp("account", tmp_path / "task.toml", "--figure", tmp_path / "drawn.html")
    assert drawn.code == 0, drawn.err
    assert (tmp_path / "drawn.html").exists()


def test_sharp_works_out_the_bounds_that_take_seconds_and_lists_them():
    asked = ("account", "--epsilon0", 0.25, "--users", 10_000, "--delta", 1e-6, "--table")
    plain, sharp = shuffledp(*asked).out, shuffledp(*asked, "--sharp").out
    assert plain.startswith("epsilon <= 0.007988 ")
    assert ("`--sharp`" in plain, "`--sharp`" in sharp) == (True, False)
    assert "swap-bound" not in plain
    assert re.match(r"epsilon <= 0\.00753\d ", sharp)
    assert re.search(r"\nswap-bound +<= 0\.00753\d .*proven in this project", sharp)
    assert re.search(r"upper / lower = 1\.00[0-5]", sharp)
    assert shuffledp(*asked, "--sharp", "--published-only").out.startswith("epsilon <= 0.00")
    assert "swap-bound" not in shuffledp(*asked, "--sharp", "--published-only").out


def test_several_releases_hint_at_the_bounds_that_take_seconds_as_one_release_does():
    hint = "`--sharp` works out bounds that take seconds"
    assert hint in text(*LDP, "--releases", 4)
    assert hint not in text(*LDP, "--releases", 4, "--published-only")
    assert hint not in text("account", "--epsilon0", 1, "--users", 10_000, "--delta", 1e-12, "--releases", 4)


def test_where_the_swap_bound_does_not_apply_sharp_says_which_hypothesis_fails():
    asked = ("account", "--epsilon0", 1, "--users", 10_000, "--delta", 1e-13)
    reason = "`--sharp` adds nothing: the swap bound does not apply (needs delta >= 1e-12; got delta=1e-13)."
    assert reason in text(*asked, "--sharp")
    assert "does not apply" not in text(*asked)
    several = text("account", "--epsilon0", 1, "--users", 10_000, "--delta", 1e-12, "--releases", 4, "--sharp")
    assert "got delta=2.5e-13 for each of 4 releases)" in several
    assert "does not apply" not in text(*asked, "--sharp", "--randomizer", "k-rr", "--categories", 10)  # within 2 %


def test_json_of_an_account_is_that_of_the_library_with_numbers_at_the_top_for_scripts():
    printed = shuffledp(*LDP, "--json").json
    assert without_time(printed) == without_time(examine(protocol(LdpModel(epsilon0=1.0)), delta=1e-6).to_dict())
    assert printed["epsilon_upper"] == printed["statements"][0]["guarantee"]["epsilon"]
    assert printed["epsilon_lower"] == printed["statements"][1]["guarantee"]["epsilon"]
    assert (printed["epsilon0"], printed["theorem"]) == (1.0, printed["statements"][0]["basis"]["theorem"])
    assert 0 < printed["seconds"] < 60


def test_a_kind_of_randomizer_is_described_by_its_options():
    printed = shuffledp(*LDP, "--randomizer", "k-rr", "--categories", 10, "--json").json
    model = protocol(KaryRandomizedResponseModel.from_epsilon0(epsilon0=1.0, domain_size=10))
    assert ProtocolModel.from_dict(printed["model"]) == model
    assert printed["epsilon_upper"] == account(model, delta=1e-6).guarantee.epsilon


def test_a_task_is_described_by_its_file(folder):
    printed = shuffledp("account", "task.toml", "--users", 500, "--json").json
    model = Task.read("task.toml").column.model(500)
    assert ProtocolModel.from_dict(printed["model"]) == model
    assert (printed["delta"], printed["num_users"]) == (1e-6, 500)
    assert shuffledp("account", "task.toml", "--users", 500, "--delta", 1e-4, "--json").json["delta"] == 1e-4
    write_task(folder, people={"expected": 700})
    assert shuffledp("account", "task.toml", "--json").json["num_users"] == 700


def test_a_matrix_is_described_by_its_file(folder):
    (folder / "matrix.csv").write_text("0.75,0.25\n0.25,0.75\n", encoding="utf-8")
    printed = shuffledp("account", "--channel", "matrix.csv", "--users", 5000, "--delta", 1e-6, "--json").json
    binary = protocol(KaryRandomizedResponseModel.from_epsilon0(epsilon0=math.log(3), domain_size=2), 5000)
    assert printed["epsilon0"] == pytest.approx(math.log(3))
    assert printed["epsilon_upper"] == pytest.approx(account(binary, delta=1e-6).guarantee.epsilon, rel=1e-3)


def test_a_matrix_that_is_not_locally_private_is_accounted_for_where_the_shuffle_alone_protects(folder):
    (folder / "matrix.csv").write_text("0.999,0.001,0\n0.998,0.001,0.001\n", encoding="utf-8")
    options = ("account", "--channel", "matrix.csv", "--users", 5000, "--delta")
    assert "One report by itself is not locally private (epsilon0 is infinite)" in text(*options, 0.01, "-v")
    assert shuffledp(*options, 0.01, "--json").json["epsilon0"] == "inf"
    message = refused(2, *options, 1e-6)
    assert "is not locally private (some output is impossible for one input and not for another" in message


def test_the_table_lists_every_theorem_with_its_number_or_its_reason():
    applying = shuffledp(*LDP, "--table").out
    assert "fmt21-closed" in applying
    assert "efmrtt19-closed" not in applying
    assert re.search(r"^\d+ theorems more do not apply here; -v says why\.$", applying, re.MULTILINE)
    said = text(*LDP, "--table", "-v")
    for theorem in THEOREMS:
        assert f" {theorem.id} " in said
    assert "efmrtt19-closed - needs epsilon0 <= 0.5; got epsilon0=1" in said
    assert re.search(r"fmt21-closed <= 0\.2141 Feldman, McMillan, Talwar 2021", said)
    assert re.search(r"upper / lower = 1\.\d+ The limit of many people is a Gaussian mechanism; for 10,000", said)
    printed = shuffledp(*LDP, "--table", "--json").json
    assert printed["epsilon_lower"] / 1.2 < printed["limit"]["upper"] < printed["epsilon_upper"] * 1.2
    assert [each["theorem"] for each in printed["theorems"]] == [theorem.id for theorem in THEOREMS]
    assert shuffledp(*LDP, "--json").json["theorems"] == []


def test_beside_a_promise_for_several_releases_all_that_is_about_one_says_so(folder):
    said = text(*LDP, "--releases", 9, "--table", "--figure", "all.html")
    assert "For one release each: theorem epsilon local-dp" in said
    assert "For one release, the limit of many people is a Gaussian mechanism" in said
    page = " ".join((folder / "all.html").read_text(encoding="utf-8").split())
    assert len(re.findall(r"<h3>Epsilon against [^<]*, for one release</h3>", page)) == 3
    assert page.count("All of this is about one release; the promise above is about 9.") == 3
    assert "What each theorem says about 10,000 users at delta = 1e-06, for one release" in page
    assert shuffledp(*LDP, "--releases", 9, "--figure", "all.svg").code == 0
    assert "delta = 1e-06, for one release" in (folder / "all.svg").read_text(encoding="utf-8")
    assert "one release" not in text(*LDP, "--table")


def test_published_theorems_alone_promise_less():
    printed = shuffledp(*LDP, "--published-only", "--table", "--json").json
    assert printed["statements"][0]["basis"]["status"] == "published"
    assert printed["epsilon_upper"] > shuffledp(*LDP, "--json").json["epsilon_upper"]
    assert all(each["status"] == "published" for each in printed["theorems"] if each["kind"] == "upper-bound")


def test_renyi_releases_colluders_and_a_local_remainder_are_options():
    orders = shuffledp(*LDP, "--renyi", "32,2", "--json").json["statements"][-1]["guarantee"]
    assert (orders["type"], orders["orders"]) == ("renyi-dp", [2.0, 32.0])
    assert "Renyi divergence of at most" in text(*LDP, "--renyi", "2,32")
    often = shuffledp(*LDP, "--releases", 9, "--json").json
    assert often["releases"] == 9
    assert often["epsilon_upper"] > 2 * often["epsilon_lower"]
    part = shuffledp(*LDP, "--honest-fraction", 0.5, "--json").json
    half = shuffledp("account", "--epsilon0", 1, "--users", 5000, "--delta", 1e-6, "--json").json
    assert part["epsilon_upper"] == half["epsilon_upper"]
    local = shuffledp(*LDP, "--local-delta", 1e-13, "--json").json
    assert local["model"]["local"]["delta0"] == 1e-13
    assert local["epsilon_upper"] >= shuffledp(*LDP, "--json").json["epsilon_upper"]


def test_one_person_gets_no_amplification_and_is_told_so():
    said = text("account", "--epsilon0", 1, "--users", 1, "--delta", 1e-6, "-v")
    assert "no amplification by shuffling: a single report has no others to hide among" in " ".join(said.split())
    assert "divides that by" not in said


@pytest.mark.parametrize("ending", ["html", "svg"])
def test_a_figure_is_drawn_into_a_new_file(folder, ending):
    assert shuffledp(*LDP, "--figure", f"all.{ending}").out.endswith(f"\nFigure: all.{ending}\n")
    start = {"html": b"<!DOCTYPE html>", "svg": b"<?xml"}[ending]
    assert (folder / f"all.{ending}").read_bytes().startswith(start)
    assert "--figure must be a file that does not exist yet; got 'all." in refused(2, *LDP, "--figure", f"all.{ending}")


def test_the_promises_that_a_figure_draws_can_be_chosen(folder):
    shuffledp(*LDP, "--figure", "some.html", "--theorems", "fmt21-pair,strong-pair")
    drawn = (folder / "some.html").read_text(encoding="utf-8")
    assert all(name in drawn for name in ("fmt21-pair (Feldman et al. 2021)", "strong-pair", "ldp-witness"))
    assert "balle19-bennett" not in drawn
    wrong = (*LDP, "--figure", "other.svg", "--theorems")
    assert "theorems must be one of 'local-dp', 'efmrtt19-closed'" in refused(2, *wrong, "fmt21-pair,none")
    assert "'swap-bound' takes seconds: add --sharp." in refused(2, *wrong, "strong-pair,swap-bound")
    assert "got 'swap-bound'" in refused(2, *wrong, "swap-bound", "--published-only")
    assert "got 'strong-pair'" in refused(2, *wrong, "strong-pair", "--published-only")
    assert "--theorems must be left out without --figure" in refused(2, *LDP, "--theorems", "strong-pair")


@pytest.mark.parametrize("ending", ["html", "svg"])
def test_a_figure_is_drawn_where_one_report_is_not_locally_private(folder, ending):
    (folder / "matrix.csv").write_text("0.6,0.399999999,0.000000001\n0.4,0.6,0\n", encoding="utf-8")
    options = ("--channel", "matrix.csv", "--users", 5000, "--delta", 1e-6, "--figure", f"all.{ending}")
    assert "(epsilon0 is infinite)" in text("account", *options, "-v")
    drawn = (folder / f"all.{ending}").read_text(encoding="utf-8")
    assert "<path" in drawn
    assert "epsilon0 = infinite" in drawn
    assert not re.search(r"\bnan\b", drawn)


def test_where_nothing_is_lost_there_is_no_figure_to_draw(folder):
    (folder / "matrix.csv").write_text("0.5,0.5\n0.5,0.5\n", encoding="utf-8")
    options = ("account", "--channel", "matrix.csv", "--users", 5000, "--delta", 1e-6)
    assert "there is nothing to draw; got a randomizer with epsilon0=0" in refused(2, *options, "--figure", "all.svg")
    assert not (folder / "all.svg").exists()
    assert shuffledp(*options, "--json").json["epsilon_upper"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon0", 1), "--users must be given"),
        (("--epsilon0", 1, "--users", 10), "--delta must be given"),
        (("--users", 10, "--delta", 1e-6), "--epsilon0 must be given, or --channel FILE, or a task file"),
        (
            ("--epsilon0", 1, "--users", 0, "--delta", 1e-6),
            "shuffledp: --users must be an integer that is 1 or more; got 0.",
        ),
        (("--epsilon0", 0, "--users", 9, "--delta", 1e-6), "epsilon0 must be a finite number above 0"),
        (("--epsilon0", "inf", "--users", 9, "--delta", 1e-6), "epsilon0 must be a finite number above 0"),
        (("--epsilon0", "nan", "--users", 9, "--delta", 1e-6), "epsilon0 must be a finite number above 0"),
        (("--epsilon0", 1, "--users", 9, "--delta", 0), "delta must be a number strictly between 0 and 1"),
        (("--epsilon0", 1, "--users", 9, "--delta", 1), "delta must be a number strictly between 0 and 1"),
        ((*LDP[1:], "--randomizer", "k-rr"), "--categories must be given for randomizer 'k-rr'"),
        ((*LDP[1:], "--categories", 4), "--categories must be left out for randomizer 'ldp'"),
        ((*LDP[1:], "--randomizer", "shout"), "randomizer must be one of"),
        ((*LDP[1:], "--randomizer", "laplace-mean"), "give a task file in place of options"),
        ((*LDP[1:], "--channel", "matrix.csv"), "--epsilon0 must be left out beside --channel"),
        (("--channel", "none.csv", "--users", 9, "--delta", 1e-6), "channel must be a file that can be read"),
        ((*LDP[1:], "--local-delta", 2), "shuffledp: --local-delta must be a number from 0 to 1; got 2.0."),
        ((*LDP[1:], "--releases", 0), "releases must be an integer that is 1 or more"),
        ((*LDP[1:], "--renyi", "1"), "shuffledp: --renyi must be above 1"),
        (
            (*LDP[1:], "--randomizer", "k-rr", "--categories=1"),
            "shuffledp: --categories must be an integer that is 2 or more; got 1.",
        ),
        ((*LDP[1:], "--renyi", "2;8"), "--renyi must be orders with commas between them"),
        ((*LDP[1:], "--honest-fraction", 0), "shuffledp: --honest-fraction must be a finite number above 0; got 0.0."),
        ((*LDP[1:], "--figure", "all.png"), "figure must be one of '.html', '.svg'"),
        (("task.toml", "--epsilon0", 1), "--epsilon0 must be left out beside a task file"),
        (("task.toml",), "--users must be given"),
    ],
    ids=str,
)
def test_options_that_make_no_protocol_are_refused(folder, arguments, message):
    assert message in refused(2, "account", *arguments)
    assert [file.name for file in folder.iterdir() if file.suffix in (".html", ".pdf")] == []


def test_a_matrix_that_is_none_is_refused_with_its_line(folder):
    (folder / "matrix.csv").write_text("0.5,0.5\n0.5,0.4\n", encoding="utf-8")
    options = ("account", "--channel", "matrix.csv", "--users", 10, "--delta", 1e-6)
    assert "rows that sum to 1; line 2 does not" in refused(3, *options)


# ---- calibrate ------------------------------------------------------------------------------------------------------


TARGET = ("calibrate", "--target-epsilon", 0.5, "--delta", 1e-6)


def test_the_largest_epsilon0_is_found_for_a_number_of_users():
    found = calibrate.epsilon0(target_epsilon=0.5, delta=1e-6, num_users=10_000)
    said = text(*TARGET, "--users", 10_000)
    shown = float(re.search(r"Wanted: epsilon = 0\.5\. .* is epsilon0 = ([\d.]+)\. ", said)[1])
    assert found.value * (1 - 1e-5) < shown <= found.value
    printed = shuffledp(*TARGET, "--users", 10_000, "--json").json
    assert without_time(printed) == without_time(json.loads(json.dumps(found.to_dict())))


def test_the_fewest_users_are_found_for_an_epsilon0():
    found = calibrate.num_users(target_epsilon=0.5, delta=1e-6, epsilon0=4.0, randomizer="k-rr", domain_size=10)
    options = ("--epsilon0", 4, "--randomizer", "k-rr", "--categories", 10)
    assert f"The fewest people that lead there are {found.value:,}." in text(*TARGET, *options)
    assert shuffledp(*TARGET, *options, "--json").json["value"] == found.value


def test_a_calibration_says_where_bounds_that_take_seconds_may_promise_less():
    said = "Found with the bounds that are there at once; those that take seconds (`account --sharp`) may promise less."
    target = ("calibrate", "--target-epsilon", 0.05, "--delta", 1e-6, "--epsilon0", 1)
    assert said in text(*target)
    assert said not in text(*target, "--published-only")
    assert said not in text(*TARGET, "--users", 10_000, "--randomizer", "k-rr", "--categories", 2)  # a tight bound
    unary = ("--target-error", 0.02, "--target-epsilon", 0.05, "--randomizer", "oue", "--categories", 2)
    assert said in text("calibrate", "--delta", 1e-6, *unary)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "got neither"),
        (("--users", 5, "--epsilon0", 1), "got both"),
        (("--epsilon0", 0.5), "no shuffling is needed"),
        (("--users", 0), "shuffledp: --users must be an integer that is 1 or more; got 0."),
        (("--users", 10, "--randomizer", "k-rr"), "--categories must be given for randomizer 'k-rr'"),
        (("--users", 10, "--randomizer", "priv-unit"), "(dimension): for this one, try epsilon0 in a task with `plan`"),
    ],
    ids=str,
)
def test_what_cannot_be_solved_is_refused_with_the_reason(arguments, message):
    assert message in refused(2, *TARGET, *arguments)


def test_a_target_out_of_reach_is_refused_with_what_can_be_reached():
    message = refused(2, "calibrate", "--target-epsilon", 1e-9, "--delta", 1e-6, "--epsilon0", 1)
    assert "which is what 10,000,000,000 people are known to give" in message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--epsilon0", 1), "--randomizer must be named beside --target-error"),
        (("--target-epsilon", 0.1), "--randomizer must be named beside --target-error"),
        (("--target-epsilon", 0.1, "--randomizer", "k-rr"), "--categories must be given"),
    ],
)
def test_what_an_error_depends_on_is_asked_for_whatever_is_looked_for(given, said):
    assert said in refused(2, "calibrate", "--target-error", 0.02, "--delta", 1e-6, *given)
