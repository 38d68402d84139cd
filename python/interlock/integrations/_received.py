"""Gives this process the state that another process has sent, and reports what it has of it.

A variable of the process's own environment takes precedence over a value of the state. It is its own if the
driver did not have the variable with this value, and no state has set it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import interlock
from interlock import backends
from interlock._core.backends import environment_problems
from interlock._quote import printable, shown, warn_program
from interlock.errors import (
    ArgumentError,
    InterlockError,
    PortableStateWarning,
    UnknownFlagError,
    UnsupportedError,
)
from interlock.integrations._portable import VARIABLE, VERSION, Portable, flag_variables
from interlock.settings import _enter, _import_hook, _leave, _libraries, _lookup, _registry, _snapshot
from interlock.settings._environ import ENVIRON, THREAD_VARIABLES, too_late
from interlock.settings._locks import call_locked, lock_of
from interlock.settings._origin import Origin
from interlock.settings._scopes import Scope
from interlock.settings._setting import Extent, Unreadable, converted, read
from interlock.settings._writes import deferring, report, same

# Pools that `threads.set_limits` sets without threadpoolctl.
_POOLS_WITHOUT_THREADPOOLCTL = ("interlock", "torch", "numexpr")


class _Reception:
    """The state that this process has received, and what became of it."""

    def __init__(self) -> None:
        self.state: Portable | None = None
        self.problem: str | None = None
        """Why the variable, or parts of it, are ignored."""
        self.reasons: dict[str, str] = {}
        """Why a value of the state is not set, by its name."""
        self.flags: dict[str, Any] = {}
        """The values of flags that this and earlier states have assigned."""
        self.placed: dict[str, str] = {}
        """The environment variables of this and earlier states, which are not the process's own."""
        self.unread: set[str] = set()
        """The flags whose variables were set after interlock was imported."""
        self.pins: dict[str, Scope] = {}
        self.threads: dict[str, int] = {}
        """The threads on which settings were set, by the name of the setting."""
        self.waiting: dict[str, partial[partial[None]]] = {}
        """What waits for the import of a module, by the name of the module."""


_reception = _Reception()
# Held while a state is installed.
_LOCKS = (lock_of(__name__),)


def received() -> Portable | None:
    """Return the state that this process has received from its driver; None if it has received none.

    Example:
        >>> from interlock.integrations import received
        >>> received() is None
        True

    """
    return _reception.state


def install_from_environment(text: str) -> None:
    """Install the state in the variable `INTERLOCK_STATE`, or warn that it is malformed."""
    try:
        state = Portable.from_json(text)
    except ArgumentError as error:
        problem = f"ignored: it {str(error).removeprefix('from_json: text ')}"
        _reception.problem = printable(problem, 1500)
        _warn([f"the variable {VARIABLE} is {problem}"], None)
        return
    problems = install(state)
    if problems:
        _reception.problem = printable(f"ignored in part: {'; '.join(problems)}", 1500)


def problem_of_environment() -> str | None:
    """Return why the variable `INTERLOCK_STATE`, or parts of it, are ignored; None if it is valid."""
    return _reception.problem


def install(state: Portable) -> list[str]:
    """Give this process a state, and return the problems; see `Portable.install`."""
    problems: list[str] = deferring(call_locked, _LOCKS, _install, state)
    _warn(problems, state)
    return problems


def _install(state: Portable) -> list[str]:
    _reception.state = state
    reasons = _reception.reasons = {}
    problems = _problems_of_format(state)
    _install_variables(state, reasons)
    problems += _install_flags(state, reasons)
    problems += _install_threads(state, reasons)
    problems += _install_settings(state, reasons)
    return problems


def _problems_of_format(state: Portable) -> list[str]:
    if not state.unknown and state.version <= VERSION:
        return []
    parts = f"its parts {', '.join(map(shown, state.unknown))} are unknown" if state.unknown else ""
    newer = f"its format has version {state.version}, newer than {VERSION}" if state.version > VERSION else ""
    return [f"{' and '.join(filter(None, (newer, parts)))} to interlock {interlock.__version__}"]


def _warn(problems: Iterable[str], state: Portable | None) -> None:
    for problem in problems:
        text = problem if state is None else f"the state{state._source('from')}: {problem}"
        warn_program(printable(text, 1500), PortableStateWarning)


def _own(names: Iterable[str], state: Portable) -> str | None:
    """Return the first variable of the process's own environment, with its value; None if there is none."""
    ignored = {name for name, _ in environment_problems()}
    for name in names:
        value = os.environ.get(name)
        if value is None or name in ignored or value == state.variables.get(name):
            continue
        if value not in (_reception.placed.get(name), state.process_variables().get(name)):
            return f"{name}={value}"
    return None


