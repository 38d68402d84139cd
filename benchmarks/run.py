"""Measure all benchmarks in one run, each with its baseline and, if available, PyTorch.

The arguments name groups of rows; without any, all are measured. `BENCH_PYTHON` is an interpreter with
PyTorch. The row of switches between contexts needs CPython 3.14 on PATH or in the folders of `PYTHONS`. The
exit status is 1 if a target was missed.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import interlock

from benchmarks import native, startup
from benchmarks.baselines import CannotMeasureError, extension, header_extension
from benchmarks.contexts import VARIABLES
from benchmarks.report import PyTorch, Row, table

HERE = Path(__file__).parent
PROCESSES = 5
PYTORCH_STARTUPS = 3
# The least speed of a convolution, relative to PyTorch's.
CONVOLUTION_SPEED = 0.5
# PyTorch's time of operations on elements, relative to interlock's, and those for which it is only stated.
ELEMENT_SPEED = 0.87
WITHOUT_ELEMENT_TARGET = frozenset(
    (
        "add, float16",
        "multiply, bfloat16",
        "exp, float16",
        "to float16",
        "log",
        "sin",
        "erf",
        "argmax of rows",
        "cumsum",
    )
)
# The nanoseconds of a read from Python above an attribute in C: a call, and a look at the context.
READ_MORE = 40
# What else follows contexts.
BESIDE = {
    "ContextVar": "ContextVar.set and reset, from Python",
    "errstate": "with numpy.errstate(): pass",
    "localcontext": "with decimal.localcontext(): pass",
}
# The suffix of rows measured with a flag scope and a mode open in another thread.
SCOPES_ELSEWHERE = ", scopes in another thread"

Times = list[dict[str, float]]


def measure(python: str, *arguments: str, program: str) -> dict[str, float]:
    """Run a program of this folder in a new process."""
    command = [python, "-I", str(HERE / program), *arguments]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    times: dict[str, float] = json.loads(result.stdout)
    return times


def in_turns(bench_python: str | None, program: str, *arguments: str) -> tuple[Times, Times]:
    """Return the times of interlock and of PyTorch, which take turns in new processes.

    The arguments follow the name of the library for interlock only.
    """
    ours: Times = []
    theirs: Times = []
    for _ in range(PROCESSES):
        ours.append(measure(sys.executable, "interlock", *arguments, program=program))
        if bench_python:
            theirs.append(measure(bench_python, "torch", program=program))
    return ours, theirs


def middle(times: Times, name: str) -> float:
    """Return the median over the processes."""
    return statistics.median(process[name] for process in times)


def overhead(times: Times) -> float:
    """Return the overhead of a decorated call."""
    return statistics.median(process["decorated call"] - process["bare call"] for process in times)


def python_rows(bench_python: str | None) -> list[Row]:
    """Return the rows of the Python interface."""
    ours, theirs = in_turns(bench_python, "measure.py", str(extension()))

    def slower(name: str, least: float | None) -> PyTorch:
        measured = theirs and all(name in process for process in theirs)
        return PyTorch(middle(theirs, name) / middle(ours, name) if measured else None, least)

    def row(what: str, name: str, baseline: str, times: float | None, least: float | None) -> Row:
        return Row(what, middle(ours, name), middle(ours, baseline), times=times, pytorch=slower(name, least))

    def scope_rows(note: str, key: str) -> list[Row]:
        c_read, c_manager = f"C getset{key}", f"C context manager{key}"
        return [
            row(f"backends.cudnn.enabled, from Python{note}", f"flag{key}", c_read, 2, 5),
            row(f"with no_grad(): pass{note}", f"mode{key}", c_manager, None, 3),
            row(f"with cudnn.flags(enabled=False): pass{note}", f"flag scope{key}", c_manager, None, 5),
        ]

    def query(what: str, name: str, least: float = 5) -> Row:
        times = (middle(ours, name), middle(ours, "C getset"))
        return Row(f"accelerator.{what}", *times, most=200, pytorch=slower(name, least))

    def beside(what: str, name: str, other: str) -> Row:
        return Row(what, middle(ours, name), middle(ours, other), times=1.5)

    calls = PyTorch(overhead(theirs) / overhead(ours) if theirs else None, 2)
    return [
        *scope_rows("", ""),
        *scope_rows(SCOPES_ELSEWHERE, " with scopes elsewhere"),
        row("backends.cuda.matmul.allow_tf32, from Python", "view", "C getset", None, 15),
        Row(
            "overhead of a decorated call (baseline: a bare call)",
            overhead(ours),
            middle(ours, "bare call"),
            pytorch=calls,
        ),
        row("backends.cudnn.benchmark = True, from Python", "flag write", "C getset", None, 1),
        Row(
            "with inference_mode(): pass (baseline: no_grad)",
            middle(ours, "inference mode"),
            middle(ours, "mode"),
            times=1.5,
            pytorch=slower("inference mode", None),
        ),
        beside(
            "value of a registered flag, from Python (baseline: cudnn.enabled)", "registered flag", "flag"
        ),
        beside(
            "scope of a registered flag, from Python (baseline: cudnn.flags)",
            "registered flag scope",
            "flag scope",
        ),
        Row(
            'backends.explain("cudnn.benchmark")',
            middle(ours, "explain"),
            middle(ours, "C getset"),
            most=20_000,
        ),
        row("x @ y of 8x8 matrices, from Python", "product", "C getset", None, None),
        query("is_available(), no driver", "is_available"),
        query("device_count(), no driver", "device_count"),
        query("current_accelerator(check_available=True), no driver", "available accelerator"),
        # PyTorch returns a constant of its build, which takes about as long as two Python calls.
        query("current_accelerator(), no driver", "current_accelerator", 1),
        query("is_available(), host driver in use", "is_available in use"),
        query("device_count(), host driver in use", "device_count in use"),
        query("current_accelerator(), host driver in use", "current_accelerator in use", 1),
        query("current_device_index(), host driver in use", "current_device_index in use"),
    ]


def rust_rows() -> list[Row]:
    """Return the rows of the Rust interface."""
    program = native.in_a_program()
    library = native.in_a_cdylib()
    load, cell, shared = program["flag/baseline"], program["mode/baseline"], library["bare_read"]
    return [
        Row("flag read, Rust, no scope alive", program["flag/read"], load, more=1.5),
        Row(
            f"flag read, Rust{SCOPES_ELSEWHERE}",
            program["flag/read_with_scopes_elsewhere"],
            load,
        ),
        Row("flag read, Rust, beside a scope of another flag", program["flag/read_beside_a_scope"], load),
        Row("flag read, Rust, in a scope of this flag", program["flag/read_in_a_scope"], load),
        Row(
            "guard of a flag scope, Rust (baseline: guard of a mode)",
            program["flag/guard"],
            program["mode/guard"],
        ),
        Row(
            "registered flag read, Rust (baseline: an own flag)",
            program["flag/read_registered"],
            program["flag/read"],
            times=1.5,
        ),
        Row(
            "scope of a registered flag, Rust (baseline: of an own flag)",
            program["flag/scope_registered"],
            program["flag/scope"],
            times=1.5,
        ),
        Row("mode read, Rust program", program["mode/read"], cell, more=1.5),
        Row("guard enter + exit, Rust program", program["mode/guard"], cell, more=4),
        Row("mode object enter + exit, Rust program", program["mode/object"], cell),
        Row(
            f"mode read, Rust program{SCOPES_ELSEWHERE}",
            program["mode/read_with_scopes_elsewhere"],
            cell,
            more=1.5,
        ),
        Row(
            f"guard enter + exit, Rust program{SCOPES_ELSEWHERE}",
            program["mode/guard_with_scopes_elsewhere"],
            cell,
            more=4,
        ),
        *choice_rows(program),
        *memory_rows(program, cell),
        Row("mode read, cdylib", library["mode_read"], shared, more=3.5),
        Row("guard enter + exit, cdylib", library["guard"], shared, more=6),
    ]


def header_rows() -> list[Row]:
    """Return the rows of the C header and the table, in an extension module."""
    folder = str(header_extension())
    times = [measure(sys.executable, folder, program="header.py") for _ in range(PROCESSES)]

    def row(what: str, name: str, more: float | None, baseline: str = "bare load") -> Row:
        return Row(
            f"{what} (baseline: a {baseline})", middle(times, name), middle(times, baseline), more=more
        )

    return [
        row("plain flag read, C header", "flag", 1),
        row("mode read, C header", "mode", 2, "bare thread-local"),
        row("plain flag read, C table", "flag through the table", 3),
        row("alias of a node read, C table", "view through the table", None),
        row("mode read, C table", "mode through the table", 3, "bare thread-local"),
        row("guard enter + exit, C table", "guard", None, "bare thread-local"),
    ]


def choice_rows(program: dict[str, float]) -> list[Row]:
    """Return the rows of the choice of a kernel, of which two others refuse the call."""
    call, what = program["dispatch/baseline"], "choice of a kernel among three, Rust"
    return [
        Row(f"{what} (baseline: a call of the kernel)", program["dispatch/choice"], call, more=20),
        Row(
            f"{what}, recorded (baseline: not recorded)",
            program["dispatch/recorded_choice"],
            program["dispatch/choice"],
        ),
    ]


def tensor_rows(bench_python: str | None) -> list[Row]:
    """Return the rows of operations on tensors, each with PyTorch's time on as many threads."""
    ours, theirs = in_turns(bench_python, "tensors.py")

    def row(what: str, name: str, other: str, times: float | None = None, least: float | None = None) -> Row:
        measured = theirs and all(name in process for process in theirs)
        pytorch = PyTorch(middle(theirs, name) / middle(ours, name) if measured else None, least)
        milliseconds = (middle(ours, name) / 1e6, middle(ours, other) / 1e6)
        return Row(what, *milliseconds, unit="ms", times=times, pytorch=pytorch)

    size, one = "product of 1024 x 1024 float32 matrices", "product, 1 thread"
    return [
        row(f"{size}, 1 thread", one, one),
        row(f"{size}, 2 threads (baseline: 1 thread)", "product, 2 threads", one),
        row(
            "convolution of 32x16x28x28 with 32 filters of 3x3, 1 thread (baseline: a product)",
            "convolution",
            one,
            least=CONVOLUTION_SPEED,
        ),
        row(
            "grad of a sum of 1,000 leaves for all of them (baseline: for one)",
            "grad of 1,000 inputs",
            "grad of 1 input",
        ),
        row(
            "tensor of 200 arrays of 1,000 elements (baseline: a loop over the elements)",
            "tensor of 200 arrays",
            "loop over the elements of 200 arrays",
            times=1,
        ),
        row(
            "stack of 200 tensors of 1,000 elements (baseline: tensor of arrays)",
            "stack of 200 tensors",
            "tensor of 200 arrays",
        ),
    ]


