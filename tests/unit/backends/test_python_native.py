"""`backends.python_native`: the languages of kernels, and the flags that disable them."""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from interlock import backends, errors
from interlock.backends import python_native

pytestmark = pytest.mark.usefixtures("restored")

DSLS = ["cutedsl", "flydsl", "helion", "python", "triton"]


def test_all_dsls_lists_those_of_pytorch_and_python() -> None:
    assert python_native.all_dsls == DSLS
    python_native.all_dsls.clear()
    assert python_native.all_dsls == DSLS, "each read returns a list of its own"
    assert [getattr(python_native, dsl).name for dsl in DSLS] == DSLS
    assert "python" in python_native.available_dsls
    with pytest.raises(AttributeError, match="has no attribute"):
        python_native.alldsls  # type: ignore[attr-defined]  # noqa: B018


def test_python_is_available_in_the_version_of_the_interpreter() -> None:
    assert python_native.python.available
    assert python_native.python.version == platform.python_version()


def test_language_without_its_package_is_not_available() -> None:
    assert "helion" not in python_native.available_dsls
    assert (python_native.helion.available, python_native.helion.version) == (False, None)


def test_language_is_available_if_its_package_is_found_and_not_imported(tmp_path: Path) -> None:
    (tmp_path / "flydsl").mkdir()
    (tmp_path / "flydsl" / "__init__.py").write_text("raise ImportError('imported')")
    metadata = tmp_path / "flydsl-1.2.3.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: flydsl\nVersion: 1.2.3\n")
    code = "from interlock.backends import python_native as p; print(p.available_dsls, p.flydsl.version)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("] ")[1].strip() == "1.2.3"
    assert "'flydsl'" in done.stdout


def test_backend_is_that_of_helion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HELION_BACKEND", raising=False)
    assert python_native.helion.backend == "triton"
    monkeypatch.setenv("HELION_BACKEND", "cute")
    assert python_native.helion.backend == "cute"
    with pytest.raises(AttributeError):
        python_native.triton.backend  # type: ignore[attr-defined]  # noqa: B018


def test_disable_and_enable_assign_the_flag() -> None:
    python_native.triton.disable()
    assert (python_native.triton.enabled, python_native.is_dsl_disabled("triton")) == (False, True)
    assert backends.explain("python_native.triton.enabled")[1:3] == (False, "process")
    python_native.triton.enable()
    assert (python_native.triton.enabled, python_native.is_dsl_disabled("triton")) == (True, False)
    assert not python_native.is_dsl_disabled("nope")


def test_disabled_is_a_scope_of_the_context() -> None:
    seen: list[bool] = []
    with python_native.triton.disabled():
        assert not python_native.triton.enabled
        thread = threading.Thread(target=lambda: seen.append(python_native.triton.enabled))
        thread.start()
        thread.join()

        async def read() -> bool:
            return python_native.triton.enabled

        assert asyncio.run(read()) is False
    assert (seen, python_native.triton.enabled) == ([True], True)


def test_operations_are_disabled_and_enabled_by_name() -> None:
    assert not python_native.is_operation_disabled("bmm")
    python_native.disable_operations("bmm", "never_heard_of", "bmm")
    assert python_native.disabled_operations == "bmm,never_heard_of"
    assert python_native.is_operation_disabled("bmm")
    python_native.enable_operations("bmm", "other")
    assert python_native.disabled_operations == "never_heard_of"
    python_native.enable_operations()
    python_native.disable_operations()
    assert python_native.disabled_operations == "never_heard_of"
    python_native.disable_dispatch_keys("CUDA")
    assert python_native.disabled_dispatch_keys == "CUDA"
    python_native.enable_dispatch_keys("CUDA", "CPU")
    assert python_native.disabled_dispatch_keys == ""


def test_operations_disabled_adds_to_the_disabled_ones() -> None:
    python_native.disable_operations("bmm")
    with python_native.operations_disabled("mm", "bmm"):
        assert python_native.disabled_operations == "bmm,mm"
        with python_native.operations_disabled("conv2d"):
            assert python_native.disabled_operations == "bmm,conv2d,mm"
        python_native.enable_operations("bmm")
        assert not python_native.is_operation_disabled("bmm"), (
            "an assignment inside a scope that sets the flag"
        )
    assert python_native.disabled_operations == "bmm"

    @python_native.operations_disabled("mm")
    def decorated() -> bool:
        return python_native.is_operation_disabled("mm")

    assert decorated()
    assert not python_native.is_operation_disabled("mm")


@pytest.mark.parametrize(
    "function",
    [
        python_native.disable_operations,
        python_native.enable_operations,
        python_native.operations_disabled,
        python_native.disable_dispatch_keys,
        python_native.enable_dispatch_keys,
    ],
)
def test_names_that_a_flag_cannot_list_are_refused(function: Any) -> None:
    before = backends.snapshot()
    with pytest.raises(errors.FlagTypeError, match=f"{function.__name__}: a name must be a str, got int"):
        function("mm", 3)
    for wrong in ("", "  ", "mm,bmm"):
        with pytest.raises(errors.FlagValueError, match=f"{function.__name__}: a name must be a word"):
            function("mm", wrong)
    assert backends.snapshot() == before


def test_frozen_flags_refuse_assignments_and_accept_scopes() -> None:
    with backends.frozen():
        for change in (
            python_native.triton.disable,
            python_native.triton.enable,
            lambda: python_native.disable_operations("mm"),
            lambda: python_native.disable_dispatch_keys("CPU"),
        ):
            with pytest.raises(errors.FlagsFrozenError):
                change()
        with python_native.triton.disabled(), python_native.operations_disabled("mm"):
            assert python_native.is_operation_disabled("mm")


def test_operations_of_a_language_are_those_of_a_namespace() -> None:
    assert python_native.get_dsl_operations("triton") == []
    assert python_native.get_dsl_operations("nope") == []
    assert python_native.get_dsl_operations("python", lib_symbol="mylib") == []
