"""`__exit__` of every context manager can be called without arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import accelerator, aio, autograd, backends, dispatch
from interlock.autograd import graph
from interlock.utils import checkpoint


def removable_handle() -> Any:
    return interlock.ones(1, requires_grad=True).register_hook(lambda grad: None)


MANAGERS: dict[str, Callable[[], Any]] = {
    "no_grad": interlock.no_grad,
    "enable_grad": interlock.enable_grad,
    "set_grad_enabled": lambda: interlock.set_grad_enabled(True),
    "inference_mode": interlock.inference_mode,
    "detect_anomaly": autograd.detect_anomaly,
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "save_on_cpu": graph.save_on_cpu,
    "disable_saved_tensors_hooks": lambda: graph.disable_saved_tensors_hooks("disabled"),
    "RemovableHandle": removable_handle,
    "set_checkpoint_early_stop": lambda: checkpoint.set_checkpoint_early_stop(True),
    "override": lambda: backends.override({"cudnn.benchmark": True}),
    "frozen": backends.frozen,
    "flags": lambda: backends.cudnn.flags(enabled=True),
    "a captured state": lambda: interlock.capture().apply(),
    "dispatch.record": dispatch.record,
    "Runner": aio.Runner,
    "MemoryTracker": accelerator.memory.MemoryTracker,
    "device": lambda: interlock.device("cpu"),
}


@pytest.mark.filterwarnings("ignore:Anomaly")
@pytest.mark.parametrize("name", MANAGERS)
def test_exit_needs_no_arguments(name: str) -> None:
    manager = MANAGERS[name]()
    manager.__enter__()
    manager.__exit__()
    manager = MANAGERS[name]()
    manager.__enter__()
    manager.__exit__(None, None, None)
