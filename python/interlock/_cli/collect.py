"""Collects what the report of `python -m interlock` shows, as plain values."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import interlock
from interlock import _core, accelerator, backends
from interlock._core import backends as _native
from interlock._suggest import closest_match
from interlock.accelerator import memory
from interlock.backends import libraries as _libraries, openmp
from interlock.errors import ArgumentError, InterlockError, LibraryNotFoundError


class WrongUseError(Exception):
    """A command line that asks for nothing there is."""


class UnknownNameError(WrongUseError):
    """A name that nothing has, with the one that may be meant where there is one."""

    def __init__(self, message: str, meant: str | None = None) -> None:
        super().__init__(message if meant is None else f'{message}; did you mean "{meant}"?')


@dataclass(frozen=True)
class Versions:
    """Which interlock, and what it runs on."""

    interlock: str
    extension: str | None
    """The file of the extension module; None where a program that embeds Python brings it."""
    python: str
    executable: str
    abi: str | None
    platform: str
    libc: str | None


@dataclass(frozen=True)
class Cpu:
    """The CPU and the number of cores that this process may use."""

    model: str | None
    cores: int
    allowed_cores: int
    capability: str


def versions() -> Versions:
    """Return which interlock this is, and what it runs on."""
    libc = " ".join(platform.libc_ver()).strip()
    return Versions(
        interlock=interlock.__version__,
        extension=getattr(_core, "__file__", None),
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        executable=sys.executable,
        abi=sysconfig.get_config_var("SOABI"),
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        libc=libc or None,
    )


def cpu() -> Cpu:
    """Return the model of the CPU, its cores and the instructions that kernels may use."""
    cores = os.cpu_count() or 1
    # macOS has no `sched_getaffinity`.
    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else cores
    return Cpu(_model(), cores, allowed, backends.cpu.get_cpu_capability())


def _model() -> str | None:
    """Return the name of the CPU, if the system reports it."""
    if sys.platform != "linux":
        return platform.processor() or None
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        return None
    return names[0] if names else None


@dataclass(frozen=True)
class Device:
    """What a device reports; None for what was not queried or could not be reported."""

    device: str
    name: str | None = None
    total_memory: int | None = None
    free_memory: int | None = None
    multi_processor_count: int | None = None
    extra: dict[str, str] = field(default_factory=dict[str, str])
    problem: str | None = None


@dataclass(frozen=True)
class Accelerators:
    """The driver of this process and its devices."""

    driver: str | None
    unavailable_reason: str | None
    devices: tuple[Device, ...]


def accelerators(*, with_memory: bool) -> Accelerators:
    """Return the devices of this process. Only where there are some does that start their driver.

    Querying their free memory creates a context on each of them, which uses memory itself.
    """
    current = accelerator.current_accelerator()
    count = accelerator.device_count()
    return Accelerators(
        driver=None if current is None else current.type,
        unavailable_reason=accelerator.why_unavailable(),
        devices=tuple(_device(index, with_memory) for index in range(count)),
    )


def _device(index: int, with_memory: bool) -> Device:
    """Return what a device reports."""
    current = accelerator.current_accelerator()
    device = f"{current.type}:{index}" if current is not None else str(index)
    try:
        properties = accelerator.device_properties(index)
        free = accelerator.get_memory_info(index)[0] if with_memory else None
    except InterlockError as error:
        return Device(device, problem=str(error))
    return Device(
        device,
        name=properties.name,
        total_memory=properties.total_memory,
        free_memory=free,
        multi_processor_count=properties.multi_processor_count,
        extra=dict(properties.extra),
    )


@dataclass(frozen=True)
class Library:
    """A vendor library, and what is wrong with it."""

    name: str
    path: str | None
    source: str | None
    is_loaded: bool
    version: str | None
    problem: str | None


@dataclass(frozen=True)
class Runtime:
    """An OpenMP runtime of this process."""

    name: str
    path: str
    version: str | None
    threads: int | None


def libraries(*, load: bool) -> tuple[Library, ...]:
    """Return what the search finds of each library. Only with `load` are those loaded that it finds."""
    # All are looked for first: one that is loaded brings others, of which the search then says no more.
    found = tuple(_found(name) for name in _libraries.NAMES)
    if not load:
        return found
    return tuple(library if library.path is None else _loaded(library) for library in found)


def _found(name: str) -> Library:
    try:
        return _to_library(_libraries.find(name))
    except LibraryNotFoundError as error:
        return Library(name, None, None, False, None, problem=str(error))


def _loaded(library: Library) -> Library:
    try:
        loaded = _to_library(_libraries.load(library.name))
    except LibraryNotFoundError as error:
        return replace(library, problem=str(error))
    return replace(loaded, source=library.source) if loaded.path == library.path else loaded


def _to_library(found: _libraries.Library) -> Library:
    source = None if found.source is None else str(found.source)
    return Library(found.name, found.path, source, found.is_loaded, found.version, None)


def runtimes() -> tuple[Runtime, ...]:
    """Return the OpenMP runtimes that are loaded."""
    return tuple(Runtime(*runtime) for runtime in openmp.runtimes())


@dataclass(frozen=True)
class Flag:
    """The value of a flag and where it comes from."""

    name: str
    value: object
    level: str
    set_by: str | None
    effective: object
    overridden_by: str | None
    default: object

    @property
    def differs(self) -> bool:
        """Whether operations obey something else than the default."""
        return self.value != self.default or self.effective != self.default


@dataclass(frozen=True)
class ExplainedFlag(Flag):
    """A flag with all that is known of it."""

    affects: str
    type: str
    accepts: str | None
    """A description of the values that may be assigned; None if the flag is read-only."""
    variables: tuple[str, ...]
    documentation: str
    is_registered: bool
    """Whether a library that was imported has registered it; else it is one of interlock's own."""