def element_rows(bench_python: str | None) -> list[Row]:
    """Return the rows of operations on two million elements, on one thread and on two, beside a copy."""
    ours, theirs = in_turns(bench_python, "elements.py")
    rows = []
    for name in ours[0]:
        operation, _, threads = name.rpartition(", ")
        least = None if operation in WITHOUT_ELEMENT_TARGET else ELEMENT_SPEED
        ratio = middle(theirs, name) / middle(ours, name) if theirs else None
        microseconds = (middle(ours, name) / 1e3, middle(ours, f"copy, {threads}") / 1e3)
        what = f"{name} (baseline: copy)"
        rows.append(Row(what, *microseconds, unit="us", pytorch=PyTorch(ratio, least)))
    return rows


def memory_rows(program: dict[str, float], cell: float) -> list[Row]:
    """Return the rows of allocations from the cache of the host driver."""
    hot = "cached allocate + free of 4096 bytes, Rust"
    few, some, many = (program[f"memory/hot_{live}"] for live in (10, 1000, 100_000))
    mixed = (
        "replace one of 1,000 live blocks at random, Rust; sizes log-uniform from 512 B to 32 MiB "
        "(baseline: 4096 bytes)"
    )
    return [
        Row(f"{hot}, 10 live blocks", few, cell, more=150),
        Row(f"{hot}, 1,000 live blocks", some, cell, more=150),
        Row(f"{hot}, 100,000 live blocks", many, cell, more=150),
        Row(f"{hot}, 100,000 live blocks (baseline: with 10)", many, few, times=1.5),
        Row(mixed, program["memory/mixed"], some),
    ]


