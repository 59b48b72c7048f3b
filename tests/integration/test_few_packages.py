"""What works where packages are missing, as in a browser: each program runs in a process that cannot import them."""

import json
import subprocess
import sys

from shuffledp.planning.guaranteed_leakage import compare_guaranteed
from shuffledp.randomizers.randomizer_kinds import kinds_of_loss
from shuffledp.survey import Task, plan

PARAMETERS = {"domain_size": 3, "lower": 0, "upper": 1, "dimension": 3, "num_options": 4, "at_most": 2, "num_bits": 12}
PARAMETERS["blanket_messages"] = 0.5
TASK = {
    "name": "survey",
    "value": "answer",
    "people": {"expected": 1000},
    "randomizer": {"kind": "k-rr", "epsilon0": 1.0, "categories": ["a", "b", "c", "d"]},
    "release": {"delta": 1e-6},
}
ACCOUNT = """
import shuffledp as sdp
from shuffledp.randomizers.randomizer_kinds import kinds_of_loss, model_of_kind, parameters_of_kind
def epsilon(kind, parameters):
    given = {name: parameters[name] for name in parameters_of_kind(kind) if name in parameters}
    local = model_of_kind(kind, epsilon0=1.0, **given)
    shuffle = sdp.UniformShuffler().model(500)
    return sdp.account(sdp.ProtocolModel(local=local, shuffle=shuffle), delta=1e-6).guarantee.epsilon
"""
PLAN = """
from shuffledp.planning.guaranteed_leakage import compare_guaranteed
from shuffledp.survey import Task, plan
task = Task.from_dict(given)
answer = [plan(task).to_dict(), compare_guaranteed(task.column.model(1000), delta=1e-6, method="quick").to_dict()]
"""
KERNELS = """
import numpy as np
import shuffledp as sdp
from shuffledp.protocols.d_sigma import Groups, reference_order
from shuffledp.randomness.replayable import SeededSource
def drawn():
    points = SeededSource(1).words(60).reshape(30, 2) / 2**64
    groups, graph = Groups.from_radius(points, 0.2), sdp.Graph.random_regular(4, 30, source=SeededSource(2))
    shufflers = [
        sdp.UniformShuffler(), sdp.MallowsShuffler(groups=groups, alpha=1.0),
        sdp.NoisySortShuffler(groups=groups, alpha=1.0), sdp.RandomWalkShuffler(graph=graph, num_rounds=5),
    ]
    found = [reference_order(groups).tolist()]
    for randomizer in (sdp.KaryRandomizedResponse, sdp.SubsetSelection):
        reports = randomizer(epsilon0=1.0, domain_size=4).randomize(np.arange(30) % 4, source=SeededSource(3))
        views = [shuffler.shuffle(reports, source=SeededSource(4)) for shuffler in shufflers]
        found += [np.asarray(column).tolist() for view in views for column in view.reports.columns.values()]
    return found
"""


def without(packages, program):
    """What ``answer`` is at the end of a program that cannot import these packages, and warns of nothing."""
    code = (
        f"import json, sys, warnings\nsys.modules.update(dict.fromkeys({packages}))\n"
        f"warnings.simplefilter('error')\n{program}\nprint(json.dumps(answer))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_accountant_needs_numpy_alone():
    kinds = sorted(set(kinds_of_loss()) - {"priv-unit"})  # whose law needs special functions of scipy
    asked = f"answer = {{kind: epsilon(kind, {PARAMETERS}) for kind in {kinds}}}"
    names = {}
    exec(ACCOUNT, names)  # noqa: S102
    here = {kind: names["epsilon"](kind, PARAMETERS) for kind in kinds}
    assert without(["numba", "scipy", "cryptography", "pyarrow"], f"{ACCOUNT}\n{asked}") == here


def test_plans_and_leakage_of_uniform_shuffles_need_neither_numba_nor_pyarrow():
    task = Task.from_dict(TASK)
    here = plan(task).to_dict(), compare_guaranteed(task.column.model(1000), delta=1e-6, method="quick").to_dict()
    assert without(["numba", "pyarrow"], f"given = {TASK}\n{PLAN}") == json.loads(json.dumps(here))


def test_kernels_that_are_not_compiled_draw_the_same():
    names = {}
    exec(KERNELS, names)  # noqa: S102
    assert without(["numba"], f"{KERNELS}\nanswer = drawn()") == names["drawn"]()


def test_numpys_samplers_are_refused_without_numba_in_a_line():
    program = "from shuffledp.randomness.replayable import SeededSource\ntry: SeededSource(1).bit_generator\n"
    said = without(["numba"], f"{program}except Exception as error: answer = [type(error).__name__, str(error)]")
    assert said == [
        "LocalProtocolError",
        "bit_generator needs numba, which is not installed.",
    ]
