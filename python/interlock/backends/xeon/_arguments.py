"""The command line of the launcher."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from interlock._near import near
from interlock.backends.xeon import _numbers, _options, _output
from interlock.backends.xeon._options import LATENCY_CORES, Options

__all__ = ["fail", "parse"]

# What stands for "not given" where PyTorch takes a number.
_NOT_GIVEN = -1


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Return what the command line says; what is wrong with it is told, and ends the process with 2."""
    given, unknown = _parser().parse_known_args(arguments)
    read: dict[str, Any] = vars(given)
    command: list[str] = read.pop("command")
    for word in unknown:
        _fail_for_unknown(word)
    # Two hyphens end the options; later ones belong to the program.
    if command[:1] == ["--"]:
        del command[0]
    if not command:
        fail("no program is named: give a Python file, -m and a module, or --no-python and a program")
    options = Options(command[0], tuple(command[1:]), **read)
    wrong = _options.conflict(options)
    if wrong is not None:
        fail(wrong)
    return options


def fail(message: str) -> NoReturn:
    """Tell what is wrong with the command line and end the process with 2."""
    _parser().error(message)


def _fail_for_unknown(word: str) -> NoReturn:
    name = word.partition("=")[0]
    fields = {field.name for field in dataclasses.fields(Options)} - {"program", "arguments"}
    # The module's short form is what errors name; its long one is what a slip may be like.
    known = [*map(_options.spelled, fields), "--module", "--help"]
    meant = near(name.replace("_", "-"), known)
    fail(f'there is no option "{name}"' + ("" if meant is None else f'; did you mean "{meant}"?'))


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: Any = None) -> None:
        # The process ends with 0 after this, unless something ends it before.
        code = _output.show(self.format_help().rstrip("\n"))
        if code != 0:
            self.exit(code)


def _parser() -> argparse.ArgumentParser:
    reader = _Parser(
        prog="python -m interlock.backends.xeon.run_cpu",
        usage="%(prog)s [options] program [arguments]",
        description="Run one or more instances of a program, each with cores and memory of its own.",
        epilog="Each long option may also be written with underscores. See docs/launcher.md.",
        allow_abbrev=False,
    )
    _switch(
        reader.add_argument,
        "multi-instance",
        "several instances: one for each node, unless numbers are given",
    )
    reader.add_argument(
        "-m", "--module", action="store_true", help="the program is the name of a Python module"
    )
    _switch(reader.add_argument, "no-python", "the program is run itself, and not by Python")

    plan = reader.add_argument_group("plan")
    _switch(plan.add_argument, "dry-run", "print the plan and start no instance")
    _switch(plan.add_argument, "json", "with --dry-run, print the plan as JSON")

    memory = reader.add_argument_group("memory allocator (by default tcmalloc or jemalloc if there is one)")
    _switch(memory.add_argument, "enable-tcmalloc", "preload tcmalloc")
    _switch(memory.add_argument, "enable-jemalloc", "preload jemalloc")
    _switch(memory.add_argument, "use-default-allocator", "preload no allocator")

    openmp = reader.add_argument_group("OpenMP")
    _switch(openmp.add_argument, "disable-iomp", "do not preload Intel's OpenMP runtime (libiomp5.so)")

    instances = reader.add_argument_group("instances")
    _number(instances.add_argument, "ncores-per-instance", 1, "cores of each instance")
    _number(instances.add_argument, "ninstances", 1, "how many instances")
    _switch(
        instances.add_argument,
        "skip-cross-node-cores",
        "leave cores unused so that no instance has cores of two nodes; needs --latency-mode or "
        "--ncores-per-instance",
    )
    _number(
        instances.add_argument,
        "rank",
        0,
        "run only this one of the instances, counted from 0; needs an option that says which there are",
    )
    _switch(
        instances.add_argument,
        "latency-mode",
        f"{LATENCY_CORES} cores for each instance, on all physical cores",
    )
    _switch(instances.add_argument, "throughput-mode", "an instance for each node, on all physical cores")
    _number(instances.add_argument, "node-id", 0, "use only the cores of this node")
    _switch(
        instances.add_argument,
        "use-logical-core",
        "use all logical cores instead of one for each physical core",
    )
    _switch(instances.add_argument, "disable-numactl", "do not bind memory to nodes")
    _switch(instances.add_argument, "disable-taskset", "do not pin instances to cores")
    _option(
        instances.add_argument,
        "core-list",
        type=_cores,
        metavar="LIST",
        help="use only these cores, such as 0,1,4-7; needs --ninstances or --ncores-per-instance",
    )

    logs = reader.add_argument_group("logs")
    _option(
        logs.add_argument,
        "log-path",
        type=_path,
        metavar="FOLDER",
        help="write output to files in this folder",
    )
    _option(
        logs.add_argument,
        "log-file-prefix",
        metavar="NAME",
        help="with --log-path, what the names of the files begin with (run)",
    )

    reader.add_argument(
        "command",
        # The words as they are: as two of them, argparse would take out the first two hyphens.
        nargs=argparse.REMAINDER,
        metavar="program [arguments]",
        help="the Python file, module or program to run, and what it is given",
    )
    return reader


def _option(add: Callable[..., argparse.Action], name: str, **details: Any) -> None:
    """Add a long option in both spellings; only the one with hyphens is in the help."""
    destination = name.replace("-", "_")
    add(f"--{name}", dest=destination, **details)
    if destination != name:
        hidden = details | {"help": argparse.SUPPRESS, "default": argparse.SUPPRESS}
        add(f"--{destination}", dest=destination, **hidden)


def _switch(add: Callable[..., argparse.Action], name: str, text: str) -> None:
    _option(add, name, action="store_true", help=text)


def _number(add: Callable[..., argparse.Action], name: str, least: int, text: str) -> None:
    def read(word: str) -> int | None:
        try:
            number = int(word)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{word!r} is no whole number") from None
        if number == _NOT_GIVEN:
            return None
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is too small; the least is {least}")
        return number

    _option(add, name, type=read, metavar="N", help=text)


def _cores(word: str) -> tuple[int, ...]:
    try:
        cores = _numbers.parse(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not cores:
        raise argparse.ArgumentTypeError("it names no core")
    twice = sorted({core for core in cores if cores.count(core) > 1})
    if twice:
        raise argparse.ArgumentTypeError(f"it names core {twice[0]} twice")
    return cores


def _path(word: str) -> str | None:
    # PyTorch's default, no folder, is the empty word.
    return word or None
