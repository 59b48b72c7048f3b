"""Follow-up questions in tables: who is asked, what is not looked at, and the same reports whoever is asked."""

import pyarrow as pa
import pytest

from cli.running import shuffledp, stub_pages
from shuffledp.core.errors import InputDataError
from shuffledp.core.estimates import NOT_ASKED
from shuffledp.files import stages
from shuffledp.files.devices import is_asked, randomize_each
from shuffledp.files.reading import CsvInMemory, TableInMemory
from shuffledp.testing import SeededSource
from survey.test_follow_up import AFTER, AGE, BRAND, MEAN, QUIT, SMOKES, TRAVELS, WHY, task

SURE = {"epsilon0": 25.0}  # so large that estimates are the numbers themselves
ROWS = ["Yes,never,20", "No,often,what?", "Yes,often,50", "No,,", "No,nobody looks here,-1"]


def sure(block):
    return block | {"randomizer": block["randomizer"] | SURE}


def asked(*blocks, least=1, **further):
    return task(*map(sure, blocks), release={"delta": 1e-6, "minimum_batch": least}, **further)


def counts(outcome, name):
    estimate = outcome.columns[name].release.estimate
    people = outcome.columns[name].release.model.num_users
    return dict(zip(estimate.target, (estimate.estimate * people).round().tolist(), strict=True))


def test_cells_of_people_who_are_not_asked_are_not_looked_at(tmp_path):
    (tmp_path / "answers.csv").write_text("smokes,quit,age\n" + "\n".join(ROWS) + "\n")
    bins = AGE | AFTER | {"randomizer": AGE["randomizer"] | {"kind": "k-rr"}}
    found = asked(SMOKES, QUIT | AFTER, bins)
    (tmp_path / "out").mkdir()
    outcome = stages.run(found, tmp_path / "answers.csv", tmp_path / "out")
    assert counts(outcome, "quit") == {"never": 1, "often": 1, NOT_ASKED: 3}
    assert counts(outcome, "age") == {"0 to 30": 1, "30 to 60": 1, "60 to 90": 0, NOT_ASKED: 3}
    among = outcome.columns["quit"].release.estimate.among_asked
    assert among.estimate == pytest.approx([0.5, 0.5], abs=1e-3)
    assert outcome.columns["age"].flow.missing == 0
    assert outcome.columns["age"].release.num_reports == 5


def test_ticks_and_lists_of_people_who_are_not_asked_are_not_looked_at():
    table = {
        "travels": ["car;bus", "bus", "", "car"],
        "why": [["fun", "stress"], [], ["fun"], ["not an option"]],
        "smokes": ["Yes", "No", "Yes", "No"],
        "quit": ["never", "often", None, None],
    }
    found = asked(TRAVELS, WHY | {"after": "travels = bus"}, SMOKES, QUIT | {"after": "travels = bus"}).run(table)
    assert counts(found, "why") == {"fun": 1, "stress": 1, "friends": 0, NOT_ASKED: 2}
    assert counts(found, "quit") == {"never": 1, "often": 1, NOT_ASKED: 2}


def test_a_missing_answer_of_somebody_asked_is_refused_or_a_category():
    table = {"smokes": ["Yes", "Yes", "No", None], "quit": ["never", None, None, None]}
    with pytest.raises(InputDataError, match="missing: row 4"):  # of the first question
        asked(SMOKES, QUIT | AFTER).run(table)
    with pytest.raises(InputDataError, match=r"column 'quit'.*1 of 3 are missing: row 2"):
        asked(SMOKES, QUIT | AFTER).run({name: column[:3] for name, column in table.items()})
    found = asked(SMOKES, QUIT | AFTER, missing="category").run(table)
    assert counts(found, "quit") == {"never": 1, "often": 0, "(missing)": 1, NOT_ASKED: 2}


def test_an_answer_of_somebody_asked_that_does_not_fit_is_refused_by_its_row():
    table = {"smokes": ["No", "Yes", "Yes"], "quit": ["nobody looks here", "never", "perhaps"]}
    with pytest.raises(InputDataError, match=r"column 'quit'.*row 3") as caught:
        asked(SMOKES, QUIT | AFTER).run(table)
    assert "perhaps" not in str(caught.value)


