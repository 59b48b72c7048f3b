"""Puts this folder on the path, so that tests share ``contracts`` and ``statistical`` as packages."""

import pytest

pytest.register_assert_rewrite("contracts", "statistical.thresholds")
