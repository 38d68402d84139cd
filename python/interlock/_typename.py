"""What an object is, in a word."""

from __future__ import annotations

from interlock._core import tensor as _native

_TENSORS = {
    _native.float32: "FloatTensor",
    _native.float64: "DoubleTensor",
    _native.int64: "LongTensor",
    _native.bool: "BoolTensor",
}


def typename(obj: object, /) -> str:
    """Return the name of a class or function with its module, or of another object's class.

    Of a tensor it is the name that tells its type of elements. The module `builtins` is left out.

    >>> import interlock
    >>> interlock.typename(interlock.ones(1)), interlock.typename(3), interlock.typename(interlock.no_grad)
    ('interlock.FloatTensor', 'int', 'interlock.autograd.grad_mode.no_grad')
    """
    if isinstance(obj, _native.Tensor):
        return f"interlock.{_TENSORS[obj.dtype]}"
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module: str | None = getattr(named, "__module__", None)
    prefix = "" if module in (None, "builtins") else f"{module}."
    return f"{prefix}{named.__qualname__}"
