"""The thread pools of BLAS libraries and OpenMP runtimes, as settings: `openblas.numpy.num_threads`.

threadpoolctl finds the libraries, and reads and writes their sizes. It is imported by `controller` only.
"""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache, lru_cache, partial
from pathlib import PurePath
from typing import Any

from interlock.errors import SettingValueError, UnsupportedError
from interlock.integrations._conversions import positive
from interlock.integrations._loads import number_of_loads
from interlock.settings._locks import call_locked, lock_over_forks
from interlock.settings._observer import Observer
from interlock.settings._setting import Extent, Setting

# The first version whose limits are thread-local where a library can.
_OLDEST = (3, 8)
FAMILY_OF_THREADS = "num_threads"
"""OpenMP runtimes, MKL, PyTorch and interlock: a write of the number of one changes that of others."""
LIBRARIES = {
    "openblas": "OpenBLAS",
    "mkl": "MKL",
    "blis": "BLIS",
    "flexiblas": "FlexiBLAS",
    "openmp": "OpenMP",
}
"""The names of the interfaces, which threadpoolctl calls internal APIs, with those for people."""


def controller(function: str) -> Any:
    """Return threadpoolctl's controller of the libraries that are loaded.

    One controller is used as long as no library is loaded: making one takes a millisecond.

    Args:
        function: The function of interlock that needs it, for the message.

    Raises:
        UnsupportedError: threadpoolctl is missing or too old.

    """
    threadpoolctl = sys.modules.get("threadpoolctl") or _import(function)
    # Added in the oldest version.
    if not hasattr(threadpoolctl, "get_cached_controller"):
        version = getattr(threadpoolctl, "__version__", "an older one")
        raise UnsupportedError(
            f"{function}: threadpoolctl must have version {'.'.join(map(str, _OLDEST))} or newer, "
            f"got {version}: pip install 'threadpoolctl>=3.8'"
        )
    return _controller(threadpoolctl, number_of_loads())


def _import(function: str) -> Any:
    try:
        return importlib.import_module("threadpoolctl")
    except ImportError:
        raise UnsupportedError(
            f"{function}: the package threadpoolctl, which finds BLAS libraries and OpenMP runtimes, is not "
            "installed: pip install 'threadpoolctl>=3.8'"
        ) from None


@lru_cache(maxsize=1)
def _controller(threadpoolctl: Any, loads: object) -> Any:
    """Return the controller for a number of loads."""
    return threadpoolctl.ThreadpoolController()


def search_again() -> None:
    """Search for libraries at the next use: not every C library counts those loaded without an import."""
    _controller.cache_clear()


class Table:
    """The settings of the loaded libraries of one interface.

    Args:
        interface: The name in `LIBRARIES`, which threadpoolctl calls the internal API.

    """

    IMPORTED = "threadpoolctl"
    PACKAGES = ("threadpoolctl",)

    def __init__(self, interface: str) -> None:
        self._interface = interface
        self._module: Any = None
        self._seen: object = None

    def prepare(self) -> None:
        """Import threadpoolctl, or raise `UnsupportedError`."""
        controller("enable")

    def install(self, observer: Observer) -> list[Setting]:
        """Return the settings, and record calls of the functions that write them."""
        # The module that is used as long as the settings are known: a test may replace the imported one.
        self._module, self._seen = sys.modules["threadpoolctl"], None
        for owner in self._module.LibController.__subclasses__():
            if owner.internal_api == self._interface:
                observer.wrap_selecting(owner, "set_num_threads", _select)
        return self.find()

    def find(self) -> list[Setting]:
        """Return the settings, or no settings if no library was loaded since the last call."""
        found = _controller(self._module, number_of_loads())
        if found is self._seen:
            return []
        self._seen = found
        return [setting for library, setting in settings(found) if library.internal_api == self._interface]


OPENBLAS, MKL, BLIS, FLEXIBLAS, OPENMP = map(Table, LIBRARIES)


def _select(arguments: tuple[Any, ...]) -> list[Setting]:
    """Return the setting of the library that a call of `set_num_threads` changes, as its first argument."""
    from interlock.settings import _import_hook, _registry

    # The call may be the first look at a library that was loaded since the last one.
    _import_hook.run_imported()
    name = setting_of(arguments[0]).name
    return [setting for setting in (_registry.known(name),) if setting is not None]


def settings(controller: Any) -> list[tuple[Any, Setting]]:
    """Return the libraries of a controller that interlock supports, each with its setting."""
    return [
        (library, setting_of(library))
        for library in controller.lib_controllers
        if library.internal_api in LIBRARIES
    ]


