"""The options of JAX, with a fake of its interface, or with JAX itself (`--jax=PYTHON`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import jax_python
from tests.helpers.jax_python import eval_with_jax, run_with_jax
from tests.helpers.subprocess import PROGRAMS

# Compares the fake with JAX, which `make test-integrations` runs.
needs_jax = pytest.mark.skipif("config.getoption('--jax') == 'fake'", reason="needs --jax=PYTHON")
PROGRAM = "jax_options.py"


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a program prints that overrides every option."""
    return eval_with_jax("settings.jax_options.override_every_option", tmp_path_factory.mktemp("interlock"))


def test_options_of_jax_are_known_once_it_is_imported(every: Any) -> None:
    assert every["before_import"] == [[], False]
    known = {"jax.config.jax_enable_x64", "jax.enable_x64", "jax.config.jax_platforms", "jax.debug_nans"}
    assert known <= set(every["names"])
    assert every["values"]["jax.enable_x64"] == "unset"


def test_every_option_of_jax_is_overridden_and_put_back(every: Any) -> None:
    assert (every["left"], every["refused"], every["unset"]) == ([], {}, [])
    assert every["changed"] >= 20
    assert every["unseen"] == []


def test_reading_and_overriding_options_starts_no_backend(every: Any) -> None:
    assert every["backends"] == 0


def test_methods_of_jax_are_put_back_when_it_is_disabled(every: Any) -> None:
    assert every["wrapped"] is False


@needs_jax
def test_fake_of_jax_has_the_options_and_values_of_jax(every: Any) -> None:
    fake = jax_python.eval_with_fake("settings.jax_options.override_every_option")
    # Later versions have more, and an earlier one may lack some.
    common = [name for name in fake["names"] if name in every["names"]]
    assert len(common) > len(fake["names"]) - 4
    assert {name: fake["values"][name] for name in common} == {name: every["values"][name] for name in common}


@needs_jax
def test_options_that_compile_functions_again_name_the_compiler_as_a_guard(tmp_path: Path) -> None:
    compiled, guarded = eval_with_jax("settings.jax_options.compile_again", tmp_path)
    assert "jax.enable_x64" in compiled
    assert set(compiled) <= set(guarded)
    # Only since a later version.
    assert set(guarded) - set(compiled) <= {"jax.config.jax_debug_key_reuse", "jax.debug_key_reuse"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a program prints that writes options of JAX in each way."""
    return eval_with_jax("settings.jax_options.find_who_writes", tmp_path_factory.mktemp("interlock"))


@pytest.mark.parametrize(
    ("way", "writes"),
    [
        ("update", [["by_update", PROGRAM, False, True, False]]),
        ("function", [["by_function", PROGRAM, True, False, False]]),
        ("thread", [["by_update", PROGRAM, False, True, False]]),
        ("unseen", [[None, "?", True, False, False]]),
        ("import", [["<module>", "jax_options_at_import.py", False, True, True]]),
        ("flag", [["by_flag", PROGRAM, "", "cpu", False]]),
        # Written by the option for all directions: once.
        ("guard", [["guard", PROGRAM, None, "log", False]]),
        ("other", []),
    ],
)
def test_each_way_of_writing_an_option_of_the_process_is_recorded(found: Any, way: str, writes: Any) -> None:
    assert found[way] == writes


def test_pinned_option_refuses_a_write(found: Any) -> None:
    pattern = r"jax\.config\.jax_enable_x64 is pinned to False by .*; the write at .* of True is refused"
    assert re.fullmatch(pattern, found["pinned"])
    assert found["kept"] is False


def test_options_are_set_for_a_thread_or_for_the_process(tmp_path: Path) -> None:
    assert eval_with_jax("settings.jax_options.override_on_threads_and_in_the_process", tmp_path) == {
        "thread": [True, False, False],
        "unset": False,
        "process": [True, True, "unset"],
        "thread in process": [False, True],
        "own": [True, False],
        "in own": False,
        "own again": True,
        "follows": True,
        "tasks": [True, True, True],
        "after": False,
    }


def test_option_that_started_backends_have_read_is_not_overridden(tmp_path: Path) -> None:
    program = "settings.jax_options.write_after_the_start_of_backends"
    found = eval_with_jax(program, tmp_path, env={"JAX_ENABLE_X64": "0"})
    assert found["before"] == ""
    assert "  too late for a write: JAX has started its backends" in found["text"]
    assert found["environ"] == "jax imported before"
    refused, device, boolean = found["errors"]
    assert refused.endswith(
        "does not accept 'tpu': RuntimeError: JAX has started its backends, which read it"
    )
    assert device.endswith("ValueError: no such device of a started backend; call jax.devices() before")
    assert boolean == "override: jax.config.jax_enable_x64 must be a bool, got 1"
    assert (found["devices"], found["restored"]) == ([True, True, True], None)
    assert "The environment has JAX_ENABLE_X64='0', which JAX reads at its import." in found["note"]


def test_watched_program_reports_options_of_jax_and_settings_of_numpy(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    file = tmp_path / "found.json"
    program = str(PROGRAMS / "settings" / "watched_jax.py")
    done = run_with_jax(tmp_path, "-m", "interlock", "watch", "--json", str(file), program)
    assert done.code == 0, done.stderr
    changes = {each["setting"]: each for each in json.loads(file.read_text())["changes"]}
    x64, platforms = changes["jax.config.jax_enable_x64"], changes["jax.config.jax_platforms"]
    assert (Path(x64["file"]).name, x64["at_import"], x64["problem"]) == (
        "jax_options_at_import.py",
        True,
        None,
    )
    assert platforms["problem"] == "too late: JAX has started its backends"
    assert changes["environ.JAX_DEBUG_NANS"]["problem"] == "too late: jax imported before"
    assert changes["numpy.errstate.over"]["after"] == "raise"
    assert changes["numpy.printoptions.precision"]["after"] == 3
