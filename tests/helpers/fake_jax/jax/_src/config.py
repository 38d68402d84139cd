"""The options of the fake: states, which a thread may have a value of its own of, and flags."""

import enum
import os
import threading
import types

from jax._src import xla_bridge

config_ext = types.SimpleNamespace(unset=object())
states = {}


class Config:
    def __init__(self):
        self._value_holders, self.meta = {}, {}

    def update(self, name, value):
        if name not in self._value_holders:
            raise AttributeError(f"Unrecognized config option: {name}")
        self._value_holders[name]._set(value)


config = Config()
update = config.update


class Flag:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def _set(self, value):
        self.value = value


class State:
    def __init__(self, value, parser, *, for_process=None, for_thread=None):
        self._global, self._parser = value, parser
        self._local = threading.local()
        self._update_global_hook, self._update_thread_local_hook = for_process, for_thread

    def get_global(self):
        return self._global

    def set_global(self, value):
        self._global = value

    def get_local(self):
        return getattr(self._local, "value", config_ext.unset)

    def set_local(self, value):
        self._local.value = value

    @property
    def value(self):
        own = self.get_local()
        return self._global if own is config_ext.unset else own

    def _set(self, value):
        value = self._parser(value)
        self.set_global(value)
        if self._update_global_hook:
            self._update_global_hook(value)

    def __call__(self, value):
        return Scope(self, self._parser(value))


class Scope:
    def __init__(self, state, value):
        self._state, self._value = state, value

    def __enter__(self):
        self._before = self._state.get_local()
        self._change(self._value)

    def __exit__(self, *exc_info):
        self._change(self._before)

    def _change(self, value):
        self._state.set_local(value)
        if self._state._update_thread_local_hook:
            self._state._update_thread_local_hook(None if value is config_ext.unset else value)


def flag(name, kind, value):
    config._value_holders[name] = Flag(value)
    config.meta[name] = (kind, [], {"help": ""})


def state(name, kind, value, parser, text, **hooks):
    found = State(value, parser, **hooks)
    states[name] = config._value_holders[name] = found
    config.meta[name] = (kind, [], {"help": text})
    setattr(Config, name, property(lambda _: found.value))


def boolean(name, text):
    value = os.environ.get(name.upper(), "").lower() in ("1", "true")
    state(name, bool, value, bool, text)


def one_of(*accepted):
    def parse(value):
        if value not in accepted:
            raise ValueError(f"new enum value must be in {list(accepted)}, got {value}")
        return value

    return parse


def typed(*types):
    def parse(value):
        if not isinstance(value, types):
            raise ValueError(f"new config value must be one of {types}, got {value}")
        return value

    return parse


def before_start(value):
    if xla_bridge._backends:
        raise RuntimeError("config should be updated before backends are initialized")
    return value


def device(value):
    if value not in (None, "cpu", "gpu", "tpu") and not isinstance(value, xla_bridge.Device):
        raise ValueError("must be passed either a Device object or a platform name")
    return value


class NumpyDtypePromotion(enum.StrEnum):
    STANDARD = "standard"
    STRICT = "strict"


class ExplicitX64Mode(enum.IntEnum):
    WARN = 1
    ERROR = 2
    ALLOW = 3

    @classmethod
    def _missing_(cls, value):
        return cls.__members__.get(str(value).upper())


boolean("jax_enable_x64", "Enable 64-bit types to be used")
boolean("jax_debug_nans", "Add nan checks to every operation.")
boolean("jax_disable_jit", "Disable JIT compilation and just call original Python.")
state(
    "jax_numpy_dtype_promotion",
    "enum_class",
    NumpyDtypePromotion.STANDARD,
    NumpyDtypePromotion,
    'Specify the rules used for implicit type promotion in operations between arrays. Options are "strict".',
)
state("jax_explicit_x64_dtypes", "enum_class", ExplicitX64Mode.WARN, ExplicitX64Mode, "")
state(
    "jax_default_matmul_precision",
    "enum",
    None,
    one_of(None, "default", "high", "highest", "float32"),
    "Control the default matmul and conv precision for 32bit inputs.\n\nSome platforms offer more.",
)
state("jax_numpy_rank_promotion", "enum", "allow", one_of("allow", "warn", "raise"), "")
state("jax_persistent_cache_min_compile_time_secs", float, 1.0, typed(float), "")
state("jax_num_cpu_devices", int, -1, before_start, "")
state("jax_platforms", str, None, typed(str, type(None)), "")
state("jax_default_device", str, None, device, "")
state("jax_pjrt_client_create_options", str, None, typed(str, dict, type(None)), "")
flag("jax_platform_name", str, "")
flag("jax_cpu_enable_async_dispatch", bool, True)
flag("jax_cross_host_transfer_timeout_seconds", int, None)

levels = one_of(None, "allow", "log", "disallow")
guards = {"threads": []}
for _direction in ("host_to_device", "device_to_device", "device_to_host"):
    state(
        f"jax_transfer_guard_{_direction}",
        "enum",
        None,
        levels,
        "",
        for_thread=lambda value: guards["threads"].append(value),
    )


def guard_all(value):
    for direction in ("host_to_device", "device_to_device", "device_to_host"):
        update(f"jax_transfer_guard_{direction}", value)


state("jax_transfer_guard", "enum", None, levels, "", for_process=guard_all)
