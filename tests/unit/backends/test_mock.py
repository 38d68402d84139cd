"""`unittest.mock` and `monkeypatch` restore the previous value, also one that is not the default."""

from __future__ import annotations

from unittest import mock

import pytest
from interlock import backends

pytestmark = pytest.mark.usefixtures("restored")


def test_patched_node_inherits_again_afterwards() -> None:
    with mock.patch.object(backends.cudnn.conv, "fp32_precision", "tf32"):
        pass
    backends.fp32_precision = "ieee"
    assert backends.cudnn.conv.fp32_precision == "ieee"
    with mock.patch.object(backends.cudnn, "allow_tf32", True):
        assert backends.cudnn.conv.fp32_precision == "tf32"
    assert backends.cudnn.conv.fp32_precision == "ieee"
    backends.fp32_precision = "tf32"
    assert backends.cudnn.rnn.fp32_precision == "tf32"


@pytest.mark.parametrize("pair", [(False, False), (False, True), (True, True)])
def test_both_parts_of_a_patched_reduction_are_restored(pair: tuple[bool, bool]) -> None:
    matmul = backends.cuda.matmul
    matmul.allow_fp16_reduced_precision_reduction = pair
    with mock.patch.object(matmul, "allow_fp16_reduced_precision_reduction", not pair[0]):
        assert matmul.allow_fp16_reduced_precision_reduction is not pair[0]
    read = (
        matmul.allow_fp16_reduced_precision_reduction,
        matmul.allow_fp16_reduced_precision_reduction_split_k,
    )
    assert read == pair


def test_monkeypatch_can_delete_and_restore_an_assigned_flag() -> None:
    backends.cudnn.benchmark_limit = 4
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(backends.cudnn, "benchmark_limit")
        assert backends.cudnn.benchmark_limit == 10
    assert backends.cudnn.benchmark_limit == 4


def test_patch_by_dotted_name_works() -> None:
    with mock.patch("interlock.backends.cudnn.benchmark", True):
        assert backends.cudnn.benchmark is True
    assert backends.cudnn.benchmark is False


def test_mock_refuses_a_flag_that_does_not_exist() -> None:
    with pytest.raises(AttributeError), mock.patch.object(backends.cudnn, "benchmrak", True):
        raise AssertionError("the patch was applied")


def test_patch_inside_a_scope_stays_in_the_scope() -> None:
    with backends.cudnn.flags(enabled=False):
        with mock.patch.object(backends.cudnn, "enabled", True):
            assert backends.cudnn.enabled is True
        assert backends.cudnn.enabled is False
    assert backends.cudnn.enabled is True


def test_flag_in_a_loop_is_current_after_a_read_of_module_dict() -> None:
    # The loop lets the interpreter specialize the read; 3.14 does so for subclasses of modules, too.
    with backends.cudnn.flags(enabled=False):
        assert vars(backends.cudnn)["enabled"] is False
    wanted = [turn % 2 == 0 for turn in range(1000)]
    read = []
    for value in wanted:
        with backends.override(**{"cudnn.enabled": value}):
            read.append(backends.cudnn.enabled)
    assert read == wanted


def test_flags_read_in_a_loop_are_current_after_a_patch_ends() -> None:
    backends.fp32_precision, backends.mkldnn.enabled, backends.nnpack.enabled = "tf32", True, True
    patches = [
        mock.patch.object(backends, "fp32_precision", "ieee"),
        mock.patch.object(backends.mkldnn, "enabled", False),
        mock.patch.object(backends.nnpack, "enabled", False),
    ]
    for patch in patches:
        with patch:
            pass
    read = []
    for _ in range(100):
        read.append((backends.fp32_precision, backends.mkldnn.enabled, backends.nnpack.enabled))
        with backends.override(
            **{"fp32_precision": "ieee", "mkldnn.enabled": False, "nnpack.enabled": False}
        ):
            read.append((backends.fp32_precision, backends.mkldnn.enabled, backends.nnpack.enabled))
    assert read == [("tf32", True, True), ("ieee", False, False)] * 100
