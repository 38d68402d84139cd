"""Records the writes of settings, and changes without a recorded write."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from interlock._core.state import BegunAtCreation
from interlock.settings._origin import Origin, distribution
from interlock.settings._setting import Extent, Setting, Unreadable, read

# The writes of one setting that are stored; a program that writes one in a loop keeps those of the others.
_LONGEST_LOG = 1000
# The writes of all settings that a watch stores.
_LONGEST_WATCH = 10_000


class Write(NamedTuple):
    """One write of a setting, or a change that was found without a write."""

    setting: str
    """The name of the setting."""
    old: Any
    """The value before the write."""
    new: Any
    """The value after it."""
    file: str | None
    """The file of the code that wrote; None for a change by code that cannot be seen."""
    line: int | None
    """The line in `file`."""
    function: str | None
    """The qualified name of the function, or `<module>`."""
    module: str | None
    """The module of the code that wrote."""
    thread: str
    """The name of the thread that wrote, or that found the change."""
    time: float
    """When the write was made or the change was found, in seconds since the epoch."""
    since: float | None = None
    """For a change without a write: the time of the look before, which saw the old value."""
    at_import: bool = False
    """Whether the code ran during an import."""
    group: str | None = None
    """Of a write by the library itself, what made it, such as `torch.compile`."""
    times: int = 1
    """How many consecutive writes of a group this entry stands for."""
    order: int = 0
    """The position of the entry in the log."""

    @property
    def distribution(self) -> str | None:
        """The installed distribution that contains the code; None for a script or an unobserved change."""
        if self.module is None or self.file is None:
            return None
        return distribution(self.module, self.file)

    @property
    def changed(self) -> bool:
        """Whether the value after the write differs from that before."""
        return not same(self.old, self.new)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that can be dumped as JSON."""
        fields = self._asdict() | {"distribution": self.distribution}
        del fields["order"]
        return {name: plain(value) for name, value in fields.items()}

    def __str__(self) -> str:
        if self.file is None:
            code = "code that cannot be seen (native, compiled, or with its own copy of the function)"
            return f"{shown(self.old)} -> {shown(self.new)} by {code}, found on thread {self.thread}"
        package = f", {self.distribution}" if self.distribution else ""
        group = f" by {self.group}" if self.group else ""
        times = f", {self.times} times" if self.times > 1 else ""
        when = ", at import" if self.at_import else ""
        where = f"{self.file}:{self.line} ({self.function}{package}{when}, thread {self.thread})"
        return f"{shown(self.old)} -> {shown(self.new)}{group} at {where}{times}"


def shown(value: Any) -> str:
    """Return a value as text for messages."""
    return str(value) if isinstance(value, Unreadable) else repr(value)


