"""The whole way on real tables: the FiveThirtyEight risk survey and the Adult extract of the US census."""

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from cli.running import shuffledp, stub_pages, write_task

DATA = Path(__file__).parents[2].parent / "shared" / "data"
RISK_SURVEY = DATA / "fivethirtyeight_risk_survey" / "risk_survey.csv.gz"
ADULT = DATA / "adult" / "adult.data.gz"
ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]
OCCUPATIONS = [
    "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
    "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales",
    "Tech-support", "Transport-moving",
]  # fmt: skip

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not here"),
]


@pytest.fixture(autouse=True)
def quick_page(monkeypatch):
    stub_pages(monkeypatch)


@pytest.fixture(scope="module")
def adult(tmp_path_factory) -> Path:
    """The census extract as a CSV file with a header line."""
    path = tmp_path_factory.mktemp("adult") / "adult.csv"
    with gzip.open(ADULT, "rt", encoding="utf-8") as source, path.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        writer.writerow(ADULT_COLUMNS)
        writer.writerows(row for row in csv.reader(source, skipinitialspace=True) if row)
    return path


def truth(path, column) -> Counter:
    """How often each value occurs, counted by the standard library."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as file:
        return Counter(row[column] for row in csv.DictReader(file))


def assert_estimates(printed, expected: Counter) -> None:
    """Every estimate is within 4.5 standard errors of the truth, and not all are within a tenth of one."""
    rows = printed["estimates"]
    total = sum(expected.values())
    errors = np.array([(row["estimate"] - expected[row["target"]] / total) / row["standard_error"] for row in rows])
    assert {row["target"] for row in rows} == set(expected)
    assert np.abs(errors).max() < 4.5
    assert np.abs(errors).max() > 0.1
    assert sum(row["estimate"] for row in rows) == pytest.approx(1)


def run(folder, answers, *options, **task):
    options = (*options, "--seed", 538, "--json")
    return shuffledp("run", write_task(folder, **task), "--input", answers, "--output", folder / "out", *options)


CHEATED = {"value": "cheated", "public": ["region"], "people": {"expected": 550}}


def test_the_survey_has_gaps_and_says_where(tmp_path):
    result = run(tmp_path, RISK_SURVEY, **CHEATED)
    assert result.code == 3
    assert "column 'cheated' must hold an answer in every row; 11 of 550 are missing: rows 1, " in result.err
    assert not (tmp_path / "out").exists()


def test_the_survey_without_those_who_did_not_answer(tmp_path):
    printed = run(tmp_path, RISK_SURVEY, missing="drop", **CHEATED).json
    expected = truth(RISK_SURVEY, "cheated")
    assert expected == {"": 11, "Yes": 92, "No": 447}
    del expected[""]
    assert_estimates(printed, expected)
    assert printed["num_reports"] == 539
    assert printed["flow"] == {
        "received": 550, "missing": 11, "released": 539, "expected": 550, "detached": ["region"]
    }  # fmt: skip
    assert (
        "Planned for 550 people; this is computed for the 539 reports that came."
        in (printed["statements"][0]["remarks"])
    )


def test_the_survey_with_not_answering_as_an_answer(tmp_path):
    printed = run(tmp_path, RISK_SURVEY, missing="category", **CHEATED).json
    expected = truth(RISK_SURVEY, "cheated")
    expected["(missing)"] = expected.pop("")
    assert_estimates(printed, expected)
    assert printed["flow"]["released"] == 550
    assert printed["flow"]["missing"] == 0


def test_the_survey_without_a_shuffle_keeps_places_beside_reports(tmp_path):
    result = run(tmp_path, RISK_SURVEY, missing="drop", shuffler={"kind": "none"}, **CHEATED)
    assert result.json["flow"]["detached"] == []
    regions = pq.read_table(tmp_path / "out" / "release.labels.parquet").column("region").to_pylist()
    with gzip.open(RISK_SURVEY, "rt", encoding="utf-8", newline="") as file:
        assert regions == [row["region"] or None for row in csv.DictReader(file) if row["cheated"]]
    assert len([region for region in regions if region]) == 510


def test_a_small_survey_is_promised_what_shuffling_gives_and_no_more(tmp_path):
    def headline(epsilon0):
        folder = tmp_path / str(epsilon0)
        folder.mkdir()
        printed = run(folder, RISK_SURVEY, missing="drop", randomizer={"epsilon0": epsilon0}, **CHEATED).json
        return printed["statements"][0]

    amplified, hardly = headline(0.5), headline(4.0)
    assert amplified["claimed"]["epsilon"] < 0.1
    assert 3.9 < hardly["claimed"]["epsilon"] < 4.0


OCCUPATION = {"value": "occupation", "randomizer": {"epsilon0": 3.0, "categories": OCCUPATIONS}}


def test_occupations_with_question_marks_are_refused_until_the_task_says_what_they_mean(tmp_path, adult):
    result = run(tmp_path, adult, **OCCUPATION)
    assert result.code == 3
    assert "1843 of 32561 answers are something else" in result.err
    assert "?" not in result.err


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_occupations_of_the_census(tmp_path, adult, missing):
    printed = run(tmp_path, adult, missing=missing, missing_values=["?"], **OCCUPATION).json
    expected = truth(adult, "occupation")
    assert expected["?"] == 1843
    assert len(expected) == 15
    unknown = expected.pop("?")
    if missing == "category":
        expected["(missing)"] = unknown
    assert_estimates(printed, expected)
    assert printed["num_reports"] == (32_561 if missing == "category" else 30_718)
    assert printed["model"]["local"]["domain_size"] == (15 if missing == "category" else 14)


def test_incomes_of_the_census(tmp_path, adult):
    income = {"value": "income", "randomizer": {"epsilon0": 1.0, "categories": ["<=50K", ">50K"]}}
    printed = run(tmp_path, adult, **income).json
    expected = truth(adult, "income")
    assert expected == {"<=50K": 24_720, ">50K": 7841}
    assert_estimates(printed, expected)
    assert printed["statements"][0]["claimed"]["epsilon"] < 0.2


def test_the_census_without_a_header_is_refused_and_its_first_person_is_not_shown(tmp_path):
    result = run(tmp_path, ADULT, **OCCUPATION)
    assert result.code == 3
    assert (
        "(its first line must name the columns, separated by commas, semicolons or tabs); it lacks 'occupation'."
        in result.err
    )
    assert not [shown for shown in ("State-gov", "77516", "Bachelors", "Never-married") if shown in result.err]


def test_numbers_of_the_census_from_csv_and_parquet_alike(tmp_path, adult):
    years = {"value": "education_num", "randomizer": {"epsilon0": 3.0, "categories": list(range(1, 17))}}
    pq.write_table(pyarrow.csv.read_csv(adult), tmp_path / "adult.parquet", row_group_size=10_000)
    outputs = []
    for path in (adult, tmp_path / "adult.parquet"):
        folder = tmp_path / path.suffix[1:]
        folder.mkdir()
        outputs.append(run(folder, path, **years).json)
    assert outputs[0]["estimates"] == outputs[1]["estimates"]
    assert_estimates(outputs[0], truth(adult, "education_num"))


def test_the_stages_on_the_census_agree_with_the_truth(tmp_path, adult):
    task = write_task(tmp_path, missing="drop", missing_values=["?"], **OCCUPATION)
    reports, view, out = tmp_path / "reports.parquet", tmp_path / "view.parquet", tmp_path / "out"
    assert shuffledp("randomize", task, "--input", adult, "--output", reports, "--seed", 538).code == 0
    assert shuffledp("shuffle", task, "--input", reports, "--output", view).code == 0
    assert shuffledp("analyze", task, "--input", view, "--output", out).code == 0
    expected = truth(adult, "occupation")
    del expected["?"]
    assert_estimates(json.loads((out / "statement.json").read_text(encoding="utf-8")), expected)


ACS = DATA / "nist_acs_excerpts" / "nist_acs_2019.csv.gz"


@pytest.mark.skipif(not ACS.exists(), reason="the NIST excerpts of the American Community Survey are not here")
def test_difficulty_walking_by_place_is_what_the_census_found(tmp_path, monkeypatch):
    stub_pages(monkeypatch)
    task = write_task(
        tmp_path,
        value="DPHY",
        public=["PUMA"],
        missing="drop",
        missing_values=["", "N"],
        randomizer={"categories": [1, 2]},
        shuffler={"kind": "mallows", "alpha": 4.0},
        groups={"column": "PUMA"},
        release={"delta": 1e-7},
    )
    result = shuffledp("run", task, "--input", ACS, "--output", tmp_path / "out", "--json")
    assert result.code == 0, result.err
    with gzip.open(ACS, "rt", encoding="utf-8") as file:
        people = [(row["PUMA"], row["DPHY"]) for row in csv.DictReader(file) if row["DPHY"] != "N"]
    asked, yes = Counter(place for place, _ in people), Counter(place for place, answer in people if answer == "1")
    rows = [row for row in result.json["estimates"] if "where" in row and row["target"] == "1"]
    assert len(rows) == 31
    errors = [
        (row["estimate"] - yes[row["where"]["PUMA"]] / asked[row["where"]["PUMA"]]) / row["standard_error"]
        for row in rows
    ]
    assert max(map(abs, errors)) < 6  # the chance that one of 31 is farther off is below 10^-7
    epsilon = result.json["statements"][0]["guarantee"]["epsilon"]
    assert 0.3 < epsilon < 0.8