def task_rows() -> list[Row]:
    """Return the row of the overhead of task-local state."""
    times = [measure(sys.executable, program="task_step.py") for _ in range(PROCESSES)]
    return [
        Row(
            "step of a task with its own state (baseline: asyncio's)",
            middle(times, "aio"),
            middle(times, "asyncio"),
        )
    ]


def context_rows(bench_python: str | None) -> list[Row]:
    """Return the rows of scopes in contexts, each with 1 and 16 variables in the context."""
    ours, theirs = in_turns(bench_python, "contexts.py", str(extension()))
    rows: list[Row] = []
    for count in VARIABLES:
        variables = f"{count} variable{'s' * (count > 1)} in the context"

        def nanoseconds(times: Times, name: str, count: int = count) -> float:
            return middle(times, f"{name}, {count} variables")

        def slower(name: str, least: float | None, nanoseconds: Any = nanoseconds) -> PyTorch:
            return PyTorch(nanoseconds(theirs, name) / nanoseconds(ours, name) if theirs else None, least)

        no_grad, read = nanoseconds(ours, "no_grad"), nanoseconds(ours, "read")
        others = [
            name for name in ("ContextVar", "errstate", "localcontext") if f"{name}, 1 variables" in ours[0]
        ]
        rows += [
            Row(
                f"with no_grad(): pass, {variables} (baseline: set and reset in C)",
                no_grad,
                nanoseconds(ours, "C set and reset"),
                times=3.5,
                pytorch=slower("no_grad", 3),
            ),
            Row(
                f"is_grad_enabled(), {variables}",
                read,
                nanoseconds(ours, "C getset"),
                more=READ_MORE,
                pytorch=slower("read", None),
            ),
            # What CPython itself needs to create, enter and exit an object that sets and resets a variable.
            Row(
                f"with no_grad(): pass, {variables} (baseline: a scope in C)",
                no_grad,
                nanoseconds(ours, "C scope"),
                times=2.5,
            ),
            *(
                Row(f"{BESIDE[name]}, {variables} (baseline: no_grad)", nanoseconds(ours, name), no_grad)
                for name in others
            ),
        ]
    return rows + switch_rows()


