"""API fuzz: every public callable with hostile arguments.

A call may return or raise an exception of a documented kind. It may not end the process, hang, panic, show an
error that is internal to the bindings, or change modes and flags unless that is its purpose. After each
episode of calls every scope is exited, and the state of the thread and the process must be the initial one.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import re
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import interlock
import numpy as np
from interlock import accelerator, backends

from tests.fuzz.actions import Actions
from tests.fuzz.names import Target, targets
from tests.fuzz.pool import OwnBaseError, OwnError, Pool
from tests.fuzz.values import Values
from tests.helpers import sanitizer
from tools.example_calls import ROWS

EPISODE = 40
MEMORY = 64 << 20
# Bytes of address space that a child may add to its initial ones; larger allocations must raise.
ADDRESS_SPACE = 2 << 30
# Calls that read each element. For a huge tensor, whose elements share memory, they do not end in time.
LOOPS = {
    "_Checkpoint", "_report", "__delattr__", "__getattr__", "__iadd__", "__imul__", "__isub__", "__iter__",
    "__itruediv__", "__setattr__", "__setitem__", "add", "add_", "amax", "amin", "aminmax", "argmax",
    "argmin", "array", "as_tensor", "asarray", "backward", "cat", "concatenate", "contains", "copy_",
    "count_nonzero", "cross_entropy", "div_", "einsum", "extend", "fill_", "grad", "iadd", "imatmul", "imul",
    "ipow", "isnan", "isub", "itruediv", "list", "logsumexp", "matmul", "max", "mean", "min", "mul_", "norm",
    "prod", "reversed", "set", "setitem", "stack", "std", "std_mean", "sub_", "sum", "tensor", "var",
    "var_mean", "zero_",
}  # fmt: skip
LOOPS |= {row["name"] for row in ROWS if "::reduction" in row["family"]}
MOST_ELEMENTS = 1 << 24
SECONDS_OF_A_FORK = 20.0
# Errors of CPython and PyO3 that indicate a bug of the bindings, not of the caller.
INTERNAL = ("SystemError", "PanicException", "BufferError: Already", "PyBorrowError", "PyBorrowMutError")
INTERNAL_TEXTS = ("a bug in interlock", "Already borrowed", "Already mutably borrowed", "dropped without")
# Messages of PyO3 for an argument of a wrong type, which name neither the function nor the argument.
OF_PYO3 = re.compile(
    r"^argument '\w+': |is not an instance of '|cannot be converted to '|out of range integral type"
    r"|Can't (extract|convert) |expected tuple of length"
)
# A SystemError of CPython itself for a format that is no text.
OF_CPYTHON = "Format specifier must be a string"
# CPython returns an iterator of a released memoryview with an exception set.
RELEASED, WITH_AN_EXCEPTION = "released memoryview", "returned a result with an exception set"
# They raise SystemExit, as argparse does.
MAY_EXIT = ("interlock.backends.xeon.run_cpu.main",)

State = tuple[str, bool, int]


def state() -> State:
    """Return the state of this thread, the freeze and the number of flag writes."""
    return repr(interlock.capture()), backends.flags_frozen(), backends.epoch()


def weight(target: Target) -> float:
    """Return the weight of a target; attributes are called less often because there are many."""
    if ".errors." in target.name:
        return 0.1
    if target.name.startswith(("setattr", "delattr")):
        return 0.25
    if target.name.startswith(("interlock.Tensor", "operator", "interlock.accelerator")):
        return 2.0
    return 1.0


def never_ends(target: Target, arguments: list[Any]) -> bool:
    """Return whether a call would read each of too many elements."""
    last = target.name.partition(" ")[0].rpartition(".")[2]
    return last in LOOPS and any(is_huge(value) for value in arguments)


def is_huge(value: Any) -> bool:
    """Return whether a value is, or directly contains, a tensor or array with too many elements."""
    kind = type(value)
    if kind is interlock.Tensor:
        return int(value.numel()) > MOST_ELEMENTS
    if kind is np.ndarray:
        return int(value.size) > MOST_ELEMENTS
    if issubclass(kind, tuple):
        value = tuple.__iter__(value)  # A hostile value has an `__iter__` of its own.
    elif kind is not list:
        return False
    return any(is_huge(each) for each in value if not issubclass(type(each), (list, tuple)))


class Episode:
    """A series of calls on a new thread, with a pool of objects."""

    def __init__(
        self, actions: Actions, drawn: random.Random, every: list[Target], weights: list[float]
    ) -> None:
        self.actions = actions
        self.random = drawn
        self.every, self.weights = every, weights
        self.pool = Pool(drawn)
        self.values = Values(drawn, self.pool)
        self.entered: list[Any] = []
        self.guards: list[Any] = []

    def run(self, numbers: list[int], begin: Any) -> None:
        """Make the calls, exit all scopes and compare the state with the initial one."""
        before, flags = state(), backends.snapshot()
        defaults = interlock.capture()
        for _ in numbers:
            begin()
            self.one_call()
        self.actions.doing("exiting all scopes of an episode")
        self.exit_scopes(defaults, flags)
        after = state()
        if after[:2] != before[:2] or backends.snapshot() != flags:
            self.actions.wrong(f"state after all scopes were exited: {before} became {after}")

    def one_call(self) -> None:
        """Make one call and check its outcome."""
        (target,) = self.random.choices(self.every, self.weights)
        self.actions.doing(target.name)
        try:
            if self.actions.fault():
                self.actions.wrong(f"{target.name}: planted")
        except BaseException as error:
            self.judge(target.name, error)
        try:
            texts, arguments, named = self.arguments(target)
        except (Exception, OwnBaseError) as error:
            # Creating a value takes calls, too, which may be refused in the state that an earlier call left.
            self.judge(f"a value for {target.name}", error)
            return
        text = f"{target.name}({', '.join(texts)})"
        self.actions.doing(text)
        if never_ends(target, [*arguments, *named.values()]):
            return
        if target.one_way:
            self.in_a_fork(text, target, arguments, named)
            return
        # Creating a value may have written modes.
        before = state()
        result: Any = None
        try:
            result = target.call(*arguments, **named)
        except BaseException as error:
            self.judge(text, error)
        self.check_pending_exception(text)
        self.remember(target, arguments, result)
        self.keep(result)
        after = state()
        if after != before and not target.writes:
            self.actions.wrong(f"{text}: the state {before} became {after}")

    def keep(self, result: Any) -> None:
        """Add a result to the pool."""
        # Check the type itself: a hostile value's `__class__` may raise.
        if result is not None and not issubclass(type(result), (bool, int, float, str)):
            self.pool.add(result)

    def arguments(self, target: Target) -> tuple[list[str], list[Any], dict[str, Any]]:
        """Draw the arguments of a call."""
        texts: list[str] = []
        arguments: list[Any] = []
        named: dict[str, Any] = {}
        if target.owner is not None:
            made = (
                self.values.instance(target.owner) if self.random.random() < 0.97 else self.values.hostile()
            )
            texts.append(made[0])
            arguments.append(made[1])
        names = list(target.parameters)
        if self.random.random() < 0.4:
            names = names[: self.random.randrange(len(names) + 1)]
        if self.random.random() < 0.05:
            names.append("anything")
        for name in names:
            text, value = self.values.argument(name)
            texts.append(text)
            arguments.append(value)
        for name in target.keywords:
            if self.random.random() < 0.35:
                text, value = self.values.argument(name)
                texts.append(f"{name}={text}")
                named[name] = value
        if self.random.random() < 0.02:
            named[self.random.choice(("nothing", "dim", "\ud800", ""))] = 1
        return texts, arguments, named

    def check_pending_exception(self, text: str) -> None:
        """Record an exception that a call left set, as CPython's iterator of a released memoryview does."""
        try:
            # ctypes raises a set exception after each call.
            ctypes.pythonapi.PyErr_Occurred()
        except BaseException as error:
            if "released memoryview" not in _first_line(error):
                self.actions.wrong(f"{text} has left an exception set: {type(error).__name__}")

    def judge(self, text: str, error: BaseException) -> None:
        """Record an exception that no call may raise."""
        kind = type(error).__name__
        if kind == "PanicException":
            self.actions.wrong(f"panic: {text}: {_first_line(error)}")
            return
        reported = _first_line(error)
        if reported.startswith(OF_CPYTHON) or (RELEASED in text and WITH_AN_EXCEPTION in reported):
            return
        if kind in INTERNAL or any(part in reported for part in INTERNAL_TEXTS):
            self.actions.wrong(f"{text}: {kind}: {reported}")
        elif OF_PYO3.search(reported):
            self.actions.wrong(f"{text}: message of PyO3: {reported}")
        elif isinstance(error, (RecursionError, MemoryError)):
            if not self.values.huge and not isinstance(error, interlock.OutOfMemoryError):
                self.actions.wrong(f"{text}: {kind}: {reported}")
        elif isinstance(error, SystemExit):
            if not text.startswith(MAY_EXIT):
                self.actions.wrong(f"{text}: SystemExit")
        elif not isinstance(error, (Exception, OwnBaseError, GeneratorExit)):
            self.actions.wrong(f"{text}: {kind}: {reported}")

    def remember(self, target: Target, arguments: list[Any], result: Any) -> None:
        """Record scopes that a call may have entered, so that the end of the episode can exit them."""
        last = target.name.rpartition(".")[2]
        if last == "_enter_inference_mode" and result is not None:
            self.guards.append(result)
        elif (
            last in ("__enter__", "capture_begin", "_capture_begin", "__call__", "__setstate__") and arguments
        ):
            self.entered.append(arguments[0])

    def in_a_fork(self, text: str, target: Target, arguments: list[Any], named: dict[str, Any]) -> None:
        """Make a call that can't be undone in a forked process."""
        process = os.fork()
        if process == 0:
            status = 0
            try:
                target.call(*arguments, **named)
            except Exception:
                pass
            except BaseException as error:
                status = 0 if isinstance(error, OwnBaseError) else 3
            finally:
                os._exit(status)
        end = time.monotonic() + SECONDS_OF_A_FORK
        while True:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > end:
                os.kill(process, 9)
                os.waitpid(process, 0)
                self.actions.wrong(f"hang: {text} in a forked process")
                return
            time.sleep(0.001)
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            self.actions.wrong(f"crash: {text} in a forked process ended with {code}")

    def exit_scopes(self, defaults: Any, flags: Any) -> None:
        """Exit every scope and restore the values that calls wrote."""
        kept = self.pool.objects
        for guard in self.guards:
            _quietly(interlock._exit_inference_mode, guard)
        for value in reversed([*kept, *self.entered]):
            self.exit_one(value)
        # A freeze ends with its scope, which a value may have dropped.
        self.pool.forget()
        self.entered.clear()
        del kept
        gc.collect()
        _quietly(defaults.install)
        _quietly(backends.restore, flags)
        for device in range(2):
            for function in (accelerator.memory.set_limit, accelerator.memory.set_cache_limit):
                _quietly(function, None, device)

    def exit_one(self, value: Any) -> None:
        """Exit a scope as often as it may have been entered."""
        kind = type(value)
        if not kind.__module__.startswith(("interlock", "_core")):
            return
        if hasattr(kind, "_abort_capture"):
            _quietly(value._abort_capture)
            return
        if hasattr(kind, "remove"):
            _quietly(value.remove)
        if hasattr(kind, "stop"):
            _quietly(value.stop)
        if hasattr(kind, "__exit__") and not isinstance(value, accelerator.memory.Buffer):
            for _ in range(1 + sum(value is each for each in self.entered)):
                _quietly(value.__exit__, None, None, None)


