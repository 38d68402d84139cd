"""What the environment of an instance changes: threads of OpenMP, and libraries to preload."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.backends.xeon._found import Found, preloads
from interlock.backends.xeon._options import Options

__all__ = ["changes"]

_KMP_AFFINITY = "granularity=fine,compact,1,0"
_KMP_BLOCKTIME = "1"
_MALLOC_CONF = "oversize_threshold:1,background_thread:true,metadata_thp:auto"


def changes(
    options: Options, environment: Mapping[str, str], found: Found
) -> tuple[dict[str, str], list[str]]:
    """Return the variables that all instances get, and what a person should know about them.

    A variable that is set already stays; only LD_PRELOAD is added to.
    """
    notes = [f"{entry} of LD_PRELOAD does not exist and is taken out" for entry in found.missing_preloads]
    kept = [entry for entry in preloads(environment) if entry not in found.missing_preloads]
    added: list[str] = []
    wanted: dict[str, str] = {}
    if _allocator(options, found, kept, added, notes) == "jemalloc":
        wanted["MALLOC_CONF"] = _MALLOC_CONF
    if not options.disable_iomp:
        if _preload("iomp5", found, kept, added):
            if not _uses_every_logical_core(options):
                wanted["KMP_AFFINITY"] = _KMP_AFFINITY
            wanted["KMP_BLOCKTIME"] = _KMP_BLOCKTIME
        else:
            notes.append("libiomp5.so is not found: programs use the OpenMP runtime that they bring")
    changed = {name: value for name, value in wanted.items() if name not in environment}
    notes += [
        f"{name} is set already and stays {environment[name]!r}"
        for name, value in wanted.items()
        if environment.get(name, value) != value
    ]
    if added or found.missing_preloads:
        changed["LD_PRELOAD"] = ":".join([*added, *kept])
    return changed, notes


def _allocator(
    options: Options, found: Found, kept: list[str], added: list[str], notes: list[str]
) -> str | None:
    """Preload the allocator that is asked for, or else the first of the two that there is."""
    if options.use_default_allocator:
        return None
    asked = "tcmalloc" if options.enable_tcmalloc else "jemalloc" if options.enable_jemalloc else None
    for name in [asked] if asked else ["tcmalloc", "jemalloc"]:
        if _preload(name, found, kept, added):
            return name
    if asked:
        notes.append(f"--enable-{asked}: lib{asked}.so is not found, so the system's allocator stays")
    return None


def _preload(name: str, found: Found, kept: list[str], added: list[str]) -> bool:
    """Return whether this library is preloaded, by whoever set LD_PRELOAD or from now on."""
    if any(entry.rpartition("/")[2].startswith(f"lib{name}.so") for entry in kept):
        return True
    if name in found.libraries:
        added.insert(0, found.libraries[name])
        return True
    return False


def _uses_every_logical_core(options: Options) -> bool:
    """Return whether the compact affinity must stay away: it would leave out hyper-threads."""
    return options.use_logical_core and options.node_id is None and options.core_list is None