def switch_rows() -> list[Row]:
    """Return the row of a switch between contexts, if an interpreter with watchers of contexts is found."""
    python = python_with_watchers()
    if python is None:
        return []
    packages = str(Path(interlock.__file__).parent.parent)
    times = [measure(python, "interlock", packages, program="contexts.py") for _ in range(PROCESSES)]
    # Each statement switches twice.
    switch, bare = (middle(times, f"switch {name}") / 2 for name in ("with state", "without state"))
    what = f"switch between two contexts with state, {Path(python).name} (baseline: without)"
    return [Row(what, switch, bare, more=60)]


def python_with_watchers() -> str | None:
    """Return the newest CPython from 3.14 on PATH or in the folders of PYTHONS, or None."""
    folders = os.environ.get("PYTHONS", "").split(os.pathsep) + os.environ.get("PATH", "").split(os.pathsep)
    for minor in (15, 14):
        found = shutil.which(f"python3.{minor}", path=os.pathsep.join(filter(None, folders)))
        if found:
            return found
    return None


def torch_rows(bench_python: str | None) -> list[Row]:
    """Return the rows of what interlock costs in a program of PyTorch, if there is an interpreter with it."""
    if bench_python is None:
        return []
    packages = str(Path(interlock.__file__).parent.parent)
    times = [measure(bench_python, packages, program="torch_costs.py") for _ in range(PROCESSES)]

    def row(what: str, name: str, baseline: str) -> Row:
        return Row(what, middle(times, name), middle(times, baseline))

    return [
        row("step of a task under carry (baseline: without)", "carried step", "step"),
        row("call in a captured state under carry (baseline: without)", "carried call", "call"),
        row(
            "with interlock.no_grad() under follow (baseline: torch.no_grad)",
            "followed mode",
            "mode of torch",
        ),
        row("write of a torch flag, recorded (baseline: not recorded)", "recorded write", "write"),
        row("override of a torch flag (baseline: torch's cudnn.flags)", "override", "scope of torch"),
    ]


