"""Runs a program and reports the settings of other libraries that it changed."""

from __future__ import annotations

import builtins
import contextlib
import fnmatch
import importlib.machinery
import importlib.util
import io
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import interlock
from interlock import settings
from interlock._cli.args import PROGRAM, WATCH_USAGE, help_of, options
from interlock._cli.collect import UnknownNameError, UsageError
from interlock._cli.json_output import BEGINNING, document
from interlock._cli.output_file import check_replaceable
from interlock._console import STANDARD_ERROR, Cell, Layout, Row, Section, Style, Table, print_error, width
from interlock._quote import printable
from interlock._suggest import closest_match
from interlock.settings import Write, _registry
from interlock.settings._setting import late
from interlock.settings._writes import LOG, plain, same, shown

_ALLOWED = Cell("allowed", Style.DIM)
"""The note of a change that `--allow` accepts."""

_CALLER = (
    compile("exec(code, names)", "<sys>", "exec").replace(co_firstlineno=0)
    if sys.version_info >= (3, 13)
    else compile("exec(code, names)", "sys", "exec")
)
"""Calls the main module. A warning for the caller of a main module has the place
"<sys>:0", or "sys:1" before Python 3.13."""


@dataclass(frozen=True)
class Command:
    """The command line of `watch`."""

    program: str
    """The file of a script, the directory or zip file of a program, or the name of a module."""
    arguments: tuple[str, ...]
    is_module: bool
    json: str | None
    fail: bool
    allowed: tuple[Allowed, ...]


@dataclass(frozen=True)
class Allowed:
    """Changes that `--fail` accepts."""

    pattern: str
    """The name of a setting, or a pattern of names."""
    value: str | None
    """The new value as text; None accepts every value."""

    def covers(self, setting: str, first: Any, after: Any) -> bool:
        """Return whether a change of a setting is accepted. `first` is the value before the program."""
        if not fnmatch.fnmatchcase(setting, self.pattern):
            return False
        # A scope that sets the value also restores the first one.
        return self.value is None or same(after, first) or self.value in (str(after), shown(after))

    def __str__(self) -> str:
        return self.pattern if self.value is None else f"{self.pattern}={self.value}"


@dataclass(frozen=True)
class Change:
    """The writes of one setting by one line of code from one value to another."""

    setting: str
    before: Any
    after: Any
    file: str | None
    line: int | None
    function: str | None
    distribution: str | None
    at_import: bool
    thread: str
    times: int
    group: str | None
    problem: str | None
    """The reason why the write has no effect, if it is known."""
    allowed: bool
    """Whether `--allow` accepts it."""


@dataclass(frozen=True)
class Changed:
    """A setting whose value at the end differs from the one at the start."""

    setting: str
    before: Any
    after: Any
    allowed: bool


