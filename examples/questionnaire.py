"""A questionnaire with questions of several kinds, its release, and what differs: at no further cost."""

import numpy as np

from shuffledp.survey import Task

rng = np.random.default_rng(5)
WAYS, PETS = ["car", "bus", "bike"], ["cat", "dog", "fish"]

# What is asked, how each answer is randomized, and what the release will be asked in turn.
task = Task.from_dict(
    {
        "name": "our street",
        "value": [
            {"column": "way", "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "categories": WAYS}},
            {
                "column": "pets",
                "kind": "multi-select",
                "options": PETS,
                "at_most": 2,
                "randomizer": {"kind": "columns", "epsilon0": 2.0},
            },
            {"column": "hours", "randomizer": {"kind": "laplace-mean", "epsilon0": 1.0, "lower": 0, "upper": 40}},
            {"column": "age", "randomizer": {"kind": "k-rr", "epsilon0": 2.0, "edges": [0, 18, 40, 65, 100]}},
            {
                "column": "job",
                "kind": "open",
                "code": "letters",
                "length": 8,
                "randomizer": {"kind": "masked-prefix", "epsilon0": 6.5},
            },
        ],
        "people": {"expected": 4000},
        "release": {"delta": 1e-6, "minimum_batch": 3000, "compare": ["options"]},
    }
)

# 4,000 people. In a collection each answers on a device of their own, and nobody has this table.
answers = {
    "way": rng.choice(WAYS, 4000, p=[0.5, 0.3, 0.2]),
    "pets": rng.choice(["cat;dog", "dog", "", "fish"], 4000, p=[0.2, 0.3, 0.4, 0.1]),
    "hours": rng.integers(0, 41, 4000),
    "age": rng.integers(0, 100, 4000),
    "job": rng.choice(["teacher", "nurse", "farmer", "driver"], 4000, p=[0.4, 0.3, 0.2, 0.1]),
}
outcome = task.run(answers)

print(outcome.statements[0])
for column in outcome.columns.values():
    print(f"\n{column.column.label}: {column.release.estimate}")
    for difference in column.comparisons.differences if column.comparisons else ():
        print(difference)
