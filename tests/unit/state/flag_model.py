"""The model of flags with additions.

These are the flags of all modules, scopes of single flags, counted freezes, `del`, `restore`, contexts with
the exit of a scope in another one, overrides, and the precision of PyTorch 2.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.unit.backends.flag_setters import SETS_ONLY_GIVEN, none_is_ignored
from tests.unit.backends.flag_spec import Flag
from tests.unit.backends.flag_specs import FLAGS
from tests.unit.state.load_model import load

base = load("flags")
tree_model = base.precision
_supports = tree_model.supports


def _supports_bfx9(node: str, value: str) -> bool:
    """Return whether a node of the precision tree accepts a value, with the one that PyTorch 2.15 added."""
    return node == "cuda.matmul" if value == "bfx9" else bool(_supports(node, value))


tree_model.VALUES = (*tree_model.VALUES, "bfx9")
tree_model.supports = _supports_bfx9

NODES = {"": "generic", "cudnn": "cuda", "cudnn.conv": "cuda.conv", "cudnn.rnn": "cuda.rnn"}
VIEWS = {"cudnn.allow_tf32": ("cuda.conv", "cuda.rnn"), "cuda.matmul.allow_tf32": ("cuda.matmul",)}
COUNTS = {
    "cudnn.benchmark_limit": 2**31 - 1,
    "cuda.cublas_workspace": 2**60,
    "cuda.cublaslt_workspace": 2**60,
}
CHOICES: dict[str, dict[object, str]] = {
    "cudnn.depthwise_kernel": {name: name for name in base.DEPTHWISE},
    "cuda.linalg_library": {name: name for name in ("default", "cusolver", "magma")},
    "cuda.blas_library": {
        **{name: name for name in ("default", "cublas", "cublaslt", "ck")},
        **{"hipblas": "cublas", "hipblaslt": "cublaslt"},
    },
    "cuda.rocm_fa_library": {name: name for name in ("default", "aotriton", "ck")},
    "opt_einsum.strategy": {name: name for name in ("auto", "greedy", "optimal")},
    "quantized.engine": {name: name for name in ("native", "onednn", "none")},
}
KERNELS = {"math", "flash_attention", "efficient_attention", "cudnn_attention", "overrideable"}
ORDER = {**base.ORDER, "": ("fp32_precision",), "nnpack": ("enabled",)}
DEFAULTS = {flag.name: flag.default for flag in FLAGS}
SPLIT = {
    f"{name}_split_k": name
    for name in (f"cuda.matmul.allow_{half}_reduced_precision_reduction" for half in ("fp16", "bf16"))
}


class Refused(Exception):
    """A write that both sides must refuse because of its value or the freeze."""


def node_of(name: str) -> str | None:
    """The node of the precision tree that a flag writes."""
    path, _, attribute = name.rpartition(".")
    return NODES.get(path, path) if attribute == "fp32_precision" else None


NODE_OF = {flag.name: node for flag in FLAGS if (node := node_of(flag.name)) is not None}


def slots_of(name: str) -> tuple[str, ...]:
    """Return the slots of a flag or alias."""
    node = node_of(name)
    return (node,) if node is not None else VIEWS.get(name, (name,))


def fits(name: str, value: Any) -> bool:
    """Return whether a flag that is no precision node accepts the value."""
    if name in COUNTS:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNTS[name]
    if name in CHOICES:
        return isinstance(value, str) and value in CHOICES[name]
    if name == "cuda.sdp_priority":
        is_list = isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)
        return is_list and len(value) == len(KERNELS) and set(value) == KERNELS
    if name in SPLIT.values():
        given = value if isinstance(value, tuple | list) else [value]
        return tuple(given) in {(True,), (False,), (True, True), (False, True), (False, False)} and all(
            isinstance(each, bool) for each in given
        )
    return isinstance(value, bool) or (name == "mkldnn.allow_tf32" and value is None)


def checked(name: str, value: Any) -> dict[str, Any]:
    """Return the slots that an assignment of `value` to the flag writes."""
    node = node_of(name)
    if node is not None:
        try:
            tree_model.Tree().write(node, value)
        except (TypeError, RuntimeError):
            raise Refused("value") from None
        return {node: value}
    if not fits(name, value):
        raise Refused("value")
    if name in VIEWS:
        return dict.fromkeys(VIEWS[name], "tf32" if value else "ieee")
    if name in CHOICES:
        return {name: CHOICES[name][value]}
    if name in SPLIT.values():
        return {name: (*value, True)[:2] if isinstance(value, tuple | list) else (value, True)}
    return {name: tuple(value) if isinstance(value, list) else value}


def effective(name: str, reads: Mapping[str, object]) -> tuple[object, str | None]:
    """Return the effective value of a flag for these values, and the flag that overrides it."""
    overrides = [by for by in ("cudnn.deterministic", "deterministic_algorithms") if reads[by]]
    if name == "cudnn.benchmark" and reads[name] and overrides:
        return False, overrides[0]
    if name.endswith("nn.deterministic") and not reads[name] and reads["deterministic_algorithms"]:
        return True, "deterministic_algorithms"
    return reads[name], None


class Mark:
    """What the copies of a layer have in common: the context in which it was entered."""

    def __init__(self, entered_in: int) -> None:
        self.entered_in = entered_in


class Layer(base.Layer):  # type: ignore[misc, name-defined]
    """A layer; its copies in copied contexts have the same mark."""

    def __init__(self, slots: Mapping[str, object], mark: Mark) -> None:
        super().__init__(None, dict(slots))
        self.mark = mark


class State(base.State):  # type: ignore[misc, name-defined]
    """The model's state with numbered contexts: first those of threads, then copies of contexts."""

    def __init__(self, threads: int) -> None:
        self.freezes = 0
        super().__init__()
        self.contexts: list[list[Layer]] = [[] for _ in range(threads)]
        self.current = 0

    @property
    def layers(self) -> list[Layer]:
        return self.contexts[self.current]

    def copy_context(self) -> None:
        """Add a copy of the current context."""
        self.contexts.append([Layer(layer.slots, layer.mark) for layer in self.layers])

    def end(self, mark: Mark) -> None:
        """End a layer: in the context that entered it, or, from elsewhere, in every context."""
        where = [self.layers] if mark.entered_in == self.current else self.contexts
        for layers in where:
            layers[:] = [layer for layer in layers if layer.mark is not mark]

    @property
    def frozen(self) -> bool:
        return self.freezes > 0

    @frozen.setter
    def frozen(self, value: bool) -> None:
        assert not value, "the permanent freeze is tested in a child process"

    def read_all(self) -> dict[str, object]:
        """Return the value of every flag and alias, and the precision of matmul, on the current thread."""
        held: dict[str, Any] = dict(self.process)
        for layer in self.layers:
            held.update(layer.slots)
        package = tree_model.Package()
        tree = package._tree
        tree.held = {node: held.get(node) for node in tree_model.NODES}
        reads: dict[str, object] = {"float32_matmul_precision": package.get_float32_matmul_precision()}
        for name, default in DEFAULTS.items():
            value = held.get(name)
            if name in NODE_OF:
                reads[name] = tree.read(NODE_OF[name])
            elif name in VIEWS:
                reads[name] = all(tree.read(node) == "tf32" for node in VIEWS[name])
            elif name in SPLIT.values():
                reads[name] = default if value is base.UNSET else value[0]
            else:
                reads[name] = default if value is base.UNSET else value
        for name, of in SPLIT.items():
            pair: Any = held.get(of)
            reads[name] = True if pair is base.UNSET else pair[1]
        return reads

    def level(self, slot: str) -> str:
        """Return the level that sets a flag that is no precision node."""
        if any(slot in layer.slots for layer in self.layers):
            return "scope"
        return "default" if self.process.get(slot) is base.UNSET else "process"

    def put(self, slots: Mapping[str, object]) -> None:
        """Write checked slots; raise if flags are frozen."""
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
        """`restore` and `reset`, which change only the process's values and respect the freeze."""
        if self.frozen:
            raise Refused("frozen")
        change(self.process)


