"""The options of JAX, from 0.4.36 on: the settings of `interlock.settings.enable("jax")`.

JAX stores an option twice: a value of the process, which `jax.config.update` writes, and for each thread a
value that replaces it while a context manager such as `jax.enable_x64` is entered. So an option has two
settings, `jax.config.jax_enable_x64` and `jax.enable_x64`. JAX is never imported here, and reading a setting
starts no backend.
"""

from __future__ import annotations

import enum
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

from interlock._quote import shown
from interlock.errors import SettingValueError
from interlock.settings._observer import Observer
from interlock.settings._reader import Getter
from interlock.settings._setting import Extent, Setting, reason_of

IMPORTED = "jax"
PACKAGES = ("jax", "jaxlib")

UNSET = "unset"
"""The value of a thread that has none of its own."""

_DEVICE = "jax_default_device"
# Options of the process that change together: the first one writes the others.
_FAMILY = dict.fromkeys(
    (
        "jax_transfer_guard",
        "jax_transfer_guard_host_to_device",
        "jax_transfer_guard_device_to_device",
        "jax_transfer_guard_device_to_host",
    ),
    "jax transfer guard",
)
# Options that JAX offers as context managers, of the same name without the prefix.
_OF_THREADS = (
    "jax_check_tracer_leaks",
    "jax_debug_infs",
    "jax_debug_key_reuse",
    "jax_debug_nans",
    "jax_default_device",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_disable_jit",
    "jax_enable_checks",
    "jax_enable_custom_prng",
    "jax_enable_x64",
    "jax_explain_cache_misses",
    "jax_legacy_prng_key",
    "jax_log_compiles",
    "jax_no_execution",
    "jax_no_tracing",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_softmax_custom_jvp",
    "jax_threefry_partitionable",
    "jax_transfer_guard_device_to_device",
    "jax_transfer_guard_device_to_host",
    "jax_transfer_guard_host_to_device",
)
# Options that are part of the key of compiled functions.
_COMPILED = {
    "check_vma",
    "eager_constant_folding",
    "jax_allow_f16_reductions",
    "jax_auto_pcast",
    "jax_check_static_indices",
    "jax_custom_vjp3",
    "jax_debug_key_reuse",
    "jax_default_device",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_dynamic_shapes",
    "jax_embedded_constants_max_bytes",
    "jax_enable_memories",
    "jax_enable_x64",
    "jax_explicit_x64_dtypes",
    "jax_memory_fitting_level",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_optimization_level",
    "jax_pallas_enable_debug_checks",
    "jax_pallas_use_mosaic_gpu",
    "jax_pgle_profiling_runs",
    "jax_ragged_dot_use_gpu_pallas_triton_lowering",
    "jax_random_seed_offset",
    "jax_remat3",
    "jax_remove_size_one_mesh_axis_from_type",
    "jax_scan3",
    "jax_softmax_custom_jvp",
    "jax_threefry_gpu_kernel_lowering",
    "jax_threefry_partitionable",
    "jax_use_direct_linearize",
    "jax_use_emit_pipeline_primitive",
    "jax_use_shardy_partitioner",
    "jax_use_simplified_jaxpr_constants",
    "jax_xla_profile_version",
}
# Options that JAX reads when it starts its backends, at the first operation or query of devices.
_OF_BACKENDS = {
    "jax_backend_target",
    "jax_cpu_collectives_implementation",
    "jax_cpu_enable_async_dispatch",
    "jax_cpu_get_global_topology_timeout_minutes",
    "jax_cpu_get_local_topology_timeout_minutes",
    "jax_cuda_visible_devices",
    "jax_mock_gpu_topology",
    "jax_num_cpu_devices",
    "jax_oneapi_visible_devices",
    "jax_pjrt_client_create_options",
    "jax_platform_name",
    "jax_platforms",
    "jax_rocm_visible_devices",
    "jax_xla_backend",
    "mock_num_gpu_processes",
}
_DEFAULTS = {
    "jax_check_tracer_leaks": False,
    "jax_debug_infs": False,
    "jax_debug_nans": False,
    "jax_disable_jit": False,
    "jax_enable_x64": False,
    "jax_log_compiles": False,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
}
_NOTES = {
    "jax_check_tracer_leaks": "Functions are traced at each call.",
    "jax_debug_nans": "A compiled function waits for its results, and runs again uncompiled for a NaN.",
    "jax_debug_infs": "A compiled function waits for its results, and runs again uncompiled for an infinity.",
    "jax_default_matmul_precision": "On a CPU, each supported value gives the same products of float32.",
    "jax_disable_jit": "A function that was compiled before is not used either.",
    "jax_enable_x64": "Arrays keep the dtype that they were created with.",
    "jax_transfer_guard": "It writes the options of the three directions.",
}
_THREAD_NOTE = "Its writes are not recorded. Threads that this one starts do not have the value."