class _NoProgram(Exception):
    """There is no such script or module. The message and the exit status are those of `python`."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def parse(arguments: Sequence[str]) -> Command | str:
    """Parse what follows `watch`, or return the text for `--help`. Raises `UsageError`."""
    json, fail, allowed = None, False, list[Allowed]()
    rest = list(arguments)
    program: str | None = None
    while rest and program is None:
        argument = rest.pop(0)
        name, has_value, value = argument.partition("=")
        if argument in ("-h", "--help"):
            return help_of("watch")
        if argument == "--fail":
            fail = True
        elif name == "--json":
            json = value if has_value else rest.pop(0) if rest else ""
            if not json:
                raise UsageError(f"watch: --json must be followed by a file; usage: {WATCH_USAGE}")
        elif name == "--allow":
            allowed.append(_allowed(value if has_value else rest.pop(0) if rest else ""))
        elif argument == "-m" and not rest:
            raise UsageError(f"watch: -m must be followed by a module; usage: {WATCH_USAGE}")
        elif argument.startswith("-") and argument != "-m":
            suggestion = closest_match(name, options("watch"))
            usage = "" if suggestion else f"; usage: {WATCH_USAGE}"
            raise UnknownNameError(f'watch has no option "{name}"{usage}', suggestion)
        else:
            program = argument
    if program is None:
        raise UsageError(f"watch: a script or -m module is missing; usage: {WATCH_USAGE}")
    if allowed and not fail:
        raise UsageError("watch: --allow must be given with --fail, whose changes it accepts")
    is_module = program == "-m"
    if is_module:
        program = rest.pop(0)
    return Command(program, tuple(rest), is_module, json, fail, tuple(allowed))


def _allowed(text: str) -> Allowed:
    pattern, has_value, value = text.partition("=")
    if not pattern or pattern.startswith("-"):
        raise UsageError(f"watch: --allow must be followed by NAME or NAME=VALUE; usage: {WATCH_USAGE}")
    return Allowed(pattern, value if has_value else None)


def run(command: Command, failed: int, changed: int) -> int:
    """Run the program and report its writes.

    Args:
        command: The command line.
        failed: The exit status if the program or the file of `--json` cannot be used.
        changed: The exit status for `--fail`.

    Returns:
        The exit status of the program, unless the command itself fails.

    Raises:
        UsageError: The file of `--json` has other content than a document.

    """
    if command.json is not None:
        json_file = os.path.abspath(command.json)
        check_replaceable("watch: --json", command.json, BEGINNING)
        if not _write(json_file, "", command.json):
            return failed
    recorder, process, is_written = _Recorder(command.allowed), os.getpid(), True
    LOG.on_removal = recorder.count
    with settings.enable(), settings.watch(recorder.add):
        has_run = True
        try:
            status, end = _run_program(command)
        except _NoProgram as error:
            print_error(str(error))
            has_run, status, end = False, error.status, None
        if os.getpid() != process:
            # A forked child of the program ended by an exception or `sys.exit`.
            return status
        _join_threads()
        changes, values = recorder.changes(), _changed_values(command.allowed)
    if command.json is not None:
        text = document(changes=changes, settings=values, status=status)
        is_written = _write(json_file, text, command.json)
    if has_run:
        sections = [*_sections(changes, values), *_unused(command.allowed, changes, values)]
        _print(Layout(width(is_terminal=os.isatty(STANDARD_ERROR))).text(sections))
    if end is not None:
        end()
    if not is_written and status == 0:
        return failed
    is_accepted = all(each.allowed for each in _effects(changes, values))
    return changed if status == 0 and command.fail and not is_accepted else status


def _write(file: str, text: str, name: str) -> bool:
    """Write a file. If that fails, print the error with the name in the command line, and return False."""
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        print_error(f'{PROGRAM}: cannot write "{printable(name, len(name))}": {error.strerror}')
        return False
    return True


def _run_program(command: Command) -> tuple[int, Callable[[], None] | None]:
    """Run the program as `python` does.

    Returns:
        The exit status, and what ends this process in the way in which the program ended, or None.

    """
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    if "__annotations__" in vars(sys.modules["__main__"]):
        # Before Python 3.14 the main module begins with it.
        module.__annotations__ = {}
    # The program finds its own options, signals and modules.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.modules["__main__"] = module
    try:
        code = (_module_code if command.is_module else _script_code)(command, module)
        exec(_CALLER, {"__name__": "sys", "code": code, "names": module.__dict__})
    except _NoProgram:
        raise
    except SystemExit as error:
        return _exit_status(error.code), None
    except BaseException as error:
        # The first frames belong to this function.
        traceback = _without_own_frames(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        if isinstance(error, KeyboardInterrupt):
            return 128 + signal.SIGINT, _interrupt
        return 1, None
    finally:
        _flush()
    return 0, None


def _without_own_frames(found: types.TracebackType | None) -> types.TracebackType | None:
    while found is not None and found.tb_frame.f_code.co_filename in (__file__, _CALLER.co_filename):
        found = found.tb_next
    return found


def _interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _script_code(command: Command, module: types.ModuleType) -> types.CodeType:
    sys.argv[:] = [command.program, *command.arguments]
    path = os.path.abspath(command.program)
    spec = importlib.machinery.PathFinder.find_spec("__main__", [path])
    if spec is not None and spec.loader is not None:
        # A directory or zip file with __main__.py, which is found before other modules.
        sys.path[0 : int(not sys.flags.safe_path)] = [path]
        return _fill_in(module, "__main__", spec)
    if os.path.isdir(path):
        raise _NoProgram(f"{sys.executable}: can't find '__main__' module in {path!r}", 1)
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        raise _NoProgram(
            f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}",
            2,
        ) from None
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(command.program))
    module.__file__ = path
    if path.endswith(".pyc"):
        module.__loader__ = loader = importlib.machinery.SourcelessFileLoader("__main__", path)
        code = loader.get_code("__main__")
        assert code is not None
        return code
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    return compile(source, path, "exec", dont_inherit=True)


def _module_code(command: Command, module: types.ModuleType) -> types.CodeType:
    """Return the code of a module as `python -m` runs it, and fill in the attributes of `module`."""
    # Seen by the packages that are imported on the way.
    sys.argv[:] = ["-m", *command.arguments]
    name = command.program
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        raise _NoProgram(
            f"{sys.executable}: Error while finding module specification for {name!r} ({error})", 1
        ) from None
    code = _fill_in(module, name, spec)
    sys.argv[0] = str(module.__file__)
    return code


def _fill_in(
    module: types.ModuleType, name: str, spec: importlib.machinery.ModuleSpec | None
) -> types.CodeType:
    """Return the code of a module that was found, and fill in the attributes of `module`."""
    loader: Any = None if spec is None else spec.loader
    code = loader.get_code(name) if hasattr(loader, "get_code") else None
    if spec is None or code is None:
        raise _NoProgram(f"{sys.executable}: No module named {name}", 1)
    module.__spec__, module.__loader__, module.__package__ = spec, loader, spec.parent
    module.__file__ = spec.origin or name
    assert isinstance(code, types.CodeType)
    return code


def _exit_status(code: object) -> int:
    """Return the exit status that Python gives a process for the code of a `SystemExit`."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    _flush()
    # Python, too, prints nothing if the program has closed the stream, or if the text cannot be made.
    with contextlib.suppress(Exception):
        if sys.stderr is None:
            print_error(str(code))
        else:
            print(code, file=sys.stderr)
    return 1


