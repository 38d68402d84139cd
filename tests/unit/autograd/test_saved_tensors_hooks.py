"""`saved_tensors_hooks`: functions that pack the tensors that nodes save."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd import graph
from interlock.autograd.graph import save_on_cpu, saved_tensors_hooks


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True)


def gradient(tensor: Tensor) -> Any:
    return None if tensor.grad is None else tensor.grad.tolist()


def test_hooks_replace_what_nodes_save() -> None:
    packed: list[Any] = []
    unpacked: list[Any] = []

    def pack(tensor: Tensor) -> list[float]:
        assert not interlock.is_grad_enabled()
        assert tensor.grad_fn is None
        values = list(tensor.tolist())
        packed.append(values)
        return values

    def unpack(values: list[float]) -> Tensor:
        unpacked.append(values)
        return interlock.tensor(values, dtype=interlock.float64)

    x = leaf(1, 2)
    with saved_tensors_hooks(pack, unpack):
        y = (x * x).exp()
    assert packed == [[1.0, 2.0], [1.0, 2.0], y.tolist()]
    assert unpacked == []
    y.sum().backward()
    assert sorted(unpacked) == sorted(packed)
    assert gradient(x) == (2 * x.detach() * y.detach()).tolist()


def test_hooks_apply_to_functions_of_the_program() -> None:
    class Cube(interlock.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * grad

    x = leaf(2)
    with saved_tensors_hooks(lambda tensor: tensor * 10, lambda tensor: tensor / 10):
        y = Cube.apply(x)
    y.backward()
    assert gradient(x) == [12.0]


def test_inner_hooks_replace_outer_ones_until_they_exit() -> None:
    log: list[str] = []

    def hooks(name: str) -> saved_tensors_hooks:
        return saved_tensors_hooks(lambda tensor: (log.append(name), tensor)[1], lambda tensor: tensor)

    x = leaf(1)
    with hooks("outer"):
        x.exp()
        with hooks("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert log == ["outer", "inner", "outer"]


def test_unpacked_tensors_have_the_history_of_the_packed_ones() -> None:
    x = leaf(2)
    with saved_tensors_hooks(
        lambda tensor: tensor.tolist(), lambda v: interlock.tensor(v, dtype=interlock.float64)
    ):
        y = (x * 1) ** 3 + x.exp()
        z = x * x
    (first,) = interlock.autograd.grad(y, x, create_graph=True)
    (second,) = interlock.autograd.grad(first, x)
    exp = x.detach().exp().item()
    assert first.item() == pytest.approx(12 + exp)
    assert second.item() == pytest.approx(12 + exp)
    (by_leaf,) = interlock.autograd.grad(z, x, create_graph=True)
    assert interlock.autograd.grad(by_leaf, x)[0].tolist() == [2.0]


def test_hooks_are_part_of_a_captured_state() -> None:
    log: list[str] = []
    with saved_tensors_hooks(lambda tensor: (log.append("packed"), tensor)[1], lambda tensor: tensor):
        state = interlock.capture()
    x = leaf(1)
    x.exp()
    assert log == []
    state.run(x.exp)
    assert log == ["packed"]


def test_inplace_change_of_a_packed_tensor_is_not_detected() -> None:
    x = leaf(3)
    y = x * 1
    with saved_tensors_hooks(lambda tensor: tensor.clone(), lambda tensor: tensor):
        z = y * y
    y.add_(1)
    z.backward()
    assert gradient(x) == [6.0]


def test_exceptions_of_hooks_propagate() -> None:
    x = leaf(1)

    def failing(packed: Any) -> Any:
        raise LookupError("of a hook")

    with saved_tensors_hooks(failing, lambda packed: packed), pytest.raises(LookupError, match="of a hook"):
        x.exp()
    with saved_tensors_hooks(lambda tensor: tensor, failing):
        y = x.exp()
    with pytest.raises(LookupError, match="of a hook"):
        y.backward()
    with saved_tensors_hooks(lambda tensor: tensor, lambda packed: 3):  # type: ignore[arg-type,return-value]
        y = x.exp()
    with pytest.raises(TypeError, match="the result of unpack_hook must be a Tensor, got int"):
        y.backward()
    assert x.grad is None


def test_hooks_must_be_callable() -> None:
    with pytest.raises(TypeError, match="saved_tensors_hooks: pack_hook must be callable, got int"):
        saved_tensors_hooks(1, len)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="saved_tensors_hooks: unpack_hook must be callable, got None"):
        saved_tensors_hooks(len, None)  # type: ignore[arg-type]


def test_pack_hook_receives_the_leaves_of_the_program() -> None:
    parameter, x = interlock.nn.Parameter(interlock.ones(2)), interlock.ones(2, requires_grad=True)
    received: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        received.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda packed: packed):
        y = interlock.nn.functional.layer_norm(x * parameter, (2,), parameter, parameter)
    assert [tensor is parameter for tensor in received if isinstance(tensor, interlock.nn.Parameter)] == [
        True
    ] * 2
    assert sum(tensor is x for tensor in received) == 1
    # Other tensors have no history.
    assert not any(tensor.requires_grad for tensor in received if tensor is not x and tensor is not parameter)
    y.sum().backward()
    plain, leaves = (parameter.grad, x.grad), (parameter, x)
    for tensor in leaves:
        tensor.grad = None
    interlock.nn.functional.layer_norm(x * parameter, (2,), parameter, parameter).sum().backward()
    for found, tensor in zip(plain, leaves, strict=True):
        assert found is not None
        assert found.equal(tensor.grad)


def test_packed_objects_are_released_after_the_backward_pass() -> None:
    class Packed:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor

    observed: list[weakref.ref[Packed]] = []

    def pack(tensor: Tensor) -> Packed:
        made = Packed(tensor)
        observed.append(weakref.ref(made))
        return made

    x = leaf(1)
    with saved_tensors_hooks(pack, lambda packed: packed.tensor):
        y = x.exp()
    assert observed[0]() is not None
    y.backward()
    gc.collect()
    assert observed[0]() is None


def test_save_on_cpu_moves_saved_tensors(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, device=devices[0], requires_grad=True)
    with save_on_cpu():
        y = (x * x).exp().sum()
    y.backward()
    with save_on_cpu(pin_memory=True):
        (x * x).sum().backward()
    assert x.grad is not None
    assert str(x.grad.device) == devices[0]
    with pytest.raises(TypeError, match="save_on_cpu: pin_memory must be a bool, got int"):
        save_on_cpu(1)  # type: ignore[arg-type]


def test_pack_hook_that_changes_its_tensor_is_refused() -> None:
    x = interlock.tensor([1.0, 2.0], requires_grad=True)
    message = (
        "saved_tensors_hooks: pack_hook must leave the tensor that it packs as it is, got a change in place"
    )
    with (
        saved_tensors_hooks(lambda tensor: tensor.mul_(100), lambda tensor: tensor),
        pytest.raises(interlock.errors.ArgumentError, match=message),
    ):
        x.exp()


class Counting(saved_tensors_hooks):
    """Passes its own method on, as libraries that offload activations do."""

    def __init__(self, factor: int = 1) -> None:
        self.packed = 0
        self.factor = factor
        super().__init__(self.pack, lambda tensor: tensor / factor)

    def pack(self, tensor: Tensor) -> Tensor:
        self.packed += 1
        return tensor * self.factor


def test_subclass_may_have_a_constructor_of_its_own() -> None:
    x = leaf(2, 3)
    for hooks in (Counting(), Counting(2), Counting(factor=4)):
        x.grad = None
        with hooks:
            y = x * x
        assert hooks.packed == 2
        y.sum().backward()
        assert gradient(x) == [4.0, 6.0]


def test_repr_of_hooks_names_them() -> None:
    hooks = saved_tensors_hooks(str, interlock.tensor)
    assert repr(hooks) == "saved_tensors_hooks(pack_hook=str, unpack_hook=tensor)"
    # The repr of the method has the repr of the object.
    assert repr(Counting()).startswith("Counting(pack_hook=Counting.pack, unpack_hook=Counting.__init__")
    assert repr(save_on_cpu(pin_memory=True)) == "save_on_cpu(pin_memory=True)"
    disabled = graph.disable_saved_tensors_hooks("none")
    assert repr(disabled) == "disable_saved_tensors_hooks(error_message='none')"
    assert repr(graph.node_creation_hook(print)) == "node_creation_hook(print)"


def test_hooks_are_set_once_by_init() -> None:
    class Forgetful(saved_tensors_hooks):
        def __init__(self) -> None:
            pass

    for use in (
        lambda hooks: hooks.__enter__(),
        lambda hooks: hooks.__exit__(),
        lambda hooks: hooks.pack_hook,
    ):
        with pytest.raises(RuntimeError, match=r"saved_tensors_hooks: __init__\(\) was not called"):
            use(Forgetful())
    hooks = saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)
    with pytest.raises(RuntimeError, match=r"saved_tensors_hooks: __init__\(\) was called before"):
        hooks.__init__(lambda tensor: tensor, lambda tensor: tensor)  # type: ignore[misc]
