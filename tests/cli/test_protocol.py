"""Split and mix from a task file: all at once, in stages, and what is refused without showing an answer."""

import csv
import json
import re
import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import refused, shuffledp, toml, write_csv
from shuffledp.files import reading
from shuffledp.survey import Task

MARK = "73.25"
TRUTH = [float(number % 60) for number in range(190)]
PROTOCOL = {"kind": "split-and-mix", "epsilon": 20.0, "lower": 0, "upper": 100, "dropout_fraction": 0.1}
IMPERFECT = {"kind": "imperfect", "imperfection": 0.5}


def write_protocol(folder, *, expected=200, protocol=None, **changes):
    task = {
        "name": "commute",
        "value": "minutes",
        "missing": "drop",
        "people": {} if expected is None else {"expected": expected},
        "protocol": {**PROTOCOL, **(protocol or {})},
        "shuffler": IMPERFECT,
        "release": {"delta": 1e-6},
        **changes,
    }
    path = folder / "task.toml"
    path.write_text(toml(task), encoding="utf-8")
    return path


def write_minutes(folder, minutes):
    return write_csv(folder / "minutes.csv", ["other", "minutes"], [["x", each] for each in minutes])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_protocol(tmp_path)
    write_minutes(tmp_path, TRUTH)
    return tmp_path


def run(*further):
    return shuffledp("run", "task.toml", "--input", "minutes.csv", "--output", "out", *further)


@pytest.mark.parametrize(
    "shuffler", [IMPERFECT, {"kind": "imperfect", "imperfection": 0.5, "construction": "delay"}, {"kind": "uniform"}]
)
def test_a_run_estimates_the_mean_and_says_that_nothing_holds_before_the_shuffle(place, shuffler):
    write_protocol(place, shuffler=shuffler)
    result = run("-v")
    assert result.code == 0, result.err
    text = " ".join(result.out.split())
    assert text.startswith("WARNING: This holds only as long as nobody but the shuffler has all messages of one person")
    assert "messages of 190 people, unprotected until shuffled" in text
    assert "messages of 190 people released" in text
    assert "no guarantee, epsilon is infinite" in text
    assert "nobody but the shuffler has all messages of one person" in text
    assert "Planned for 200 people; this is computed for the 190 people who came." in text
    (row,) = csv.DictReader((place / "out" / "estimates.csv").read_text().splitlines())
    assert float(row["estimate"]) == pytest.approx(np.mean(TRUTH), abs=6 * float(row["standard_error"]))
    assert row["target"] == "minutes"
    stated = json.loads((place / "out" / "statement.json").read_text())
    assert stated["statements"][0]["basis"]["theorem"] == "split-and-mix"
    assert stated["statements"][0]["guarantee"]["epsilon"] <= 20


def test_the_stages_give_what_the_run_gives_and_warn_of_the_file_of_shares(place):
    made = shuffledp("randomize", "task.toml", "--input", "minutes.csv", "--output", "shares.parquet")
    assert made.code == 0
    messages = Task.read("task.toml").column.randomizer.randomizer().num_messages
    assert f"{190 * messages:,} messages of 190 people randomized: shares.parquet." in made.out
    assert "WARNING: shares.parquet gives every answer away" in made.err
    assert stat.S_IMODE((place / "shares.parquet").stat().st_mode) == 0o600
    shares = pq.read_table("shares.parquet").to_pydict()
    assert len(shares["residue"]) % 190 == 0
    shuffled = shuffledp("shuffle", "task.toml", "--input", "shares.parquet", "--output", "view.parquet")
    assert (shuffled.code, shuffled.err) == (0, "")
    view = pq.read_table("view.parquet").to_pydict()
    assert view["label"] == list(range(len(view["residue"])))
    assert sorted(view["residue"]) == sorted(shares["residue"])
    assert view["residue"] != shares["residue"]
    result = shuffledp("analyze", "task.toml", "--input", "view.parquet", "--output", "out", "--json")
    (row,) = result.json["estimates"]
    assert row["estimate"] == pytest.approx(np.mean(TRUTH), abs=6 * row["standard_error"])


def test_the_warning_is_there_beside_json_too_and_not_for_a_randomizer(place):
    made = shuffledp("randomize", "task.toml", "--input", "minutes.csv", "--output", "shares.parquet", "--json")
    assert made.json["stage"] == "randomize"
    assert "WARNING" in made.err
    text = (place / "task.toml").read_text()
    local = '[randomizer]\nkind = "one-bit-mean"\nepsilon0 = 1.0\nlower = 0\nupper = 100\n'
    start, end = text.index("[protocol]"), text.index("[shuffler]")
    (place / "local.toml").write_text(text[:start] + local + text[end:])
    quiet = shuffledp("randomize", "local.toml", "--input", "minutes.csv", "--output", "reports.parquet")
    assert (quiet.code, quiet.err) == (0, "")


