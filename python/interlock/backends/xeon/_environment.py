"""What the environment of an instance changes: threads of OpenMP, and libraries to preload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.backends.xeon._found import Found, preloads
from interlock.backends.xeon._options import Options

__all__ = ["Changes", "changes"]

_KMP_AFFINITY = "granularity=fine,compact,1,0"
_KMP_BLOCKTIME = "1"
_MALLOC_CONF = "oversize_threshold:1,background_thread:true,metadata_thp:auto"


@dataclass(frozen=True)
class Changes:
    """The variables that all instances get, and what to tell of them."""

    variables: dict[str, str] = field(default_factory=dict[str, str])
    # What a person should know.
    notes: list[str] = field(default_factory=list[str])
    # What only a person who looks at the plan wants to know.
    asides: list[str] = field(default_factory=list[str])


def changes(options: Options, environment: Mapping[str, str], found: Found) -> Changes:
    """Return what all instances get. A variable that is set already stays; only LD_PRELOAD is added to."""
    changed = Changes()
    changed.notes.extend(
        f"{entry} of LD_PRELOAD does not exist and is taken out" for entry in found.missing_preloads
    )
    kept = [entry for entry in preloads(environment) if entry not in found.missing_preloads]
    added: list[str] = []
    wanted: dict[str, str] = {}
    if _allocator(options, found, kept, added, changed.notes) == "jemalloc":
        wanted["MALLOC_CONF"] = _MALLOC_CONF
    if not options.disable_iomp:
        if _preload("iomp5", found, kept, added):
            if _places_threads(options):
                wanted["KMP_AFFINITY"] = _KMP_AFFINITY
            wanted["KMP_BLOCKTIME"] = _KMP_BLOCKTIME
        else:
            absence = _absence("iomp5", found)
            changed.asides.append(f"{absence}: programs use the OpenMP runtime that they bring")
    for name, value in wanted.items():
        if name not in environment:
            changed.variables[name] = value
        elif environment[name] != value:
            changed.notes.append(f"{name} is set already and stays {environment[name]!r}")
    if added or found.missing_preloads:
        changed.variables["LD_PRELOAD"] = ":".join([*added, *kept])
    return changed


def _allocator(
    options: Options, found: Found, kept: list[str], added: list[str], notes: list[str]
) -> str | None:
    """Preload the allocator that is asked for, or else the first of the two that there is."""
    if options.use_default_allocator:
        return None
    asked = "tcmalloc" if options.enable_tcmalloc else "jemalloc" if options.enable_jemalloc else None
    given = [file for entry in kept if "malloc" in (file := entry.rpartition("/")[2])]
    if given and not asked:
        # Whoever preloads an allocator wants that one: mimalloc, or another build of these two.
        return "jemalloc" if given[0].startswith("libjemalloc.so") else None
    for name in [asked] if asked else ["tcmalloc", "jemalloc"]:
        if _preload(name, found, kept, added):
            return name
    if asked:
        notes.append(f"--enable-{asked}: {_absence(asked, found)}, so the system's allocator stays")
    return None


def _absence(name: str, found: Found) -> str:
    """Return why a library is not preloaded."""
    if name not in found.not_preloadable:
        return f"lib{name}.so is not found"
    return (
        f"{found.not_preloadable[name]!r} can't be preloaded, for LD_PRELOAD is divided at spaces and colons"
    )


def _preload(name: str, found: Found, kept: list[str], added: list[str]) -> bool:
    """Return whether this library is preloaded, by whoever set LD_PRELOAD or from now on."""
    if any(entry.rpartition("/")[2].startswith(f"lib{name}.so") for entry in kept):
        return True
    if name in found.libraries:
        added.insert(0, found.libraries[name])
        return True
    return False


def _places_threads(options: Options) -> bool:
    """Return whether Intel's runtime is to bind threads to the cores of their instance, closely packed.

    An instance that is not pinned would get the first cores of the machine, as all others would, and one
    with all logical cores would leave out hyper-threads.
    """
    has_all = options.use_logical_core and options.node_id is None and options.core_list is None
    return not options.disable_taskset and not has_all
