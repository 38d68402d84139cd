"""The thread pools of this process: libraries that start threads of their own, and their sizes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from interlock.integrations import _interlock, _numexpr, _thread_pools
from interlock.settings import _pins, _registry
from interlock.settings._environ import ENVIRON, ONNXRUNTIME, POOLS, RAYON, environment_setting
from interlock.settings._import_hook import is_imported
from interlock.settings._setting import Extent, Setting, Unreadable, read
from interlock.settings._writes import LOG

START: Final = "start"
"""The extent of a pool whose size is fixed once it has started."""
# The first release that reads ORT_INTRA_OP_NUM_THREADS.
_ONNXRUNTIME_WITH_VARIABLE = (1, 28)
# Packages that run on rayon's global pool, which starts at its first use.
_ON_RAYON = ("tokenizers",)


class Pool(NamedTuple):
    """A thread pool, or the number of threads that each thread of the program may start in a library."""

    name: str
    """The name that `limits` accepts, such as `openblas.numpy`."""
    library: str
    """The library, its version and its build."""
    size: int | None
    """The number of threads that this thread reads; None if it is not known."""
    extent: Literal["process", "thread", "context", "start"]
    """The extent of a write: `process` for all threads, `thread` for the thread that writes, or `start`."""
    set_by: str
    """The line that wrote the size, the environment variable that determined it, or `default`."""
    setting: str
    """The name in `interlock.settings`."""
    file: str | None
    """The file of the library."""
    note: str
    """The sizes that the library allows."""


class Kind(NamedTuple):
    """The properties of a pool that are known before its size is read."""

    name: str
    library: str
    setting: Setting
    variables: Sequence[str]
    file: str | None = None
    note: str = ""
    is_loaded: bool = True
    """Whether its library is imported."""
    is_late: bool = False
    """Whether a write of the environment variable comes too late."""
    write_once: Callable[[int], object] | None = None
    """Writes a size that cannot be restored, and raises if the library no longer accepts it."""

    @property
    def is_present(self) -> bool:
        """Whether its library is imported, or its variable is set."""
        return not self.is_fixed or self.is_loaded or self.setting.get() is not None

    @property
    def is_fixed(self) -> bool:
        """Whether only an environment variable determines the size, before the pool starts."""
        return self.setting.name.startswith(ENVIRON)

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can change the size and put it back."""
        return self.setting.set is None

    @property
    def size(self) -> int | None:
        """The size that this thread reads; None if it is not known."""
        return _size(read(self.known))

    @property
    def known(self) -> Setting:
        """The setting of the pool: the one that is listed, if one is."""
        return _registry.known(self.setting.name) or self.setting


def pools() -> tuple[Pool, ...]:
    """Return the thread pools of the libraries that are loaded in this process.

    A pool has one of three extents: `process`, one size for all threads; `thread`, where each thread of the
    program has a size of its own, and may start as many threads; `start`, where the size is fixed once the
    pool has started.

    The writer of a size is known from `settings.enable` with the name of the library on. Libraries that are
    loaded without an import, by ctypes or another library, are found, too.

    Raises:
        UnsupportedError: threadpoolctl 3.8 or newer is missing: `pip install 'threadpoolctl>=3.8'`.

    Example:
        >>> from interlock import threads
        >>> [pool.extent for pool in threads.pools() if pool.name == "interlock"]
        ['process']

    """
    return listed("pools")


def listed(function: str) -> tuple[Pool, ...]:
    """Return the pools for a function, which the messages name."""
    _thread_pools.search_again()
    return tuple(_pool(kind) for kind in kinds(function) if kind.is_present)


def kinds(function: str, *, needs_native: bool = True) -> Iterator[Kind]:
    """Yield the pools of the libraries that are loaded.

    A pool comes before the pools that change it: exits of scopes, which run backwards, write it last.

    Args:
        function: The function that needs them, for messages.
        needs_native: Whether to find native libraries, with threadpoolctl.

    """
    if needs_native:
        for library, setting in _thread_pools.settings(_thread_pools.controller(function)):
            name = setting.name.removesuffix(".num_threads")
            yield Kind(
                name,
                _thread_pools.version(library),
                setting,
                POOLS[library.internal_api],
                library.filepath,
                _thread_pools.note(library),
            )
    if is_imported("numexpr"):
        setting = _numexpr.setting()
        yield Kind("numexpr", _named("numexpr"), setting, POOLS["numexpr"], None, setting.note)
    setting = _interlock.setting()
    yield Kind("interlock", _named("interlock"), setting, POOLS["interlock"], None, setting.note)
    if is_imported("torch"):
        yield from _of_torch()
    yield from _by_environment()