def install(observer: Observer) -> Iterable[Setting]:
    """Return the settings of the imported JAX, and wrap the methods that write options of the process."""
    jax = sys.modules["jax"]
    rows = [*_of_process(jax), *_of_threads(jax)]
    # Also called by `jax.config.update`, and for options of the command line.
    written = [row for row in rows if row.extent == Extent.PROCESS]
    for owner in {type(row.writer_arguments[0]) for row in written}:
        observer.wrap(owner, "_set", [row for row in written if type(row.writer_arguments[0]) is owner])
    return rows


def _holders(jax: ModuleType) -> dict[str, Any]:
    """Return the objects that have the values of options, by the names of the options."""
    return getattr(jax.config, "_value_holders", {})


def _of_process(jax: ModuleType) -> Iterator[Setting]:
    for name, holder in _holders(jax).items():
        if hasattr(holder, "get_global"):
            read = holder.get_global
        elif not hasattr(holder, "get_local") and hasattr(holder, "value"):
            # A flag, which no thread has a value for.
            read = partial(getattr, holder, "value")
        else:
            continue
        kind, _, more = jax.config.meta.get(name, (None, (), {}))
        is_late = name in _OF_BACKENDS
        yield Setting(
            f"jax.config.{name}",
            get=Getter(read, _plain),
            set=partial(_write_before_start if is_late else _write, name, holder),
            # A scope puts back what it has changed, although JAX reads it no more.
            restore=partial(_write, name, holder),
            default=_DEFAULTS.get(name),
            convert=partial(_converted, name, holder, kind),
            family=_FAMILY.get(name, ""),
            writer_arguments=(holder,),
            guards=("jax.jit",) if name in _COMPILED else (),
            too_late=_backend_started if is_late else None,
            doc=_first_sentence(more.get("help")),
            note=" ".join(_notes(name)),
        )


def _of_threads(jax: ModuleType) -> Iterator[Setting]:
    holders = _holders(jax)
    unset = getattr(getattr(sys.modules.get("jax._src.config"), "config_ext", None), "unset", None)
    for name in _OF_THREADS:
        holder: Any = holders.get(name)
        if unset is None or not hasattr(holder, "get_local") or not hasattr(holder, "set_local"):
            continue
        kind, _, more = jax.config.meta.get(name, (None, (), {}))
        effect = _first_sentence(more.get("help"))
        yield Setting(
            f"jax.{name.removeprefix('jax_')}",
            get=Getter(holder.get_local, partial(_plain_local, unset)),
            set=partial(_write_local, name, holder, unset),
            extent=Extent.THREAD,
            default=UNSET,
            convert=partial(_converted_local, name, holder, kind),
            guards=("jax.jit",) if name in _COMPILED else (),
            doc=f"The value of this thread; {UNSET!r} for that of jax.config. {effect}".rstrip(),
            note=_THREAD_NOTE,
        )


