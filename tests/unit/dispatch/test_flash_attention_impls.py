"""Implementations of flash attention: registered, activated and restored in the process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import interlock
import pytest
from interlock import Tensor, backends, dispatch
from interlock.nn import attention, functional

from tests.helpers.subprocess import eval_program

OP = "scaled_dot_product_attention"


@pytest.fixture(autouse=True)
def restored_implementation() -> Iterator[None]:
    yield
    attention.restore_flash_attention_impl(_raise_warn=False)
    assert "mine" not in kernels(tensor())


def tensor(**options: Any) -> Tensor:
    return interlock.ones(1, 1, 2, 8, **options)


def kernels(x: Tensor) -> list[str]:
    return [one.kernel for one in dispatch.explain(OP, x, x, x).considered]


class Handle:
    """Counts its removals."""

    removed = 0

    def remove(self) -> None:
        self.removed += 1


def sevens(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    return query * 0 + 7


def activate_sevens() -> dispatch.RegisteredKernel:
    return dispatch.register_kernel(OP, "mine", sevens, replaces="flash", requires={"cuda.flash_sdp": True})


def first(x: Tensor) -> float:
    return float(functional.scaled_dot_product_attention(x, x, x)[0, 0, 0, 0].item())


def test_fa3_and_fa4_are_known_and_none_is_active() -> None:
    assert attention.list_flash_attention_impls()[:2] == ["FA3", "FA4"]
    assert attention.current_flash_attention_impl() is None


def test_active_implementation_runs_attention_until_it_is_restored(devices: tuple[str, ...]) -> None:
    x = tensor(dtype=interlock.float16, device=devices[0])
    attention.register_flash_attention_impl("mine", register_fn=activate_sevens)
    assert first(x) == 1.0, "registered, not active"
    attention.activate_flash_attention_impl("mine")
    assert attention.current_flash_attention_impl() == "mine"
    assert (first(x), kernels(x)[:2]) == (7.0, ["mine", "flash"])
    assert first(tensor()) == 7.0
    with backends.override({"cuda.flash_sdp": False}):
        assert first(x) == 1.0
    attention.restore_flash_attention_impl()
    assert attention.current_flash_attention_impl() is None
    assert first(x) == 1.0


def test_activation_removes_the_active_implementation() -> None:
    one, other = Handle(), Handle()
    attention.register_flash_attention_impl("one", register_fn=lambda: one)
    attention.register_flash_attention_impl("other", register_fn=lambda: other)
    attention.activate_flash_attention_impl("one")
    attention.activate_flash_attention_impl("other")
    assert (one.removed, other.removed, attention.current_flash_attention_impl()) == (1, 0, "other")
    attention.restore_flash_attention_impl()
    assert (one.removed, other.removed) == (1, 1)


def test_implementation_without_a_handle_is_not_reported() -> None:
    called: list[int] = []
    attention.register_flash_attention_impl("plain", register_fn=lambda: called.append(1))
    attention.activate_flash_attention_impl("plain")
    assert (called, attention.current_flash_attention_impl()) == ([1], None)


def test_unknown_name_changes_nothing() -> None:
    attention.register_flash_attention_impl("mine", register_fn=activate_sevens)
    attention.activate_flash_attention_impl("mine")
    with pytest.raises(ValueError, match=r'impl must be one of "FA3", "FA4", .*got "nosuch"'):
        attention.activate_flash_attention_impl("nosuch")
    assert attention.current_flash_attention_impl() == "mine"


def test_function_that_raises_leaves_no_implementation_active() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    attention.register_flash_attention_impl("mine", register_fn=activate_sevens)
    attention.activate_flash_attention_impl("mine")
    attention.register_flash_attention_impl("bad", register_fn=fail)
    with pytest.raises(ZeroDivisionError):
        attention.activate_flash_attention_impl("bad")
    assert attention.current_flash_attention_impl() is None


def test_handle_whose_remove_raises_stays_active() -> None:
    class Stubborn(Handle):
        def remove(self) -> None:
            super().remove()
            if self.removed == 1:
                raise ZeroDivisionError

    attention.register_flash_attention_impl("stubborn", register_fn=Stubborn)
    attention.activate_flash_attention_impl("stubborn")
    with pytest.raises(ZeroDivisionError):
        attention.restore_flash_attention_impl()
    assert attention.current_flash_attention_impl() == "stubborn"
    attention.restore_flash_attention_impl()
    assert attention.current_flash_attention_impl() is None


def test_restore_without_an_implementation_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        attention.restore_flash_attention_impl(_raise_warn=False)
        assert not caplog.records
        attention.restore_flash_attention_impl()
    assert [record.getMessage() for record in caplog.records] == [
        "restore_flash_attention_impl: no implementation is active"
    ]


@pytest.mark.parametrize("name", ["FA3", "FA4"])
def test_implementation_without_its_package_raises(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="flash_attn"):
        attention.activate_flash_attention_impl(name)
    assert attention.current_flash_attention_impl() is None


def test_implementation_with_its_package_is_a_kernel_of_cuda() -> None:
    assert eval_program("dispatch.flash_attention_package") == {
        "current": "FA3",
        "reason": "needs cuda, got cpu",
        "restored": [None, ["flash", "efficient", "math", "cudnn"]],
    }


def test_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError, match="register_flash_attention_impl: impl must be a str, got int"):
        attention.register_flash_attention_impl(3, register_fn=Handle)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="register_fn must be callable, got int"):
        attention.register_flash_attention_impl("mine", register_fn=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="activate_flash_attention_impl: impl must be a str, got int"):
        attention.activate_flash_attention_impl(3)  # type: ignore[arg-type]