def _quietly(function: Any, *arguments: Any) -> None:
    """Call a function and ignore its errors."""
    try:
        function(*arguments)
    except (Exception, OwnBaseError):
        return


def _first_line(error: BaseException) -> str:
    """Return the message of an exception, whose own methods may raise."""
    try:
        return (str(error).splitlines() or [""])[0][:200]
    except BaseException as another:
        return f"(no message: {type(another).__name__})"


def run(actions: Actions) -> None:
    """Call `actions.count` times."""
    os.chdir(actions.folder)
    sys.unraisablehook = lambda unraisable: _unraisable(actions, unraisable)
    # Discard the output of functions that print.
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    accelerator.use("host", devices=2, memory=MEMORY)
    every = targets(np)
    weights = [weight(target) for target in every]
    accelerator.synchronize()
    # The sanitizer has its own limit, in ASAN_OPTIONS.
    if not sanitizer.IS_PRELOADED:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, resource.RLIM_INFINITY))
    numbers = iter(actions)
    left = actions.count
    while left:
        episode = Episode(actions, random.Random(actions.random.random()), every, weights)
        count = min(EPISODE, left)
        left -= count
        thread = threading.Thread(
            target=_guarded, args=(actions, episode, list(range(count)), lambda: next(numbers)), daemon=True
        )
        thread.start()
        thread.join()
    for _ in numbers:
        pass
    gc.collect()


def _guarded(actions: Actions, episode: Episode, numbers: list[int], begin: Any) -> None:
    try:
        episode.run(numbers, begin)
    except (Exception, OwnError, OwnBaseError) as error:
        actions.wrong(f"an episode ended early: {type(error).__name__}: {_first_line(error)}")


def _unraisable(actions: Actions, unraisable: Any) -> None:
    """Record an exception that could not be raised, unless a hostile value raised it."""
    error = unraisable.exc_value
    kind = type(error).__name__
    if kind in INTERNAL or kind == "PanicException" or "a bug in interlock" in _first_line(error):
        actions.wrong(f"panic: unraisable {kind}: {_first_line(error)}")
