"""The protocol page is enough: a client written from it alone answers in all kinds, by the law that is stated.

`page_client` knows the page and ``cryptography``. Here its bytes are given to what this library accepts and opens, and
100,000 reports of each kind are compared with the channel of the kind's model; a loss wrong by a tenth is refused.
"""

import ast
import json
import random
from pathlib import Path

import numpy as np
import pytest

from parties.service.given import Parties
from parties.wire import page_client
from shuffledp.parties.service.batches import Phase
from shuffledp.parties.service.collection_terms import terms_of
from shuffledp.parties.service.intake import refusal
from shuffledp.parties.wire.grammar import UploadRequest
from shuffledp.parties.wire.hpke import Opener
from shuffledp.parties.wire.report_bytes import ReportLayout
from shuffledp.randomizers import KINDS as REGISTRY
from shuffledp.survey import Task
from statistical.thresholds import assert_fits, assert_rejects

REPORTS = 100_000
WRONG = 1.1  # of the loss
LETTERS = list("abcde")
RANGE = {"lower": -1, "upper": 3}


def bits(columns):
    packed = columns["bits"].astype(np.int64)
    return packed @ 256 ** np.arange(packed.shape[1])


def subset(columns, model):
    numbers = np.arange(2**model.domain_size)
    return (np.cumsum(np.bitwise_count(numbers) == model.subset_size) - 1)[bits(columns)]


def channel_at(model, x):
    """The law of a report on a category, or on a number: of the mean of two grid points."""
    rows = model.channel().matrix
    if not hasattr(model, "lower"):
        return rows[x]
    place = (x - model.lower) / (model.upper - model.lower) * (len(rows) - 1)
    left = min(int(place), len(rows) - 2)
    return rows[left] * (left + 1 - place) + rows[left + 1] * (place - left)


def by_channel(cell):
    return lambda model, columns, x: (cell(model, columns), channel_at(model, x))


def hashed(model, columns, x):
    """Twenty stretches of seeds, and for each whether the response is the hash of the answer, or how far from it."""
    g = model.hash_range
    own = model.hashed(np.full(len(columns["seed"]), x), columns["seed"].astype(np.uint64)).astype(np.int64)
    away = (columns["value"].astype(np.int64) - own) % g
    stretch = (columns["seed"].astype(np.float64) / model.num_seeds * 20).astype(np.int64)
    return stretch * g + away, np.tile([model.p, *[(1 - model.p) / (g - 1)] * (g - 1)], 20) / 20


def noisy(model, columns, x):
    """Places of the grid near the answer, and all beyond on either side."""
    a, place = np.exp(-float(model.rate)), (x - model.lower) / (model.upper - model.lower) * model.num_steps
    left, rest = int(place), place - int(place)
    z = np.arange(-400, 401)
    point = (1 - a) / (1 + a) * a ** np.abs(z)
    law = (1 - rest) * point[1:] + rest * point[:-1]  # of report - left = z
    cells = np.clip(columns["value"] - left, -12, 12) + 12
    law = np.bincount(np.clip(z[1:], -12, 12) + 12, law)
    return cells, law / law.sum()


def in_the_cap(model, columns, x):
    """In three dimensions products with the answer are uniform in the cap, and outside."""
    across = np.linalg.svd(np.array([x]))[2][1:]
    products, around = columns["vector"] @ np.array(x), np.arctan2(*(across @ columns["vector"].T))
    inside = products >= model.gamma
    lower, upper = np.where(inside, model.gamma, -1), np.where(inside, 1, model.gamma)
    along = np.clip(((products - lower) / (upper - lower) * 5).astype(np.int64), 0, 4)
    quarter = np.clip(((around / np.pi + 1) * 2).astype(np.int64), 0, 3)
    law = np.repeat([1 - model.p, model.p], 20) / 20
    return inside * 20 + along * 4 + quarter, law


