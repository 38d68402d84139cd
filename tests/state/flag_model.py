"""The model of flags with what it leaves out.

That is: the flags of all modules, scopes that name a few flags, freezes that are counted, `del`, restoring,
and leaving a scope on another thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.flag_table import BY_NAME, DEPTHWISE, Flag
from tests.state.model_loader import load

base = load("flags")
tree_model = base.precision

NODES = {"": "generic", "cudnn": "cuda", "cudnn.conv": "cuda.conv", "cudnn.rnn": "cuda.rnn"}
VIEWS = {"cudnn.allow_tf32": ("cuda.conv", "cuda.rnn"), "cuda.matmul.allow_tf32": ("cuda.matmul",)}


class Refused(Exception):
    """A write that both sides must refuse, because of its value or because of the freeze."""


def node_of(name: str) -> str | None:
    """The node of the precision tree that a flag holds a value on."""
    path, _, attribute = name.rpartition(".")
    return NODES.get(path, path) if attribute == "fp32_precision" else None


def slots_of(name: str) -> tuple[str, ...]:
    """The slots that a flag or view stands for."""
    node = node_of(name)
    return (node,) if node is not None else VIEWS.get(name, (name,))


def checked(name: str, value: Any) -> dict[str, Any]:
    """The slots that assigning `value` to the flag fills."""
    node = node_of(name)
    if node is not None:
        tree = tree_model.Tree()
        try:
            tree.write(node, value)
        except (TypeError, RuntimeError):
            raise Refused("value") from None
        return {node: value}
    if "reduced_precision" in name:
        given = list(value) if isinstance(value, tuple | list) else [value]
        if not 1 <= len(given) <= 2 or not all(isinstance(each, bool) for each in given):
            raise Refused("value")
        allowed, split_k = (*given, True)[:2]
        if allowed and not split_k:
            raise Refused("value")
        return {name: (allowed, split_k)}
    if name == "cudnn.benchmark_limit":
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    elif name == "cudnn.depthwise_kernel":
        fits = value in DEPTHWISE
    else:
        fits = isinstance(value, bool)
    if not fits:
        raise Refused("value")
    if name in VIEWS:
        return dict.fromkeys(VIEWS[name], "tf32" if value else "ieee")
    return {name: value}


class State(base.State):  # type: ignore[misc, name-defined]
    """The model's state with threads that are told apart by a number."""

    def __init__(self, threads: int) -> None:
        self.freezes = 0
        super().__init__()
        self.by_thread: list[list[Any]] = [[] for _ in range(threads)]
        self.current = 0

    @property
    def layers(self) -> list[Any]:
        return self.by_thread[self.current]

    @property
    def frozen(self) -> bool:
        return self.freezes > 0

    @frozen.setter
    def frozen(self, value: bool) -> None:
        assert not value, "the one-way freeze is tested in a process of its own"

    def read(self, name: str) -> object:
        """What a flag or view reads as on the current thread."""
        tree = tree_model.Tree()
        tree.held = {node: self.held(node) for node in tree_model.NODES}
        if (node := node_of(name)) is not None:
            return tree.read(node)
        if name in VIEWS:
            return all(tree.read(node) == "tf32" for node in VIEWS[name])
        value = self.held(name)
        if value is base.UNSET:
            return BY_NAME[name].default
        return value[0] if isinstance(value, tuple) else value

    def matmul_precision(self) -> str:
        package = tree_model.Package()
        package._tree.held.update({node: self.held(node) for node in tree_model.NODES})
        return str(package.get_float32_matmul_precision())

    def put(self, slots: Mapping[str, object]) -> None:
        """Write checked slots, unless that is frozen."""
        try:
            self.write(slots)
        except RuntimeError:
            raise Refused("frozen") from None

    def delete(self, flag: Flag) -> None:
        self.put(dict.fromkeys(slots_of(flag.name), base.UNSET))

    def set_matmul_precision(self, precision: str) -> None:
        if precision not in tree_model.MATMUL_PRECISION:
            raise Refused("value")
        values = tree_model.MATMUL_PRECISION[precision]
        self.put(dict(zip(("cuda.matmul", "mkldnn.matmul"), values, strict=True)))

    def process_write(self, change: Callable[[dict[str, object]], None]) -> None:
        """`restore` and `reset`: they act on the process alone and respect the freeze."""
        if self.frozen:
            raise Refused("frozen")
        change(self.process)


class Scope:
    """A scope object: it pushes a layer and removes its own innermost one."""

    def __init__(self, state: State, slots: dict[str, object]) -> None:
        self.state, self.inner = state, base.Scope(state, slots)
        self.entered_on: int | None = None

    def enter(self) -> None:
        self.entered_on = self.state.current
        self.inner.__enter__()

    def leave(self) -> None:
        here = self.state.current
        mine = any(layer.owner is self.inner for layer in self.state.layers)
        try:
            if not mine and self.entered_on is not None:
                self.state.current = self.entered_on  # the thread that entered it last drops one
            self.inner.__exit__(None, None, None)
        finally:
            self.state.current = here


def flags_slots(module: str, given: Mapping[str, object]) -> dict[str, object]:
    """The slots of `module.flags(**given)`: every one of the module."""
    order = base.ORDER.get(module, ("fp32_precision",))
    prefix = f"{module}." if module else ""
    slots: dict[str, object] = {}
    for name in order:
        slots |= checked(prefix + name, given.get(name, base.SCOPE_DEFAULT[name]))
    if given.get("allow_tf32", True):
        slots |= dict.fromkeys(VIEWS.get(f"{prefix}allow_tf32", ()), base.UNSET)
    return slots


def given_slots(given: Mapping[str, object]) -> dict[str, object]:
    """The slots of several assignments at once, all checked."""
    slots: dict[str, object] = {}
    for name, value in given.items():
        slots |= checked(name, value)
    return slots
