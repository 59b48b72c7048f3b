"""Experiments give the rows that are committed; and a check that compares them fails if anything is changed."""

import importlib
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # experiments are run from a checkout and never installed

from experiments.checking import Drawn, differing  # noqa: E402
from experiments.showing import as_csv, from_csv  # noqa: E402

from experiments import caching, running  # noqa: E402

PAPERS = ("d_sigma", "imperfect", "network", "qif")
RUNS = {paper: importlib.import_module(f"experiments.{paper}.run") for paper in PAPERS}
ALL = [(paper, name) for paper in PAPERS for name in RUNS[paper].FAMILY.experiments]
FAST = {
    ("d_sigma", "fig-9"),
    ("d_sigma", "letters"),
    ("imperfect", "bits"),
    ("imperfect", "errors"),
    ("imperfect", "messages"),
    ("imperfect", "transformation"),
    ("imperfect", "vectors"),
    ("network", "fig-6"),
    ("network", "table-1"),
    ("network", "table-3"),
    *(each for each in ALL if each[0] == "qif"),
}


def family(paper):
    return RUNS[paper].FAMILY


def slow_unless(cases, fast):
    """Test cases, the slow ones marked as deep."""
    return [pytest.param(*each, marks=() if each[:2] in fast else pytest.mark.deep) for each in cases]


def needs(paper, name):
    """What a tiny run cannot do without."""
    for part in family(paper).parts(name):
        if running.missing(family(paper).files(family(paper).settings(part, tiny=True)), Path()):
            pytest.skip("../shared/data is not here")
        for module in getattr(family(paper).experiments[part], "NEEDS", ()):
            pytest.importorskip(module)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


