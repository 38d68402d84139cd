"""Tensors on devices: placement, mixed operands and errors."""

from __future__ import annotations

from collections.abc import Callable

import interlock
import numpy as np
import pytest
from interlock import Tensor, accelerator, errors

from tests.helpers.subprocess import eval_program

MAKERS: list[Callable[..., Tensor]] = [
    lambda **options: interlock.tensor([[1.0, 2.0]], **options),
    lambda **options: interlock.as_tensor(np.ones((1, 2)), **options),
    lambda **options: interlock.zeros(1, 2, **options),
    lambda **options: interlock.ones(1, 2, **options),
    lambda **options: interlock.full((1, 2), 3.0, **options),
    lambda **options: interlock.arange(2, **options),
    lambda **options: interlock.rand(1, 2, **options),
    lambda **options: interlock.randn(1, 2, **options),
    lambda **options: interlock.empty(1, 2, **options),
]


@pytest.mark.parametrize("make", MAKERS)
def test_factories_use_the_given_or_default_device(
    make: Callable[..., Tensor], two_devices: tuple[str, str]
) -> None:
    first, second = two_devices
    assert [str(make(device=name).device) for name in (first, second, "cpu")] == [first, second, "cpu"]
    with interlock.device(second):
        assert str(make().device) == second
        assert str(make(device="cpu").device) == "cpu"
    assert str(make().device) == "cpu"
    with accelerator.device_index(1):
        assert str(make(device=second.partition(":")[0]).device) == second


def test_like_factories_use_the_device_of_their_argument(two_devices: tuple[str, str]) -> None:
    x = interlock.ones(2, device=two_devices[1])
    with interlock.device(two_devices[0]):
        likes = [
            interlock.zeros_like(x),
            interlock.ones_like(x),
            interlock.tensor(x.cpu(), device=two_devices[1]),
        ]
        assert {str(like.device) for like in likes} == {two_devices[1]}
        assert str(interlock.zeros_like(x, device="cpu").device) == "cpu"
        assert str(interlock.tensor(x).device) == two_devices[0]
    assert str(interlock.tensor(x).device) == two_devices[1]
    assert interlock.as_tensor(x) is x
    assert interlock.as_tensor(x, device="cpu").tolist() == [1.0, 1.0]


@pytest.mark.usefixtures("isolated_state")
def test_set_default_device_affects_later_tensors(two_devices: tuple[str, str]) -> None:
    interlock.set_default_device(two_devices[1])
    x = interlock.randn(2, 2, requires_grad=True)
    assert str(x.device) == two_devices[1]
    assert str((x @ x + 1).device) == two_devices[1]


def test_random_numbers_are_the_same_on_every_device(devices: tuple[str, ...]) -> None:
    drawn = []
    for name in ("cpu", *devices):
        interlock.manual_seed(5)
        drawn.append([interlock.rand(9, device=name).tolist(), interlock.randn(9, device=name).tolist()])
    assert drawn == [drawn[0]] * (1 + len(devices))


