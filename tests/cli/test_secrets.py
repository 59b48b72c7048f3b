"""What the input holds never comes out: not in a message, not in a file, not in an error behind an error."""

import gzip
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.running import shuffledp, task_with, write_task
from shuffledp.core.errors import ShuffleDPError
from shuffledp.files import stages
from shuffledp.survey import Task

MARK = "SECRET-ANSWER-42"
ROWS = [(f"{MARK}-id{i}", f"{MARK}-other{i}", "Yes" if i % 3 else "No") for i in range(60)]
HEADER = "person,other,cheated\n"
PEOPLE = {"people": {"id": "person"}}


def lines(rows) -> str:
    return "".join(f"{','.join(row)}\n" for row in rows)


def parquet(**columns) -> bytes:
    given = dict(zip(["person", "other", "cheated"], zip(*ROWS, strict=True), strict=True))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(given | columns), sink, compression="none")
    return sink.getvalue().to_pybytes()


GOOD = HEADER + lines(ROWS)
WHOLE = parquet()
ANSWER = WHOLE.index(MARK.encode())
BAD = {
    "unknown answers": HEADER + lines([*ROWS, ("a", "b", MARK), ("c", "d", f"{MARK} too")]),
    "missing answers": HEADER + lines([*ROWS, (MARK, MARK, "")]),
    "another column": GOOD.replace("cheated", "Cheated"),
    "no header": lines(ROWS),
    "no header, of one column": lines([(MARK,)] * 5),
    "a repeated column": HEADER.replace("other", "cheated") + lines(ROWS),
    "a person twice": GOOD + lines(ROWS[:1]),
    "a person without a name": GOOD + lines([("", MARK, "No")]),
    "a short row": GOOD + f"{MARK},No\n" + lines(ROWS),
    "a long row": GOOD + f"{MARK},{MARK},{MARK},No\n" + lines(ROWS),
    "a long first row": HEADER + f"{MARK},{MARK},{MARK},No\n",
    "an open quotation mark": GOOD + f'{MARK},"{MARK},No\n' + lines(ROWS),
    "an open quotation mark at the end": GOOD + f'{MARK},{MARK},"No\n' + lines(ROWS),
    "bytes that are no text": GOOD.encode() + f"{MARK},{MARK}".encode() + b"\xff\xfe,No\n",
    "answers that are no text": GOOD.encode() + f"{MARK},{MARK},{MARK}".encode() + b"\xc3\n",
    "another encoding": GOOD.encode("utf-16"),
    "another separator": GOOD.replace(",", "|"),
    "half a compressed file": gzip.compress(GOOD.encode())[:-30],
    "no compressed file": GOOD.encode(),
    "half a Parquet file": WHOLE[: len(WHOLE) // 2],
    "a Parquet file without its end": WHOLE[:-1],
    "a Parquet file with a wrong length inside": WHOLE[: ANSWER - 4] + struct.pack("<I", 2**31) + WHOLE[ANSWER:],
    "a Parquet file of other answers": parquet(cheated=[MARK] * 60),
    "a Parquet file of parts of answers": parquet(cheated=[{MARK: MARK}] * 60),
    "a Parquet file of lists": parquet(cheated=[[MARK]] * 60),
    "a Parquet file of bytes": parquet(cheated=[MARK.encode()] * 60),
    "a Parquet file with gaps": parquet(cheated=[None] * 60),
    "a Parquet file with people as lists": parquet(person=[[MARK]] * 60),
    "a Parquet file with one person": parquet(person=[MARK] * 60),
    "a Parquet file with people without names": parquet(person=[*[MARK] * 59, ""]),
}
NAMES = {"half a compressed file": "answers.csv.gz", "no compressed file": "answers.csv.gz"}


def write_bad(folder, name):
    content = BAD[name]
    path = folder / NAMES.get(name, "answers.parquet" if "Parquet" in name else "answers.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def assert_clean(folder, *printed) -> None:
    assert not [text for text in printed if MARK in text]
    for path in folder.rglob("*"):
        assert MARK not in path.name
        assert not path.is_file() or MARK.encode() not in path.read_bytes(), path


def test_the_good_table_is_good(tmp_path):
    """So that each bad one is refused for what is wrong with it."""
    for name, content in (("answers.csv", GOOD.encode()), ("answers.parquet", WHOLE)):
        (tmp_path / name).write_bytes(content)
        out = tmp_path / f"{name}.out"
        result = shuffledp("run", write_task(tmp_path, **PEOPLE), "--input", tmp_path / name, "--output", out)
        assert result.code == 0, result.err
        assert "60 reports, each epsilon0 = 2" in result.out
        assert_clean(out, result.out, result.err)


@pytest.mark.parametrize("command", ["run", "randomize"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_refused_without_showing_what_it_holds(tmp_path, name, command):
    inputs, work = tmp_path / "inputs", tmp_path / "work"
    inputs.mkdir()
    work.mkdir()
    task = write_task(work, **PEOPLE)
    result = shuffledp(command, task, "--input", write_bad(inputs, name), "--output", work / "out")
    assert result.code == 3
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert_clean(work, result.err)
    assert [path.name for path in work.iterdir()] == ["task.toml"]


def behind(error) -> list[BaseException]:
    """An error with all that it was raised from or while handling."""
    if error is None:
        return []
    return [error, *behind(error.__cause__), *behind(error.__context__)]


@pytest.mark.parametrize("name", BAD)
def test_no_error_behind_the_error_shows_what_the_table_holds(tmp_path, name):
    (tmp_path / "out").mkdir()
    with pytest.raises(ShuffleDPError) as caught:
        stages.run(Task.from_dict(task_with(**PEOPLE)), write_bad(tmp_path, name), tmp_path / "out")
    for error in behind(caught.value):
        assert MARK not in f"{error}{error.args!r}{getattr(error, '__notes__', '')}"


@pytest.mark.parametrize("stage", ["shuffle", "analyze"])
@pytest.mark.parametrize("name", ["no header", "half a Parquet file", "a Parquet file of other answers"])
def test_a_stage_given_raw_answers_refuses_them_without_showing_any(tmp_path, stage, name):
    path = write_bad(tmp_path, name)
    result = shuffledp(stage, write_task(tmp_path), "--input", path, "--output", tmp_path / "out")
    path.unlink()
    assert result.code == 3
    assert_clean(tmp_path, result.out, result.err)


@pytest.mark.parametrize(
    "content", [GOOD, lines(ROWS), f"{MARK}\n", f'"{MARK}","x"\n', f"[{MARK}]\n[{MARK}]\n", f"a={MARK}"]
)
def test_answers_given_as_the_task_are_refused_without_showing_any(tmp_path, content):
    answers = tmp_path / "answers.csv"
    answers.write_text(content)
    result = shuffledp("run", answers, "--input", write_task(tmp_path), "--output", tmp_path / "out")
    assert result.code == 2
    assert MARK not in result.out + result.err


def test_too_small_a_batch_shows_a_number_and_nobody(tmp_path):
    inputs, work = tmp_path / "inputs", tmp_path / "work"
    inputs.mkdir()
    work.mkdir()
    (inputs / "answers.csv").write_text(GOOD)
    task = write_task(work, release={"minimum_batch": 61}, **PEOPLE)
    result = shuffledp("run", task, "--input", inputs / "answers.csv", "--output", work / "out")
    assert result.code == 4
    assert "got 60" in result.err
    assert_clean(work, result.out, result.err)


@pytest.mark.parametrize(
    "asked",
    [
        ("account", "--users", 10, "--delta", 1e-3, "--channel"),
        ("leakage", "--users", 3, "--categories", 2, "--epsilon0", 1, "--gain"),
        ("graph", "inspect"),
        ("run", "--input", "none.csv", "--output", "none", "--earlier"),
    ],
    ids=["channel", "gain", "graph", "earlier"],
)
@pytest.mark.parametrize("content", [GOOD, f"0.5,{MARK}\n0.5,0.5\n", f'{{"{MARK}": ["{MARK}"]}}', f'["{MARK}"]'])
def test_answers_given_in_place_of_another_file_are_refused_without_showing_any(tmp_path, asked, content):
    given = tmp_path / "answers.csv"
    given.write_text(content)
    task = (write_task(tmp_path),) if asked[0] == "run" else ()
    result = shuffledp(*asked[:1], *task, *asked[1:], given)
    assert result.code in {2, 3}
    assert MARK not in result.out + result.err


def test_a_number_that_is_no_probability_is_not_shown(tmp_path):
    """An age, say."""
    (tmp_path / "ages.csv").write_text("4711,0\n0,1\n")
    result = shuffledp("account", "--users", 10, "--delta", 1e-3, "--channel", tmp_path / "ages.csv")
    assert result.code == 3
    assert "line 1, entry 1" in result.err
    assert "4711" not in result.err


def test_the_name_of_a_file_cannot_command_the_terminal(tmp_path):
    name = tmp_path / "\x1b]0;title\x07\x9b31m.csv"
    name.write_text("")
    result = shuffledp("run", write_task(tmp_path), "--input", name, "--output", tmp_path / "out")
    assert result.code == 3
    assert r"\x1b]0;title\x07\x9b31m.csv" in result.err
    assert result.err.rstrip("\n").isprintable()