# ---- rows and pictures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("paper", "name"), slow_unless(ALL, FAST))
def test_a_tiny_run_gives_the_expected_rows(paper, name, tmp_path, capsys, kept):
    needs(paper, name)
    RUNS[paper].main([name, "--tiny", "--check", "--rows-only", "--out", str(tmp_path), "--kept", str(kept)])
    lines = (tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    full = (family(paper).folder / "expected" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == full[0]
    assert len(lines) > 1
    assert "nan" not in "".join(lines)
    assert f"{name}: {len(lines) - 1} rows as expected" in capsys.readouterr().out


@pytest.mark.deep
@pytest.mark.parametrize(("paper", "name"), ALL)
def test_a_tiny_run_is_drawn(paper, name, tmp_path, kept):
    needs(paper, name)
    RUNS[paper].main([name, "--tiny", "--out", str(tmp_path), "--kept", str(kept)])
    assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")


@pytest.mark.deep
@pytest.mark.parametrize(("paper", "name"), ALL)
def test_committed_rows_can_be_drawn_again(paper, name, tmp_path):
    expected = family(paper).folder / "expected"
    for extra in expected.glob(f"{name}*.[cj]s*"):
        (tmp_path / extra.name).write_bytes(extra.read_bytes())
    RUNS[paper].main([name, "--redraw", "--out", str(tmp_path)])
    assert (tmp_path / f"{name}.svg").stat().st_size > 1000


@pytest.mark.deep
@pytest.mark.parametrize("name", family("qif").experiments)
def test_a_full_run_that_takes_seconds_gives_the_expected_rows(name, tmp_path):
    RUNS["qif"].main([name, "--check", "--rows-only", "--out", str(tmp_path), "--kept", str(tmp_path)])


# ---- what is changed in the source is noticed -----------------------------------------------------------------------

MUTANTS = [
    ("imperfect", "traffic", "wait = scale * ", "wait = 0.13 * scale * "),
    ("imperfect", "traffic", "2 * extreme / 60", "2 * extreme / 30"),
    ("imperfect", "traffic", "randomizer.num_messages,\n", "randomizer.num_messages + 2,\n"),
    ("imperfect", "traffic", "errors.mean()", "(50 * errors).mean()"),
    ("imperfect", "messages", "found.num_shares", "found.num_shares + 2"),
    ("imperfect", "messages", "found.modulus", "2 * found.modulus"),
    ("imperfect", "messages", "found.security_bits", "1.07 * found.security_bits"),
    ("imperfect", "bits", "math.sqrt(people *", "1.07 * math.sqrt(people *"),
    ("imperfect", "bits", "_row(name, people, 1,", "_row(name, people, 3,"),
    ("imperfect", "errors", "central = 2 *", "central = 2.14 *"),
    ("imperfect", "errors", "* len(values)", "* (len(values) + 200)"),
    ("network", "table-1", "math.exp(RATES[name] *", "math.exp(1.07 * RATES[name] *"),
    ("network", "table-1", "here = at(", "here = 1.07 * at("),
    ("network", "table-3", "graph.num_users - len(", "2 * graph.num_users - len("),
    ("network", "table-3", "passed += walks.messages", "passed += 2 * walks.messages"),
    ("network", "table-4", "found.num_edges", "found.num_edges + 2"),
    ("network", "fig-4", "min(true, 1.0)", "min(1.07 * true, 1.0)"),
    ("network", "fig-4", '{"graph": name, "rounds": rounds}', '{"graph": name, "rounds": rounds + 2}'),
    ("network", "fig-5", '"n times S": people *', '"n times S": 1.07 * people *'),
    ("network", "fig-6", "on_graph(name, epsilon0,", "on_graph(name, 1.07 * epsilon0,"),
    ("network", "fig-7", "on_graph(name, epsilon0,", "on_graph(name, 1.07 * epsilon0,"),
    ("network", "fig-8", "irregularity / people", "1.07 * irregularity / people"),
    ("network", "rounds", "float(messages.mean())", "2 * float(messages.mean())"),
    ("d_sigma", "fig-9", "order_width(groups, orders[method])", "order_width(groups, orders[method]) + 3"),
    ("d_sigma", "fig-9", "order_sensitivity(groups, orders", "2 * order_sensitivity(groups, orders"),
    ("d_sigma", "fig-9", "start : start + window]", "start : start + window + 1]"),
    ("d_sigma", "fig-10", "order_sensitivity(groups, orders", "1.07 * order_sensitivity(groups, orders"),
    ("d_sigma", "fig-10", "draw.random((people, 1))", "draw.random((people, 2))"),
    ("d_sigma", "fig-8-displacement", 'case["alpha"] / math', '1.07 * case["alpha"] / math'),
    ("d_sigma", "letters", "theta = alpha / sensitivity", "theta = 1.07 * alpha / sensitivity"),
    ("d_sigma", "letters", "if letters else distinct", "if letters > 2 else distinct"),
    ("d_sigma", "geography", '"lambda": REGIONS', '"lambda": 4 * REGIONS'),
    ("d_sigma", "geography", "rank[star] - rank", "2 * (rank[star] - rank)"),
    ("d_sigma", "rho", '"rho": "fixed"', '"rho": "fresh"'),
    ("d_sigma", "rho", "vote.in_cells(np.zeros(", "vote.in_cells(np.arange("),
    ("d_sigma", "fig-7", "theta = alpha", "theta = 1.5 * alpha"),
    ("d_sigma", "fig-7", '"mean": float(shares.mean())', '"mean": 0.93 * float(shares.mean())'),
    ("d_sigma", "fig-5", "np.median(groups.sizes[groups.own])", "np.median(groups.sizes[groups.own]) + 2"),
    ("d_sigma", "fig-8", '"rho": "fixed"', '"rho": "fresh"'),
    ("d_sigma", "fig-8", "row[name] = float(np.mean(values))", "row[name] = 0.93 * float(np.mean(values))"),
    ("imperfect", "vectors", 'sent_bytes[1] / 1000,\n            "kB in', 'sent_bytes[0] / 1000,\n            "kB in'),
    ("imperfect", "federated", 'settings["step"] / people', '1.07 * settings["step"] / people'),
    ("imperfect", "transformation", "math.comb(size, j) *", "1.07 * math.comb(size, j) *"),
    ("imperfect", "transformation", "zip(left, supplanted, strict=True)", "zip(left, supplanted[::-1], strict=True)"),
    ("network", "fig-9", "scale * mean - truth", "1.5 * scale * mean - truth"),
    ("network", "fig-9", "bounds.dummies", "bounds.dummies + 2"),
    ("network", "fig-9", "around(10, people", "around(-10, people"),
    ("qif", "fig-2", '"both": 1 / size + excess', '"both": 1 / size + 1.07 * excess'),
    ("qif", "fig-3", "people - 1 - first]", "people + 1 - first]"),
    ("qif", "fig-5", "1 / size + excess(people", "1 / size + excess(people + 2"),
    ("qif", "fig-6", "1 / size + exact", "1 / size + 1.07 * exact"),
    ("qif", "relations", "cascade(n, sr) == cascade(sr, nr)", "cascade(n, sr) != cascade(sr, nr)"),
    ("qif", "table-4", "Fraction(entry)", "Fraction(entry) / 2"),
]
FAST_MUTANTS = {("imperfect", "messages"), ("network", "table-1"), ("d_sigma", "fig-9"), ("qif", "fig-2")}


def mutated(module, old, new):
    """The module with one text replaced in its source."""
    path = Path(module.__file__)
    source = path.read_text(encoding="utf-8")
    assert source.count(old) == 1, f"{path.name} has {old!r} {source.count(old)} times"
    other = ModuleType(module.__name__)
    other.__file__ = str(path)
    exec(compile(source.replace(old, new), str(path), "exec"), other.__dict__)  # noqa: S102
    return other


@pytest.mark.parametrize(("paper", "name", "old", "new"), slow_unless(MUTANTS, FAST_MUTANTS))
def test_a_changed_source_is_noticed(paper, name, old, new, tmp_path, monkeypatch, capsys):  # noqa: PLR0917
    needs(paper, name)
    experiments = dict(family(paper).experiments)
    monkeypatch.setitem(family(paper).experiments, name, mutated(experiments[name], old, new))
    with pytest.raises(SystemExit) as stopped:
        RUNS[paper].main([name, "--tiny", "--check", "--rows-only", "--out", str(tmp_path), "--kept", str(tmp_path)])
    assert stopped.value.code == 1
    assert f" differences\n\n{name}: " in capsys.readouterr().out


# ---- the comparison -------------------------------------------------------------------------------------------------

ROWS = [{"x": 1, "y": 1 / 3, "z": "a"}, {"x": 2, "y": 2e5 / 3, "z": None}, {"x": 3, "y": 0.0, "z": True}]


def cells(rows):
    return [dict(zip(line[0], each, strict=True)) for line in [split(rows)] for each in line[1:]]


def split(rows):
    return [line.split(",") for line in as_csv(rows).splitlines()]


def compared(rows, expected, drawn=None, tolerances=None):
    return differing(rows, cells(expected), key=("x",), drawn=drawn or {}, tolerances=tolerances or {})


def test_equal_rows_do_not_differ():
    assert compared(ROWS, ROWS) == []
    assert compared([ROWS[0] | {"y": ROWS[0]["y"] * (1 + 1e-6)}, *ROWS[1:]], ROWS) == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS[1:], ["2 rows where 3 are expected", "missing row: x 1"]),
        ([*ROWS, ROWS[0] | {"x": 7}], ["4 rows where 3 are expected", "superfluous row: x 7"]),
        ([*ROWS, ROWS[0]], ["4 rows where 3 are expected", "superfluous row: x 1"]),
        ([ROWS[1], ROWS[0], ROWS[2]], ["other order of rows: x 2 where x 1 is expected"]),
        ([], ["0 rows where 3 are expected"]),
        ([row | {"w": 1} for row in ROWS], ["4 columns where 3 are expected", "superfluous column: w"]),
        ([{"x": row["x"], "z": row["z"]} for row in ROWS], ["2 columns where 3 are expected", "missing column: y"]),
        ([{name: row[name] for name in "xzy"} for row in ROWS], ["other order of columns: z where y is expected"]),
        ([ROWS[0] | {"y": 0.33334}, *ROWS[1:]], ["row x 1, y: 0.33334 where 0.333333 is expected"]),
        ([ROWS[0] | {"z": "b"}, *ROWS[1:]], ["row x 1, z: b where a is expected"]),
        ([ROWS[0], ROWS[1] | {"y": None}, ROWS[2]], ["row x 2, y:  where 66666.7 is expected"]),
        ([*ROWS[:2], ROWS[2] | {"y": math.nan, "z": False}], ["row x 3, y: nan", "row x 3, z: False"]),
    ],
)
def test_everything_that_differs_is_listed(rows, words):
    found = compared(rows, ROWS)
    assert len(found) == len(words)
    assert all(each.startswith(word) for each, word in zip(found, words, strict=True))