def _reason_of_own(variable: str) -> str:
    return f"the worker's own environment has {printable(variable)}"


def _install_variables(state: Portable, reasons: dict[str, str]) -> None:
    for name, value in state.environment.items():
        own = _own([name], state)
        if own is not None:
            reasons[f"{ENVIRON}{name}"] = _reason_of_own(own)
            continue
        reason = too_late(name)
        if reason and os.environ.get(name) != value:
            reasons[f"{ENVIRON}{name}"] = f"set too late: {reason}"
        os.environ[name] = _reception.placed[name] = value
    for name, value in state.process_variables().items():
        if os.environ.get(name) == value:
            _reception.placed[name] = value


def _install_flags(state: Portable, reasons: dict[str, str]) -> list[str]:
    """Assign the flags of a state, and unset those of earlier ones that nothing has changed since."""
    present = {entry.name: entry.value for entry in backends.snapshot() if entry.level == "process"}
    before = _reception.flags
    base = {
        name: value
        for name, value in present.items()
        if name in state.flags or name not in before or before[name] != value
    }
    wanted = {}
    for name, value in state.flags.items():
        own = _own(flag_variables(name), state)
        if own is None or not _is_read(name):
            wanted[name] = value
        else:
            reasons[name] = _reason_of_own(own)
            if before.get(name) == base.get(name):
                base.pop(name, None)
    if _assign(base | wanted) is None:
        _reception.flags = wanted
        return []
    # A refused flag has the value of an earlier state.
    _reception.flags = {name: before[name] for name in wanted if name in before}
    problems = []
    for name, value in wanted.items():
        refusal = _assign(base | {name: value})
        if refusal is None:
            base[name] = _reception.flags[name] = value
        else:
            reasons[name] = refusal
            problems.append(f"the flag {printable(name)} could not be set to {shown(value)}: {refusal}")
    return problems


def _is_read(flag: str) -> bool:
    """Return whether interlock has read the variable of a flag; it does not read one that is set later."""
    if backends.explain(flag).level == "default":
        _reception.unread.add(flag)
    return flag not in _reception.unread


def _assign(flags: Mapping[str, Any]) -> str | None:
    """Assign exactly these flags. Returns why that failed, or None."""
    entries = (backends.SnapshotEntry(name, value, "process") for name, value in flags.items())
    try:
        backends.Snapshot(entries).install()
    except (InterlockError, TypeError, ValueError) as error:
        return str(error).removeprefix("install: ")
    return None


def _install_threads(state: Portable, reasons: dict[str, str]) -> list[str]:
    """Set the pools that have started, and the variables of those that start later."""
    if state.threads is None:
        return []
    # Imported here, because most states have no number of threads.
    from interlock import threads
    from interlock.threads._workers import workers

    # An engine sets the variables of its workers; the budget is computed from them.
    is_of_engine = state.threads == "budget" and any(
        each.share or each.divisor > 1 for each in workers(os.environ)
    )
    own = None if is_of_engine else _own(THREAD_VARIABLES, state)
    if own is not None:
        reasons["threads"] = _reason_of_own(own)
        return []
    size = int(threads.budget()) if state.threads == "budget" else state.threads
    try:
        try:
            refused = threads.set_limits(size, on_refusal="ignore")
        except UnsupportedError as error:
            refused = threads.set_limits(size, pools=_POOLS_WITHOUT_THREADPOOLCTL, on_refusal="ignore")
            reasons["threads"] = str(error).removeprefix("set_limits: ")
    except InterlockError as error:
        reasons["threads"] = reason = str(error).removeprefix("set_limits: ")
        return [f"the thread pools could not be set to {size}: {reason}"]
    if refused:
        reasons["threads"] = "; ".join(map(str, refused))
    for name in THREAD_VARIABLES:
        os.environ[name] = _reception.placed[name] = str(size)
    return []