def test_the_sums_of_the_shares_on_disk_are_the_answers(place):
    """That is why the file is warned of."""
    shuffledp("randomize", "task.toml", "--input", "minutes.csv", "--output", "shares.parquet")
    planned = Task.read("task.toml").column.randomizer.randomizer()
    shares = np.array(pq.read_table("shares.parquet").column("residue")).reshape(190, -1).astype(np.int64)
    steps = shares.sum(axis=1) % planned.modulus / planned.precision * 100
    assert np.median(np.abs(steps - TRUTH)) < 100 / planned.precision


def test_a_plan_shows_the_certificate(place):
    write_protocol(place, protocol={"epsilon": 2.0})
    result = shuffledp("plan", "task.toml", "-v")
    text = " ".join(result.out.split())
    assert "No other randomizer" not in text
    assert "randomizers whose every report guarantees epsilon = 2 by itself" in text
    assert "from 0 to 100 the standard error will be at most" in text
    assert "Rounding to 15 steps adds at most" in text
    assert "twice the precision costs one bit a message" in text
    assert "they would err no more than this, and mostly far less." in text
    assert "(security_bits: the rounds are within 2^-security_bits of showing nothing but the noisy sum." in text
    assert (result.code, result.err) == (0, "")
    text = " ".join(result.out.split())
    planned = shuffledp("plan", "task.toml", "--json").json["columns"][0]["protocol"]
    found = planned["certificate"]
    assert f"Certificate: num_messages = {found['num_messages']}" in text
    assert "minutes is released only if 180 to 200 people answer" in text
    assert "A trusted curator who adds Laplace noise" in text
    assert "one-bit-mean" in text
    assert f"{found['bits_per_user']:,} bits per person" in text


def test_a_plan_takes_the_number_of_people_and_a_run_needs_it_in_the_task(place):
    write_protocol(place, expected=None, protocol={"epsilon": 2.0})
    assert shuffledp("plan", "task.toml", "--users", 200).code == 0
    assert "[people] must say expected" in refused(2, "run", "task.toml", "--input", "minutes.csv", "--output", "out")
    assert not (place / "out").exists()


def test_too_few_people_are_refused_before_anything_is_written(place):
    write_minutes(place, TRUTH[:179])
    line = refused(4, "run", "task.toml", "--input", "minutes.csv", "--output", "out")
    assert "needs the noise of at least 180 people" in line
    assert "got 179. Nothing was released." in line
    assert not (place / "out").exists()
    assert shuffledp("randomize", "task.toml", "--input", "minutes.csv", "--output", "shares.parquet").code == 0
    refused(4, "shuffle", "task.toml", "--input", "shares.parquet", "--output", "view.parquet")
    assert not (place / "view.parquet").exists()


def test_more_people_than_planned_are_refused(place):
    write_minutes(place, (TRUTH * 2)[:201])
    for command in ("run", "randomize"):
        line = refused(3, command, "task.toml", "--input", "minutes.csv", "--output", "out")
        assert "at most expected = 200 people" in line


def test_people_without_an_answer_do_not_count(place):
    write_minutes(place, [*TRUTH, *[""] * 30])
    assert "30 without an answer dropped" in " ".join(run().out.split())
    write_minutes(place, [*TRUTH[:150], *[""] * 50])
    refused(4, "run", "task.toml", "--input", "minutes.csv", "--output", "again")


@pytest.mark.parametrize("bad", [f"-{MARK}", f"1{MARK}", f"{MARK}x", "inf"])
def test_answers_outside_the_range_are_refused_and_never_shown(place, bad):
    write_minutes(place, [*TRUTH[:5], bad, *TRUTH[6:]])
    line = refused(3, "run", "task.toml", "--input", "minutes.csv", "--output", "out")
    assert MARK not in line
    assert "1 of 190" in line
    if bad[-1] not in "xf":
        assert "[protocol]" in line
    assert [path.name for path in place.iterdir()] == ["task.toml", "minutes.csv"] or not (place / "out").exists()