def drawn_row(value, error=0.01, count=100):
    return {"x": 1, "y": value, "e": error, "n": count}


@pytest.mark.parametrize(
    ("row", "differs"),
    [
        (drawn_row(0.5 + 4.9 * math.sqrt(2) * 0.01), False),
        (drawn_row(0.5 + 5.1 * math.sqrt(2) * 0.01), True),
        (drawn_row(0.5, error=0.012), False),
        (drawn_row(0.5, error=0.02), True),
        (drawn_row(0.5, error=None), True),
        (drawn_row(1.1, error=1.0), True),
        (drawn_row(-0.1, error=1.0), True),
        (drawn_row(math.nan), True),
        (drawn_row(None), True),
    ],
)
def test_what_is_drawn_may_differ_by_five_standard_errors(row, differs):
    assert bool(compared([row], [drawn_row(0.5)], {"y": Drawn("e", "n", most=1.0)})) is differs


def test_what_two_repetitions_measured_is_held_to_its_range():
    law = {"y": Drawn("e", "n", most=1.0)}
    for value, error, wrong in ((0.1, 0.3, False), (1.01, 0.3, True), (0.1, -0.3, True), (math.nan, 0.3, True)):
        assert bool(compared([drawn_row(value, error, 2)], [drawn_row(0.5, 0.01, 2)], law)) is wrong


