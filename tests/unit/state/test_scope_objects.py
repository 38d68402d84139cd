"""The text of scopes, and weak references to the objects that caches use as keys."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import interlock
from interlock import backends, state
from interlock.autograd import grad_mode


def test_repr_of_modes_has_the_mode() -> None:
    module = "interlock.autograd.grad_mode"
    assert repr(interlock.no_grad()) == f"{module}.no_grad()"
    assert repr(interlock.enable_grad()) == f"{module}.enable_grad()"
    assert repr(interlock.inference_mode(False)) == f"{module}.inference_mode(mode=False)"
    assert repr(grad_mode.set_multithreading_enabled(True)).endswith("set_multithreading_enabled(mode=True)")

    class quiet(interlock.no_grad):
        pass

    assert repr(quiet()).endswith(".quiet()")


def test_repr_of_scopes_shows_what_they_set() -> None:
    captured = interlock.capture()
    assert repr(backends.frozen()) == "FreezeScope()"
    assert repr(captured.apply()) == f"StateScope({captured!r})"
    with state.scope_barrier() as barrier:
        interlock.no_grad().__enter__()
    assert repr(barrier) == "<interlock.state.scope_barrier: ended=1>"


def test_keys_of_caches_have_weak_references() -> None:
    flag = backends.register("scope_objects.flag", 1, doc="A flag.")
    keys: list[Any] = [interlock.device("cpu"), interlock.capture(), flag]
    references = [weakref.ref(key) for key in keys]
    cache = weakref.WeakKeyDictionary({key: repr(key) for key in keys})
    assert [cache[key] for key in keys] == [repr(key) for key in keys]
    del keys, flag
    gc.collect()
    assert [reference() for reference in references] == [None, None, None]
    assert len(cache) == 0
    backends.unregister("scope_objects.flag")


def test_dtypes_and_quantized_tensors_have_weak_references() -> None:
    quantized = interlock.quantize_per_tensor(interlock.ones(1), 0.1, 0, interlock.quint8)
    cache = weakref.WeakKeyDictionary({interlock.float32: 1, interlock.quint8: 2, quantized: 3})
    del quantized
    gc.collect()
    assert dict(cache) == {interlock.float32: 1, interlock.quint8: 2}


def test_flag_with_weak_references_is_released() -> None:
    flag = backends.register("scope_objects.released", 1, doc="A flag.")
    called: list[object] = []
    weakref.finalize(flag, called.append, "finalized")
    del flag
    gc.collect()
    assert called == ["finalized"]
    backends.unregister("scope_objects.released")
