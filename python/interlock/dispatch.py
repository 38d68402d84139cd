"""Which kernel serves an operation, and why: records of calls, and explanations without a call.

An operation has several kernels. Each declares the flags, the library and the properties of a call that it
requires, and the first kernel that accepts the call runs it. `register_kernel` adds kernels that are written
in Python. `INTERLOCK_DISPATCH=1` prints a line for each call. A build without the tensor runtime lacks
`explain` and `register_kernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NotImplementedType
from typing import TYPE_CHECKING, Literal

from interlock._core.dispatch import Call, Considered, Reason, Recording, record
from interlock._features import HAS_TENSORS, remove_missing
from interlock._lazy import list_exports
from interlock._quote import shown
from interlock.errors import ArgumentError

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.dispatch import KernelCall, RegisteredKernel, _register_kernel, explain
    from interlock._core.tensor import Tensor

    def register_kernel(
        operation: Literal["matmul", "scaled_dot_product_attention", "conv2d"],
        name: str,
        function: Callable[..., Tensor | NotImplementedType],
        *,
        dsl: Literal["cutedsl", "flydsl", "helion", "python", "triton"] = "python",
        condition: Callable[[KernelCall], bool | str | None] | None = None,
        replaces: str | None = None,
        requires: Mapping[str, bool | str] | None = None,
    ) -> RegisteredKernel:
        """Register a kernel that is written in Python, in the process.

        It is tried before the kernels of the operation, after kernels that were registered before it; on
        devices, `cuda.sdp_priority` orders kernels of attention. `function` is called on the thread that
        calls the operation, on several threads at once if they do so. Gradients are disabled in it, because
        the operation records the history of its result; the gradient of an attention is recomputed in blocks.
        While the function or the condition runs, its thread does not run the kernel again, so that `a @ b` in
        a kernel of ``"matmul"`` runs the next one.

        Args:
            operation: The operation.
            name: The name in records, which no other kernel of the operation has. An equal registration, with
                functions of the same modules and names, replaces the earlier one, as after
                `importlib.reload`.
            function: Computes the result, a new tensor of the dtype and on the device of the operands, or
                returns NotImplemented, and the next kernel is tried. It receives of ``"matmul"`` two tensors
                with at least two dimensions; of ``"scaled_dot_product_attention"`` query, key and value, and
                as keywords attn_mask, is_causal, scale and enable_gqa; of ``"conv2d"`` input, weight and
                bias, and as keywords stride, padding, dilation and groups.
            dsl: The language, whose flag `backends.python_native.<dsl>.enabled` the kernel requires.
            condition: Receives the properties of a call, and returns True or None if the kernel can run it,
                else False or the reason. If it raises an `Exception`, the kernel is refused; any other
                exception, such as `KeyboardInterrupt`, propagates.
            replaces: The operation's kernel in whose place flags put this one: ``"flash"`` for an
                implementation of flash attention.
            requires: Values of flags that the kernel requires, by dotted name.

        Returns:
            The kernel; its `remove` removes it, as does the end of a `with` block.

        Raises:
            ArgumentError: The operation, the language or the replaced kernel does not exist, the operation
                has a kernel of this name, or the language cannot be imported.
            TypeError: An argument has the wrong type.
            UnknownFlagError: `requires` names a flag that does not exist.
            FlagValueError: A flag in `requires` does not accept the value.

        Example:
            >>> import interlock
            >>> from interlock import dispatch
            >>> def outer(a, b):
            ...     return a * b
            >>> def is_outer(call):
            ...     return call.shapes[0][-1] == 1 or "needs one column"
            >>> x = interlock.ones(2, 1)
            >>> with dispatch.register_kernel("matmul", "outer", outer, condition=is_outer):
            ...     dispatch.explain("matmul", x, x.t()).kernel
            ...     dispatch.explain("matmul", x.t(), x).considered[0]
            'outer'
            <interlock.dispatch.Considered: outer: needs one column>

        """
        from interlock.backends import python_native

        languages = {each.name: each for each in python_native._DSLS}
        if isinstance(dsl, str) and dsl in languages and not languages[dsl].available:
            modules = ", ".join(languages[dsl]._modules)
            raise ArgumentError(
                f"register_kernel: dsl must be a language that can be imported, got {shown(dsl)}: "
                f"there is no module {modules}"
            )
        required = dict(requires) if isinstance(requires, Mapping) else requires
        return _register_kernel(operation, name, function, dsl, condition, replaces, required)


__all__ = [
    "Call",
    "Considered",
    "KernelCall",
    "Reason",
    "Recording",
    "RegisteredKernel",
    "explain",
    "record",
    "register_kernel",
]

remove_missing(globals())
list_exports(globals())