def _notes(name: str) -> Iterator[str]:
    if name in _NOTES:
        yield _NOTES[name]
    if name in _OF_THREADS:
        yield f"A thread with a value of jax.{name.removeprefix('jax_')} has that instead."
    variable = name.upper()
    if variable in os.environ:
        yield f"The environment has {variable}={os.environ[variable]!r}, which JAX reads at its import."


def _first_sentence(text: object) -> str:
    words = " ".join(str(text or "").split())
    return re.split(r"(?<=[.])\s", words, maxsplit=1)[0]


def _backend_started() -> str:
    # The function of JAX for this waits for the lock that it holds during the start.
    started = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None)
    return "JAX has started its backends" if started else ""


# Values are those that can be dumped as JSON: devices are named, and members of enums have their texts.


_PLAIN = frozenset((bool, int, float, str))


def _plain(value: Any) -> Any:
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, str) else value.name.lower()
    if hasattr(value, "platform") and hasattr(value, "id"):
        return f"{value.platform}:{value.id}"
    raise TypeError(f"the value is a {type(value).__name__}")


def _plain_local(unset: object, value: Any) -> Any:
    return UNSET if value is unset else _plain(value)


_ACCEPTED: dict[object, str] = {bool: "a bool", int: "an int", float: "a number", str: "a str"}


def _converted(name: str, holder: Any, kind: object, value: Any) -> Any:
    plain = value if name == _DEVICE and isinstance(value, str) else _checked(holder, kind, value)
    return _plain(plain)


def _converted_local(name: str, holder: Any, kind: object, value: Any) -> Any:
    return UNSET if isinstance(value, str) and value == UNSET else _converted(name, holder, kind, value)


def _checked(holder: Any, kind: object, value: Any) -> Any:
    """Return a value as JAX stores it. Raises `SettingValueError` if JAX refuses it."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    has_kind = isinstance(value, kind) if isinstance(kind, type) else True
    if isinstance(value, bool) and kind is not bool:
        has_kind = False
    # Options of texts also accept objects; the check of JAX refuses the others.
    if not has_kind and (kind is not str or not hasattr(holder, "get_global")):
        is_optional = value is None and getattr(holder, "value", 0) is None
        if not is_optional:
            raise SettingValueError(f"must be {_ACCEPTED.get(kind, 'one of its values')}, got {shown(value)}")
    try:
        return _stored(holder, value)
    except Exception as error:
        raise SettingValueError(f"refuses {shown(value)}: {reason_of(error)}") from error


def _stored(holder: Any, value: Any) -> Any:
    # A state of JAX 0.8 has a parser; those of 0.6 and before have a validator, which only raises.
    parse = getattr(holder, "_parser", None)
    if parse is not None:
        return parse(value)
    validate = getattr(holder, "_validator", None)
    if validate is not None:
        validate(value)
    return value


def _native(name: str, value: Any) -> Any:
    """Return what to pass to JAX for the text of a device."""
    if name != _DEVICE or not isinstance(value, str) or ":" not in value:
        return value
    # The functions of JAX that list devices would start a backend while a lock is held.
    backends = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", {})
    devices = (device for backend in backends.values() for device in backend.devices())
    found = next((device for device in devices if _plain(device) == value), None)
    if found is None:
        raise ValueError("no such device of a started backend; call jax.devices() before")
    return found


def _write(name: str, holder: Any, value: Any) -> None:
    holder._set(_native(name, value))


def _write_before_start(name: str, holder: Any, value: Any) -> None:
    started = _backend_started()
    if started:
        raise RuntimeError(f"{started}, which read it")
    _write(name, holder, value)


def _write_local(name: str, holder: Any, unset: object, value: Any) -> None:
    is_unset = value == UNSET and isinstance(value, str)
    stored = unset if is_unset else _stored(holder, _native(name, value))
    holder.set_local(stored)
    hook = holder._update_thread_local_hook
    if hook is not None:
        hook(None if is_unset else stored)