VALUE, INDEX = by_channel(lambda _, columns: columns["value"]), by_channel(lambda _, columns: columns["index"])
BITS = by_channel(lambda _, columns: bits(columns))
SUBSETS = by_channel(lambda model, columns: subset(columns, model))
LISTS = [["x", "y"], [1, 2, 3]]
# Of each case: the table of the task, what is asked beside it, an answer, the value that it has, and cells with a law.
CASES = {
    "k-rr": ({"kind": "k-rr", "categories": LETTERS}, {}, "d", 3, VALUE),
    "k-rr of true and false": ({"kind": "k-rr", "categories": [False, True]}, {}, True, 1, VALUE),
    "k-rr without an answer": ({"kind": "k-rr", "categories": [7, 3]}, {"missing": "category"}, None, 2, VALUE),
    "k-rr of pairs": ({"kind": "k-rr", "categories": LISTS}, {"columns": ["p", "q"]}, ["y", 2], 4, VALUE),
    "pairs of which one is missing": (
        {"kind": "hadamard", "categories": LISTS},
        {"columns": ["p", "q"], "missing": "category"},
        ["y", None],
        6,
        INDEX,
    ),
    "k-rr of bins": (
        {"kind": "k-rr", "lower": 0, "upper": 1, "bins": 10, "out_of_range": "clip"},
        {},
        0.3,
        3,
        VALUE,
    ),
    "oue of edges": ({"kind": "oue", "edges": [0, 18, 65, 120]}, {}, 120, 2, BITS),
    "oue": ({"kind": "oue", "categories": LETTERS}, {}, "b", 1, BITS),
    "sue": ({"kind": "sue", "categories": LETTERS[:4]}, {}, "d", 3, BITS),
    "hadamard": ({"kind": "hadamard", "categories": LETTERS}, {}, "e", 4, INDEX),
    "olh": ({"kind": "olh", "categories": LETTERS}, {}, "c", 2, hashed),
    "olh of a range": ({"kind": "olh", "categories": LETTERS, "hash_range": 7}, {}, "e", 4, hashed),
    "subset": ({"kind": "subset", "categories": list("abcdefg")}, {}, "c", 2, SUBSETS),
    "one-bit-mean": ({"kind": "one-bit-mean", **RANGE}, {}, 2.5, 2.5, VALUE),
    "one-bit-mean at the end": ({"kind": "one-bit-mean", **RANGE, "out_of_range": "clip"}, {}, 9, 3, VALUE),
    "rounded-mean": ({"kind": "rounded-mean", **RANGE, "num_levels": 3}, {}, 2.75, 2.75, VALUE),
    "rounded-mean at its best": ({"kind": "rounded-mean", "epsilon0": 3.0, **RANGE}, {}, 2.75, 2.75, VALUE),
    "laplace-mean": ({"kind": "laplace-mean", **RANGE, "num_steps": 7}, {}, 2.75, 2.75, noisy),
    "priv-unit": ({"kind": "priv-unit", "dimension": 3}, {}, [0.6, 0.0, 0.8], [0.6, 0.0, 0.8], in_the_cap),
    "priv-unit by halves": (
        {"kind": "priv-unit", "dimension": 3, "budget_split": 0.5},
        {},
        [0.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
        in_the_cap,
    ),
}


def collection_of(table, beside):
    named = beside if "columns" in beside else {"value": "x", **beside}
    release = {"delta": 1e-6, "minimum_batch": 10}
    task = {"name": "survey", "randomizer": {"epsilon0": 1.0, **table}, "release": release}
    return Parties(Task.from_dict(task | named))


def model_of(collection):
    return collection.task.column.randomizer.randomizer().model


def randomizer_of(collection):
    """The table as a device reads it in the collection file."""
    return json.loads(collection.canonical)["task"]["randomizer"]


def seeded():
    draw = random.Random(29)
    return lambda: draw.getrandbits(64)


def decoded(model, blobs):
    reports, malformed = ReportLayout.of(model).decode(blobs)
    assert malformed.size == 0
    return reports.columns


def test_the_client_knows_nothing_of_this_library():
    tree = ast.parse(Path(page_client.__file__).read_text(encoding="utf-8"))
    named = {each.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
    named |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert "cryptography" in named
    assert not named & {"shuffledp", "numpy", "scipy", "service", "wire", "statistical"}


OF_SEVERAL = {"split-and-mix", "counted-bits", "vector-sum", "columns"}
OF_ONE_REPORT = set(REGISTRY) - OF_SEVERAL - {"one-option", "all-sets", "masked-prefix", "k-rr-blanket"}


def test_all_kinds_that_the_page_of_the_protocol_describes_step_by_step_are_answered():
    """Ticks and texts are randomized on the page alone, and held to the library by vectors."""
    assert {table["kind"] for table, *_ in CASES.values()} == OF_ONE_REPORT


@pytest.mark.parametrize("case", CASES)
def test_what_the_client_sends_is_taken_in_opened_and_no_report_of_it_is_malformed(case):
    table, beside, answer, value, _ = CASES[case]
    parties = collection_of(table, beside)
    collection, model = parties.collection, model_of(parties.collection)
    if hasattr(model, "domain_size"):
        assert page_client.value_of(randomizer_of(collection), answer) == value
    opener = Opener.by([parties.analyzer_key], collection_id=collection.id, column=0)
    terms, now, blobs = terms_of(collection), parties.now.timestamp(), []
    for _ in range(20):
        body = page_client.upload(collection.canonical + b"\n", [answer])
        (submission,) = UploadRequest.decode(body, num_columns=1).submissions
        assert refusal(submission, terms, phase=Phase.OPEN, now=now) is None
        blobs.append(opener.open(submission.reports[0].ciphertext))
    assert len(next(iter(decoded(model, blobs).values()))) == 20


def cells(case, wrong=1.0):
    """How many reports of the client are in each cell, and the law of the model, of a loss that may be wrong."""
    table, beside, answer, value, told_apart = CASES[case]
    collection = collection_of(table, beside).collection
    model, randomizer = model_of(collection), randomizer_of(collection)
    # What must stay as the model has it, since it may follow from the loss: the form of a report.
    if randomizer["kind"] == "rounded-mean":
        randomizer["num_levels"] = model.num_levels if wrong != 1.0 else randomizer["num_levels"]
    if randomizer["kind"] == "olh" and wrong != 1.0:
        randomizer["hash_range"] = model.hash_range
    randomizer["epsilon0"] *= wrong
    words = seeded()
    columns = decoded(model, [page_client.plaintext(randomizer, answer, words) for _ in range(REPORTS)])
    places, law = told_apart(model, columns, value)
    return np.bincount(places, minlength=len(law)), law


@pytest.mark.deep
@pytest.mark.parametrize("case", CASES)
def test_the_reports_of_the_client_have_the_law_of_the_model_and_those_of_another_loss_have_not(case):
    assert_fits(*cells(case))
    assert_rejects(*cells(case, WRONG))
