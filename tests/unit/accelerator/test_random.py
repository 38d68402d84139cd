"""The generators of the devices: seeds, states, and which one an operation draws from."""

from __future__ import annotations

from typing import Any

import interlock
import pytest
from interlock import accelerator, errors
from interlock.accelerator import random

from tests.helpers.subprocess import eval_program

pytestmark = pytest.mark.usefixtures("devices")
# The tensor runtime computes on devices whose memory the CPU can access.
NEEDS_HOST_MEMORY = pytest.mark.usefixtures("host_accessible_memory")


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed all generators."""
    interlock.manual_seed(7)


def drawn(device: str) -> list[float]:
    """Return numbers that a device draws."""
    return interlock.rand(3, device=device).tolist()


@NEEDS_HOST_MEMORY
def test_manual_seed_seeds_the_generator_of_each_device(two_devices: tuple[str, str]) -> None:
    assert [random.initial_seed(device) for device in two_devices] == [7, 7]
    assert drawn(two_devices[0]) == drawn(two_devices[1]) == drawn("cpu")


@NEEDS_HOST_MEMORY
def test_devices_draw_independently(two_devices: tuple[str, str]) -> None:
    one, other = two_devices
    first = drawn(one)
    later = drawn(one)
    assert first != later
    assert drawn(other) == first
    assert drawn("cpu") == first


@NEEDS_HOST_MEMORY
@pytest.mark.parametrize(
    "draw",
    [
        lambda device: interlock.randn(4, device=device),
        lambda device: interlock.randint(0, 100, (4,), device=device),
        lambda device: interlock.randperm(9, device=device),
        lambda device: interlock.full((9,), 0.5, device=device).bernoulli(),
        lambda device: interlock.zeros(9, device=device).bernoulli_(0.5),
        lambda device: interlock.zeros(4, device=device).uniform_(),
        lambda device: interlock.multinomial(interlock.ones(9, device=device), 4),
    ],
    ids=["randn", "randint", "randperm", "bernoulli", "bernoulli_", "uniform_", "multinomial"],
)
def test_operation_draws_from_the_generator_of_its_device(two_devices: tuple[str, str], draw: Any) -> None:
    one, other = two_devices
    states = random.get_rng_state_all()
    first = draw(one).tolist()
    assert random.get_rng_state(one).tolist() != states[0].tolist()
    assert random.get_rng_state(other).tolist() == states[1].tolist()
    random.set_rng_state(states[0], one)
    assert draw(one).tolist() == first


@NEEDS_HOST_MEMORY
def test_state_without_a_device_is_that_of_the_current_device(two_devices: tuple[str, str]) -> None:
    drawn(two_devices[1])
    with accelerator.device_index(1):
        assert random.get_rng_state().tolist() == random.get_rng_state(1).tolist()
    assert random.get_rng_state().tolist() != random.get_rng_state(1).tolist()


@NEEDS_HOST_MEMORY
def test_state_is_one_of_bytes_and_continues_on_another_device(two_devices: tuple[str, str]) -> None:
    one, other = two_devices
    drawn(one)
    state = random.get_rng_state(one)
    assert (state.dtype, str(state.device)) == (interlock.uint8, "cpu")
    random.set_rng_state(state, other)
    assert drawn(one) == drawn(other)
    assert random.initial_seed(other) == 7


@NEEDS_HOST_MEMORY
def test_all_states_are_set_together(two_devices: tuple[str, str]) -> None:
    states = random.get_rng_state_all()
    first = [drawn(device) for device in two_devices]
    random.set_rng_state_all(states)
    assert [drawn(device) for device in two_devices] == first


def test_wrong_states_are_refused_and_change_nothing(two_devices: tuple[str, str]) -> None:
    states = random.get_rng_state_all()
    set_all = "accelerator.random.set_rng_state_all: new_states"
    wrong: Any = [1, 2]
    with pytest.raises(TypeError, match=r"set_rng_state: new_state must be a tensor of dtype uint8, got 1"):
        random.set_rng_state(wrong[0])
    with pytest.raises(TypeError, match=r"must be a tensor of dtype uint8, got one of interlock\.float32"):
        random.set_rng_state(interlock.ones(16))
    with pytest.raises(errors.ArgumentError, match="set_rng_state: new_state must have 16 elements, got 3"):
        random.set_rng_state(interlock.ones(3, dtype=interlock.uint8))
    with pytest.raises(errors.ArgumentError, match=f"{set_all} must have as many .* devices, 2, got 1"):
        random.set_rng_state_all(states[:1])
    with pytest.raises(TypeError, match=r"set_rng_state_all: new_states\[1\] must be a tensor"):
        random.set_rng_state_all([interlock.zeros(16, dtype=interlock.uint8), wrong[0]])
    assert [state.tolist() for state in random.get_rng_state_all()] == [state.tolist() for state in states]


@pytest.mark.parametrize("function", [random.initial_seed, random.get_rng_state])
def test_device_that_does_not_exist_is_refused(function: Any) -> None:
    for device in (99, "cpu"):
        with pytest.raises(errors.DeviceError, match=f"accelerator.random.{function.__name__}"):
            function(device)


@NEEDS_HOST_MEMORY
def test_checkpoint_restores_the_generators_of_devices(two_devices: tuple[str, str]) -> None:
    x = interlock.ones(64, device=two_devices[1], requires_grad=True)
    masks: list[list[float]] = []

    def dropped(x: interlock.Tensor) -> interlock.Tensor:
        mask = interlock.rand(64, device=two_devices[1])
        masks.append(mask.tolist())
        return (x * mask * x).sum()

    result = interlock.utils.checkpoint.checkpoint(dropped, x, use_reentrant=False)
    after = random.get_rng_state(1).tolist()
    result.backward()
    assert masks[0] == masks[1]
    assert random.get_rng_state(1).tolist() == after


def test_without_an_accelerator_there_are_no_generators() -> None:
    seen = eval_program("accelerator.drivers.generators", env={"INTERLOCK_ACCELERATOR": "none"})
    assert seen == [[], "accelerator.random.initial_seed", "accelerator.random.get_rng_state"]
