"""Error messages for wrong arguments: each parameter of every callable gets every wrong value once.

`python -m tests.fuzz.messages` prints each finding as JSON in a line, then the number of parameters. The
other arguments are valid ones, which depend only on the name of the callable, so that a finding repeats.
"""

from __future__ import annotations

import faulthandler
import inspect
import json
import os
import random
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import interlock
import numpy as np
from interlock import accelerator, backends, errors

from tests.fuzz.api import INTERNAL, OF_PYO3, never_ends
from tests.fuzz.names import Target, parameters, targets
from tests.fuzz.plausible import Made, Plausible
from tests.fuzz.pool import Pool

LONGEST_MESSAGE = 2_000


class Wrong:
    """An object of a type that no function accepts."""

    def __repr__(self) -> str:
        return "Wrong()\n\x1b[31m"


WRONG: dict[str, Any] = {
    "long text": "x" * 20_000,
    "unprintable text": "a\n\x1b[31m\ud800",
    "large int": 2**70,
    "tuple": (1, 2, 3),
    "object": Wrong(),
    "long list": [Wrong()] * 20_000,
}

# Of messages about one of them.
BEGINS = ("xxxx", "got str", "got list", "Wrong")
MOST_DRAWS = 4

DOCUMENTED = (
    errors.InterlockError, TypeError, ValueError, IndexError, OverflowError, RuntimeError, BufferError,
    AttributeError, OSError, StopIteration,
)  # fmt: skip

# Targets of the API fuzzer that are functions of Python or NumPy, or start programs.
FOREIGN = (
    "builtins.", "operator.", "numpy.", "copy.", "pickle ", "weakref.", "list of", "with",
    "interlock.backends.xeon",
)  # fmt: skip
# Constructors and methods that are Python's own, and helpers that a public module imports.
OF_PYTHON = re.compile(
    r"interlock\.errors\."
    # `Level(value, names, module=...)` creates an enum, and `Snapshot(iterable)` is a tuple.
    r"|\.(Level|Source|Extent|_Unchanged|\w+Backend|NumberedEnum)(?!\.\w)|\.Snapshot(?!\.)|\.FunctionMeta\b"
    # Only a pickle calls it.
    r"|\._restored$"
    # Only Python calls them, with a name, a text or a buffer.
    r"|\.__getattr__$|\.__format__$|\.__(release_)?buffer__$|\.(AllocatorConfig|Race(Access)?|cuFFT\w+|settings\.\w+)\.__\w+attr__$"
    # Only interlock calls them.
    r"|\.integrations\.(?!asgi|[Pp]ortable|Verification|received)|\.settings\.(_|Enabled$)"
    r"|\.(as_bool|check_plain|decorate|open_file|path_of|attribute_error|remove_missing)$"
)
# They pass these arguments on to a function of the program.
PASSED_ON = ("args", "arguments", "kwargs", "named")
# The error names the function that the called one describes itself by, or the method behind an alias.
NAMED_AS = {
    "set_device_idx": "set_device_index",
    "Recording": "accelerator.memory.history",
}


def parameters_to_check() -> Iterator[tuple[Target, int]]:
    """Yield each target with the position of a parameter."""
    for target in [*targets(np), *native_functions()]:
        if target.one_way or target.name.startswith(FOREIGN) or OF_PYTHON.search(target.name):
            continue
        every = (*target.parameters, *target.keywords)
        for position, parameter in enumerate(every):
            if parameter not in PASSED_ON or "function" not in every:
                yield target, position


def native_functions() -> Iterator[Target]:
    """Yield the functions of the extension module, which public functions call."""
    for name, module in sorted(sys.modules.items()):
        if not name.startswith("interlock._core"):
            continue
        for of_function, function in sorted(vars(module).items()):
            if callable(function) and not isinstance(function, type):
                yield Target(f"{name}.{of_function}", function, *parameters(function))


class Valid(Plausible):
    """Draws valid arguments."""

    def hostile(self) -> Made:
        """Return an object that no function accepts."""
        return "Wrong()", Wrong()


Arguments = tuple[list[Any], dict[str, Any]]


def valid_arguments(target: Target, draw: object) -> Arguments:
    """Return the object of a method, valid positional arguments, and required keyword arguments."""
    # A str seeds equally in every process.
    drawn = random.Random(f"{target.name} {draw}")
    values = Valid(drawn, Pool(drawn))
    made = [] if target.owner is None else [values.instance(target.owner)[1]]
    made += [values.plausible(parameter)[1] for parameter in target.parameters]
    return made, {name: values.plausible(name)[1] for name in required_keywords(target)}