def thread_rows() -> list[Row]:
    """Return the rows of thread pools; none without NumPy and threadpoolctl."""
    if not all(map(find_spec, ("numpy", "threadpoolctl"))):
        return []
    times = measure(sys.executable, program="thread_pools.py")
    sizes = [name.removeprefix("budget, ") for name in times if name.startswith("budget, ")]
    return [
        *(
            Row(
                f"four workers multiply {size} x {size} matrices, each with its budget (baseline: without)",
                times[f"budget, {size}"],
                times[f"default, {size}"],
                unit="ms",
                times=1.1,
            )
            for size in sizes
        ),
        Row(
            "with threads.limits(1): pass (baseline: threadpool_limits)",
            times["scope of interlock"],
            times["scope of threadpoolctl"],
            times=1,
        ),
    ]


def stream_rows() -> list[Row]:
    """Return the rows of work of streams that is observed."""
    times = measure(sys.executable, program="observed_streams.py")
    return [
        Row(
            f"{work} with {observer} (baseline: without)",
            times[f"{work}, {observer}"],
            times[f"{work}, alone"],
            unit="ms",
            times=most,
        )
        for work in ("pipeline of two streams", "kernels of one stream")
        for observer, most in (("detect_races", 5), ("trace", 2))
    ]


def startup_rows(bench_python: str | None) -> list[Row]:
    """Return the rows of importing the package."""
    package, used = (startup.of(sys.executable, code) for code in ("import interlock", startup.NAMESPACES))
    time, memory = PyTorch(None, 25), PyTorch()
    if bench_python:
        theirs = startup.of(bench_python, "import torch", PYTORCH_STARTUPS)
        time = PyTorch(theirs.extra_milliseconds / used.extra_milliseconds, 25)
        memory = PyTorch(theirs.extra_megabytes / used.extra_megabytes)
    return [
        Row("import (baseline: bare Python)", package.milliseconds, package.bare_milliseconds, "ms", more=12),
        Row(
            "import with six namespaces",
            used.milliseconds,
            used.bare_milliseconds,
            "ms",
            more=30,
            pytorch=time,
        ),
        Row(
            "import with six namespaces, peak memory",
            used.megabytes,
            used.bare_megabytes,
            "MB",
            more=12,
            pytorch=memory,
        ),
    ]


def python_with_pytorch() -> str | None:
    """Return BENCH_PYTHON after checking that it can import torch, or None if it is not set."""
    named = os.environ.get("BENCH_PYTHON") or None
    try:
        if named:
            subprocess.run([named, "-I", "-c", "import torch"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotMeasureError(f"BENCH_PYTHON={named} cannot import torch: {error}") from None
    return named


GROUPS: dict[str, Callable[[str | None], list[Row]]] = {
    "rust": lambda _: rust_rows(),
    "header": lambda _: header_rows(),
    "python": python_rows,
    "contexts": context_rows,
    "tasks": lambda _: task_rows(),
    "tensors": tensor_rows,
    "elements": element_rows,
    "torch": torch_rows,
    "threads": lambda _: thread_rows(),
    "streams": lambda _: stream_rows(),
    "startup": startup_rows,
}


def main(groups: list[str]) -> int:
    """Measure all groups of rows, or the named ones, print the table, and return 1 if a target was missed."""
    try:
        bench_python = python_with_pytorch()
        unknown = set(groups) - set(GROUPS)
        if unknown:
            raise CannotMeasureError(f"unknown groups {sorted(unknown)}; known: {', '.join(GROUPS)}")
        rows = [
            row
            for name, measured in GROUPS.items()
            if name in (groups or GROUPS)
            for row in measured(bench_python)
        ]
    except CannotMeasureError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}\n")
    print(table(rows))
    missed = sum(row.missed() for row in rows)
    print(f"\n{len(rows)} rows, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
