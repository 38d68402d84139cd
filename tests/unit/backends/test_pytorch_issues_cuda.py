"""Issues of PyTorch about `backends.cuda`, and interlock's behaviour (docs/pytorch_issues.md)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interlock import backends
from interlock.backends import cuda
from interlock.backends.cuda import SDPBackend

from tests.helpers import fake_driver
from tests.helpers.subprocess import eval_program
from tests.helpers.thread_worker import Worker
from tests.unit.backends.flag_specs import read_all

pytestmark = pytest.mark.usefixtures("restored")

SWITCHES = ("flash", "mem_efficient", "math", "cudnn")
# Every function that writes a flag: its getter, the flag, and two values that read differently.
FUNCTIONS: list[tuple[Callable[[Any], Any], Callable[[], Any], str, Any, Any]] = [
    *(
        (
            getattr(cuda, f"enable_{name}_sdp"),
            getattr(cuda, f"{name}_sdp_enabled"),
            f"{name}_sdp",
            True,
            False,
        )
        for name in SWITCHES
    ),
    (
        cuda.allow_fp16_bf16_reduction_math_sdp,
        cuda.fp16_bf16_reduction_math_sdp_allowed,
        "fp16_bf16_reduction_math_sdp",
        False,
        True,
    ),
    (cuda.preferred_linalg_library, cuda.preferred_linalg_library, "linalg_library", "cusolver", "magma"),
    (cuda.preferred_blas_library, cuda.preferred_blas_library, "blas_library", "cublas", "cublaslt"),
    (cuda.preferred_rocm_fa_library, cuda.preferred_rocm_fa_library, "rocm_fa_library", "aotriton", "ck"),
    (cuda.cublas_workspace_size, cuda.cublas_workspace_size, "cublas_workspace", 8, 16),
    (cuda.cublaslt_workspace_size, cuda.cublaslt_workspace_size, "cublaslt_workspace", 8, 16),
]
EACH_FUNCTION = pytest.mark.parametrize(
    ("write", "read", "flag", "value", "other"), FUNCTIONS, ids=[flag for _, _, flag, *_ in FUNCTIONS]
)


def switches() -> list[bool]:
    return [getattr(cuda, f"{name}_sdp_enabled")() for name in SWITCHES]


def test_overlapping_scopes_on_two_threads_restore_every_kernel(
    workers: tuple[Worker, Worker],
) -> None:
    first, second = workers
    before = (read_all(), switches(), cuda.sdp_priority)
    scopes = [
        cuda.sdpa_kernel(SDPBackend.MATH, set_priority=True),
        cuda.sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True),
    ]
    first.do(scopes[0].__enter__)
    second.do(scopes[1].__enter__)
    assert (first.do(switches), second.do(switches)) == ([0, 0, 1, 0], [1, 0, 0, 1])
    assert first.do(lambda: cuda.sdp_priority[0]) == "math"
    assert switches() == [True] * 4
    first.do(lambda: scopes[0].__exit__(None, None, None))
    assert (first.do(switches), second.do(switches)) == ([True] * 4, [1, 0, 0, 1])
    second.do(lambda: scopes[1].__exit__(None, None, None))
    for do in (first.do, second.do, lambda job: job()):
        assert do(lambda: (read_all(), switches(), cuda.sdp_priority)) == before


@EACH_FUNCTION
def test_message_names_the_flag_of_the_function_that_was_called(
    write: Callable[[Any], Any], read: Callable[[], Any], flag: str, value: Any, other: Any
) -> None:
    wrong = "1" if isinstance(value, bool | int) else 1
    with pytest.raises(RuntimeError) as caught:
        write(wrong)
    named = set(re.findall(r"[a-z0-9_]+_(?:sdp|library|workspace)\b", str(caught.value)))
    assert named == {flag}


def test_scope_names_the_flag_with_a_wrong_value() -> None:
    for name in SWITCHES:
        with pytest.raises(RuntimeError, match=rf"^backends\.cuda\.{name}_sdp must be a bool, got 1$"):
            cuda.sdp_kernel(**{f"enable_{name}": 1})  # type: ignore[arg-type]


@EACH_FUNCTION
def test_enable_functions_have_a_scoped_form(
    write: Callable[[Any], Any], read: Callable[[], Any], flag: str, value: Any, other: Any
) -> None:
    write(value)
    before = read()
    with backends.override(**{f"cuda.{flag}": other}):
        inside = read()
        assert inside != before
    assert read() == before
    write(other)
    assert read() == inside


def test_only_deprecated_functions_warn() -> None:
    assert eval_program("backends.flags.use_every_name_of_backends_cuda", options=["-W", "error"]) == [
        "sdp_kernel"
    ]


@pytest.mark.skipif(
    sys.platform != "linux" or fake_driver.COMPILER is None, reason="a driver is built with the C compiler"
)
def test_without_a_driver_the_plan_caches_give_one_clear_error(tmp_path: Path) -> None:
    (reported,) = eval_program(
        "backends.plan_caches.without_a_driver_the_plan_caches_give_one_clear_error",
        env=fake_driver.build(tmp_path, init=100),
        options=["-W", "error"],
    )
    assert "backends.cuda.cufft_plan_cache: no CUDA device: " in reported
