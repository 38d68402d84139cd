"""The settings of NumPy, of this interpreter or of another one (`--jax=PYTHON`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.jax_python import eval_with_jax

pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a program prints that overrides every setting."""
    return eval_with_jax(
        "settings.numpy_settings.override_every_setting", tmp_path_factory.mktemp("interlock")
    )


@pytest.fixture(scope="module")
def version(every: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in every["version"].split(".")[:2])


def test_settings_of_numpy_are_known_once_it_is_imported(every: Any) -> None:
    assert every["before_import"] == [[], False]
    assert {"numpy.errstate.over", "numpy.bufsize", "numpy.printoptions.precision"} <= set(every["extents"])
    assert every["defaults"] == []


def test_every_setting_of_numpy_is_overridden_and_put_back(every: Any) -> None:
    assert (every["unset"], every["left"]) == ([], [])
    read_only = {"numpy.errstate.call", "numpy.printoptions.formatter", "numpy.memory_handler"}
    assert set(every["read_only"]) - {"numpy.printoptions.override_repr"} == read_only


def test_extent_is_that_of_the_version_of_numpy(every: Any, version: tuple[int, ...]) -> None:
    extents = every["extents"]
    assert extents["numpy.errstate.over"] == ("context" if version >= (2, 0) else "thread")
    assert extents["numpy.bufsize"] == extents["numpy.errstate.over"]
    assert extents["numpy.printoptions.precision"] == ("context" if version >= (2, 1) else "process")
    # Removed in 2.2.
    assert extents.get("numpy.promotion_state") == (
        None if version >= (2, 2) else "thread" if version == (2, 1) else "process"
    )


def test_other_threads_and_contexts_see_what_the_extent_says(every: Any) -> None:
    expected = {"process": [True, True], "thread": [False, True], "context": [False, False]}
    assert every["visible"] == {name: expected[every["extents"][name]] for name in every["visible"]}


def test_functions_of_numpy_are_put_back_when_it_is_disabled(every: Any) -> None:
    assert every["wrapped"] is False


def test_functions_that_write_record_the_settings_that_change(tmp_path: Path) -> None:
    found = eval_with_jax("settings.numpy_settings.find_who_writes", tmp_path)
    code = ["find_who_writes", "numpy_settings.py"]
    assert found["writes"] == [
        ["numpy.errstate.divide", "warn", "raise", *code],
        ["numpy.errstate.over", "warn", "raise", *code],
        ["numpy.errstate.invalid", "warn", "raise", *code],
        ["numpy.printoptions.formatter", None, "float", *code],
        ["numpy.bufsize", 8192, 4096, *code],
        ["numpy.errstate.over", "raise", "warn", *code],
    ]


def test_scope_over_printing_leaves_the_functions_of_the_program(tmp_path: Path) -> None:
    found = eval_with_jax("settings.numpy_settings.find_who_writes", tmp_path)
    assert (found["call"], found["formatter"]) == ("visible", "float")
    assert "0.123456789" in found["printed"]


def test_tasks_have_values_of_their_own(tmp_path: Path, version: tuple[int, ...]) -> None:
    if version < (2, 0):
        pytest.skip("threads have them before NumPy 2.0")
    assert eval_with_jax("settings.numpy_settings.override_in_tasks", tmp_path) == [[True] * 9, "warn"]


def test_values_that_numpy_refuses_leave_everything_as_it_was(tmp_path: Path) -> None:
    errors, left, legacy = eval_with_jax("settings.numpy_settings.refuse_values", tmp_path)
    assert errors[0] == (
        "override: numpy.errstate.over must be one of 'ignore', 'warn', 'raise', 'call', 'print', 'log', "
        "got 'explode'"
    )
    assert errors[1].startswith("override: numpy.bufsize does not accept 3: ValueError: Buffer size, 3, is")
    assert errors[2].endswith("ValueError: this version of NumPy does not know the value")
    assert errors[3] == "override: numpy.printoptions.precision must be a non-negative int, got True"
    assert errors[4] == "override: numpy.errstate.call is read-only. Use numpy.errstate(call=...)."
    assert (left, legacy) == ([], False)


def test_values_that_numpy_had_can_be_put_back(tmp_path: Path) -> None:
    found = eval_with_jax("settings.numpy_settings.put_back_what_numpy_had", tmp_path)
    assert found == {
        "plain": [],
        "unusual": [],
        "JSON": [],
        "formatter": True,
        "call": True,
        "threshold": "inf",
    }


def test_function_of_another_process_is_left_with_a_warning(tmp_path: Path) -> None:
    name = "settings.numpy_settings.restore_names_of_another_process"
    assert eval_with_jax(name, tmp_path) == [
        "restore: settings that cannot be put back are left as they are: numpy.printoptions.formatter (None "
        "instead of 'int')",
        "numpy_settings.py",
        3,
    ]


def test_version_of_printing_that_numpy_does_not_know_hides_no_setting(tmp_path: Path) -> None:
    assert eval_with_jax("settings.numpy_settings.unknown_version", tmp_path) == [
        [],
        ["numpy.printoptions.legacy: False -> '1.26'"],
        [],
        [],
    ]