def required_keywords(target: Target) -> list[str]:
    """Return the names of the keyword arguments of a function that have no default."""
    try:
        every = inspect.signature(target.call).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in every if each.kind is each.KEYWORD_ONLY and each.default is each.empty]


def with_wrong(target: Target, valid: Arguments, position: int, wrong: object) -> Iterator[Arguments]:
    """Yield the arguments of calls with a wrong one at the position: without later ones, and with all."""
    positional, named = valid
    keyword = position - len(target.parameters)
    index = position + (target.owner is not None)
    if keyword >= 0:
        yield positional, {**named, target.keywords[keyword]: wrong}
        return
    later = positional[index + 1 :]
    # Python itself counts the arguments of special methods.
    if not target.name.endswith("__") or not later:
        yield [*positional[:index], wrong], named
    if later:
        yield [*positional[:index], wrong, *later], named


def problem(target: Target, error: BaseException) -> str | None:
    """Return what is wrong with the error of a call, or None."""
    text = str(error)
    if not isinstance(error, DOCUMENTED) or type(error).__name__ in INTERNAL:
        return "its type is not documented"
    if len(text) > LONGEST_MESSAGE:
        return f"it has {len(text)} characters"
    if OF_PYO3.search(text):
        return "it is PyO3's"
    if not text.isprintable():
        return "it has control characters"
    if isinstance(error, TypeError) and not is_named(target, text):
        return "it names neither the function nor the flag that it writes"
    return None


def is_named(target: Target, text: str) -> bool:
    """Return whether a text names the function of a target, or the flag that it writes."""
    first, _, last = target.name.rpartition(".")
    owner = first.rpartition(".")[2]
    if last.startswith("__"):
        # Operators are named after PyTorch's functions.
        return bool(re.match(r"[\w.]+(: |\(\) )", text)) or owner in text or "backends." in text
    # Public functions call private ones and those of the extension module.
    if last.startswith("_") or owner.startswith("_") or first.startswith("interlock._core"):
        return True
    return last in text or "backends." in text or NAMED_AS.get(last, last) in text


def check(target: Target, position: int) -> Iterator[str]:
    """Call a target with each wrong value; yield what is wrong with the errors.

    Other arguments may be refused before the wrong one, so several are drawn until an error is about it.
    """
    parameter = (*target.parameters, *target.keywords)[position]
    for draw in range(MOST_DRAWS):
        is_reached = False
        try:
            valid = valid_arguments(target, (position, draw))
        except Exception:
            # The state that an earlier call left refuses a valid value.
            continue
        for name, wrong in WRONG.items():
            for positional, named in with_wrong(target, valid, position, wrong):
                error = error_of(target, positional, named)
                if error is None:
                    continue
                is_reached |= any(begin in str(error) for begin in BEGINS)
                if found := problem(target, error):
                    yield f"{target.name}({parameter}={name}): {found}: {type(error).__name__}: {error}"[:400]
        if is_reached:
            return


def error_of(target: Target, positional: list[Any], named: dict[str, Any]) -> BaseException | None:
    """Return the error of a call, or None."""
    if never_ends(target, [*positional, *named.values()]):
        return None
    try:
        with interlock.capture().apply():
            target.call(*positional, **named)
    except BaseException as error:
        return error
    return None


def main() -> None:
    """Check the parameters of all targets."""
    faulthandler.enable(all_threads=True)
    warnings.simplefilter("ignore")
    accelerator.use("host", devices=2, memory=64 << 20)
    out = sys.stdout
    # Discard the output of functions that print.
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    folder = tempfile.TemporaryDirectory()
    # Some arguments are names of files to write.
    os.chdir(folder.name)
    initial, count = backends.snapshot(), 0

    def run() -> None:
        nonlocal count
        for target, position in parameters_to_check():
            count += 1
            for found in check(target, position):
                print(json.dumps(found), file=out)
            backends.restore(initial)

    # Modes that a call sets end with the thread.
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    print(count, file=out, flush=True)
    folder.cleanup()
    # Work that a call has queued need not end.
    os._exit(0)


if __name__ == "__main__":
    main()
