"""Reads right after a switch of contexts, of which interlock learns with the read before Python 3.14."""

import contextlib
import contextvars
import inspect
import re
import warnings

import interlock
from interlock import accelerator, autograd, backends
from interlock.backends import Flag

# Functions without arguments that change state, wait, or return something new with each call.
EXCLUDED = {
    "accelerator.empty_cache",
    "accelerator.generate_graph_pool_handle",
    "accelerator.initialize",
    "accelerator.memory.snapshot",
    "accelerator.synchronize",
    "backends.freeze",
    "backends.reset",
    "backends.watch",
    "interlock.rand",
    "interlock.randn",
}


def public_reads():
    """Return the public functions that need no argument, by name."""
    found = {}
    for module in (interlock, autograd, backends, accelerator, interlock.state, accelerator.memory):
        for name in getattr(module, "__all__", dir(module)):
            function = getattr(module, name, None)
            if inspect.isclass(function) or not callable(function):
                continue
            try:
                parameters = inspect.signature(function).parameters.values()
            except (TypeError, ValueError):
                continue
            optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            if any(p.default is p.empty and p.kind not in optional for p in parameters):
                continue
            qualified = f"{module.__name__.removeprefix('interlock.')}.{name}"
            if not name.startswith(("reset", "set_", "use", "forget", "end_")) and qualified not in EXCLUDED:
                found[qualified] = function
    return found


def reads_of_flags():
    """Return reads of every flag as an attribute, as an object and by name."""
    found = {}
    for row in native_table():
        name = row["name"]
        owner, _, last = f"backends.{name}".rpartition(".")
        target = interlock
        for part in owner.split("."):
            target = getattr(target, part)
        found[f"{name} as an attribute"] = lambda target=target, last=last: getattr(target, last)
        found[f"{name} as an object"] = lambda flag=Flag(name): flag.value
        found[f"{name} by name"] = lambda name=name: backends.explain(name).value
    return found


def native_table():
    from interlock._core import backends as native_backends

    return native_backends.table()


def other_values():
    """Return a value that is not the default one for each switch, without those that share a node."""
    return {
        row["name"]: not row["default"]
        for row in native_table()
        if row["reads"] == "bool" and row["allowed"] is not None
    }


def context_with_scopes():
    """Return a context in which scopes set every mode, the devices and flags."""
    scopes = [
        interlock.inference_mode(),
        autograd.set_multithreading_enabled(False),
        autograd.enforce_grad_layout_policy(False),
        autograd.detect_anomaly(check_nan=False),
        accelerator.device_index(1),
        accelerator.Stream("host:1"),
        interlock.device("host:1"),
        *(Flag(name).override(value) for name, value in other_values().items()),
    ]
    context = contextvars.Context()

    def enter():
        for scope in scopes:
            scope.__enter__()

    with contextlib.suppress(Warning):
        context.run(enter)
    return context


def outcome(read):
    """Return what a read returns or raises, as text without addresses of objects."""
    try:
        return re.sub(r"\b0x[0-9a-f]+", "0x", repr(read()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def stale(reads, one, other):
    """Return the names of the reads that see `other` when they are the first in `one`."""
    found = []
    for name, read in reads.items():
        one.run(interlock.is_grad_enabled)
        expected = one.run(outcome, read)
        other.run(interlock.is_grad_enabled)
        if one.run(outcome, read) != expected:
            found.append(name)
    return found


def functions():
    warnings.simplefilter("ignore", FutureWarning)
    accelerator.use("host", devices=2)
    reads = public_reads() | reads_of_flags()
    with_scopes, without = context_with_scopes(), contextvars.Context()
    differ = [
        name for name, read in reads.items() if with_scopes.run(outcome, read) != without.run(outcome, read)
    ]
    print(
        len(differ) > 50, "autograd.is_grad_enabled" in differ, "accelerator.current_device_index" in differ
    )
    print(stale(reads, with_scopes, without), stale(reads, without, with_scopes))
