"""Counts of loaded libraries: Python's functions must not run while the C library holds its lock."""

from __future__ import annotations

import os
import sys

import pytest
from interlock.integrations._loads import number_of_loads

from tests.helpers.subprocess import eval_program


def test_number_of_loads_is_stable_while_no_library_is_loaded() -> None:
    assert number_of_loads() == number_of_loads()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other C libraries count no loads")
def test_libraries_are_loaded_while_threads_count_them() -> None:
    has_files, has_changed = eval_program("settings.loads.load_libraries_while_threads_count_them")
    if not has_files:
        pytest.skip("this Python has no extension modules in files")
    assert has_changed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_libraries_are_counted_in_a_child_forked_while_threads_count_them() -> None:
    assert eval_program("settings.loads.fork_while_threads_count_libraries") == 0
