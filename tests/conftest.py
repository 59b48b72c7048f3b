"""Puts this folder on the path, so that tests share ``contracts`` and ``statistical`` as packages."""

import os

import pytest

pytest.register_assert_rewrite("contracts", "statistical.thresholds")

# Hundreds of tests start the command line: the bytecode of one start serves the next, whatever the machine's habit is.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