def test_draws_of_other_people_and_machines_are_the_expected_ones_as_often_as_their_errors_say():
    """Of 10,000 pairs with normal errors hardly any is said to differ; nearly all do if one is 24 errors off."""
    draw = np.random.default_rng(5)
    repetitions = 8
    measured = draw.standard_normal((4_000, repetitions)) * 0.02 + 0.5
    means, errors = measured.mean(axis=1), measured.std(axis=1, ddof=1) / np.sqrt(repetitions)
    rows = [
        {"x": number % 2_000, "y": mean, "e": error, "n": repetitions}
        for number, (mean, error) in enumerate(zip(means.tolist(), errors.tolist(), strict=True))
    ]
    law = {"y": Drawn("e", "n")}
    assert len(compared(rows[:2_000], rows[2_000:], law)) <= 2
    far = [row | {"y": row["y"] + 24 * 0.02 / np.sqrt(repetitions)} for row in rows[:500]]
    assert len(compared(far, rows[2_000:2_500], law)) > 490


def test_a_table_is_read_as_it_was_written():
    rows = [{"a": 1, "b": 0.5, "c": None, "d": "none", "e": "0123456789" * 10, "f": True}]
    assert from_csv(as_csv(rows)) == rows


# ---- the command line -----------------------------------------------------------------------------------------------


def test_all_experiments_are_checked_even_if_the_first_one_differs(tmp_path, capsys, monkeypatch):
    made = family("qif")
    monkeypatch.setattr(running.Family, "rows", lambda *_, **__: [{"nobody": 1}, {"nobody": 2}])
    with pytest.raises(SystemExit) as stopped:
        made.start(["all", "--check", "--rows-only", "--out", str(tmp_path)], "")
    assert stopped.value.code == 1
    printed = capsys.readouterr().out
    for name in made.experiments:
        assert f"\n{name}: superfluous column: nobody" in printed


@pytest.mark.parametrize("paper", PAPERS)
def test_settings_of_tiny_runs_replace_the_others_and_the_command_is_short(paper):
    for name, module in family(paper).experiments.items():
        assert module.KEY
        if family(paper).parts(name) == (name,):
            full, tiny = (family(paper).settings(name, tiny=each) for each in (False, True))
            assert set(full) <= set(tiny) <= {*full, "size"}
            assert full != tiny
    assert len((family(paper).folder / "run.py").read_text(encoding="utf-8").splitlines()) <= 50


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_committed_belongs_to_an_experiment(paper):
    expected = family(paper).folder / "expected"
    for suffix, folder in (("csv", expected), ("svg", expected), ("csv", expected / "tiny")):
        assert {each.stem for each in folder.glob(f"*.{suffix}")} == set(family(paper).experiments)


def test_what_cannot_be_done_is_said_before_anything_is_computed(tmp_path, capsys):
    (tmp_path / "file").touch()
    for arguments, words in (
        (["fig-9", "--rows-only", "--redraw"], "--redraw: no fig-9.csv"),
        (["fig-9", "--rows-only", "--out", str(tmp_path / "file")], "is no folder"),
    ):
        with pytest.raises(SystemExit):
            RUNS["d_sigma"].main(["--out", str(tmp_path / "out"), *arguments])
        assert words in capsys.readouterr().err
    assert "SHUFFLEDP_DATA" in str(running.missing([tmp_path / "nowhere"], tmp_path / "README.md"))


@pytest.mark.parametrize("paper", ["d_sigma", "network"])
def test_what_needs_data_that_are_not_there_is_left_out_and_listed_at_the_end(paper, tmp_path, capsys, monkeypatch):
    """Of all; alone it is refused."""
    made, run = family(paper), []
    for module in ("d_sigma.data", "network.graphs"):
        monkeypatch.setattr(importlib.import_module(f"experiments.{module}"), "DATA", tmp_path / "nowhere")
    monkeypatch.setattr(running.Family, "rows", lambda _, name, **__: run.append(name) or [{"x": 1}])
    needing = {each for each in made.experiments if any(made.files(made.settings(part)) for part in made.parts(each))}
    options = ["--rows-only", "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as stopped:
        made.start(["all", *options], "")
    assert stopped.value.code == 3
    assert 0 < len(needing) < len(made.experiments)
    assert set(run) == set(made.experiments) - needing
    printed = capsys.readouterr().out.splitlines()[-len(needing) :]
    assert {line.split(": ")[0] for line in printed} == needing
    assert all(f"experiments/{paper}/README.md says where to get the data" in line for line in printed)
    with pytest.raises(SystemExit) as stopped:
        made.start([min(needing), *options], "")
    assert stopped.value.code == 2
    assert "says where to get the data" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        made.start(["all", "--check", *options], "")
    assert stopped.value.code == 1


def test_results_are_remembered_until_the_settings_change(tmp_path):
    calls = []

    def compute(settings):
        calls.append(settings)
        return [{"x": settings["a"]}]

    for number in (1, 1, 2):
        assert caching.cached(compute, {"a": number}, tmp_path) == [{"x": number}]
    assert calls == [{"a": 1}, {"a": 2}]
