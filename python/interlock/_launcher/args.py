"""Parses the command line of the launcher and checks its options for contradictions."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from interlock._launcher.messages import show
from interlock._launcher.topology import parse_cpulist, parse_int
from interlock._suggest import closest_match

__all__ = ["LATENCY_CORES", "Options", "fail", "parse", "to_option", "validate"]

# The number of cores of an instance in latency mode.
LATENCY_CORES = 4


@dataclass(frozen=True)
class Options:
    """The parsed command line. None means that an option was not given."""

    program: str
    arguments: tuple[str, ...] = ()
    multi_instance: bool = False
    module: bool = False
    no_python: bool = False
    enable_tcmalloc: bool = False
    enable_jemalloc: bool = False
    use_default_allocator: bool = False
    disable_iomp: bool = False
    ninstances: int | None = None
    ncores_per_instance: tuple[int, ...] | None = None
    """One number for as many instances as there are cores for, or the number of each instance."""
    node_id: int | None = None
    rank: int | None = None
    core_list: tuple[int, ...] | None = None
    use_logical_core: bool = False
    skip_cross_node_cores: bool = False
    latency_mode: bool = False
    throughput_mode: bool = False
    disable_numactl: bool = False
    disable_taskset: bool = False
    log_path: str | None = None
    log_file_prefix: str | None = None
    dry_run: bool = False
    json: bool = False

    @property
    def has_number(self) -> bool:
        """Whether the number of instances or of their cores is given."""
        return self.ninstances is not None or self.ncores_per_instance is not None

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The cores of each instance, if the options determine all."""
        numbers, count = self.ncores_per_instance, self.ninstances
        if numbers is None or (len(numbers) == 1 and count is None):
            return None
        return numbers if len(numbers) > 1 else numbers * (count or 1)

    @property
    def one_instance_per_node(self) -> bool:
        """Whether the plan has one instance for each node."""
        return self.throughput_mode or (self.multi_instance and not self.has_number and not self.latency_mode)


# Pairs of options that exclude each other.
_EXCLUSIVE = (
    ("latency_mode", "throughput_mode"),
    ("latency_mode", "ninstances"),
    ("latency_mode", "ncores_per_instance"),
    ("latency_mode", "node_id"),
    ("latency_mode", "core_list"),
    ("latency_mode", "use_logical_core"),
    ("throughput_mode", "ninstances"),
    ("throughput_mode", "ncores_per_instance"),
    ("throughput_mode", "node_id"),
    ("throughput_mode", "core_list"),
    ("throughput_mode", "use_logical_core"),
    ("enable_tcmalloc", "enable_jemalloc"),
    ("enable_tcmalloc", "use_default_allocator"),
    ("enable_jemalloc", "use_default_allocator"),
    ("node_id", "core_list"),
    ("module", "no_python"),
)


def validate(options: Options) -> str | None:
    """Return why the options contradict each other on any machine, or None if they do not."""
    for one, other in _EXCLUSIVE:
        if _is_given(options, one) and _is_given(options, other):
            return f"{to_option(one)} and {to_option(other)} are mutually exclusive; give one of them"
    if options.json and not options.dry_run:
        return "--json selects the format of --dry-run; give both"
    if options.log_file_prefix is not None and options.log_path is None:
        return "--log-file-prefix requires --log-path; give both"
    if options.core_list is not None and not options.has_number:
        return "--core-list requires --ninstances or --ncores-per-instance"
    if options.skip_cross_node_cores and not (options.has_number or options.latency_mode):
        return "--skip-cross-node-cores requires --ncores-per-instance, --ninstances or --latency-mode"
    numbers = options.ncores_per_instance or ()
    if len(numbers) > 1 and options.ninstances not in (None, len(numbers)):
        return (
            f"--ncores-per-instance has {len(numbers)} numbers and --ninstances is {options.ninstances}; "
            "give one number for each instance, or one for all"
        )
    has_mode = options.latency_mode or options.throughput_mode or options.multi_instance
    if options.rank is not None and not (options.has_number or has_mode):
        return (
            "--rank requires an option that determines the instances: --ninstances, --ncores-per-instance, "
            "--latency-mode, --throughput-mode or --multi-instance"
        )
    count = options.ninstances or (len(numbers) if len(numbers) > 1 else None)
    if count is not None and (options.rank or 0) >= count:
        given = f"--ninstances {count}" if options.ninstances else f"{count} numbers of --ncores-per-instance"
        return f"--rank {options.rank} is out of range for {given}; valid ranks are from 0 to {count - 1}"
    if "/" in (options.log_file_prefix or ""):
        return (
            f"--log-file-prefix {options.log_file_prefix!r} contains a slash; give the folder with --log-path"
        )
    if not (options.module or options.no_python or options.program.endswith(".py")):
        return (
            f"{options.program!r} does not end in .py; use --no-python for an executable, or -m for a "
            "Python module"
        )
    return None


