"""PyTorch's guard against TF32 on one thread, which has no interface in Python."""

from __future__ import annotations

import ctypes
import importlib
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Self

from interlock._core.state import UninterruptedExit
from interlock._homes import set_home
from interlock._scope_decorator import decorate
from interlock.errors import UnsupportedError

_SYMBOLS = {"enter": "_ZN2at11NoTF32GuardC1Ev", "exit": "_ZN2at11NoTF32GuardD1Ev"}
# More than the object has in any version.
_SIZE = 64


@cache
def _functions() -> dict[str, Callable[[Any], Any]]:
    """Return the constructor and the destructor of `at::NoTF32Guard`."""
    torch = importlib.import_module("torch")
    folder = Path(torch.__file__ or "").parent / "lib"
    for library in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        try:
            loaded = ctypes.CDLL(str(folder / library))
            found = {name: getattr(loaded, symbol) for name, symbol in _SYMBOLS.items()}
        except (OSError, AttributeError):
            continue
        for function in found.values():
            function.argtypes, function.restype = [ctypes.c_void_p], None
        return found
    raise UnsupportedError(
        f"no_tf32: PyTorch {torch.__version__} must export at::NoTF32Guard, which its library does not"
    )


class no_tf32(UninterruptedExit):
    """Compute in IEEE float32 on this thread, whatever PyTorch's flags allow: a scope and a decorator.

    It decorates with and without parentheses. A coroutine function or a generator function is in the scope
    while it runs, and not while it is suspended.

    It works in one direction only: nothing makes a thread compute in TF32 where the flags ask for IEEE. It
    holds for products and convolutions that this thread starts on a GPU, not on the threads on which
    PyTorch runs backward passes of a GPU. While a task is suspended in a `with` block, other tasks of its
    thread are in the scope, too.

    Args:
        function: The function to decorate, where `no_tf32` is a decorator without parentheses.

    Raises:
        TypeError: `function` is not callable.
        UnsupportedError: PyTorch does not export the guard.
        RuntimeError: The scope is exited on another thread than it was entered on.

    Example:
        >>> from interlock.integrations.torch import no_tf32
        >>> import torch  # doctest: +SKIP
        >>> torch.backends.cuda.matmul.fp32_precision = "tf32"  # doctest: +SKIP
        >>> with no_tf32():  # doctest: +SKIP
        ...     product = torch.ones(8, 8) @ torch.ones(8, 8)

    """

    _open: dict[int, list[Any]]
    """The open guards of each thread, the innermost last."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        _functions()
        self = super().__new__(cls)
        self._open = {}
        return self if function is None else self(function)

    def __enter__(self) -> Self:
        guard, functions = ctypes.create_string_buffer(_SIZE), _functions()
        guards = self._open.setdefault(threading.get_ident(), [])
        try:
            functions["enter"](guard)
            guards.append(guard)
            return self
        except BaseException:
            # An interrupt after the guard was made.
            guards[:] = [each for each in guards if each is not guard]
            functions["exit"](guard)
            raise

    def _exit(self, exited: list[Any]) -> None:
        if not exited:
            here = threading.get_ident()
            guards = self._open.get(here)
            if not guards:
                is_open = any(self._open.values())
                how = "on another thread than it was entered on" if is_open else "without being entered"
                raise RuntimeError(f"no_tf32: exited {how}")
            guard = guards[-1]
            del guards[-1]
            exited.append(guard)
            if not guards:
                del self._open[here]
        # After an interrupt a second time, which has no effect: it sets the flag of the thread once more.
        _functions()["exit"](exited[0])

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function, so that each call opens the scope.

        Args:
            function: The function.

        Raises:
            TypeError: `function` is not callable.

        """
        wrapped: Callable[..., Any] = decorate(type(self)(), function)
        return wrapped


set_home("interlock.integrations.torch", no_tf32)
