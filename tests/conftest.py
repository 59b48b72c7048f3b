"""Puts this folder on the path, so that tests share ``contracts`` and others as packages, and makes two tiers."""

import os
import sys

import hypothesis
import pytest

from planner.browsing import browser  # noqa: F401  a fixture
from tiers import pytest_addoption, pytest_collection_modifyitems, pytest_runtest_protocol  # noqa: F401  hooks

pytest.register_assert_rewrite("contracts", "statistical.thresholds")

# There is a worker for each core: further threads would only wait for those of other workers, and burn time meanwhile.
for each in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(each, "1")

# Hundreds of tests start the command line: the bytecode of one start serves the next, whatever the machine's habit is;
# and that of the tests themselves, whose assertions take long to rewrite, serves the next run.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long an example takes says how busy the machine is, and the first one loads what the later ones find loaded.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def nothing_is_remembered():
    """What a test replaces in the accountant must not be remembered in the next one."""
    yield
    if caching := sys.modules.get("shuffledp.core.caching"):
        caching.forget()