def _is_given(options: Options, name: str) -> bool:
    value = getattr(options, name)
    # Not `value not in (None, False)`: node 0 equals False.
    return value is not None and value is not False


def to_option(name: str) -> str:
    """Return the command-line spelling of an option."""
    return "-m" if name == "module" else "--" + name.replace("_", "-")


# PyTorch's launcher uses this number as the default, so it means "not given".
_NOT_GIVEN = -1
_MIN_INT = -(10**18)


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Parse a command line. An invalid one is reported and ends the process with status 2."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    groups = _with_grouped_numbers(words)
    namespace, unknown = _parser().parse_known_args([",".join(group) for group in groups])
    values: dict[str, Any] = vars(namespace)
    # The command is the rest of the line, in which nothing is joined.
    before = len(groups) - len(values.pop("command"))
    command = words[sum(map(len, groups[:before])) :]
    for word in unknown:
        _fail_for_unknown(word)
    # "--" ends the options; a later "--" belongs to the program.
    if command[:1] == ["--"]:
        del command[0]
    if not command:
        fail("no program given: give a Python file, -m and a module, or --no-python and an executable")
    options = Options(command[0], tuple(command[1:]), **values)
    problem = validate(options)
    if problem is not None:
        fail(problem)
    return options


# The options whose value is a list of numbers, which are separate words as in PyTorch's launcher.
_LISTS = ("--ncores-per-instance", "--ncores_per_instance")


def _with_grouped_numbers(words: Sequence[str]) -> list[list[str]]:
    """Return the words of a command line, in which the numbers after an option of lists are one group.

    argparse would read the program, which follows, as one of them.
    """
    groups: list[list[str]] = []
    is_list = False
    for word in words:
        is_number = parse_int(word, minimum=_MIN_INT) is not None
        if is_list and is_number and groups[-1][0] not in _LISTS:
            groups[-1].append(word)
            continue
        is_list = (is_list and is_number) or word.partition("=")[0] in _LISTS
        groups.append([word])
    return groups


def fail(message: str) -> NoReturn:
    """Report an error of the command line and end the process with status 2."""
    _parser().error(message)


def _fail_for_unknown(word: str) -> NoReturn:
    name = word.partition("=")[0]
    fields = {field.name for field in dataclasses.fields(Options)} - {"program", "arguments"}
    # `to_option` returns the short form of --module; a misspelt option resembles the long one.
    known = [*map(to_option, fields), "--module", "--help"]
    suggestion = closest_match(name.replace("_", "-"), known)
    fail(f'unknown option "{name}"' + ("" if suggestion is None else f'; did you mean "{suggestion}"?'))


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: Any = None) -> None:
        # argparse ends the process with status 0 after this.
        code = show(self.format_help().rstrip("\n"))
        if code != 0:
            self.exit(code)


