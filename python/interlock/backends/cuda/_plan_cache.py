"""The plan caches of Fourier transforms, one for each device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, Self, TypeVar, overload

from interlock._core import backends as _native
from interlock._core.accelerator import device as _device
from interlock._quote import shown
from interlock.errors import ReadOnlyFlagError, UnknownFlagError

_Value = TypeVar("_Value")


class _OfDevice(Protocol):
    @property
    def device_index(self) -> int: ...


class cuFFTPlanCacheAttrContextProp(Generic[_Value]):
    """Descriptor of an attribute of a plan cache, implemented by functions of a device index.

    Args:
        getter: Returns the value for a device index.
        setter: Sets the value for a device index. A str makes the attribute read-only and is the message of
            the `ReadOnlyFlagError` that assigning raises.

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
    # Imported here, because the import is slow and needed only for an error.
    from interlock._suggest import closest_match

    suggestion = closest_match(name, (known for known in dir(kind) if not known.startswith("_")))
    hint = f"; did you mean {suggestion}?" if suggestion else ""
    return UnknownFlagError(f"{kind.__name__} has no attribute {shown(name)}{hint}")


class _PlanCache:
    """Base class with the attributes of the plan cache of the device `device_index`."""

    __slots__ = ()

    size = cuFFTPlanCacheAttrContextProp[int](
        _native.plan_cache_size,
        "cuFFT plan cache: size is read-only; assign max_size to limit the number of plans",
    )
    max_size = cuFFTPlanCacheAttrContextProp[int](
        _native.plan_cache_max_size, _native.set_plan_cache_max_size
    )

    def clear(self: _OfDevice) -> None:
        """Remove all plans from the cache."""
        _native.clear_plan_cache(self.device_index)

    # Hidden from type checkers, which would otherwise accept any attribute name.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise _unknown(type(self), name)

        def __setattr__(self, name: str, value: object) -> None:
            if not hasattr(type(self), name):
                raise _unknown(type(self), name)
            super().__setattr__(name, value)


class cuFFTPlanCache(_PlanCache):
    """The plan cache of a device of the driver in use.

    A transform of `interlock.fft` on the device keeps its plan there: one for each kind of transform, dtype,
    number of points and number of signals. The read-only attribute `size` is the number of cached plans. The
    attribute `max_size` is the maximum number of plans, from 0 to 9223372036854775807 and initially 4096; the
    plan that was not used for the longest time is removed first. Assigning it raises `FlagTypeError`,
    `FlagValueError` or, while flags are frozen, `FlagsFrozenError`.

    Args:
        device_index: The index of the device.

    Raises:
        DeviceError: On use, if there is no such device. It is a RuntimeError.
        NoAcceleratorError: On use, if there is no accelerator. It is a RuntimeError.

    """

    __slots__ = ("device_index",)

    device_index: int

    def __init__(self, device_index: int) -> None:
        self.device_index = device_index

    def __repr__(self) -> str:
        return f"cuFFTPlanCache(device_index={self.device_index!r})"


class cuFFTPlanCacheManager(_PlanCache):
    """The plan caches of all devices, by index or name: `cufft_plan_cache[1]`, `cufft_plan_cache["cuda:1"]`.

    The attributes are those of the plan cache of the current device.

    Raises:
        DeviceError: The subscript is not the index of an existing device. It is a ValueError and a
            RuntimeError.
        NoAcceleratorError: There is no accelerator. It is a RuntimeError.

    """

    __slots__ = ()

    @property
    def device_index(self) -> int:
        """The index of the current device."""
        return _native.current_plan_cache_index()

    def __getitem__(self, device: _device | str | int) -> cuFFTPlanCache:
        return cuFFTPlanCache(_native.plan_cache_index(device))