def test_answers_outside_the_range_are_clipped_if_the_task_says_so_and_counted(place):
    write_protocol(place, protocol={"out_of_range": "clip"})
    write_minutes(place, [*TRUTH[:188], -500.0, 900.0])
    result = run()
    assert result.code == 0
    assert "2 of 190 answers in column 'minutes' were outside the range" in result.err
    assert "Answers outside 0 to 100 count as the nearer end." in " ".join(result.out.split())
    assert "outside the range" not in (place / "out" / "statement.json").read_text()


def test_whole_numbers_are_exact_and_others_refused(place):
    write_protocol(place, protocol={"integer": True, "statistic": "sum"})
    (row,) = run("--json").json["estimates"]
    assert row["statistic"] == "sum"
    assert row["estimate"] == pytest.approx(sum(TRUTH), abs=8 * row["standard_error"])
    assert float(row["estimate"]).is_integer()
    shown = shuffledp("run", "task.toml", "--input", "minutes.csv", "--output", "shown").out
    assert re.search(r"^minutes +-?[\d,]+ +-?[\d,]+ to -?[\d,]+$", shown, re.MULTILINE)
    assert "sampling alone" not in shown
    write_minutes(place, [*TRUTH[:189], MARK])
    line = refused(3, "run", "task.toml", "--input", "minutes.csv", "--output", "again")
    assert "must hold whole numbers; 1 of 190" in line
    assert MARK not in line


LISTS = [[1.0 * (number % 5), 2.0, 3.0] for number in range(190)]


@pytest.mark.parametrize("limits", [{"upper": 10}, {"upper": 10, "l1_bounded": True}])
def test_lists_have_a_row_for_each_coordinate(place, limits):
    write_protocol(place, protocol={"dimension": 3, **limits})
    pq.write_table(pa.table({"minutes": LISTS}), "lists.parquet")
    result = shuffledp("run", "task.toml", "--input", "lists.parquet", "--output", "out", "--json")
    assert result.code == 0, result.err
    for number, row in enumerate(result.json["estimates"]):
        assert row["target"] == f"minutes[{number}]"
        truth = np.mean(LISTS, axis=0)[number]
        assert row["estimate"] == pytest.approx(truth, abs=6 * row["standard_error"])


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [1.0, 2.0, 73.25], [-73.25, 2.0, 3.0], [73.25, float("nan"), 3.0], None])
@pytest.mark.parametrize("l1_bounded", [False, True])
def test_lists_that_do_not_fit_are_refused_and_never_shown(place, wrong, l1_bounded):
    write_protocol(place, missing="refuse", protocol={"dimension": 3, "upper": 10, "l1_bounded": l1_bounded})
    pq.write_table(pa.table({"minutes": [*LISTS[:189], wrong]}), "lists.parquet")
    line = refused(3, "run", "task.toml", "--input", "lists.parquet", "--output", "out")
    assert "1 of 190" in line
    assert MARK not in line


def test_lists_are_clipped_and_counted(place):
    write_protocol(place, protocol={"dimension": 3, "upper": 10, "l1_bounded": True, "out_of_range": "clip"})
    pq.write_table(pa.table({"minutes": [*LISTS[:189], [20.0, 20.0, -5.0]]}), "lists.parquet")
    result = shuffledp("run", "task.toml", "--input", "lists.parquet", "--output", "out")
    assert result.code == 0, result.err
    assert "1 of 190 answers" in result.err
    assert "Lists that add up to more than 10 are shortened" in result.err
    assert "nearer end" not in result.err
    assert "are shortened" in " ".join(result.out.split())


@pytest.mark.parametrize("damage", ["residue", "round", "missing"])
def test_a_view_with_wrong_messages_is_refused(place, damage):
    shuffledp("randomize", "task.toml", "--input", "minutes.csv", "--output", "shares.parquet")
    shuffledp("shuffle", "task.toml", "--input", "shares.parquet", "--output", "view.parquet")
    table = pq.read_table("view.parquet")
    if damage == "missing":
        table = table.slice(1)
    else:
        column = np.array(table.column(damage)).copy()
        column[0] = np.iinfo(column.dtype).max if damage == "residue" else (column[0] + 1) % 2
        table = table.set_column(table.column_names.index(damage), damage, pa.array(column))
    pq.write_table(table.replace_schema_metadata(pq.read_metadata("view.parquet").metadata), "view.parquet")
    result = shuffledp("analyze", "task.toml", "--input", "view.parquet", "--output", "out")
    assert result.code in (2, 3)
    assert not (place / "out").exists()
    if damage == "residue":
        assert "reports of the task's randomizer: residue must be in range(" in result.err


