"""Cycles through scopes, captured states and the values of contexts, which only the collector finds."""

import contextvars
import gc
import weakref

import interlock
from interlock import accelerator, backends, dispatch
from interlock.autograd import graph

HOLDER = contextvars.ContextVar("HOLDER")


class Owner:
    """An object that a cycle contains."""

    def pack(self, tensor):
        return tensor

    def unpack(self, tensor):
        return tensor


def is_collected(make):
    """Return whether the collector, and nothing else, releases what `make` returns a reference to."""
    gc.disable()
    reference = make()
    # What this thread has seen last is the state of this context.
    interlock.is_grad_enabled()
    stays = reference() is not None
    gc.collect()
    return stays and reference() is None


def open_scope(scope):
    """Enter a scope in a context that refers to the scope, as a task that ends without an exit."""

    def make():
        context, owner = contextvars.Context(), Owner()
        owner.scope, owner.context = scope(), context
        context.run(HOLDER.set, owner)
        context.run(owner.scope.__enter__)
        return weakref.ref(owner)

    return make


def exited_scope(scope):
    """Like `open_scope`, with a scope that was exited."""

    def make():
        context, owner = contextvars.Context(), Owner()
        owner.scope, owner.context = scope(), context
        context.run(HOLDER.set, owner)
        context.run(owner.scope.__enter__)
        context.run(owner.scope.__exit__, None, None, None)
        return weakref.ref(owner)

    return make


def scopes():
    accelerator.use("host", devices=2)
    cases = {
        "flags": lambda: backends.override({"cudnn.enabled": False}),
        "state": interlock.capture().apply,
        "device": lambda: accelerator.device_index(1),
        "default device": lambda: interlock.device("host:1"),
        "stream": accelerator.Stream,
        "recording": dispatch.record,
    }
    print([name for name, scope in cases.items() if not is_collected(open_scope(scope))])
    cases["mode"] = interlock.no_grad
    print([name for name, scope in cases.items() if not is_collected(exited_scope(scope))])


def captured_state():
    owner = Owner()
    with graph.saved_tensors_hooks(owner.pack, owner.unpack):
        owner.state = interlock.capture()
    return weakref.ref(owner)


def value_of_a_context():
    owner, owner_context = Owner(), contextvars.Context()
    owner.context = owner_context
    # Nothing refers to the object of the scope, only the value of the context to its layer.
    owner_context.run(graph.saved_tensors_hooks(owner.pack, owner.unpack).__enter__)
    return weakref.ref(owner)


def hooks():
    print(is_collected(captured_state), is_collected(value_of_a_context))