class Scope:
    """A scope object: entering pushes a layer; exiting ends its innermost one here, or else its last one."""

    def __init__(self, state: State, slots: dict[str, object]) -> None:
        self.state, self.slots = state, slots
        self.open: list[Mark] = []

    def enter(self) -> None:
        mark = Mark(self.state.current)
        self.state.layers.append(Layer(self.slots, mark))
        self.open.append(mark)

    def exit_scope(self) -> None:
        if self.open:
            here = [layer.mark for layer in self.state.layers if layer.mark in self.open]
            mark = here[-1] if here else self.open[-1]
            self.open.remove(mark)
            self.state.end(mark)


def flags_slots(module: str, given: Mapping[str, object]) -> dict[str, object]:
    """Return the slots of `module.flags(**given)`: all of the module except those with the argument None.

    `nnpack` refuses None. A module of `SETS_ONLY_GIVEN` has the default None for every argument.
    """
    prefix = f"{module}." if module else ""
    if module in SETS_ONLY_GIVEN:
        return slots_of_values({prefix + name: value for name, value in given.items() if value is not None})
    slots: dict[str, object] = {}
    ignores_none = none_is_ignored(module)
    for name in ORDER[module]:
        if ignores_none and name in given and given[name] is None:
            continue
        slots |= checked(prefix + name, given.get(name, base.SCOPE_DEFAULT[name]))
    if given.get("allow_tf32", True):
        slots |= dict.fromkeys(VIEWS.get(f"{prefix}allow_tf32", ()), base.UNSET)
    return slots


def slots_of_values(given: Mapping[str, object]) -> dict[str, object]:
    """Return the slots of several checked assignments."""
    slots: dict[str, object] = {}
    for name, value in given.items():
        slots |= checked(name, value)
    return slots