def test_shares_in_the_wrong_round_are_refused_before_they_are_shuffled(place):
    shuffledp("randomize", "task.toml", "--input", "minutes.csv", "--output", "shares.parquet")
    table = pq.read_table("shares.parquet")
    rounds = np.array(table.column("round")).copy()
    rounds[-1], rounds[-2] = rounds[-2], rounds[-1]
    table = table.set_column(table.column_names.index("round"), "round", pa.array(rounds))
    pq.write_table(table.replace_schema_metadata(pq.read_metadata("shares.parquet").metadata), "shares.parquet")
    error = refused(3, "shuffle", "task.toml", "--input", "shares.parquet", "--output", "view.parquet")
    assert "is not for round" in " ".join(error.split())


def rewritten(path, rows):
    """Leaves the file with these of its rows, and what it says about itself."""
    table = pq.read_table(path).take(pa.array(rows))
    pq.write_table(table.replace_schema_metadata(pq.read_metadata(path).metadata), path)


def pushed(messages):
    """The rows if somebody sends a message for round 0 twice, and the next person but one sends none."""
    rows = np.arange(190 * messages)
    return np.insert(np.delete(rows, 101 * messages), 100 * messages, 99 * messages), 100 * messages + 1


def by_round(messages):
    return np.arange(190 * messages).reshape(190, messages).T.reshape(-1), 1


@pytest.mark.parametrize("shuffler", [IMPERFECT, {"kind": "uniform"}])
@pytest.mark.parametrize("order", [pushed, by_round])
def test_shares_that_are_not_in_their_rounds_are_not_shuffled(place, monkeypatch, shuffler, order):
    write_protocol(place, shuffler=shuffler)
    shuffledp("randomize", "task.toml", "--input", "minutes.csv", "--output", "shares.parquet")
    rows, wrong = order(len(pq.read_table("shares.parquet")) // 190)
    rewritten("shares.parquet", rows)
    monkeypatch.setattr(reading, "_BYTES_OF_ROWS_AT_A_TIME", 1000)  # parts that begin anywhere
    result = shuffledp("shuffle", "task.toml", "--input", "shares.parquet", "--output", "view.parquet")
    assert result.code == 3
    assert f"row {wrong} (counted from 0) is not for round" in " ".join(result.err.split())
    assert not (place / "view.parquet").exists()


def test_a_view_with_messages_in_others_rounds_is_refused(place):
    shuffledp("randomize", "task.toml", "--input", "minutes.csv", "--output", "shares.parquet")
    shuffledp("shuffle", "task.toml", "--input", "shares.parquet", "--output", "view.parquet")
    table = pq.read_table("view.parquet")
    rounds = np.array(table.column("round")).copy()
    rounds[[0, 200]] = rounds[[200, 0]]  # every round has as many as before
    table = table.set_column(table.column_names.index("round"), "round", pa.array(rounds))
    pq.write_table(table.replace_schema_metadata(pq.read_metadata("view.parquet").metadata), "view.parquet")
    result = shuffledp("analyze", "task.toml", "--input", "view.parquet", "--output", "out")
    assert result.code == 3, result.out
    assert not (place / "out").exists()


def test_the_page_stands_the_error_beside_others(place, real_page):
    assert run().code == 0
    page = " ".join((place / "out" / "release.html").read_text().split())
    assert "Beside other ways" in page
    assert "A trusted curator" in page
    assert "nothing is guaranteed" in page
    assert "messages of 190 people" in page
    assert "hides nothing before the shuffle" in page
    assert "separate imperfect shuffles" in page
    assert "parallel shuffle" not in page
    assert "bits of security" in page
    messages = Task.read("task.toml").column.randomizer.randomizer().num_messages
    assert f"{messages} for each of 190 people, by {messages} separate imperfect shuffles" in page
    assert f"{messages} messages, " in page


def test_a_seeded_page_says_what_was_sent_and_certifies_nothing(place, real_page):
    assert run("--seed", 1).code == 0
    page = " ".join((place / "out" / "release.html").read_text().split())
    assert "bits in all." in page
    assert "bits of security" not in page


def test_sums_that_may_wrap_around_are_warned_of_everywhere(place):
    write_protocol(place, expected=100, protocol={"epsilon": 0.1, "dropout_fraction": 0.0})
    write_minutes(place, TRUTH[:100])
    assert shuffledp("plan", "task.toml").out.count("WARNING: With a probability of up to") == 1
    assert len(shuffledp("plan", "task.toml", "--json").json["warnings"]) == 1
    result = run()
    assert (result.code, result.out.count("WARNING: With a probability of up to")) == (0, 1)
    assert "wraps around" in json.loads((place / "out" / "statement.json").read_text())["warnings"][0]
