"""The commands of a ledger, and the commands that spend from one, as their users type them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from cli.running import refused, shuffledp, task_with, toml, write_answers, write_csv
from shuffledp.core.errors import BudgetExceededError
from shuffledp.core.instants import written
from shuffledp.files import ledger_use
from shuffledp.files.ledger_file import read_ledger_file
from shuffledp.files.ledger_use import charge_collection, inviting, spend_own
from shuffledp.parties.wire.keys import AnalyzerKey, ShufflerKey
from shuffledp.parties.wire.published_keys import PublishedKey
from shuffledp.survey import Collection, Service, Task
from shuffledp.survey.ledgers.ledger_charges import Loss, loss_of_release, read_release, worst_loss
from shuffledp.survey.ledgers.ledger_lines import Charge

NOW = datetime.now(UTC)


def write(folder, name="task.toml", *, epsilon0=0.2, minimum=20, **further):
    task = task_with(
        randomizer={"epsilon0": epsilon0}, shuffler={"kind": "none"}, release={"minimum_batch": minimum}, **further
    )
    (folder / name).write_text(toml(task))
    return folder / name


@pytest.fixture
def year(tmp_path):
    shuffledp("ledger", "new", "--cap", 3, "--delta", 1e-5, "--releases", 20, "--output", tmp_path / "year.ledger")
    write(tmp_path)
    write_answers(tmp_path, ["No", "Yes"] * 15)
    return tmp_path


def run(folder, output, *further):
    return shuffledp(
        "run", folder / "task.toml", "--input", folder / "answers.csv", "--output", folder / output, *further
    )


def shown(folder):
    return json.loads(shuffledp("ledger", "show", folder / "year.ledger", "--json").out)


def test_the_cap_is_told_first_and_is_what_may_be_quoted(year):
    told = shuffledp("ledger", "show", year / "year.ledger").out.splitlines()
    assert told[1] == "epsilon <= 3   delta 1e-05   all releases of this ledger together, whatever decides on them"
    assert told[2].startswith("Quote this cap, and not the running total")


def test_a_run_is_reserved_released_and_marked(year, real_page):
    out = run(year, "one", "--ledger", year / "year.ledger").out
    assert "lose together at most epsilon = 3 at delta = 1e-05" in " ".join(out.split())
    (entry,) = shown(year)["entries"]
    statement = json.loads((year / "one" / "statement.json").read_text())
    assert (entry["state"], entry["people"]) == ("released", 30)
    assert statement["ledger"]["entry"] == entry["id"]
    assert "privacy ledger" in (year / "one" / "release.html").read_text()


def test_a_run_that_does_not_fit_is_refused_with_its_own_exit_code_and_reads_no_answer(year):
    write(year, epsilon0=8.0)
    (year / "answers.csv").unlink()
    error = refused(7, "run", year / "task.toml", "--input", year / "answers.csv", "--output", year / "one",
                    "--ledger", year / "year.ledger")  # fmt: skip
    assert "must fit into the ledger's cap" in error
    assert not (year / "one").exists()
    assert shown(year)["entries"] == []


def test_a_run_that_fails_gives_back_what_it_reserved(year):
    (year / "answers.csv").write_text("cheated\nPerhaps\n")
    refused(3, "run", year / "task.toml", "--input", year / "answers.csv", "--output", year / "one",
            "--ledger", year / "year.ledger")  # fmt: skip
    (entry,) = shown(year)["entries"]
    assert (entry["state"], entry["taken"]) == ("void", 0)


def test_a_sum_is_reserved_for_the_fewest_people_whose_noise_it_needs(tmp_path):
    for releases, name in ((100, "many.ledger"), (2, "year.ledger")):
        new = ("--cap", 9, "--delta", 1e-3, "--releases", releases, "--output", tmp_path / name)
        assert shuffledp("ledger", "new", *new).code == 0
    protocol = {"kind": "split-and-mix", "epsilon": 0.5, "lower": 0, "upper": 9, "dropout_fraction": 0.2}
    task = task_with(randomizer=None, shuffler=None, protocol=protocol, people={"expected": 50})
    (tmp_path / "task.toml").write_text(toml(task))
    write_csv(tmp_path / "answers.csv", [task["value"]], [[each % 10] for each in range(45)])
    said = run(tmp_path, "none", "--ledger", tmp_path / "many.ledger")
    assert (said.code, "fewer --releases, or of a larger --delta" in said.err) == (7, True)
    entries = []
    for name in ("one", "two"):
        assert run(tmp_path, name, "--ledger", tmp_path / "year.ledger").code == 0
        entries = shown(tmp_path)["entries"]
    assert [each["people"] for each in entries] == [45, 45]
    reserved = worst_loss(Task.read(tmp_path / "task.toml"), 1e-5)
    assert (reserved.people, reserved.charge.squared < Charge.of(1.0, 0.0).squared) == (40, True)


def test_a_release_above_its_reservation_counts_in_full(year, monkeypatch):
    """Mutant: it is lowered to what was reserved, without a word."""
    small = Loss(Charge(squared=1, remainder=10**9), 20)
    monkeypatch.setattr(ledger_use, "worst_loss", lambda _task, _remainder: small)
    run(year, "one", "--ledger", year / "year.ledger")
    statement = read_release(year / "one" / "statement.json")
    found = read_ledger_file(year / "year.ledger")
    assert found.total().squared >= loss_of_release(statement, found.terms.remainder_each).charge.squared


def test_an_analysis_that_fails_keeps_its_reservation_as_the_view_was_seen(year):
    """Mutant: it is taken back, although the analyst has the reports."""
    (year / "view.parquet").write_bytes(b"no view")
    refused(3, "analyze", year / "task.toml", "--input", year / "view.parquet", "--output", year / "one",
            "--ledger", year / "year.ledger")  # fmt: skip
    (entry,) = shown(year)["entries"]
    assert entry["state"] == "reserved"


def test_a_seeded_run_is_refused_beside_a_ledger(year):
    refused(2, "run", year / "task.toml", "--input", year / "answers.csv", "--output", year / "one",
            "--ledger", year / "year.ledger", "--seed", 1)  # fmt: skip
    assert shown(year)["entries"] == []


def test_releases_made_elsewhere_are_added_once_and_earlier_ones_first(year):
    run(year, "one")
    run(year, "two", "--earlier", year / "one" / "statement.json")
    first, second = (year / each / "statement.json" for each in ("one", "two"))
    assert "must be added first" in refused(2, "ledger", "add", second, "--ledger", year / "year.ledger")
    shuffledp("ledger", "add", first, "--ledger", year / "year.ledger")
    before = (year / "year.ledger").read_bytes()
    assert "counts it already" in refused(2, "ledger", "add", first, "--ledger", year / "year.ledger")
    assert (year / "year.ledger").read_bytes() == before
    shuffledp("ledger", "add", second, "--ledger", year / "year.ledger")
    one, two = shown(year)["entries"]
    assert one["taken"] == pytest.approx(two["taken"])  # and not of both together


def test_a_release_that_promises_nothing_is_never_counted_as_less(year):
    run(year, "seeded", "--seed", 1)
    run(year, "one")
    edited = json.loads((year / "one" / "statement.json").read_text())
    edited["task"]["randomizer"]["epsilon0"] = 0.01
    (year / "edited.json").write_text(json.dumps(edited))
    for file in (year / "seeded" / "statement.json", year / "edited.json"):
        refused(2, "ledger", "add", file, "--ledger", year / "year.ledger")
    shuffledp("demo", "--people", 100, "--output", year / "demo", "--no-figures")
    made_up = year / "demo" / "release" / "statement.json"
    assert "real answers" in refused(2, "ledger", "add", made_up, "--ledger", year / "year.ledger")
    assert shown(year)["entries"] == []


def test_a_release_of_another_ledger_is_refused(year):
    run(year, "one", "--ledger", year / "year.ledger")
    shuffledp("ledger", "new", "--cap", 3, "--delta", 1e-5, "--output", year / "other.ledger")
    error = refused(2, "ledger", "add", year / "one" / "statement.json", "--ledger", year / "other.ledger")
    assert "of this ledger or of none" in error


def test_what_has_happened_counts_even_where_it_does_not_fit(year):
    write(year, epsilon0=8.0)
    run(year, "one")
    add = ("ledger", "add", year / "one" / "statement.json", "--ledger", year / "year.ledger")
    assert "add it with --exceed" in refused(7, *add)
    assert shown(year)["entries"] == []
    assert "written down" in refused(7, *add, "--exceed")
    assert shown(year)["is_exceeded"]
    told = shuffledp("ledger", "show", year / "year.ledger", "--page", year / "ledger.html").out
    assert "THE CAP HOLDS NO MORE" in told
    assert "THE CAP HOLDS NO MORE" in (year / "ledger.html").read_text()


def test_a_plan_reserves_its_weeks_at_once_and_later_runs_use_them_up(year):
    out = shuffledp("ledger", "plan", year / "task.toml", "--weeks", 4, "--ledger", year / "year.ledger").out
    assert "planned, 4 releases" in out
    before = shown(year)["taken"]
    for week in range(2):
        run(year, f"week-{week}", "--ledger", year / "year.ledger")
    found = shown(year)
    assert found["taken"] == pytest.approx(before)
    assert [each["left"] for each in found["entries"]] == [2, 0, 0]


def test_a_plan_about_one_population_pays_for_no_release_about_another(tmp_path):
    ledger = tmp_path / "year.ledger"
    parts = ("--population", "north", "--population", "south")
    shuffledp("ledger", "new", "--cap", 3, "--delta", 1e-5, "--releases", 20, *parts, "--output", ledger)
    write(tmp_path)
    write_answers(tmp_path, ["No", "Yes"] * 15)
    shuffledp("ledger", "plan", tmp_path / "task.toml", "--weeks", 4, "--ledger", ledger, "--population", "north")
    for output, further in (("one", parts[2:]), ("two", ()), ("three", parts[:2])):
        run(tmp_path, output, "--ledger", ledger, *further)
    assert [each["population"] for each in shown(tmp_path)["entries"]] == ["north", "south", "", "north"]
    run(tmp_path, "elsewhere")
    shuffledp("ledger", "add", tmp_path / "elsewhere" / "statement.json", "--ledger", ledger)
    found = shown(tmp_path)["entries"]
    assert (found[0]["left"], found[-1]["population"]) == (3, "")


def test_no_release_claims_a_cap_that_holds_no_more_even_if_it_was_planned(year):
    shuffledp("ledger", "plan", year / "task.toml", "--weeks", 2, "--ledger", year / "year.ledger")
    planned = (year / "task.toml").read_text()
    write(year, epsilon0=8.0)
    run(year, "elsewhere")
    elsewhere = year / "elsewhere" / "statement.json"
    refused(7, "ledger", "add", elsewhere, "--exceed", "--ledger", year / "year.ledger")
    (year / "task.toml").write_text(planned)
    command = ("run", year / "task.toml", "--input", year / "answers.csv", "--output", year / "week")
    assert "holds no more" in refused(7, *command, "--ledger", year / "year.ledger")
    assert not (year / "week").exists()


def test_the_page_of_a_ledger_draws_the_budget(year):
    run(year, "one", "--ledger", year / "year.ledger")
    shuffledp("ledger", "show", year / "year.ledger", "--page", year / "ledger.html")
    page = (year / "ledger.html").read_text()
    assert "<svg" in page
    assert "Budget over time" in page


def test_taking_back_names_an_entry_by_how_it_begins(year):
    shuffledp("ledger", "plan", year / "task.toml", "--weeks", 4, "--ledger", year / "year.ledger")
    (entry,) = shown(year)["entries"]
    assert "none does" in refused(2, "ledger", "void", "zzzzzz", "--ledger", year / "year.ledger")
    shuffledp("ledger", "void", entry["id"][:8], "--ledger", year / "year.ledger")
    assert shown(year)["taken"] == 0


def test_a_population_is_refused_without_a_ledger(year):
    out = shuffledp(
        "run", year / "task.toml", "--input", year / "answers.csv", "--output", year / "o", "--population", "x"
    )
    assert (out.code, "--population must be left out without --ledger" in out.err) == (2, True)


@pytest.mark.parametrize("releases", [1, 7, 52, 1000])
def test_as_many_releases_fit_as_are_foreseen(tmp_path, releases):
    terms = ("--cap", 50, "--delta", 1e-6, "--releases", releases)
    shuffledp("ledger", "new", *terms, "--output", tmp_path / "year.ledger")
    write(tmp_path, epsilon0=0.01)
    if releases > 1:
        plan = ("ledger", "plan", tmp_path / "task.toml", "--ledger", tmp_path / "year.ledger")
        assert shuffledp(*plan, "--weeks", releases).code == 0
        assert "leave no more of delta" in refused(7, *plan, "--weeks", 2)
    else:
        write_answers(tmp_path, ["No", "Yes"] * 15)
        assert run(tmp_path, "one", "--ledger", tmp_path / "year.ledger").code == 0


def test_a_release_whose_parts_were_edited_counts_as_all_that_it_states(year):
    """Mutant: the share is read from the first part also where the protocols of the task do not bear it out."""
    write(year, epsilon0=0.05)
    run(year, "small")
    first = year / "small" / "statement.json"
    task = Task.read(year / "task.toml").sha256
    write(year, epsilon0=0.6, people={"earlier": [task]})
    run(year, "large", "--earlier", first)
    shuffledp("ledger", "add", first, "--ledger", year / "year.ledger")
    honest = loss_of_release(read_release(year / "large" / "statement.json"), 0.0).charge
    edited = json.loads((year / "large" / "statement.json").read_text())
    edited["statements"][0]["parts"].reverse()
    (year / "edited.json").write_text(json.dumps(edited))
    assert loss_of_release(read_release(year / "edited.json"), 0.0).charge.squared >= honest.squared > 0


def collection(minimum=20, **further):
    def published(key):
        return PublishedKey.of(key, active_from=written(NOW - timedelta(days=1)))

    return Collection.new(
        Task.from_dict(task_with(randomizer={"epsilon0": 0.5}, release={"minimum_batch": minimum})),
        shuffler=Service(url="https://mixer.example", key=published(ShufflerKey.generate())),
        analyzer=Service(url="https://office.example", key=published(AnalyzerKey.generate())),
        closes=written(NOW + timedelta(days=9)),
        now=NOW,
        **further,
    )


def test_a_collection_is_reserved_before_anybody_is_invited(year):
    made = collection()
    with inviting(year / "year.ledger") as reserve:
        reserve(made)
    (entry,) = shown(year)["entries"]
    assert (entry["id"], entry["state"], entry["people"]) == (made.id.hex(), "reserved", 20)


def test_a_collection_that_was_never_written_is_given_back(year):
    def written_on_a_full_disk():
        with inviting(year / "year.ledger") as reserve:
            reserve(collection())
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        written_on_a_full_disk()
    assert shown(year)["taken"] == 0


def test_a_collection_counts_at_its_worst_until_it_is_released(year, tmp_path):
    """As its parties would: made, released by who came, fetched twice; the charge falls once."""
    run(year, "one")  # of the same task without a shuffle, and more than the shuffled one is charged
    made = collection()
    with inviting(year / "year.ledger") as reserve:
        reserve(made)
    before = shown(year)["taken"]
    charge_collection(year / "year.ledger", made, [])
    assert shown(year)["taken"] == before


def test_all_releases_of_a_collection_are_counted_also_where_the_cap_holds_no_more(year):
    """Mutant: the first that is above the cap keeps those after it from being counted."""
    write(year, epsilon0=8.0)
    for each in ("one", "two"):
        run(year, each)
        write_answers(year, ["Yes"] * 40)
    statements = [year / each / "statement.json" for each in ("one", "two")]
    with pytest.raises(BudgetExceededError, match="written down"):
        charge_collection(year / "year.ledger", collection(), statements)
    assert [each["state"] for each in shown(year)["entries"]] == ["released", "released"]


def test_a_person_s_own_ledger_counts_each_collection_once_and_refuses_what_is_above_the_cap(year):
    made = collection()
    for _ in range(2):
        spend_own(year / "year.ledger", made)
    assert len(read_ledger_file(year / "year.ledger").entries) == 1
    shuffledp("ledger", "new", "--cap", 0.01, "--delta", 1e-9, "--output", year / "own.ledger")
    (year / "survey.collection").write_bytes(made.canonical + b"\n")
    refused(7, "send", year / "survey.collection", "--value", "Yes", "--ledger", year / "own.ledger",
            "--state", year / "state", "--patience", 0)  # fmt: skip
    assert not (year / "state").exists()
