"""Collects the contents of the report of `python -m interlock` as dataclasses."""

from __future__ import annotations

import enum
import functools
import os
import platform
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import interlock
from interlock import _core, accelerator, backends
from interlock._core import backends as _native
from interlock._quote import shown
from interlock._races import problem_of_environment as problem_of_races
from interlock._suggest import closest_match
from interlock.accelerator import memory
from interlock.backends import libraries as _libraries, openmp
from interlock.backends._describe import described
from interlock.errors import ArgumentError, InterlockError, LibraryNotFoundError
from interlock.threads._workers import workers


class UsageError(Exception):
    """The command line is invalid."""


class UnknownNameError(UsageError):
    """A name on the command line is unknown. The message suggests a similar name if there is one."""

    def __init__(self, message: str, suggestion: str | None = None) -> None:
        hint = "" if suggestion is None else f'; did you mean "{suggestion}"?'
        super().__init__(message + hint)


@dataclass(frozen=True)
class Versions:
    """The versions of interlock, Python and the system."""

    interlock: str
    extension: str | None
    """The file of the extension module; None if a program that embeds Python contains the module."""
    features: tuple[str, ...]
    """The optional parts of the build."""
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
    """Return the versions of interlock, Python and the system."""
    libc = " ".join(platform.libc_ver()).strip()
    return Versions(
        interlock=interlock.__version__,
        extension=getattr(_core, "__file__", None),
        features=interlock.__features__,
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
    return Cpu(_model(), cores, allowed, _capability()[0])


@functools.cache
def _capability() -> tuple[str, str | None]:
    """Return the instructions that kernels may use, and why the environment variable is ignored, or None."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        capability = backends.cpu.get_cpu_capability()
    return capability, next((str(warning.message) for warning in issued), None)


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
    """The properties of a device; None for a property that was not queried or is not available."""

    device: str
    name: str | None = None
    total_memory: int | None = None
    free_memory: int | None = None
    multi_processor_count: int | None = None
    extra: dict[str, str] = field(default_factory=dict[str, str])
    problem: str | None = None


@dataclass(frozen=True)
class Accelerators:
    """The driver of this process, its devices, and why there are none."""

    driver: str | None
    unavailable_reason: str | None
    devices: tuple[Device, ...]


def accelerators(*, with_memory: bool) -> Accelerators:
    """Return the devices of this process. The driver is started only if it has devices.

    Args:
        with_memory: Whether to query the free memory, which creates a context on each device. A context
            itself uses device memory.

    """
    current = accelerator.current_accelerator()
    count = accelerator.device_count()
    return Accelerators(
        driver=None if current is None else current.type,
        unavailable_reason=accelerator.unavailable_reason(),
        devices=tuple(_device(index, with_memory) for index in range(count)),
    )


def _device(index: int, with_memory: bool) -> Device:
    """Query the properties of a device."""
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
    """A vendor library: where it was found, whether it is loaded, and why it cannot be used."""

    name: str
    path: str | None
    source: str | None
    is_loaded: bool
    version: str | None
    problem: str | None


@dataclass(frozen=True)
class Runtime:
    """An OpenMP runtime that is loaded in this process."""

    name: str
    path: str
    version: str | None
    threads: int | None


def libraries(*, load: bool) -> tuple[Library, ...]:
    """Search for each vendor library. With `load`, also load those that are found."""
    # Search for all before any is loaded: a library loads its dependencies, and a search reports
    # those as "loaded" instead of where they are installed.
    found = tuple(_find(name) for name in _libraries.NAMES)
    if not load:
        return found
    return tuple(library if library.path is None else _load(library) for library in found)


def _find(name: str) -> Library:
    try:
        return _to_library(_libraries.find(name))
    except LibraryNotFoundError as error:
        return Library(name, None, None, False, None, problem=str(error))


def _load(library: Library) -> Library:
    try:
        loaded = _to_library(_libraries.load(library.name))
    except LibraryNotFoundError as error:
        return replace(library, problem=str(error))
    return replace(loaded, source=library.source) if loaded.path == library.path else loaded


def _to_library(found: _libraries.Library) -> Library:
    source = None if found.source is None else str(found.source)
    return Library(found.name, found.path, source, found.is_loaded, found.version, problem=None)


def runtimes() -> tuple[Runtime, ...]:
    """Return the OpenMP runtimes that are loaded in this process."""
    return tuple(Runtime(*runtime) for runtime in openmp.runtimes())


@dataclass(frozen=True)
class Flag:
    """The value of a flag and the level that determines it."""

    name: str
    value: object
    level: str
    set_by: str | None
    effective: object
    overridden_by: str | None
    default: object

    @property
    def differs(self) -> bool:
        """Whether the value or the effective value differs from the default."""
        return self.value != self.default or self.effective != self.default


@dataclass(frozen=True)
class ExplainedFlag(Flag):
    """A flag with its value, type, accepted values, variables and documentation."""

    affects: str
    inherited_from: str | None
    """The node of the precision tree from which the value is inherited."""
    type: str
    accepts: str | None
    """A description of the values that may be assigned; None if the flag is read-only."""
    variables: tuple[str, ...]
    """The variables that set the flag, and those of the node from which it inherits."""
    variables_read: str | None
    """When the variables are read, each once; None if there are none."""
    validator: str | None
    """The function that checks the values of a registered flag."""
    documentation: str
    is_registered: bool
    """Whether another library registered the flag; False for a flag of interlock."""


def flags(names: Iterable[str] = ()) -> tuple[ExplainedFlag, ...]:
    """Return flags with their values, grouped by module.

    Args:
        names: Names of flags and of modules, with or without the prefix ``backends.``; none means all flags.

    Raises:
        UnknownNameError: A name is neither a flag nor a module of flags.

    """
    declared = _rows()
    wanted = [strip_prefix(name) for name in names]
    for name in wanted:
        if not any(_matches(flag, name) for flag in declared):
            suggestion = closest_match(name, detail_commands())
            raise _unknown(f'unknown flag or module "{name}"', name, suggestion, may_be_library=True)
    selected = (flag for flag in declared if not wanted or any(_matches(flag, name) for name in wanted))
    return tuple(_explained(declared[flag]) for flag in selected)


def _unknown(
    message: str, name: str, suggestion: str | None, *, may_be_library: bool = False
) -> UnknownNameError:
    """Return the error for an unknown name, which may be a library that is not imported, or a flag of one."""
    library, dot, _ = name.partition(".")
    is_importable = bool(dot or may_be_library) and library.isidentifier() and library not in sys.modules
    # Imported here, because the commands that find their name do not need it.
    from interlock.settings._libraries import KNOWN

    if library in KNOWN:
        message += (
            f"; it is a setting of {library}: call settings.explain in the program, or run it with "
            "python -m interlock watch"
        )
    elif suggestion is None and is_importable and not hasattr(backends, library):
        message += f"; if {library} registers {'it' if dot else 'flags'}, add --import {library}"
    return UnknownNameError(message, suggestion)


def explain(name: str) -> ExplainedFlag:
    """Return one flag in full. Raises `UnknownNameError` if there is no flag of this name."""
    name = strip_prefix(name)
    row = _rows().get(name)
    if row is None:
        known = detail_commands()
        if name in known:
            raise UnknownNameError(
                f"{name} is a module, not a flag; list its flags with `python -m interlock {known[name]}`"
            )
        suggestion = closest_match(name, known)
        raise _unknown(f'unknown flag "{name}"', name, suggestion and known[suggestion])
    return _explained(row)


def _explained(row: _native.Flag) -> ExplainedFlag:
    found = described(row)
    inherited = backends.describe(found.inherited_from) if found.inherited_from else None
    return ExplainedFlag(
        **vars(_flag(row)),
        affects=found.affects,
        inherited_from=found.inherited_from,
        type=found.type,
        accepts=found.accepts,
        variables=found.variables + (inherited.variables if inherited else ()),
        variables_read=found.variables_read,
        validator=found.validator,
        documentation=found.documentation,
        is_registered=found.is_registered,
    )


def detail_commands() -> dict[str, str]:
    """Return the command that shows each flag and each module of flags, by name."""
    declared = _rows()
    return {module: f"flags {module}" for flag in declared for module in _modules(flag)} | {
        flag: f"explain {flag}" for flag in declared
    }


def strip_prefix(name: str) -> str:
    """Return the name of a flag without the prefix ``interlock.backends.`` or ``backends.``."""
    return name.removeprefix("interlock.").removeprefix("backends.")


def _rows() -> dict[str, _native.Flag]:
    """Return the rows of the table of flags by name, registered flags included, grouped by module."""
    table = _native.table(registered=True)
    positions: dict[str, int] = {}
    for row in table:
        for module in _modules(row["name"]):
            positions.setdefault(module, len(positions))
    ordered = sorted(table, key=lambda row: [positions[module] for module in _modules(row["name"])])
    return {row["name"]: row for row in ordered}


def _modules(flag: str) -> list[str]:
    """Return the modules that contain a flag, outermost first."""
    return [flag[:index] for index, character in enumerate(flag) if character == "."]


def _flag(row: _native.Flag) -> Flag:
    """Return a flag and what determines its value, and warn of misspelt variables of its library."""
    found = described(row)
    backends.check_variables(found.name.partition(".")[0])
    return Flag(
        name=found.name,
        value=_plain(found.value),
        level=str(found.level),
        set_by=found.set_by,
        effective=_plain(found.effective),
        overridden_by=found.overridden_by,
        default=_plain(found.default),
    )


def _plain(value: object) -> object:
    """Return a value as the environment and JSON name it: the names of members and the texts of paths."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _matches(flag: str, name: str) -> bool:
    """Return whether `name` is the flag or a module that contains it."""
    return flag == name or flag.startswith(f"{name}.")


@dataclass(frozen=True)
class Variable:
    """An environment variable that is set, and its problem if it is invalid or unknown."""

    name: str
    value: str
    problem: str | None
    """Why the variable is ignored, or which calls fail because of it; None if it is valid."""


# Variables that are no flags and no variables of the core.
_OTHERS = (
    "HELION_BACKEND",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "LOKY_MAX_CPU_COUNT",
    "PYTEST_XDIST_WORKER_COUNT",
    "PYTHON_CPU_COUNT",
    "TORCH_CUDA_CHECK_STRAY_CONTEXT",
)


def environment() -> tuple[Variable, ...]:
    """Return the variables that are set and that interlock reads, or whose names resemble such a variable."""
    problems = {name: f"ignored: {problem}" for name, problem in dict(_native.environment_problems()).items()}
    read = {*_native.environment_variables(), *_OTHERS}
    own = {row["name"] for row in _native.table()}
    registered = [row for row in _native.table(registered=True) if row["name"] not in own]
    for row in registered:
        read.update(row["variables"])
        if row["refused_variable"] is not None:
            problems[row["variables"][0]] = f"ignored: {row['refused_variable']}"
    for library in {row["name"].partition(".")[0] for row in registered}:
        misspelt = dict(_native.misspelt_variables(library))
        problems.update((name, f"ignored: {problem}") for name, problem in misspelt.items())
    problems.update(_allocator_config_problem())
    problems.update(_state_problem())
    problems.update(_other_problems())
    return tuple(
        Variable(name, os.environ[name], problems.get(name))
        for name in sorted(read | {*problems})
        if name in os.environ
    )


def _state_problem() -> dict[str, str]:
    """Return why the state of the process that started this one is ignored, by the name of the variable."""
    if not os.environ.get("INTERLOCK_STATE"):
        return {}
    # Imported on use, because other reports do not need it.
    from interlock.integrations._received import problem_of_environment

    problem = problem_of_environment()
    return {} if problem is None else {"INTERLOCK_STATE": problem}


def _other_problems() -> Iterator[tuple[str, str]]:
    """Yield the problems of variables that are not flags."""
    if (problem := problem_of_races()) is not None:
        yield "INTERLOCK_DETECT_RACES", f"ignored: {problem}"
    driver, reason = os.environ.get("INTERLOCK_ACCELERATOR", ""), accelerator.unavailable_reason()
    if driver not in ("", "none") and reason is not None:
        yield "INTERLOCK_ACCELERATOR", f"no device is available: {reason}"
    _, refused = _capability()
    if refused is not None:
        yield "ATEN_CPU_CAPABILITY", refused
    for found in workers(os.environ):
        if found.text.startswith("ignored: "):
            yield found.input, found.text
    for name, is_accepted, text in (
        ("OMP_NUM_THREADS", _is_thread_count, "a positive number"),
        ("MKL_NUM_THREADS", _is_thread_count, "a positive number"),
        ("MKL_VERBOSE", ("0", "1", "2").__contains__, "0, 1 or 2"),
        ("TORCH_CUDA_CHECK_STRAY_CONTEXT", ("warn", "error").__contains__, "warn or error"),
    ):
        value = os.environ.get(name)
        if value is not None and not is_accepted(value):
            yield name, f"ignored: it must be {text}, got {shown(value)}"


def _is_thread_count(text: str) -> bool:
    """Return whether a number of threads is accepted; of a list the first one counts."""
    first = text.partition(",")[0].strip()
    return re.fullmatch(r"\+?[0-9]+", first) is not None and 0 < int(first) < 2**64


def _allocator_config_problem() -> dict[str, str]:
    """Return why the allocator's configuration is invalid, by the name of the environment variable."""
    try:
        memory.get_config()
    except ArgumentError as error:
        variable, _, problem = str(error).partition(": ")
        return {variable: f"every allocation on a device fails: {problem}"}
    return {}


@dataclass(frozen=True)
class Report:
    """The contents of the report."""

    versions: Versions
    cpu: Cpu
    accelerators: Accelerators
    libraries: tuple[Library, ...]
    openmp: tuple[Runtime, ...]
    flags: tuple[Flag, ...]
    """The flags whose value or effective value differs from the default."""
    environment: tuple[Variable, ...]


def report(*, load: bool) -> Report:
    """Collect the report."""
    # Libraries come first, because the driver of the devices may load some of them.
    found = libraries(load=load)
    return Report(
        versions=versions(),
        cpu=cpu(),
        accelerators=accelerators(with_memory=False),
        libraries=found,
        openmp=runtimes(),
        flags=tuple(flag for flag in map(_flag, _rows().values()) if flag.differs),
        environment=environment(),
    )