def test_words_of_those_asked():
    people = 3000
    table = {"smokes": ["Yes", "No"] * (people // 2), "brand": ["red", None] * (people // 2)}
    brand = BRAND | AFTER | {"randomizer": BRAND["randomizer"] | {"epsilon0": 12.0}}
    found = task(SMOKES, brand).run(table).columns["brand"].release.estimate
    assert set(found.target) == {"red", NOT_ASKED, "(other words)"}
    assert found.among_asked.target == ("red",)
    assert found.among_asked.lower[0] > 0.8


def test_blanks_are_taken_off_before_it_is_decided_who_is_asked():
    table = {"smokes": [" Yes", "No "], "quit": ["never ", ""]}
    assert counts(asked(SMOKES, QUIT | AFTER, strip=True).run(table), "quit") == {"never": 1, "often": 0, NOT_ASKED: 1}


def test_stages_are_as_a_whole_run(tmp_path):
    (tmp_path / "answers.csv").write_text("smokes,quit,age\n" + "\n".join(ROWS) + "\n")
    found = asked(SMOKES, QUIT | AFTER)
    for name in ("reports", "views", "release"):
        (tmp_path / name).mkdir()
    stages.randomize(found, tmp_path / "answers.csv", tmp_path / "reports")
    stages.shuffle(found, tmp_path / "reports", tmp_path / "views")
    outcome = stages.analyze(found, tmp_path / "views", tmp_path / "release")
    assert counts(outcome, "quit") == {"never": 1, "often": 1, NOT_ASKED: 3}


def test_too_few_who_were_asked_have_no_shares_of_their_own(tmp_path):
    table = {"smokes": ["Yes"] * 20 + ["No"] * 180, "quit": ["never"] * 20 + [None] * 180}
    for least, given in ((19, True), (20, False)):
        outcome = asked(SMOKES, QUIT | AFTER, least=least).run(table)
        estimate = outcome.columns["quit"].release.estimate
        assert (estimate.among_asked is not None) == given
        statistics = {row["statistic"] for row in outcome.columns["quit"].rows()}
        assert ("frequency among those asked" in statistics) == given


@pytest.mark.parametrize("block", [QUIT, AGE, WHY, BRAND])
def test_a_device_sends_as_many_parts_of_one_length_whoever_is_asked(block):
    found = task(SMOKES, block | AFTER)
    answers = {"quit": "never", "age": "40", "why": "fun", "brand": "red"}
    sizes = []
    for smokes in ("Yes", "No"):
        given = TableInMemory(pa.table({"smokes": [smokes], block["column"]: [answers[block["column"]]]}))
        sent = randomize_each(found, given, source=SeededSource(1))
        assert (sent.num_users, sent.left_out) == (1, 0)
        sizes.append([{name: part.nbytes for name, part in each.columns.items()} for each in sent.reports])
    assert sizes[0] == sizes[1]


def test_one_row_says_whether_its_person_is_asked():
    column = task(TRAVELS, MEAN, QUIT | {"after": "travels = bus"}).columns[2]
    for text, wanted in (("car; bus", True), ("car", False), ("", False), ("bus|car", False)):
        assert is_asked(column, CsvInMemory(f'travels,years\n"{text}",1\n'.encode())) == wanted
    assert is_asked(task(SMOKES).columns[0], CsvInMemory(b"smokes\nNo\n"))


def habits(tmp_path):
    """A task file and 800 people's answers."""
    written = tmp_path / "task.toml"
    written.write_text(
        'name = "habits"\n[[value]]\ncolumn = "smokes"\n[value.randomizer]\nkind = "k-rr"\nepsilon0 = 5.0\n'
        'categories = ["No", "Yes"]\n[[value]]\ncolumn = "quit"\nafter = "smokes = Yes"\n[value.randomizer]\n'
        'kind = "k-rr"\nepsilon0 = 5.0\ncategories = ["never", "often"]\n'
        "[release]\ndelta = 1e-6\nminimum_batch = 100\n"
    )
    rows = ["Yes,never", "No,", "Yes,often", "No,"] * 200
    (tmp_path / "answers.csv").write_text("smokes,quit\n" + "\n".join(rows) + "\n")
    return written, ("run", written, "--input", tmp_path / "answers.csv", "--output", tmp_path / "out")


def test_plan_and_run_say_what_share_of_those_asked(tmp_path, monkeypatch):
    stub_pages(monkeypatch)
    written, run = habits(tmp_path)
    done = shuffledp(*run)
    assert done.code == 0
    assert "among those asked" in done.out
    rows = [row["statistic"] for row in shuffledp(*run[:-1], tmp_path / "again", "--json").json["estimates"]]
    assert rows.count("frequency among those asked") == 2
    planned = shuffledp("plan", written, "--users", "800")
    assert "Among those asked shares err by about" in " ".join(planned.out.split())


@pytest.mark.deep
def test_the_page_says_who_was_asked_and_draws_their_shares(tmp_path):
    _, run = habits(tmp_path)
    assert shuffledp(*run).code == 0
    for page in (tmp_path / "out" / "release.html", tmp_path / "out" / "quit" / "release.html"):
        assert "frequency among those asked" in page.read_text()
    assert "Asked only after" in page.read_text()