def _parser() -> argparse.ArgumentParser:
    reader = _Parser(
        prog="python -m interlock.backends.xeon.run_cpu",
        usage="%(prog)s [options] program [arguments]",
        description="Run one or more instances of a program, each on its own cores and memory nodes.",
        epilog="Each long option may also be written with underscores. See docs/launcher.md.",
        allow_abbrev=False,
    )
    _switch(
        reader.add_argument,
        "multi-instance",
        "run several instances: one for each node, unless a number is given",
    )
    reader.add_argument("-m", "--module", action="store_true", help="run a Python module, like python -m")
    _switch(reader.add_argument, "no-python", "run an executable instead of a Python program")

    plan = reader.add_argument_group("plan")
    _switch(plan.add_argument, "dry-run", "print the plan and do not run it")
    _switch(plan.add_argument, "json", "with --dry-run, print the plan as JSON")

    memory = reader.add_argument_group("memory allocator (default: tcmalloc or jemalloc, if installed)")
    _switch(memory.add_argument, "enable-tcmalloc", "preload tcmalloc")
    _switch(memory.add_argument, "enable-jemalloc", "preload jemalloc")
    _switch(memory.add_argument, "use-default-allocator", "preload no allocator")

    openmp = reader.add_argument_group("OpenMP")
    _switch(openmp.add_argument, "disable-iomp", "do not preload Intel's OpenMP runtime (libiomp5.so)")

    instances = reader.add_argument_group("instances")
    _option(
        instances.add_argument,
        "ncores-per-instance",
        type=_numbers,
        metavar="N [N ...]",
        help="number of cores of each instance: one for all, or one for each",
    )
    _number(instances.add_argument, "ninstances", 1, "number of instances")
    _switch(
        instances.add_argument,
        "skip-cross-node-cores",
        "leave cores unused so that no instance has cores of two nodes; requires --latency-mode, "
        "--ninstances or --ncores-per-instance",
    )
    _number(
        instances.add_argument,
        "rank",
        0,
        "run only this instance, counted from 0; requires an option that determines the instances",
    )
    _switch(
        instances.add_argument,
        "latency-mode",
        f"{LATENCY_CORES} cores for each instance, on all physical cores",
    )
    _switch(instances.add_argument, "throughput-mode", "one instance for each node, on all physical cores")
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
        help="use only these cores, such as 0,1,4-7; requires --ninstances or --ncores-per-instance",
    )

    logs = reader.add_argument_group("logs")
    _option(
        logs.add_argument,
        "log-path",
        type=_path,
        metavar="FOLDER",
        help="write the output of each instance to a file in this folder",
    )
    _option(
        logs.add_argument,
        "log-file-prefix",
        metavar="NAME",
        help="with --log-path, the prefix of the file names (default: run)",
    )

    reader.add_argument(
        "command",
        # REMAINDER keeps all words: as two arguments, argparse would remove the first "--".
        nargs=argparse.REMAINDER,
        metavar="program [arguments]",
        help="the Python file, module or executable to run, and its arguments",
    )
    return reader


def _option(add: Callable[..., argparse.Action], name: str, **details: Any) -> None:
    """Add a long option spelled with hyphens, and hidden from the help the spelling with underscores."""
    destination = name.replace("-", "_")
    add(f"--{name}", dest=destination, **details)
    if destination != name:
        hidden = details | {"help": argparse.SUPPRESS, "default": argparse.SUPPRESS}
        add(f"--{destination}", dest=destination, **hidden)


def _switch(add: Callable[..., argparse.Action], name: str, text: str) -> None:
    _option(add, name, action="store_true", help=text)


def _number(add: Callable[..., argparse.Action], name: str, minimum: int, text: str) -> None:
    _option(add, name, type=lambda word: _read_number(word, minimum), metavar="N", help=text)


def _read_number(word: str, minimum: int) -> int | None:
    number = parse_int(word, minimum=_MIN_INT)
    if number is None:
        raise argparse.ArgumentTypeError(f"{word!r} is not an integer")
    if number == _NOT_GIVEN:
        return None
    if number < minimum:
        raise argparse.ArgumentTypeError(f"{number} is too small; the minimum is {minimum}")
    return number


def _numbers(text: str) -> tuple[int, ...] | None:
    numbers = [_read_number(word, 1) for word in text.split(",")]
    given = tuple(number for number in numbers if number is not None)
    if given and len(given) < len(numbers):
        raise argparse.ArgumentTypeError(f"{_NOT_GIVEN} is too small; the minimum is 1")
    return given or None


def _cores(word: str) -> tuple[int, ...]:
    try:
        cores = parse_cpulist(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not cores:
        raise argparse.ArgumentTypeError("the list is empty")
    twice = sorted({core for core in cores if cores.count(core) > 1})
    if twice:
        raise argparse.ArgumentTypeError(f"core {twice[0]} is listed twice")
    return cores


def _path(word: str) -> str | None:
    # PyTorch's launcher has an empty string as the default, which means no folder.
    return word or None
