"""Copies and pickles of tensors keep the class, the attributes, the strides and shared memory."""

from __future__ import annotations

import base64
import copy
import gc
import pickle
import sys
import threading
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock._core import tensor as core
from interlock.nn import Parameter

from tests.helpers.subprocess import eval_python


class Tagged(Tensor):
    """A subclass with a constructor of its own, an attribute and a slot."""

    __slots__ = ("slot",)

    def __new__(cls, data: Tensor, tag: object) -> Tagged:
        return super().__new__(cls, data)

    def __init__(self, data: Tensor, tag: object) -> None:
        self.tag = tag
        self.slot = ["slot"]


class OnlySlots(Tensor):
    __slots__ = ("slot",)


class WithState(Tensor):
    """A subclass that chooses its state."""

    def __getstate__(self) -> dict[str, Any]:
        return {"kept": vars(self)["kept"]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.restored = state


def forked(value: Any) -> Any:
    return pickle.loads(bytes(ForkingPickler.dumps(value)))


def by_protocol(protocol: int) -> Callable[[Any], Any]:
    return lambda value: pickle.loads(pickle.dumps(value, protocol))


PICKLES = {f"pickle {number}": by_protocol(number) for number in range(pickle.HIGHEST_PROTOCOL + 1)}
DEEP: dict[str, Callable[[Any], Any]] = {**PICKLES, "forking pickler": forked, "deepcopy": copy.deepcopy}
COPIES = {**DEEP, "copy": copy.copy}

every_copy = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES.keys())
every_deep_copy = pytest.mark.parametrize("copied", DEEP.values(), ids=DEEP.keys())
everywhere = pytest.mark.usefixtures("everywhere")


@everywhere
@every_copy
def test_copies_keep_class_and_attributes(copied: Callable[[Any], Any]) -> None:
    source = Tagged(interlock.ones(2), ["tag"]).requires_grad_()
    made = copied(source)
    assert type(made) is Tagged
    assert (made.tag, made.slot, made.tolist(), made.device) == (["tag"], ["slot"], [1.0, 1.0], source.device)
    assert (made.requires_grad, made.is_leaf, made.grad) == (True, True, None)
    # As with every object, `copy.copy` shares the values of attributes.
    assert (made.tag is source.tag) == (copied is copy.copy)
    assert (made.data_ptr() == source.data_ptr()) == (copied is copy.copy)
    made.sum().backward()
    assert made.grad is not None
    assert source.grad is None


@everywhere
@every_copy
def test_copies_of_a_plain_tensor_keep_its_attributes(copied: Callable[[Any], Any]) -> None:
    source: Any = interlock.ones(2)
    source.tag = ["tag"]
    made = copied(source)
    assert (type(made), vars(made), made.tolist()) == (interlock.Tensor, {"tag": ["tag"]}, [1.0, 1.0])
    assert (made.tag is source.tag) == (copied is copy.copy)
    assert vars(source * 2) == vars(source.view(2)) == {}


@every_copy
def test_copies_keep_slots_and_absent_ones(copied: Callable[[Any], Any]) -> None:
    source: Any = OnlySlots(interlock.ones(2))
    assert not hasattr(copied(source), "slot")
    source.slot = 3
    made = copied(source)
    assert (type(made), made.slot) == (OnlySlots, 3)


@every_copy
def test_copies_use_the_state_methods_of_a_class(copied: Callable[[Any], Any]) -> None:
    source: Any = WithState(interlock.ones(2))
    source.kept, source.dropped = 1, 2
    made = copied(source)
    assert (type(made), vars(made)) == (WithState, {"restored": {"kept": 1}})


@every_copy
def test_copies_of_a_parameter_keep_its_attributes(copied: Callable[[Any], Any]) -> None:
    weight: Any = Parameter(interlock.ones(2), requires_grad=False)
    weight.tag = "x"
    made = copied(weight)
    assert (type(made), made.tag, made.requires_grad, made.tolist()) == (Parameter, "x", False, [1.0, 1.0])


@every_deep_copy
def test_copies_keep_cycles_of_attributes(copied: Callable[[Any], Any]) -> None:
    source = Tagged(interlock.ones(2), None)
    source.tag = [source]
    made = copied(source)
    assert made.tag[0] is made


