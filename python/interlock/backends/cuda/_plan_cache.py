"""The caches in which cuFFT keeps its plans, one for each device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, Self, TypeVar, overload

from interlock._core import backends as _native
from interlock.errors import ReadOnlyFlagError, UnknownFlagError

if TYPE_CHECKING:
    from interlock._core.accelerator import device as _Device

_Value = TypeVar("_Value")


class _OfDevice(Protocol):
    @property
    def device_index(self) -> int: ...


class cuFFTPlanCacheAttrContextProp(Generic[_Value]):
    """An attribute that a function reads and one writes, both of which get `device_index` of the object.

    A `setter` that is text says why the attribute can only be read: assigning raises `ReadOnlyFlagError`
    with it.
    """

    def __init__(
        self, getter: Callable[[int], _Value], setter: Callable[[int, _Value], object] | str
    ) -> None:
        self.getter = getter
        self.setter = setter

    @overload
    def __get__(self, obj: None, objtype: type | None = None) -> Self: ...
    @overload
    def __get__(self, obj: _OfDevice, objtype: type | None = None) -> _Value: ...
    def __get__(self, obj: _OfDevice | None, objtype: type | None = None) -> Self | _Value:
        return self if obj is None else self.getter(obj.device_index)

    def __set__(self, obj: _OfDevice, val: _Value) -> None:
        if isinstance(self.setter, str):
            raise ReadOnlyFlagError(self.setter)
        self.setter(obj.device_index, val)


def _unknown(kind: type, name: str) -> UnknownFlagError:
    # Imported for a message only: it takes long.
    from interlock._suggest import closest_match

    suggestion = closest_match(name, (known for known in dir(kind) if not known.startswith("_")))
    hint = f"; did you mean {suggestion}?" if suggestion else ""
    return UnknownFlagError(f"a {kind.__name__} has no attribute {name}{hint}")


class _PlanCache:
    """What has the attributes of the cache of the device with its `device_index`, and no others."""

    __slots__ = ()

    size = cuFFTPlanCacheAttrContextProp[int](
        _native.plan_cache_size,
        "size of a cuFFT plan cache can only be read; max_size says how many plans it keeps",
    )
    max_size = cuFFTPlanCacheAttrContextProp[int](
        _native.plan_cache_max_size, _native.set_plan_cache_max_size
    )

    def clear(self: _OfDevice) -> None:
        """Drop the plans that it holds."""
        _native.clear_plan_cache(self.device_index)

    # Type checkers would take these two as a sign that every name is there.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise _unknown(type(self), name)

        def __setattr__(self, name: str, value: object) -> None:
            if not hasattr(type(self), name):
                raise _unknown(type(self), name)
            super().__setattr__(name, value)


class cuFFTPlanCache(_PlanCache):
    """The cache of the plans of the cuda device with this index.

    `size` is how many plans it holds, and can only be read: none, as long as interlock has no Fourier
    transform on cuda. `max_size` is how many it keeps at most, from 0 to 9223372036854775807, for the
    process; at first 4096. Where there is no such device, all of it raises `DeviceError`, or
    `NoAcceleratorError` where there is none at all; both are RuntimeErrors. Writing `max_size` raises
    `FlagValueError` or `FlagTypeError` for what is no such number, and `FlagsFrozenError` while flags are
    frozen.
    """

    __slots__ = ("device_index",)

    device_index: int

    def __init__(self, device_index: int) -> None:
        self.device_index = device_index

    def __repr__(self) -> str:
        return f"cuFFTPlanCache(device_index={self.device_index!r})"


class cuFFTPlanCacheManager(_PlanCache):
    """The caches of all cuda devices, by index or device in brackets; its attributes are the current one's.

    Raises `DeviceError` (a ValueError and RuntimeError) for what is no cuda device with an index, or none
    that is there, and `NoAcceleratorError` (a RuntimeError) where there is none at all.
    """

    __slots__ = ()

    @property
    def device_index(self) -> int:
        """The index of the current device."""
        return _native.current_plan_cache_index()

    def __getitem__(self, device: _Device | str | int) -> cuFFTPlanCache:
        return cuFFTPlanCache(_native.plan_cache_index(device))
