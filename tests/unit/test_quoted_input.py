"""Error messages show what the caller passed, but only its begin, and on one line.

`tests/fuzz/test_messages.py` checks the errors of every argument of every function. Here are values within
arguments, and arguments that are refused only beside certain others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import accelerator, autograd, backends, dispatch, errors
from interlock.accelerator import memory
from interlock.nn import functional

LONG: Any = "x" * 1_000_000
pytestmark = pytest.mark.any_build
LONGEST_MESSAGE = 2_000

x = interlock.ones(2, 2)
flag = backends.register("quoted_input.flag", 1, doc="x")

CALLS: dict[str, Callable[[], object]] = {
    "device index": lambda: interlock.device("cpu:" + "1" * 1_000_000),
    "digits": lambda: interlock.device("1" * 1_000_000),
    "use with devices": lambda: accelerator.use(LONG, devices=1),
    "set_config of a value": lambda: memory.set_config(f"backend:{LONG}"),
    "replay": lambda: memory.replay({"device_traces": [[{"action": LONG}]], "segments": []}),
    "load": lambda: backends.libraries.load("cudnn", LONG),
    "override": lambda: backends.override({LONG: 1}),
    "register": lambda: backends.register(LONG, 1, doc="x"),
    "register a variable": lambda: backends.register("quoted_input.a", 1, doc="x", variable=LONG + "-"),
    "register a default": lambda: backends.register("quoted_input.b", LONG, choices=["a"], doc="x"),
    "register choices": lambda: backends.register("quoted_input.c", LONG, choices=[LONG, LONG], doc="x"),
    "register a minimum": lambda: backends.register(LONG, LONG, minimum=1, doc="x"),
    "restore": lambda: backends.restore([("cudnn.enabled", True, LONG)]),
    "restore an entry": lambda: backends.restore([(LONG,)]),
    "read a flag": lambda: getattr(backends.cudnn.conv, LONG),
    "assign a flag": lambda: setattr(backends.cudnn.conv, LONG, 1),
    "read of a plan cache": lambda: getattr(backends.cuda.cufft_plan_cache, LONG),
    "option of explain": lambda: dispatch.explain("matmul", x, x, **{LONG: 1}),
    "reduce": lambda: x.clone().scatter_(0, interlock.zeros(1, 1, dtype=interlock.int64), 1.0, reduce=LONG),
    "sizes": lambda: interlock.ones(LONG, size=(2,)),
    "format": lambda: format(x, LONG),
    "cross_entropy": lambda: functional.cross_entropy(x, x, reduction=LONG),
    "conv2d": lambda: functional.conv2d(interlock.ones(1, 1, 2, 2), interlock.ones(1, 1, 1, 1), padding=LONG),
}


@pytest.mark.parametrize("call", CALLS)
def test_messages_shorten_what_the_caller_passed(call: str) -> None:
    with pytest.raises((errors.InterlockError, TypeError, ValueError)) as raised:
        CALLS[call]()
    text = str(raised.value)
    assert len(text) <= LONGEST_MESSAGE, f"{len(text)} characters: {text[:200]}"


def test_messages_escape_control_characters() -> None:
    text: Any = "a\n\x1b[31m"
    for call in (interlock.device, dispatch.explain, backends.libraries.find, accelerator.use):
        with pytest.raises(errors.InterlockError) as raised:
            call(text)
        assert not re.search(r"[\n\x1b]", str(raised.value))


HUGE = -(2**70)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"default": -1, "minimum": HUGE}, f"minimum must be an int from -2**60 to 2**60, got {HUGE}"),
        ({"default": 1, "maximum": -HUGE}, f"maximum must be an int from -2**60 to 2**60, got {-HUGE}"),
        ({"default": HUGE}, f"default must be an int from -2**60 to 2**60, got {HUGE}"),
        (
            {"default": None, "type": int, "minimum": HUGE},
            f"minimum must be an int from -2**60 to 2**60, got {HUGE}",
        ),
        ({"default": -5}, "default must be at least the minimum 0, got -5"),
    ],
)
def test_register_shows_ints_and_their_range(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.FlagRegistrationError) as raised:
        backends.register("quoted_input.int", **arguments, doc="x")
    assert str(raised.value) == f'register("quoted_input.int"): {message}'


@pytest.mark.parametrize("given", [2**70, -(2**70), 2**63, -1])
def test_assigning_an_int_out_of_range_shows_it_and_the_range(given: int) -> None:
    for assign in (lambda: setattr(flag, "value", given), lambda: flag.override(given)):
        with pytest.raises(errors.FlagValueError) as raised:
            assign()
        assert str(raised.value) == f"quoted_input.flag must be an int from 0 to {2**60}, got {given}"


def test_register_names_the_flag_in_errors_of_types() -> None:
    wrong: list[dict[str, Any]] = [
        {"default": [[1]]},
        {"default": 1, "optional": 1},
        {"default": 1, "variable": 3},
        {"default": "a", "choices": "a"},
        {"default": "a", "choices": [1]},
        {"default": "a", "choices": ["a"], "type": int},
        {"default": 1, "type": list},
        {"default": True, "minimum": 1},
        {"default": 0.5, "type": int},
    ]
    for arguments in wrong:
        with pytest.raises(errors.FlagTypeError, match=r'^register\("quoted_input\.wrong"\): '):
            backends.register("quoted_input.wrong", **arguments, doc="x")


@pytest.mark.parametrize("answer", [None, "cpu", (1, 0, 0), (2**40, 0), (1, None), 3])
def test_from_dlpack_names_the_method_with_a_wrong_result(answer: object) -> None:
    class Liar:
        def __dlpack__(self, **options: object) -> object:
            return interlock.ones(3).__dlpack__()

        def __dlpack_device__(self) -> object:
            return answer

    expected = "from_dlpack: __dlpack_device__ must return a device type and an index, got "
    with pytest.raises(BufferError, match=f"^{re.escape(expected + repr(answer))}$"):
        interlock.from_dlpack(Liar())


@pytest.mark.parametrize("name", ["to_save", "dirty_tensors", "non_differentiable", "materialize_grads"])
def test_function_names_a_wrong_attribute_of_its_context(name: str) -> None:
    class Wrong(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: interlock.Tensor) -> interlock.Tensor:
            setattr(ctx, name, 3)
            return x * 2

    with pytest.raises(TypeError, match=rf"^apply: ctx\.{name} must be a (tuple|bool), got int$"):
        Wrong.apply(interlock.ones(1, requires_grad=True))


def test_modes_name_a_pickled_state_that_is_wrong() -> None:
    with pytest.raises(TypeError, match=r"^__setstate__: state must be a bool and a dict .*, got int$"):
        interlock.no_grad().__setstate__(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^__reduce_ex__: protocol must be an int, got str$"):
        interlock.no_grad().__reduce_ex__(LONG)