def flags(names: Iterable[str] = ()) -> tuple[Flag, ...]:
    """Return the flags with these names and those of the modules with these names; without names, all.

    Those of a module stand together, in the order of the table and before those of the modules in it. Raises
    `UnknownNameError` for what is neither.
    """
    declared = _declared()
    wanted = [strip_prefix(name) for name in names]
    for name in wanted:
        if not any(_is_of(flag, name) for flag in declared):
            message = f'no flag and no module of flags is called "{name}"'
            raise UnknownNameError(message, closest_match(name, commands()))
    chosen = (flag for flag in declared if not wanted or any(_is_of(flag, name) for name in wanted))
    return tuple(_flag(declared[flag]) for flag in chosen)


def explained(name: str) -> ExplainedFlag:
    """Return all that is known of one flag. Raises `UnknownNameError` where there is none of this name."""
    name = strip_prefix(name)
    row = _declared().get(name)
    if row is None:
        known = commands()
        if name in known:
            raise UnknownNameError(f"{name} is a module of flags, which `{known[name]}` lists, and no flag")
        suggestion = closest_match(name, known)
        raise UnknownNameError(f'no flag is called "{name}"', suggestion and known[suggestion])
    return ExplainedFlag(
        **vars(_flag(row)),
        affects=backends.explain(name).affects,
        type=row["reads"],
        accepts=row["allowed"],
        variables=tuple(row["variables"]),
        documentation=" ".join(row["doc"].split()),
        is_registered=all(own["name"] != name for own in _native.table()),
    )


def commands() -> dict[str, str]:
    """Return the names of all flags and of their modules, each with the command that shows more of it."""
    declared = _declared()
    return {module: f"flags {module}" for flag in declared for module in _modules(flag)} | {
        flag: f"explain {flag}" for flag in declared
    }


def strip_prefix(name: str) -> str:
    """Return a name as it is below `backends`; it may be written with what stands before that."""
    return name.removeprefix("interlock.").removeprefix("backends.")


def _declared() -> dict[str, _native.Flag]:
    """Return what the table says of each flag, also registered ones, those of a module after each other."""
    table = _native.table(registered=True)
    places: dict[str, int] = {}
    for row in table:
        for module in _modules(row["name"]):
            places.setdefault(module, len(places))
    ordered = sorted(table, key=lambda row: [places[module] for module in _modules(row["name"])])
    return {row["name"]: row for row in ordered}


def _modules(flag: str) -> list[str]:
    """Return the modules that a flag is in, the outermost first."""
    return [flag[:place] for place, sign in enumerate(flag) if sign == "."]


def _flag(row: _native.Flag) -> Flag:
    """Return the value of a flag and where it comes from."""
    found = backends.explain(row["name"])
    return Flag(
        name=found.name,
        value=found.value,
        level=str(found.level),
        set_by=found.set_by,
        effective=found.effective,
        overridden_by=found.overridden_by,
        default=row["default"],
    )


def _is_of(flag: str, name: str) -> bool:
    """Return whether a name is the flag's own or the name of a module that has the flag."""
    return flag == name or flag.startswith(f"{name}.")


@dataclass(frozen=True)
class Variable:
    """A variable that is set, and why it is ignored where it is."""

    name: str
    value: str
    problem: str | None


def environment() -> tuple[Variable, ...]:
    """Return the variables that interlock reads, and those that look as if it did, where they are set."""
    problems = dict(_native.environment_problems())
    read = set(_native.environment_variables())
    own = {row["name"] for row in _native.table()}
    registered = [row for row in _native.table(registered=True) if row["name"] not in own]
    for row in registered:
        read.update(row["variables"])
    for library in {row["name"].partition(".")[0] for row in registered}:
        problems.update(_native.misspelt_variables(library))
    problem_of_allocator = _problem_of_allocator()
    for name in read:
        if problem_of_allocator is not None and name in problem_of_allocator:
            problems[name] = problem_of_allocator
    return tuple(
        Variable(name, os.environ[name], problems.get(name))
        for name in sorted(read | {*problems})
        if name in os.environ
    )


def _problem_of_allocator() -> str | None:
    """Return why the allocator's configuration is not understood, which names the variable."""
    try:
        memory.get_config()
    except ArgumentError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class Report:
    """What this process has and what it is set to."""

    versions: Versions
    cpu: Cpu
    accelerators: Accelerators
    libraries: tuple[Library, ...]
    openmp: tuple[Runtime, ...]
    flags: tuple[Flag, ...]
    """Those that differ from their default."""
    environment: tuple[Variable, ...]


def report(*, load: bool) -> Report:
    """Collect the report."""
    # First, because the driver of devices may bring some of them.
    found = libraries(load=load)
    return Report(
        versions=versions(),
        cpu=cpu(),
        accelerators=accelerators(with_memory=False),
        libraries=found,
        openmp=runtimes(),
        flags=tuple(flag for flag in flags() if flag.differs),
        environment=environment(),
    )
