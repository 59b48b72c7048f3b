"""Warnings are errors in the tests, but for those by which a library announces a change."""

import warnings

import pytest


@pytest.mark.parametrize("category", [UserWarning, RuntimeWarning, ResourceWarning, SyntaxWarning])
def test_a_warning_is_an_error(category):
    with pytest.raises(category):
        warnings.warn("shown", category, stacklevel=1)


@pytest.mark.parametrize("category", [DeprecationWarning, PendingDeprecationWarning, FutureWarning])
def test_a_deprecation_in_a_new_version_of_a_library_is_only_shown(category):
    warnings.warn("shown", category, stacklevel=1)