def _flush() -> None:
    """Write what the program has printed, before the report."""
    for stream in (sys.stdout, sys.stderr):
        # Streams of the program may be closed, have no such method, or lead to a closed pipe.
        with contextlib.suppress(Exception):
            stream.flush()


def _join_threads() -> None:
    """Wait for the threads of the program, as Python does before it exits."""
    here = threading.current_thread()
    # A thread may start others while it is waited for.
    while running := [each for each in threading.enumerate() if each is not here and not each.daemon]:
        for thread in running:
            thread.join()


class _Recorder:
    """Counts the writes of the program by line and values, and collects what is known about their effect.

    The log stores the last writes of each setting only, so those that it removes are counted before.
    """

    def __init__(self, allowed: Sequence[Allowed]) -> None:
        self._allowed = allowed
        self._problems: dict[int, str] = {}
        self._changes: dict[tuple[object, ...], Change] = {}
        self._first_writes: dict[tuple[object, ...], int] = {}
        # Threads write settings at one time. A signal handler may write one while its thread counts.
        self._lock = threading.RLock()

    def add(self, write: Write) -> None:
        """Note whether a write comes too late at the time when it is made."""
        setting = _registry.known(write.setting)
        reason = "" if setting is None or not write.changed else late(setting)
        if reason:
            self._problems[write.order] = f"too late: {reason}"

    def count(self, write: Write) -> None:
        """Count an entry of the log."""
        where = (write.file, write.line, write.function, write.at_import, write.thread)
        key = (write.setting, plain(write.old), plain(write.new), *where)
        with self._lock:
            before = self._changes.get(key)
            self._first_writes.setdefault(key, write.order)
            self._changes[key] = Change(
                write.setting,
                plain(write.old),
                plain(write.new),
                write.file,
                write.line,
                write.function,
                write.distribution,
                write.at_import,
                write.thread,
                write.times + (0 if before is None else before.times),
                write.group,
                self._problems.pop(write.order, None if before is None else before.problem),
                _is_allowed(self._allowed, write.setting, plain(write.new)),
            )

    def changes(self) -> list[Change]:
        """Return the writes by setting and line, in the order of their first write."""
        # Daemon threads may still write.
        LOG.on_removal = None
        for write in settings.writes():
            self.count(write)
        return [self._changes[key] for key in sorted(self._changes, key=self._first_writes.__getitem__)]


