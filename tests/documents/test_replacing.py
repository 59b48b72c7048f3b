"""With ``--force`` a release takes the place of an earlier one of any kind, whatever pictures that has."""

import random
from itertools import product
from pathlib import Path

import pytest

from cli.networks import make_folder
from cli.running import shuffledp, task_with, toml, write_csv
from shuffledp.core.errors import InvalidParameterError
from shuffledp.documents.charts import drawing
from shuffledp.files import new_folder
from shuffledp.protocols.network.planning import network_plan

PLACES = {"public": ["x", "y"], "shuffler": {"kind": "mallows", "alpha": 4.0}}
TWO = '[[value]]\ncolumn = "{}"\nrandomizer = {{kind = "k-rr", epsilon0 = 1.0, categories = ["No", "Yes"]}}\n'
TASKS = {
    "uniform": toml(task_with()),
    "map": toml(task_with(**PLACES, groups={"columns": ["x", "y"], "radius": 1.0})),
    "columns": 'name = "both"\n' + "".join(map(TWO.format, ("cheated", "smokes"))) + "[release]\ndelta = 1e-6\n",
}
# A picture that this kind of release has, and none before it in this list.
PICTURES = {"uniform": "estimates", "map": "places-intervals", "walks": "rounds", "columns": "smokes/estimates"}


class NoPicture:
    """In place of a picture, which takes a second."""

    def inline(self):
        return "<svg></svg>"

    def as_file(self, *_, **__):
        return b"picture"


@pytest.fixture
def quick(monkeypatch):
    """Nothing is drawn, and no other numbers of rounds are searched through."""
    monkeypatch.setattr(drawing, "draw", lambda _: NoPicture())
    monkeypatch.setattr(network_plan, "fewest_rounds", lambda *_, **__: None)
    monkeypatch.setattr(network_plan, "_rounds_to_show", lambda shuffler, *_: [6, shuffler.num_rounds, 14])


def prepare(kind: str, folder: Path) -> None:
    """The task and its people."""
    if kind == "walks":
        make_folder(folder)
        return
    draw = random.Random(1)
    rows = [[x, y, *draw.choices(["No", "Yes"], k=2)] for x, y, _ in product(range(3), range(3), "abcd")]
    write_csv(folder / "people.csv", ["x", "y", "cheated", "smokes"], rows)
    (folder / "task.toml").write_text(TASKS[kind], encoding="utf-8")


def replace(folder: Path) -> None:
    with new_folder(folder, force=True) as place:
        (place / "new").touch()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", PICTURES)
def test_a_release_of_every_kind_is_replaced_by_force_and_nothing_beside_it(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prepare(kind, tmp_path)
    out = tmp_path / "out"
    assert shuffledp("run", "task.toml", "--input", "people.csv", "--output", out).code == 0
    picture = out / f"{PICTURES[kind]}.svg"
    assert picture.is_file()
    for name in ("mine.svg", "my rounds.png"):
        mine = picture.with_name(name)
        mine.touch()
        with pytest.raises(InvalidParameterError, match="must be an earlier output, and hold nothing else"):
            replace(out)
        mine.unlink()
    replace(out)
    assert [each.name for each in out.iterdir()] == ["new"]
