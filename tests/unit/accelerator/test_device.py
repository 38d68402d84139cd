"""`interlock.device`, and `interlock.accelerator` without an accelerator."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import interlock
import pytest
from interlock import device, errors

from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program

DEVICES: list[tuple[tuple[Any, ...], str, int | None]] = [
    (("cpu",), "cpu", None),
    (("cpu:0",), "cpu", 0),
    (("cpu:1",), "cpu", 1),
    (("cuda",), "cuda", None),
    (("cuda:0",), "cuda", 0),
    (("cuda:127",), "cuda", 127),
    (("cuda", 3), "cuda", 3),
    (("cuda", None), "cuda", None),
    (("meta",), "meta", None),
    (("mps:0",), "mps", 0),
    (("xpu", 1), "xpu", 1),
    (("privateuseone",), "privateuseone", None),
    ((device("cuda:1"),), "cuda", 1),
    ((device("cpu"),), "cpu", None),
]
GOOD = pytest.mark.parametrize(("given", "kind", "index"), DEVICES, ids=[str(each[0]) for each in DEVICES])


@GOOD
def test_device_has_a_type_and_an_index(given: tuple[Any, ...], kind: str, index: int | None) -> None:
    made = device(*given)
    assert (made.type, made.index) == (kind, index)
    text = kind if index is None else f"{kind}:{index}"
    shown = f"type='{kind}'" if index is None else f"type='{kind}', index={index}"
    assert (str(made), repr(made)) == (text, f"device({shown})")
    assert f"{made}" == text


@GOOD
def test_equal_devices_have_equal_hashes(given: tuple[Any, ...], kind: str, index: int | None) -> None:
    made, again = device(*given), device(kind, index)
    assert made == again == device(str(made))
    assert hash(made) == hash(again)
    assert made != device("hpu:5")
    assert made != str(made)
    assert {made: 1}[again] == 1


@GOOD
def test_devices_can_be_pickled_and_copied(given: tuple[Any, ...], kind: str, index: int | None) -> None:
    made = device(*given)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(made, protocol)) == made
    assert copy.copy(made) == copy.deepcopy(made) == made
    assert type(copy.deepcopy([made])[0]) is device


def test_arguments_may_be_named() -> None:
    assert device(type="cuda", index=1) == device("cuda:1")
    assert device(type="cuda") == device("cuda")


MALFORMED = [
    ("nope",),
    ("nope:0",),
    ("",),
    ("cuda:",),
    ("cuda:-1",),
    ("cuda:01",),
    ("cuda:+1",),
    ("cuda:1.0",),
    ("cuda: 1",),
    ("cuda:0:1",),
    (" cuda",),
    ("CUDA",),
    ("cuda:128",),
    ("cuda:99999999999999999999",),
    ("cuda:\u0663",),
    ("cuda:0", 1),
    ("cuda", -1),
    ("cuda", 128),
    ("cuda", 10**30),
    (-1,),
    (10**30,),
]


@pytest.mark.parametrize("given", MALFORMED, ids=stable_repr)
def test_malformed_device_is_refused_and_named(given: tuple[Any, ...]) -> None:
    with pytest.raises(RuntimeError) as caught:
        device(*given)
    if isinstance(given[0], str):  # otherwise the missing accelerator may be reported first
        assert str(given[-1]).removesuffix(":0").strip() in str(caught.value)


WRONG_TYPES: list[tuple[Any, ...]] = [
    (True,),
    (False,),
    (None,),
    (1.5,),
    ([],),
    (),
    ("cuda", "0"),
    ("cuda", True),
    ("cuda", 1.0),
    (device("cpu"), 1),
    ("cuda", 0, 0),
]


@pytest.mark.parametrize("given", WRONG_TYPES, ids=stable_repr)
def test_device_of_wrong_types_is_a_type_error(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        device(*given)


def test_device_can_not_be_changed_or_ordered() -> None:
    made: Any = device("cuda:1")
    for name, value in (("index", 2), ("type", "cpu"), ("extra", 1)):
        with pytest.raises(AttributeError):
            setattr(made, name, value)
    with pytest.raises(AttributeError):
        del made.index
    with pytest.raises(TypeError):
        sorted([made, device("cuda:0")])
    assert str(made) == "cuda:1"


def test_device_count_is_zero_and_an_index_raises_without_a_driver(
    no_driver: dict[str, str],
) -> None:
    available, count, current, checked, why, error, named = eval_program(
        "accelerator.drivers.query_devices_without_a_driver", env=no_driver
    )
    assert (available, count, current, checked) == (False, 0, None, None)
    assert why
    assert why in error
    assert named == "cuda:0", "a device object needs no accelerator"


def test_no_accelerator_error_is_a_runtime_error() -> None:
    assert issubclass(errors.NoAcceleratorError, RuntimeError)
    assert interlock.device is device