def _has_effect(change: Change) -> bool:
    return not same(change.before, change.after)


def _effects(changes: Iterable[Change], values: Iterable[Changed]) -> list[Change | Changed]:
    return [*filter(_has_effect, changes), *values]


def _is_allowed(allowed: Iterable[Allowed], setting: str, after: Any) -> bool:
    first = plain(_registry.first(setting))
    return any(each.covers(setting, first, after) for each in allowed)


def _changed_values(allowed: Iterable[Allowed]) -> list[Changed]:
    """Return the settings whose value on this thread differs from that when they became known."""
    found, names = [], frozenset(settings.names())
    for name, value in settings.snapshot().items():
        if name in names and not same(first := _registry.first(name), value):
            is_allowed = _is_allowed(allowed, name, plain(value))
            found.append(Changed(name, plain(first), plain(value), is_allowed))
    return found


def _sections(changes: Iterable[Change], values: Sequence[Changed]) -> list[Section]:
    changes = [change for change in changes if _has_effect(change)]
    written: Table | Cell = _table(changes) if changes else Cell(_unwritten(values))
    end = [_end_row(each) for each in values]
    left: Table | Cell = (
        Table(("setting", "before", "after"), tuple(end)) if end else Cell("All settings are as they were.")
    )
    return [
        Section("Settings that the program changed", (written,)),
        Section("Settings that differ at the end", (left,)),
    ]


def _end_row(value: Changed) -> Row:
    cells = (Cell(value.setting), Cell(shown(value.before)), Cell(shown(value.after)))
    return Row(cells, (_ALLOWED,) * value.allowed)


def _unused(
    allowed: Iterable[Allowed], changes: Iterable[Change], values: Iterable[Changed]
) -> Iterator[Section]:
    """Yield a section with the options that accepted nothing: the program may not need them any more."""
    found = _effects(changes, values)
    unused = [
        str(option)
        for option in allowed
        if not any(option.covers(each.setting, each.before, each.after) for each in found)
    ]
    if unused:
        yield Section("Options --allow without a change", tuple(Cell(each, no_wrap=True) for each in unused))


def _unwritten(values: Sequence[Changed]) -> str:
    if not values:
        return "No setting was changed."
    return "No write was recorded: modes of a thread are compared at the end only."


def _table(changes: Sequence[Change]) -> Table:
    # In most programs these columns have one value, and the table would not fit a terminal.
    has_packages = any(change.distribution for change in changes)
    has_threads = any(change.thread != threading.main_thread().name for change in changes)
    columns = ["setting", "before", "after", "by", "when"]
    columns += ["package"] * has_packages + ["thread"] * has_threads
    return Table(tuple(columns), tuple(_row(change, has_packages, has_threads) for change in changes))


def _row(change: Change, has_package: bool, has_thread: bool) -> Row:
    place = "code that cannot be seen" if change.file is None else f"{change.file}:{change.line}"
    function = "" if change.function in (None, "<module>") else f" {change.function}"
    when = "at import" if change.at_import else "later"
    notes = []
    if change.allowed:
        notes.append(_ALLOWED)
    if change.times > 1:
        notes.append(Cell(f"{change.times} times", Style.DIM))
    if change.group is not None:
        notes.append(Cell(f"by {change.group}", Style.DIM))
    if change.problem is not None:
        notes.append(Cell(change.problem, Style.PROBLEM))
    cells = [
        Cell(change.setting, no_wrap=True),
        Cell(shown(change.before)),
        Cell(shown(change.after)),
        Cell(place + function, no_wrap=True),
        Cell("-" if change.file is None else when),
    ]
    cells += [Cell(change.distribution or "-")] * has_package + [Cell(change.thread)] * has_thread
    return Row(tuple(cells), tuple(notes))


def _print(text: str) -> None:
    """Print the report to standard error: standard output is the program's."""
    print_error(f"\n{interlock.__name__} watch\n{text}".rstrip("\n"))
