"""Tasks and tables for the engine, and a job done by its kernels in this process, without any engine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp.distributed import kernels, placements
from shuffledp.distributed.job_key import key_file
from shuffledp.distributed.kernels import Block, Job, PartFacts
from shuffledp.distributed.shares import divide
from shuffledp.distributed.view_orders import PlacedView, placed
from shuffledp.files.table_files import table_files
from shuffledp.survey import Task

ANSWERS = ("No", "Yes", "Unsure")
PLACES = ("Ulm", "Bonn", "Kiel")


def task_with(**changes):
    written = {
        "name": "survey",
        "value": "answer",
        "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": list(ANSWERS)},
        "release": {"delta": 1e-6},
    }
    return Task.from_dict({**written, **changes})


def write_table(folder: Path, *, files: int = 3, rows: int = 100, groups: int = 2) -> Path:
    """A folder of Parquet files, each of these row groups, with answers and public columns, a row for each person."""
    folder.mkdir()
    for file in range(files):
        numbers = [file * rows + row for row in range(rows)]
        places = [PLACES[n % 7 % 3] for n in numbers]
        weights = [1 + n % 5 for n in numbers]
        answers = [ANSWERS[n * n % 3] for n in numbers]
        table = pa.table({"answer": answers, "number": numbers, "place": places, "weight": weights})
        pq.write_table(table, folder / f"p{file}.parquet", row_group_size=-(-rows // groups))
    return folder


def job_on(place: Path, task: Task, answers: Path, key: Path, *, num_parts: int = 3, stage: str = "run") -> Job:
    """A job whose parts are written beside the key."""
    shares, _ = divide(table_files([answers]), [*task.column.inputs, *task.column.public])
    folder = place / "parts"
    folder.mkdir(exist_ok=True)
    column = task.column.to_dict()
    return Job(
        stage="run", column=column, number=0, key=key, folder=folder, work=place, shares=shares, num_parts=num_parts
    )


def done_here(job: Job):
    """What a job says of its shares and parts, by the kernels alone."""
    made = [each for share in range(len(job.shares)) for each in kernels.scatter(job, share)]
    blocks: dict[int, list[Block]] = {}
    for each in made:
        if isinstance(each, Block):
            blocks.setdefault(each.part, []).append(each)
    facts = [each for each in made if not isinstance(each, Block)]
    return facts, [kernels.permute(job, part, blocks[part]) for part in sorted(blocks)]


@contextmanager
def placed_here(job: Job) -> Iterator[PlacedView]:
    """Where the reports of a job go, by what its shares say of the people."""
    with placed(job, [placements.read_people(job, share) for share in range(len(job.shares))]) as where:
        yield where


def sent_here(job: Job) -> dict[int, list[Block]]:
    """The blocks of a job with a placement, by their parts."""
    blocks: dict[int, list[Block]] = {}
    for share in range(len(job.shares)):
        for each in placements.send(job.placement, job, share):
            if isinstance(each, Block):
                blocks.setdefault(each.part, []).append(each)
    return blocks


def filled_here(job: Job) -> list[PartFacts]:
    """The parts of a job with a placement, in order."""
    return [placements.fill(job.placement, job, part, blocks) for part, blocks in sorted(sent_here(job).items())]


__all__ = [
    "ANSWERS",
    "done_here",
    "filled_here",
    "job_on",
    "key_file",
    "placed_here",
    "sent_here",
    "task_with",
    "write_table",
]