def test_operands_share_a_device_unless_one_is_a_cpu_scalar(two_devices: tuple[str, str]) -> None:
    x, here = interlock.ones(2, device=two_devices[0]), interlock.ones(2)
    for other in (here, interlock.ones(2, device=two_devices[1])):
        operations: list[Callable[[], object]] = [
            lambda other=other: x + other,
            lambda other=other: other * x,
            lambda other=other: x.add_(other),
            lambda other=other: x == other,
            lambda other=other: x @ other,
            lambda other=other: interlock.cat([x, other]),
        ]
        for operation in operations:
            with pytest.raises(RuntimeError, match=f"tensors must be on one device, got .*{two_devices[0]}"):
                operation()
    assert (x * interlock.tensor(3.0)).tolist() == [3.0, 3.0]
    x += interlock.tensor(1.0, dtype=interlock.float64)
    assert (x.tolist(), x.dtype, x._version) == ([2.0, 2.0], interlock.float32, 1)
    with pytest.raises(RuntimeError, match="add_: tensors must be on one device, got cpu and"):
        here += interlock.tensor(1.0, device=two_devices[0])
    leaf = interlock.ones(2, device=two_devices[0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"backward: tensors must be on one device, got .* and cpu"):
        (leaf * 2).backward(here)
    with pytest.raises(RuntimeError, match=r"Tensor\.grad: tensors must be on one device, got .* and cpu"):
        leaf.grad = here
    assert leaf.grad is None


def test_views_share_memory_and_versions_on_a_device(devices: tuple[str, ...]) -> None:
    x = interlock.zeros(2, 3, device=devices[0])
    column = x.t()[1]
    column += 2
    x[0, 0] = 5
    x[interlock.tensor([1], device=devices[0])] = interlock.tensor(7.0)
    x[x > 6] = 8
    assert x.tolist() == [[5.0, 2.0, 0.0], [8.0, 8.0, 8.0]]
    assert column._version == x._version == 4
    assert x[interlock.tensor([1, 0])][:, [0, 2]].tolist() == [[8.0, 8.0], [5.0, 0.0]]
    with pytest.raises(IndexError, match="index 2"):
        x[interlock.tensor([2])]
    beyond = x[interlock.tensor([2], device=devices[0])]
    with pytest.raises(errors.AcceleratorError, match="index 2"):
        beyond.tolist()
    with pytest.raises(RuntimeError, match="__getitem__: tensors must be on one device"):
        interlock.ones(2)[interlock.tensor([0], device=devices[0])]
    with interlock.inference_mode():
        inside = x * 2
    assert inside.is_inference()
    with pytest.raises(RuntimeError, match="inference"):
        inside.add_(1)


def test_item_waits_for_queued_work(devices: tuple[str, ...]) -> None:
    x = interlock.tensor([[1.5]], device=devices[0])
    one = interlock.tensor(1, device=devices[0])
    assert (x.item(), x.tolist(), float(x), int(x), bool(x)) == (1.5, [[1.5]], 1.5, 1, True)
    assert [10, 20][one] == 20
    assert interlock.arange(5)[one].item() == 1
    assert interlock.tensor([1, one]).tolist() == [1, 1]
    assert repr(x) == f"tensor([[1.5000]], device='{devices[0]}')"
    assert repr(x.double()).endswith(f", device='{devices[0]}', dtype=interlock.float64)")


def test_network_trains_to_equal_numbers_on_every_device(devices: tuple[str, ...]) -> None:
    def losses(name: str) -> list[float]:
        interlock.manual_seed(0)
        with interlock.device(name):
            images, labels = interlock.rand(16, 5), interlock.arange(16) * 0 + 2
            weight = interlock.randn(5, 3, requires_grad=True)
        reported = []
        for _ in range(5):
            loss = interlock.cross_entropy(interlock.relu(images @ weight), labels)
            loss.backward()
            assert weight.grad is not None
            assert weight.grad.device == weight.device
            with interlock.no_grad():
                weight -= 0.5 * weight.grad
            weight.grad = None
            reported.append(float(loss))
        return reported

    assert losses(devices[0]) == losses("cpu")


def test_out_of_memory_raises_and_has_no_effect(devices: tuple[str, ...]) -> None:
    x = interlock.ones(1, device=devices[0])
    with pytest.raises(errors.OutOfMemoryError, match=devices[0]):
        interlock.zeros(1 << 30, device=devices[0])
    with pytest.raises(errors.OutOfMemoryError):
        x.expand(1 << 30).double()
    assert (x.tolist(), x._version) == ([1.0], 0)


def test_async_error_is_reported_by_the_next_wait(devices: tuple[str, ...]) -> None:
    scores, classes = interlock.zeros(2, 3, device=devices[0]), interlock.tensor([0, 3], device=devices[0])
    loss = interlock.cross_entropy(scores, classes)
    with pytest.raises(
        errors.AcceleratorError, match=r"^cross_entropy failed.*class indices of range\(3\), got 3$"
    ):
        loss.item()
    assert scores.sum().item() == 0.0


def test_unsupported_operation_on_a_device_raises_and_has_no_effect() -> None:
    failed, lost = "AcceleratorError", "DeviceLostError"
    no_room = "OutOfMemoryError"
    assert eval_program("tensor.values.unsupported_operation_on_a_device_raises_and_has_no_effect") == [
        failed,
        failed,
        failed,
        no_room,
        no_room,
        [[1.0, 1.0], 0, 0],
        lost,
        lost,
    ]


def test_tensors_of_a_device_stay_with_their_process() -> None:
    options = ("-W", "ignore:This process:DeprecationWarning")
    reported = eval_program(
        "tensor.values.tensors_of_a_device_stay_with_their_process",
        env={"INTERLOCK_ACCELERATOR": "host"},
        options=options,
    )
    assert reported == [["ForkedProcessError"], [3.0, 3.0], "((2,), 'host:0', (2,))", [1.0, 1.0]]


def test_missing_accelerator_error_names_the_function(no_driver: dict[str, str]) -> None:
    reported = eval_program("tensor.values.missing_accelerator_error_names_the_function", env=no_driver)
    assert reported == ["ones", "to", "pin_memory", "zeros"]


@pytest.mark.usefixtures("host_accessible_memory")
def test_integers_divided_by_0_on_a_device_are_0(devices: tuple[str, ...]) -> None:
    x, zeros = interlock.tensor([5, -5]), interlock.tensor([0, 0])
    for op in (interlock.floor_divide, interlock.remainder):
        assert op(x.to(devices[0]), zeros.to(devices[0])).tolist() == [0, 0]
        with pytest.raises(errors.ArgumentError, match="other must not be 0 for integers"):
            op(x, zeros)
