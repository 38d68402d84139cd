"""The settings of PyTorch, with a fake of its interface, or with PyTorch itself (`--torch=PYTHON`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import torch_python
from tests.helpers.torch_python import eval_with_torch

# Compares the fake with PyTorch, which `make test-integrations` runs.
needs_torch = pytest.mark.skipif("config.getoption('--torch') == 'fake'", reason="needs --torch=PYTHON")
PROGRAM = "writers.py"
# The interfaces of these depend on the machine and the build.
DEPENDS = {"torch.num_threads", "torch.num_interop_threads", "torch.backends.quantized.engine"}
DEPENDS |= {"torch.backends.opt_einsum.enabled", "torch.backends.opt_einsum.strategy"}


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a program prints that overrides every setting."""
    return eval_with_torch(
        "settings.scopes.override_every_setting_of_torch", tmp_path_factory.mktemp("interlock")
    )


def test_settings_of_torch_are_known_once_it_is_imported(every: Any) -> None:
    assert every["before_import"] == []
    assert {"torch.backends.cudnn.benchmark", "torch.num_threads", "torch.grad_enabled"} <= set(
        every["names"]
    )
    assert len(every["names"]) > 55


def test_every_setting_of_torch_is_overridden_and_put_back(every: Any) -> None:
    assert every["left"] == []
    assert every["missing"] == []
    assert every["refused"] == {}
    # The CPU may not support it; the fake does not.
    assert set(every["unset"]) <= {"torch.flush_denormal"}
    assert every["read_only"] == ["torch.num_interop_threads", "torch.inference_mode"]


def test_no_change_by_a_scope_is_reported_as_unseen(every: Any) -> None:
    assert every["unseen"] == []


def test_reading_the_settings_does_not_initialize_cuda(every: Any) -> None:
    assert every["cuda"] is False
    assert every["values"]["torch.cuda.current_device"] is None


def test_functions_of_torch_are_put_back_when_it_is_disabled(every: Any) -> None:
    assert every["wrapped"] == [False, False, False, False]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a program prints that writes settings of PyTorch in each way."""
    return eval_with_torch(
        "settings.writers.find_who_writes_settings_of_torch", tmp_path_factory.mktemp("interlock")
    )


@pytest.mark.parametrize(
    ("way", "writes"),
    [
        ("property", [["by_property", PROGRAM, False, True, False]]),
        ("flags", [["by_flags", PROGRAM, True, False, False], ["by_flags", PROGRAM, False, True, False]]),
        ("function", [["by_function_of_c", PROGRAM, True, False, False]]),
        ("thread", [["by_property", PROGRAM, False, True, False]]),
        ("unseen", [[None, "?", True, False, False]]),
        ("import", [["<module>", "flags_at_import_later.py", False, True, True]]),
        ("threads", [["set_threads", PROGRAM, 2, 1, False]]),
        ("attribute", [["by_attribute", PROGRAM, False, True, False]]),
        ("precision", [["set_precision", PROGRAM, "high", "high", False]]),
        ("node", [["allow_tf32", PROGRAM, "tf32", "ieee", False]]),
        ("deterministic", [["deterministic", PROGRAM, False, True, False]]),
        ("dtype", [["set_dtype", PROGRAM, "float32", "float64", False]]),
    ],
)
def test_each_way_of_writing_a_setting_of_torch_is_recorded(found: Any, way: str, writes: Any) -> None:
    recorded = found[way]
    if way == "threads":
        recorded[0][2] = 2
    assert recorded == writes


def test_pinned_flag_of_torch_refuses_a_write(found: Any) -> None:
    pattern = (
        r"torch\.backends\.cudnn\.benchmark is pinned to False by .*; the write at .* of True is refused"
    )
    assert re.fullmatch(pattern, found["pinned"])
    assert found["kept"] is False


@needs_torch
def test_fake_of_torch_has_the_settings_and_values_of_torch(every: Any, tmp_path: Path) -> None:
    fake = torch_python.eval_with_fake("settings.scopes.override_every_setting_of_torch")
    added = set(every["names"]) - set(fake["names"])
    assert [name for name in fake["names"] if name in every["names"]] == fake["names"]
    # A later version may have more.
    assert {name: fake["values"][name] for name in fake["names"] if name not in DEPENDS} == {
        name: value for name, value in every["values"].items() if name not in DEPENDS | added
    }


def test_override_puts_back_a_precision_that_torch_refuses_to_read(tmp_path: Path) -> None:
    found, errors = eval_with_torch("settings.scopes.override_mixed_precisions", tmp_path)
    apart, mixed = ["none", "highest"], ["tf32", "unreadable"]
    expected: list[Any] = [apart]
    for inside in (["ieee", "highest"], ["tf32", "high"], ["tf32", "medium"]):
        expected += [[mixed, inside, mixed, mixed], apart]
    assert found == expected
    assert errors == ["SettingConflictError: override: torch.backends.cuda.matmul.fp32_precision is"]


@needs_torch
def test_torch_compile_and_script_work_while_settings_are_enabled(tmp_path: Path) -> None:
    program = "settings.compiler.compile_while_settings_are_enabled"
    for enabled_first in (True, False):
        assert eval_with_torch(program, tmp_path, enabled_first) == {
            "eager": True,
            "aot_eager": True,
            "script": True,
            "graph_breaks": True,
            "functions": ["attend"],
            "groups": ["None", "torch.compile"],
        }


@needs_torch
def test_torch_compile_treats_each_setter_as_without_settings(tmp_path: Path) -> None:
    program = "settings.compiler.compile_each_setter"
    plain, early, late = (eval_with_torch(program, tmp_path, when) for when in ("", "first", "late"))
    assert early == plain
    assert late == plain
    assert len(plain) > 40
    assert list(plain.values()).count("compiled") > 30