def test_deepcopy_of_a_parameter_copies_its_gradient() -> None:
    weight = Parameter(interlock.ones(2))
    weight.grad = interlock.full((2,), 3.0)
    made = copy.deepcopy(weight)
    assert made.grad is not None
    assert (type(made), made.grad.tolist(), made.grad is weight.grad) == (Parameter, [3.0, 3.0], False)
    with pytest.raises(RuntimeError, match=r"^deepcopy: the tensor must be a leaf"):
        copy.deepcopy(weight * 2)


@everywhere
@every_deep_copy
def test_copies_keep_strides_and_shared_memory(copied: Callable[[Any], Any]) -> None:
    whole = interlock.arange(6.0)
    sources = [whole, whole[2:], whole.view(2, 3).t(), whole[1:2].expand(3, 1), Parameter(whole[4:])]
    made = copied(sources)
    for one, other in zip(sources, made, strict=True):
        assert (one.tolist(), one.shape, one.stride()) == (other.tolist(), other.shape, other.stride())
        assert one.storage_offset() == other.storage_offset()
        assert other.data_ptr() - made[0].data_ptr() == one.data_ptr() - whole.data_ptr()
    made[0].fill_(7)
    assert [each.flatten()[0].item() for each in made] == [7.0] * 5
    assert whole.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_pickle_contains_shared_memory_once() -> None:
    whole = interlock.zeros(10_000)
    views = [whole[start:] for start in range(20)]
    assert len(pickle.dumps(views)) < 2 * len(pickle.dumps(whole))


@every_deep_copy
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_copies_keep_every_shape(copied: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    source = interlock.ones(shape)[..., None]
    made = copied(source)
    assert (made.shape, made.stride(), made.tolist()) == (source.shape, source.stride(), source.tolist())


def test_objects_of_storages_end_with_the_pickle() -> None:
    x = interlock.ones(3)
    storages: dict[int, Any] = vars(core)["_storages"]
    pickled = [x.__reduce__(), x[1:].__reduce__()]
    assert pickled[0][1][1] is pickled[1][1][1]
    assert len(storages) > 0
    del pickled
    gc.collect()
    assert storages == {}


def test_threads_that_pickle_one_storage_share_its_object() -> None:
    x, found = interlock.ones(3), []
    ready = threading.Barrier(4)

    def reduce() -> None:
        ready.wait()
        found.append([x[1:].__reduce__() for _ in range(200)])

    threads = [threading.Thread(target=reduce) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len({id(each[1][1]) for of_thread in found for each in of_thread}) == 1


def test_another_process_reads_a_pickle() -> None:
    weight: Any = Parameter(interlock.arange(4.0).view(2, 2).t())
    weight.tag = "x"
    encoded = base64.b64encode(bytes(ForkingPickler.dumps([weight, weight.detach()[1]]))).decode()
    code = (
        "import base64, pickle\n"
        f"weight, row = pickle.loads(base64.b64decode({encoded!r}))\n"
        "row.fill_(9)\n"
        "result = [type(weight).__name__, weight.tag, weight.stride(), weight.tolist()]"
    )
    assert eval_python(code) == ["Parameter", "x", [1, 2], [[0.0, 2.0], [9.0, 9.0]]]


def test_pickles_of_earlier_versions_are_read() -> None:
    made = core._rebuild(b"\0\0\x80?\0\0\0@", interlock.float32, [2, 1], True)
    assert (made.tolist(), made.requires_grad) == ([[1.0], [2.0]], True)


@pytest.mark.parametrize("count", [0, 7, 9, 12])
def test_pickled_bytes_are_exactly_those_of_the_shape(count: int) -> None:
    error = rf"_rebuild: bytes must have 8 bytes for float32 elements of shape \(2, 1\), got {count}$"
    with pytest.raises(ValueError, match=error):
        core._rebuild(bytes(count), interlock.float32, [2, 1], False)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({0: int}, "_rebuild_tensor: class must be a subclass of Tensor, got <class 'int'>"),
        ({3: (10**6,)}, "from_storage: "),
        ({3: (-1,)}, "_rebuild_tensor: shape must not be negative"),
        ({4: (1, 1)}, "from_storage: "),
        ({5: 10**6}, "from_storage: "),
        ({6: 1}, "_rebuild_tensor: requires_grad must be a bool, got int"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_damaged_pickle_raises(change: dict[int, Any], error: str) -> None:
    function, arguments, _ = interlock.ones(2).__reduce__()
    with pytest.raises((TypeError, ValueError, RuntimeError), match=error):
        function(*(change.get(at, value) for at, value in enumerate(arguments)))