def _install_settings(state: Portable, reasons: dict[str, str]) -> list[str]:
    """Set the settings of imported libraries, and those of others when they are imported."""
    for module, function in _reception.waiting.items():
        _import_hook.cancel(module, function)
    _reception.waiting.clear()
    kept = {name for name, how in state.pinned.items() if _is_pinned(name, state.settings[name], how)}
    for name in _reception.pins.keys() - kept:
        report(_leave.leave(_reception.pins.pop(name)))
    libraries: dict[str, list[str]] = {}
    for name in state.settings:
        libraries.setdefault(name.partition(".")[0], []).append(name)
    problems: list[str] = []
    for library, names in libraries.items():
        imported = None
        if library in _libraries.KNOWN:
            try:
                # Once, whatever states arrive.
                if library not in _libraries._enabled:
                    _libraries.enable(library)
                imported = _libraries._table(library).IMPORTED
            except InterlockError as error:
                reasons |= dict.fromkeys(names, str(error))
                problems.append(f"the settings of {library} are not known: {error}")
                continue
        if imported is None or imported in sys.modules:
            problems += _set(state, names)
            continue
        reasons |= dict.fromkeys(names, f"{imported} is not imported")
        function = _reception.waiting[imported] = partial(partial, _set_later, state, tuple(names))
        _import_hook.on_import(imported, function)
    return problems


def _is_pinned(name: str, value: object, on_write: str) -> bool:
    scope = _reception.pins.get(name)
    return scope is not None and (scope.values[name], scope.on_write) == (value, on_write)


def _set_later(state: Portable, names: Iterable[str]) -> None:
    _warn(deferring(call_locked, _LOCKS, _set_unless_replaced, state, names), state)


def _set_unless_replaced(state: Portable, names: Iterable[str]) -> list[str]:
    return _set(state, names) if _reception.state is state else []


def _set(state: Portable, names: Iterable[str]) -> list[str]:
    """Set or pin settings, each on its own, so that one that is refused does not affect others."""
    problems = []
    for name in names:
        value, on_write = state.settings[name], state.pinned.get(name)
        _reception.reasons.pop(name, None)
        try:
            if on_write is None:
                _snapshot.put_back("install", {name: value}, _line_of(state))
                _reception.threads[name] = threading.get_ident()
            elif name not in _reception.pins:
                _pin(name, value, on_write, _line_of(state))
        except (InterlockError, TypeError, ValueError) as error:
            _reception.reasons[name] = reason = str(error).removeprefix("install: ")
            problems.append(f"the setting {printable(name)} could not be set to {shown(value)}: {reason}")
    return problems


def _pin(name: str, value: Any, on_write: str, origin: Origin) -> None:
    setting = _lookup.get("install", name)
    scope = Scope("state", {name: converted("install", setting, value)}, origin, on_write)
    blocking, writes = _enter.enter_pin(scope)
    if blocking:
        raise ArgumentError(f"it is {blocking[name][0].describe(name)}")
    _reception.pins[name] = scope
    report(writes)


def _line_of(state: Portable) -> Origin:
    """Return the line of the driver, so that `explain` and errors of a worker name it."""
    file, _, line = (state.origin or "").rpartition(":")
    return Origin(
        file or "<state>", int(line) if line.isdecimal() else 0, "portable", "", "driver", False, None
    )


def observe(state: Portable) -> dict[str, Any]:
    """Return what this process has of a state; see `Portable.observe`."""
    values: dict[str, Any] = {}
    reasons = dict(_reception.reasons) if _reception.state is not None else {}
    if _reception.state is None:
        reasons[""] = "no state has arrived"
    elif _reception.state != state:
        reasons[""] = f"the worker has another state{_reception.state._source('from')}"
    for name in state.flags:
        try:
            values[name] = backends.explain(name).value
        except UnknownFlagError:
            values[name] = None
            reasons.setdefault(name, "no library has registered the flag")
    values |= {f"{ENVIRON}{name}": os.environ.get(name) for name in state.environment}
    for name in state.settings:
        setting = _registry.known(name)
        found = None if setting is None else read(setting)
        values[name] = str(found) if isinstance(found, Unreadable) else found
        if setting is None:
            reasons.setdefault(name, "the setting is not known")
            continue
        is_elsewhere = _reception.threads.get(name) not in (None, threading.get_ident())
        if setting.extent != Extent.PROCESS and is_elsewhere and not same(found, state.settings[name]):
            extent = Extent(setting.extent).value
            reasons.setdefault(name, f"it belongs to a {extent}, and was set on another thread")
    if state.threads is not None:
        values["threads"] = _sizes(state.threads)
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "interlock": interlock.__version__,
        "values": values,
        "reasons": reasons,
    }


def _sizes(wanted: int | str) -> dict[str, int]:
    """Return the sizes of the pools that a number of threads sets; `wanted` is what the state means here."""
    from interlock import threads

    try:
        # The size of a pool of each thread depends on the thread that looks.
        found = {pool.name: pool.size for pool in threads.pools() if pool.extent == "process"}
    except UnsupportedError:
        found = {"interlock": interlock.get_num_threads()}
    size = int(threads.budget()) if wanted == "budget" else int(wanted)
    return {"wanted": size, **{name: number for name, number in found.items() if number is not None}}