def plain(value: Any) -> Any:
    """Return a value for JSON."""
    return str(value) if isinstance(value, Unreadable) else value


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal: `True` and `1` are not, a tuple and a list from JSON are.

    A NaN equals a NaN. An object that `==` cannot compare, such as an array, equals only itself.
    """
    if one is other:
        return True
    if isinstance(one, Unreadable) or isinstance(other, Unreadable):
        return isinstance(one, Unreadable) and isinstance(other, Unreadable)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other):
        return False
    try:
        return bool(one == other) or bool(one != one and other != other)
    except Exception:
        return False


class Log:
    """The writes of all settings, and the value of each setting when it was last read."""

    def __init__(self) -> None:
        self._writes: dict[str, deque[Write]] = {}
        self._order = itertools.count()
        # The value, the time and the thread of the last look at each setting of the process.
        self._seen: dict[str, tuple[Any, float, int]] = {}
        self.watches: list[Watch] = []
        self.on_removal: Callable[[Write], object] | None = None
        """Called with each entry that newer ones replace."""

    def forget(self, setting: Setting) -> None:
        """Forget the last reading of a setting, but not its writes."""
        self._seen.pop(setting.name, None)

    def remember(self, setting: Setting, value: Any) -> None:
        """Store the present value of a setting."""
        if setting.extent == Extent.PROCESS:
            self._seen[setting.name] = (value, time.time(), threading.get_ident())

    def add(self, setting: Setting, old: Any, new: Any, origin: Origin) -> Write:
        """Record a write."""
        write = Write(
            setting.name,
            old,
            new,
            origin.file,
            origin.line,
            origin.function,
            origin.module,
            origin.thread,
            time.time(),
            at_import=origin.at_import,
            group=origin.group,
            order=next(self._order),
        )
        self.remember(setting, new)
        return self._store(write)

    def _store(self, write: Write) -> Write:
        writes = self._writes.setdefault(write.setting, deque(maxlen=_LONGEST_LOG))
        if write.group is not None and writes and writes[-1].group == write.group:
            last = writes[-1]
            writes[-1] = write = write._replace(old=last.old, times=last.times + 1)
            return write
        if self.on_removal is not None and len(writes) >= _LONGEST_LOG:
            self.on_removal(writes.popleft())
        writes.append(write)
        return write

    def look(self, setting: Setting) -> Any:
        """Read a setting, record a change without a recorded write, and return the value."""
        value = read(setting)
        if setting.extent != Extent.PROCESS:
            return value
        last = self._seen.get(setting.name)
        if last is not None and setting.watched and not same(last[0], value):
            if setting.per_thread_reads and last[2] != threading.get_ident():
                return value
            thread, now = threading.current_thread().name, time.time()
            self._store(
                Write(
                    setting.name,
                    last[0],
                    value,
                    *(None, None, None, None),
                    thread,
                    now,
                    since=last[1],
                    order=next(self._order),
                )
            )
        self.remember(setting, value)
        return value

    def of(self, name: str) -> tuple[Write, ...]:
        """Return the writes of one setting, the oldest first."""
        return tuple(self._writes.get(name, ()))

    def last(self, name: str) -> Write | None:
        """Return the last write of one setting."""
        writes = self._writes.get(name)
        return writes[-1] if writes else None

    def all(self) -> list[Write]:
        """Return all writes, the oldest first."""
        # A copy that is made in one step, because other threads add some.
        writes = list(itertools.chain.from_iterable(self._writes.values()))
        return sorted(writes, key=lambda write: write.order)


LOG = Log()


class Watch(BegunAtCreation):
    """Reports writes of enabled settings while it is in `LOG.watches`; `watch` returns it.

    Args:
        on_write: Called after each write, or None.

    """

    def __init__(self, on_write: Callable[[Write], object] | None) -> None:
        self._on_write = on_write
        self._writes: deque[Write] = deque(maxlen=_LONGEST_WATCH)

    @property
    def writes(self) -> list[Write]:
        """The last 10,000 writes since the watch was opened, the oldest first."""
        return list(self._writes)

    def stop(self) -> None:
        """Stop reporting writes. A second call has no effect."""
        with contextlib.suppress(ValueError):
            LOG.watches.remove(self)

    def _exit(self, _exited: list[object]) -> None:
        self.stop()

    def _report(self, writes: Sequence[Write]) -> None:
        self._writes.extend(writes)
        if self._on_write is not None:
            for write in writes:
                self._on_write(write)


def watch(on_write: Callable[[Write], object] | None = None) -> Watch:
    """Report each write of an enabled setting, as a context manager or until `stop` is called.

    Changes without a write are not reported; `writes` and `explain` show them.

    Args:
        on_write: Called on the thread that wrote, after the write and without a lock. An exception that it
            raises reaches the code that wrote.

    Example:
        >>> from interlock import settings
        >>> config = {"level": 1}
        >>> level = settings.Setting(
        ...     "mylib.level",
        ...     get=lambda: config["level"],
        ...     set=lambda value: config.update(level=value),
        ... )
        >>> with settings.register(level), settings.watch() as watched:
        ...     with settings.override({"mylib.level": 2}):
        ...         pass
        >>> [(write.old, write.new) for write in watched.writes]
        [(1, 2), (2, 1)]

    """
    if on_write is not None and not callable(on_write):
        raise TypeError(f"watch: on_write must be callable or None, got {type(on_write).__name__}")
    watch = Watch(on_write)
    try:
        LOG.watches.append(watch)
        return watch
    except BaseException:
        # After an interrupt, nothing else could stop it.
        watch.stop()
        raise


class _Deferred(threading.local):
    writes: list[Write] | None = None


_deferred = _Deferred()


def deferring(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that acquires a lock, and report the writes that it makes after its release."""
    if _deferred.writes is not None:
        return function(*arguments)
    _deferred.writes = writes = list[Write]()
    try:
        return function(*arguments)
    finally:
        _deferred.writes = None
        report(writes)


def report(writes: Sequence[Write]) -> None:
    """Report new writes to the open watches. Called without a lock, or inside of `deferring`."""
    if _deferred.writes is not None:
        _deferred.writes += writes
        return
    for each in tuple(LOG.watches):
        each._report(writes)
