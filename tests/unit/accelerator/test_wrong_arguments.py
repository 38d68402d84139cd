"""Any argument for any callable gives a result or an ordinary exception, and changes no state."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import interlock
import pytest
from interlock import Event, Stream, accelerator
from interlock.accelerator import Graph, memory
from interlock.testing import FaultInjector

pytestmark = [pytest.mark.any_build, pytest.mark.usefixtures("devices", "isolated_state")]

VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    2**31,
    2**63,
    -(2**64),
    1.5,
    float("nan"),
    "",
    "host",
    "host:1",
    "host:\0",
    "\ud800",
    b"bytes",
    bytearray(4),
    memoryview(b"1234")[::2],
    [],
    (0, 1),
    {},
    object(),
    interlock.device("cuda:0"),
    interlock.device("cpu"),
    type,
    len,
    Ellipsis,
    NotImplemented,
]


OWN_SPECIAL_METHODS = (
    "__enter__",
    "__exit__",
    "__call__",
    "__getitem__",
    "__dlpack__",
    "__cuda_stream__",
    "__eq__",
)


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return all callables; methods are bound."""
    registration = memory.on_oom(print)
    registration.remove()
    objects: dict[str, Any] = {
        "stream": Stream(dedicated=True),
        "event": Event(enable_timing=True),
        "graph": Graph(),
        "buffer": memory.Buffer(4),
        "mem_pool": accelerator.MemPool(),
        "use_mem_pool": accelerator.use_mem_pool(accelerator.MemPool()),
        "faults": FaultInjector(),
        "scope": memory.MemoryTracker(),
        "registration": registration,
        "device_index": accelerator.device_index(0),
        "device": interlock.device("host:1"),
    }
    for owner in (accelerator, memory):
        for name in owner.__all__:
            if callable(getattr(owner, name)):
                yield name, getattr(owner, name)
    for owner_name, made in objects.items():
        # `close` is last, because a closed object refuses all other calls.
        for name in sorted(dir(type(made)), key=lambda name: name == "close"):
            # Hooks of subclasses and similar methods are Python's.
            special = name.startswith("__") and name not in OWN_SPECIAL_METHODS
            if not special and callable(getattr(type(made), name)):
                yield f"{owner_name}.{name}", getattr(made, name)
    yield "get_default_device", interlock.get_default_device
    yield "set_default_device", interlock.set_default_device
    yield "device", interlock.device


@pytest.mark.parametrize("count", [0, 1, 2])
def test_wrong_arguments_raise_ordinary_exceptions(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # Some arguments are names of files to write.
    raised = 0
    for name, called in callables():
        for arguments in itertools.product(VALUES, repeat=count):
            with interlock.capture().apply():
                try:
                    result = called(*arguments)
                    if name == "on_oom":
                        result.remove()
                except Exception:  # PyO3's PanicException is none
                    raised += 1
                except BaseException as error:
                    pytest.fail(f"{name}{arguments}: {error!r}")
    for index in range(accelerator.device_count()):
        memory.set_limit(None, index)
        memory.set_cache_limit(None, index)
    assert raised > 20 * len(VALUES) ** count
    memory.history(0).stop()
    for index in range(accelerator.device_count()):
        accelerator.synchronize(index)
    assert threading.active_count() < 100
