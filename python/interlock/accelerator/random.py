"""The generators of random numbers of the devices.

Each device has one, as the CPU has. `interlock.manual_seed` seeds all of them. Generators with equal states
draw the same numbers on every device.
"""

from __future__ import annotations

from collections.abc import Sequence

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._core.accelerator import device as _device, device_count
from interlock._core.tensor import (
    _RNG_STATE_BYTES,
    Tensor,
    _get_rng_state,
    _initial_seed,
    _set_rng_state,
    tensor,
    uint8,
)
from interlock._quote import shown
from interlock.errors import ArgumentError

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "set_rng_state", "set_rng_state_all"]


def initial_seed(device: _device | str | int | None = None, /) -> int:
    """Return the seed that the generator of a device was given last.

    Args:
        device: The device; None, or a device without an index, means the current device.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.

    Example:
        >>> import interlock
        >>> from interlock.accelerator import random
        >>> interlock.accelerator.use("host")
        >>> _ = interlock.manual_seed(7)
        >>> random.initial_seed()
        7

    """
    return _initial_seed(device)


def get_rng_state(device: _device | str | int | None = None, /) -> Tensor:
    """Return the state of the generator of a device: a tensor of bytes on the CPU.

    Args:
        device: The device; None, or a device without an index, means the current device.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.

    Example:
        >>> import interlock
        >>> from interlock.accelerator import random
        >>> interlock.accelerator.use("host")
        >>> state = random.get_rng_state()
        >>> drawn = interlock.rand(3, device="host")
        >>> random.set_rng_state(state)
        >>> (interlock.rand(3, device="host") == drawn).all().item()
        True

    """
    return tensor(list(_get_rng_state(device)), dtype=uint8)


def get_rng_state_all() -> list[Tensor]:
    """Return the states of the generators of all devices, by index. Empty without an accelerator.

    Example:
        >>> from interlock import accelerator
        >>> from interlock.accelerator import random
        >>> accelerator.use("host", devices=2)
        >>> len(random.get_rng_state_all())
        2

    """
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Tensor, device: _device | str | int | None = None, /) -> None:
    """Set the state of the generator of a device.

    Args:
        new_state: A result of `get_rng_state`, of any device.
        device: The device; None, or a device without an index, means the current device.

    Raises:
        TypeError: `new_state` is not a tensor of dtype `uint8`.
        ArgumentError: `new_state` has another size than states have.
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.

    Example:
        See `get_rng_state`.

    """
    _set_rng_state(_bytes_of("set_rng_state: new_state", new_state), device)


def set_rng_state_all(new_states: Sequence[Tensor], /) -> None:
    """Set the states of the generators of all devices, all or none.

    Args:
        new_states: A result of `get_rng_state_all`: one state for each device.

    Raises:
        TypeError: `new_states` is not a list, or an element is not a tensor of dtype `uint8`.
        ArgumentError: There are more or fewer states than devices, or a state has another size than states
            have.

    Example:
        >>> from interlock import accelerator
        >>> from interlock.accelerator import random
        >>> accelerator.use("host", devices=2)
        >>> random.set_rng_state_all(random.get_rng_state_all())

    """
    if not isinstance(new_states, (list, tuple)):
        raise TypeError(
            "accelerator.random.set_rng_state_all: new_states must be a list of tensors,"
            f" got {shown(new_states)}"
        )
    count = device_count()
    if len(new_states) != count:
        raise ArgumentError(
            f"accelerator.random.set_rng_state_all: new_states must have as many states as there are devices,"
            f" {count}, got {len(new_states)}"
        )
    checked = [
        _bytes_of(f"set_rng_state_all: new_states[{index}]", state) for index, state in enumerate(new_states)
    ]
    for index, state in enumerate(checked):
        _set_rng_state(state, index)


def _bytes_of(name: str, state: Tensor) -> bytes:
    """Return a state as bytes. `name` names the function and the argument in errors."""
    if not isinstance(state, Tensor) or state.dtype != uint8:
        given = f"one of {state.dtype}" if isinstance(state, Tensor) else shown(state)
        raise TypeError(f"accelerator.random.{name} must be a tensor of dtype uint8, got {given}")
    if state.numel() != _RNG_STATE_BYTES:
        raise ArgumentError(
            f"accelerator.random.{name} must have {_RNG_STATE_BYTES} elements, got {state.numel()}"
        )
    return bytes(state.reshape(-1).tolist())
