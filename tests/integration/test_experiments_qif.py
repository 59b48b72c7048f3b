"""Figures and tables of Jurado et al. come out as expected at small sizes, and printed numbers where they belong."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # experiments are run from a checkout and never installed

from experiments.qif import responses, run  # noqa: E402
from experiments.qif.run import EXPECTED, EXPERIMENTS, differing, read, settings_of  # noqa: E402

MOST_LINES = 150


def expected(name: str) -> list[dict[str, str]]:
    return read((EXPECTED / f"{name}.csv").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_gives_the_expected_rows(name, tmp_path, capsys):
    run.main([name, "--tiny", "--check", "--out", str(tmp_path), "--kept", str(tmp_path / "kept")])
    lines = (tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == (EXPECTED / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0]
    assert len(lines) > 1
    assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    printed = capsys.readouterr().out
    assert lines[0].split(",")[0] in printed
    assert f"{name}: {len(lines) - 1} rows as expected" in printed


@pytest.mark.deep
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_gives_all_the_expected_rows(name):
    rows = EXPERIMENTS[name].compute(settings_of(name))
    assert not differing(name, rows)
    assert len(rows) == len(expected(name))


@pytest.mark.parametrize(("name", "column"), [("fig-3", "shuffled only"), ("table-4", "ours")])
def test_a_row_that_differs_is_found(name, column, tmp_path, monkeypatch):
    rows = EXPERIMENTS[name].compute(settings_of(name, tiny=True))
    assert not differing(name, rows)
    changed = [rows[0] | {column: rows[0][column] * 1.0001 if column != "ours" else "1/64"}, *rows[1:]]
    assert [row["printed"] for row in differing(name, changed)] == [str(rows[0]["printed"] or "")]
    monkeypatch.setitem(EXPERIMENTS, name, type("Other", (), {"compute": _Changed(changed), "draw": _nothing}))
    monkeypatch.setattr(run, "cached", lambda compute, *_: compute(None))
    monkeypatch.setattr(run, "as_svg", lambda _: b"")
    with pytest.raises(SystemExit, match=f"{name}: 1 of {len(rows)} rows differ"):
        run.main([name, "--check", "--out", str(tmp_path)])


class _Changed:
    def __init__(self, rows):
        self.rows = rows

    def __call__(self, _):
        return self.rows


def _nothing(_):
    return None


def test_settings_of_tiny_runs_replace_the_others_and_name_no_other():
    for name in EXPERIMENTS:
        full, tiny = settings_of(name), settings_of(name, tiny=True)
        assert set(full) == set(tiny)
        assert full != tiny


def test_run_is_short():
    assert len((ROOT / "experiments" / "qif" / "run.py").read_text(encoding="utf-8").splitlines()) <= MOST_LINES


# ---- what is printed ------------------------------------------------------------------------------------------------

PRINTED = {"fig-2": ("both", 3), "fig-3": ("shuffled only", 2), "fig-6": ("strong", 2)}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_vulnerabilities_are_ours_rounded_but_for_one(name):
    column, number = PRINTED[name]
    rows = [row for row in expected(name) if row["printed"]]
    assert len(rows) == number
    wrong = [row for row in rows if f"{float(row[column]):.{len(row['printed']) - 2}f}" != row["printed"]]
    assert [(row["printed"], row[column]) for row in wrong] == ([("0.5286", "0.528174")] if name == "fig-2" else [])


@pytest.mark.parametrize(
    ("number", "rows"), [(1, set()), (2, set()), (3, {"bbb"}), (4, {"a:2 b:1", "a:1 b:2"}), (5, set())]
)
def test_tables_are_printed_right_but_for_three_rows(number, rows):
    table = expected(f"table-{number}")
    assert {row["row"] for row in table if row["differ"]} == rows
    assert all((row["printed"] != row["ours"]) == (row["differ"] == "yes") for row in table)
    for channel, truth, name in {(row["channel"], row["truth"], row["row"]) for row in table}:
        same = [row for row in table if (row["channel"], row["truth"], row["row"]) == (channel, truth, name)]
        assert sum(Fraction(row["ours"]) for row in same) == 1
        if number == 4 and name in rows and truth == "3/4":
            assert sum(Fraction(row["printed"]) for row in same) == Fraction(11, 24)


# ---- the constant of the limit --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "constant"), [(2, 0.5641895835), (3, 0.8462843753), (10, 1.5387527308), (100, 2.5075936364)]
)
def test_the_constant_is_the_mean_of_the_largest_normal_number(size, constant):
    assert responses.limit_constant(size) == pytest.approx(constant, rel=1e-9)


def test_the_corrected_limit_is_right_for_many_people_and_the_printed_one_is_not():
    last = [row for row in expected("fig-7") if row["people"] == "1000000"]
    for row in last:
        exact, limit, printed = (float(row[f"{kind}minus 1/k"]) for kind in ("exact ", "limit ", "printed limit "))
        assert limit == pytest.approx(exact, rel=0.02 if int(row["values"]) <= 1000 else 0.06)
        assert abs(printed - exact) > 4 * abs(limit - exact)


def test_both_ways_to_the_numbers_of_figure_4_agree():
    for row in EXPERIMENTS["fig-4"].compute(settings_of("fig-4", tiny=True)):
        assert row["both"] == pytest.approx(row["closed form"], rel=1e-12)
        assert row["both"] <= min(row["randomized only"], row["shuffled only"]) + 1e-12


def test_leakage_halves_with_four_times_the_people():
    rows = {int(row["people"]): float(row["both minus 1/2"]) for row in expected("fig-2") if row["truth"] == "0.75"}
    assert rows[10] > rows[100] > rows[1000]
    assert rows[10_000] / rows[100] == pytest.approx(0.1, rel=0.01)