def setting_of(library: Any) -> Setting:
    """Return the setting of a library: the same object for each controller that finds the library."""
    kind: Any = type(library)
    return _setting(library.internal_api, library.filepath, kind, library.prefix)


@cache
def _setting(interface: str, file: str, kind: type, prefix: str) -> Setting:
    # The controllers of a file share its handle, and have no state of their own.
    library = kind(filepath=file, prefix=prefix)
    extent = _extent(library)
    limit = "of this thread" if extent == Extent.THREAD else "of all threads"
    return Setting(
        f"{interface}.{_owner(interface, file)}.num_threads",
        get=library.get_num_threads,
        set=partial(_set, library),
        extent=extent,
        convert=positive,
        family=FAMILY_OF_THREADS if extent == Extent.THREAD else "",
        doc=f"The number of threads of {LIBRARIES[interface]} ({file}) for operations {limit}.",
        note=note(library),
    )


def _extent(library: Any) -> Extent:
    """Return what `set_num_threads` of threadpoolctl 3.8 changes; the tests compare its experiment."""
    if library.internal_api == "openblas":
        return Extent.THREAD if library.threading_layer == "openmp" else Extent.PROCESS
    if library.internal_api == "openmp":
        return Extent.PROCESS if library.prefix == "vcomp" else Extent.THREAD
    return Extent.THREAD if library.internal_api == "mkl" else Extent.PROCESS


def note(library: Any) -> str:
    """Return what a library allows, for people."""
    if library.internal_api == "openblas" and library.threading_layer == "disabled":
        return "Built for one thread."
    if library.internal_api == "openblas" and _extent(library) == Extent.PROCESS:
        return "One pool, which all threads share: calls of several threads wait for each other."
    if library.internal_api == "flexiblas":
        return "The extent depends on its backend."
    if _extent(library) == Extent.THREAD:
        return "Other threads keep their numbers; a new thread starts with the default."
    return ""


def version(library: Any) -> str:
    """Return the name, the version and the build of a library, for people."""
    name = LIBRARIES[library.internal_api]
    if library.internal_api == "openmp":
        return f"{name} ({library.prefix})"
    details = [getattr(library, each, None) for each in ("threading_layer", "architecture")]
    build = ", ".join(each for each in details if each)
    return " ".join(each for each in (name, library.version, f"({build})" if build else None) if each)


# The folders of packages in a path. Wheels that auditwheel repaired have their libraries in PACKAGE.libs.
_PACKAGES = ("site-packages", "dist-packages")
# Which library has which name: a second one of a package gets its file name, too.
_owners: dict[tuple[str, str], str] = {}


def _owner(interface: str, file: str) -> str:
    """Return the package that contains a library; the name of its file if it is in no package."""
    parts = PurePath(file).parts
    stem = re.sub(r"\W+", "_", parts[-1].partition(".so")[0].removesuffix(".dylib"))
    index = max((parts.index(each) for each in _PACKAGES if each in parts), default=-1)
    is_in_package = 0 <= index < len(parts) - 2
    owner = re.sub(r"\W+", "_", parts[index + 1].removesuffix(".libs")) if is_in_package else stem
    if _owners.setdefault((interface, owner), file) != file:
        owner = f"{owner}_{stem}"
    return owner


def _set(library: Any, value: int) -> None:
    """Write a number of threads, or put the one of before back and say what the library allows."""
    before = library.get_num_threads()
    _write(library, value)
    found = library.get_num_threads()
    if found != value:
        if found != before:
            _write(library, before)
        raise SettingValueError(_refusal(library, value, found))


# A fork copies the locks of threadpoolctl, and a pool that OpenBLAS resizes.
_writing = lock_over_forks(__name__)


def _write(library: Any, value: int) -> None:
    # With pthreads, one thread controls OpenBLAS, until threadpoolctl's outermost scope of it ends.
    ownership = sys.modules["threadpoolctl"].CONTROLLING_THREAD_OWNERSHIP

    def write() -> None:
        ownership.increment()
        try:
            library.set_num_threads(value)
        finally:
            ownership.decrement()

    call_locked((_writing,), write)


def _refusal(library: Any, value: int, found: int) -> str:
    name = LIBRARIES[library.internal_api]
    if library.internal_api == "openblas" and library.threading_layer == "disabled":
        return f"this build of {name} has one thread"
    state = getattr(library, "_SHARED_STATE", None)
    holder = getattr(state, "controlling_thread", None)
    if holder is not None:
        return (
            f"{name} has one pool for the process, and threadpoolctl lets thread {holder.name} control it "
            f"until its threadpool_limits ends: it keeps {found}"
        )
    if found < value:
        return f"{name} accepts at most {found} threads in this build and on this machine"
    return f"{name} does not shrink its pool below {found} threads"