def _named(module: str) -> str:
    version = getattr(sys.modules[module], "__version__", None)
    return f"{module} {version}" if version else module


def _of_torch() -> Iterator[Kind]:
    setting = _registry.known("torch.num_threads") or _setting_of_torch()
    yield Kind("torch", _named("torch"), setting, POOLS["torch"], None, setting.note)
    interop = _registry.known("torch.num_interop_threads") or _interop_of_torch()
    write = getattr(sys.modules["torch"], "set_num_interop_threads", None)
    yield Kind("torch.interop", _named("torch"), interop, (), None, interop.note, write_once=write)


@cache
def _setting_of_torch() -> Setting:
    from interlock.integrations.torch import num_threads

    return num_threads(sys.modules["torch"])


@cache
def _interop_of_torch() -> Setting:
    torch = sys.modules["torch"]
    note = "PyTorch accepts one write, before the threads start."
    return Setting("torch.num_interop_threads", get=torch.get_num_interop_threads, note=note)


def _by_environment() -> Iterator[Kind]:
    """Yield pools whose size only an environment variable determines."""
    variable = environment_setting(ONNXRUNTIME)
    if is_imported("onnxruntime"):
        version = getattr(sys.modules["onnxruntime"], "__version__", "")
        reads = version_of(version) >= _ONNXRUNTIME_WITH_VARIABLE
        note = (
            f"Sessions that exist keep their threads; a new one reads {ONNXRUNTIME}."
            if reads
            else f"Version {version} reads no variable: pass SessionOptions with intra_op_num_threads."
        )
        library = _named("onnxruntime")
        yield Kind("onnxruntime", library, variable, (ONNXRUNTIME,), None, note, is_late=not reads)
    else:
        note = "Each session has a pool, whose size it reads when it is created."
        yield Kind("onnxruntime", "onnxruntime", variable, (ONNXRUNTIME,), None, note, is_loaded=False)
    variable = environment_setting(RAYON)
    users = [name for name in _ON_RAYON if is_imported(name)]
    note = (
        f"{', '.join(users)} may have started the pool, which reads {RAYON} at its first use only."
        if users
        else f"The pool of Rust libraries reads {RAYON} at its first use."
    )
    library = ", ".join(users) or "rayon"
    yield Kind("rayon", library, variable, (RAYON,), None, note, bool(users), is_late=bool(users))


def version_of(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version."""
    numbers = []
    for part in text.split(".")[:2]:
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _pool(kind: Kind) -> Pool:
    setting = kind.known
    found = read(setting)
    is_fixed = kind.is_fixed or kind.is_read_only
    return Pool(
        kind.name,
        kind.library,
        _size(found),
        START if is_fixed else Extent(setting.extent).value,
        _set_by(setting, found, kind.variables),
        setting.name,
        kind.file,
        kind.note,
    )


def _size(value: Any) -> int | None:
    if isinstance(value, Unreadable) or value is None:
        return None
    text = str(value)
    return int(text) if text.isdecimal() else None


def _set_by(setting: Setting, value: Any, variables: Sequence[str]) -> str:
    """Return what determined a size, if it is known."""
    if _registry.known(setting.name) is setting:
        # Finds a change by code that cannot be seen.
        _pins.look(setting)
    last = LOG.last(setting.name)
    if last is not None:
        if last.file is None:
            return "code that cannot be seen"
        return f"{last.file}:{last.line}" + (f" ({last.distribution})" if last.distribution else "")
    for name in variables:
        # Libraries ignore an empty variable.
        if os.environ.get(name):
            is_it = _first_number(os.environ[name]) == _size(value)
            return f"{name}={os.environ[name]}" + (
                "" if is_it else ", which the library reduced or read too late"
            )
    return "default"


def _first_number(text: str) -> int | None:
    """Return the number of a variable; of a list of nested levels such as `4,2`, the first."""
    return _size(text.partition(",")[0].strip())
