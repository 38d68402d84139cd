"""Each error message names the function, method or operator that was called, and its argument.

Every public function of tensors and every method of `Tensor` is called with combinations of values that are
wrong for most parameters: another dtype, shape, dim or type. A new function is included automatically.
"""

from __future__ import annotations

import inspect
import itertools
import operator
import random
import re
import warnings
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import interlock
import pytest
from interlock import Tensor, dispatch, fft, linalg, nn
from interlock.errors import DTypeError, ShapeError
from interlock.nn import functional
from interlock.nn.quantized.functional import quantized_linear

pytestmark = pytest.mark.any_build
# "name: ..." of interlock, or the message of a call with missing or unknown arguments.
HEAD = re.compile(r"(?:\w+\.)*(\w+)(?:: |\(\) )")
# Messages that name no function, but a part of an argument.
WITHOUT_A_NAME = (
    # The size of an allocation, whichever operation needs it.
    "out of memory: ",
)
# The argument in "name: argument must be ...".
ARGUMENT = re.compile(r"[\w.]+: (\w+)[^:]* must ")
# Messages also name the tensor of a method, its dtype, several operands, and parts of arguments.
OTHER_SUBJECTS = {"the", "a", "each", "both", "operands", "dtypes", "input", "dtype", "labels"}
# The most combinations of required arguments, and of one optional argument with others.
COMBINATIONS, OTHERS = 200, 10


def tensors() -> list[Any]:
    """Return tensors that do not fit each other."""
    return [
        interlock.ones(2, 3),
        interlock.ones(4, 5),
        interlock.ones(4, 5, dtype=interlock.int64),
        interlock.ones(2, dtype=interlock.bool),
        interlock.ones(1, 2, 3),
        interlock.ones(1, 2, 3, requires_grad=True),
    ]


def values() -> list[Any]:
    """Return arguments each of which most parameters reject."""
    return [*tensors(), 7, 2**62, -2.5, (3, -3), "x", [interlock.ones(2), interlock.ones(3)], None]


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions of tensors."""
    for module in (interlock, functional, linalg, fft):
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, (BuiltinFunctionType, FunctionType)) and value.__module__ in (
                None,
                "interlock._core.tensor",
                functional.__name__,
            ):
                yield f"{module.__name__}.{name}", value
    yield "interlock.quantized_linear", quantized_linear


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of tensors."""
    # The order of the names differs between processes.
    for name, value in sorted(vars(Tensor).items()):
        if not name.startswith("_") and callable(value):
            yield f"Tensor.{name}", value


CALLED = {**dict(functions()), **dict(methods())}


def pools() -> list[list[Any]]:
    """Return the arguments of combinations."""
    return [tensors(), values()]


def combinations(
    random: random.Random, pools: list[list[Any]], count: int, most: int
) -> Iterator[tuple[Any, ...]]:
    """Yield combinations of `count` arguments, half of them tensors only."""
    for pool in pools:
        if len(pool) ** count <= most // 2:
            yield from itertools.product(pool, repeat=count)
        else:
            yield from (tuple(random.choices(pool, k=count)) for _ in range(most // 2))


def calls(name: str, function: Callable[..., Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the arguments of calls."""
    drawn = random.Random(name)
    parameters = inspect.signature(function).parameters.values()
    required = [
        each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    ]
    count = len(required)
    first = tensors() if name.startswith("Tensor.") else [None]
    for given in combinations(drawn, pools(), count, COMBINATIONS):
        yield (drawn.choice(first), *given[1:]) if first[0] is not None else given, {}
    for parameter in parameters:
        if parameter.default is parameter.empty or parameter.kind is parameter.POSITIONAL_ONLY:
            continue
        others = pools()
        for value in values():
            for given in combinations(drawn, others, count, OTHERS):
                with_self = (drawn.choice(first), *given[1:]) if first[0] is not None else given
                yield with_self, {parameter.name: value}


@pytest.fixture
def same_settings() -> Iterator[None]:
    """Restore the number of threads and the options of printing, which some calls set."""
    before = interlock.get_num_threads()
    yield
    interlock.set_num_threads(before)
    interlock.set_printoptions(profile="default")


def message_of(
    function: Callable[..., Any], positional: tuple[Any, ...], named: dict[str, Any]
) -> str | None:
    """Return the message of the error that a call raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*positional, **named)
        except Exception as error:
            return str(error)
    return None


@pytest.mark.usefixtures("same_settings")
@pytest.mark.parametrize("name", CALLED)
def test_messages_name_the_function_that_was_called_and_its_argument(name: str) -> None:
    called = name.rpartition(".")[2]
    subjects = OTHER_SUBJECTS | inspect.signature(CALLED[name]).parameters.keys()
    for positional, named in calls(name, CALLED[name]):
        message = message_of(CALLED[name], positional, named)
        if message is not None and not message.startswith(WITHOUT_A_NAME):
            head = HEAD.match(message)
            assert head, f"{positional}, {named}: {message}"
            assert head[1] == called, f"{positional}, {named}: {message}"
            argument = ARGUMENT.match(message)
            assert not argument or argument[1] in subjects, f"{positional}, {named}: {message}"


def explained() -> list[str]:
    """Return the names of the operations that `explain` accepts, which its message lists."""
    names = re.findall(r'"(\w+)"', message_of(dispatch.explain, ("",), {}) or "")
    assert "matmul" in names
    return names


@pytest.mark.parametrize("name", explained())
def test_messages_of_explain_name_it_and_the_operation(name: str) -> None:
    drawn = random.Random(name)
    for given in [each for count in range(4) for each in combinations(drawn, pools(), count, COMBINATIONS)]:
        message = message_of(dispatch.explain, (name, *given), {})
        if message is not None and not message.startswith(WITHOUT_A_NAME):
            assert message.startswith((f"explain: {name}: ", f"explain: {name}() ")), f"{given}: {message}"


@pytest.mark.parametrize("name", explained())
def test_explain_refuses_arguments_that_the_operation_refuses(name: str) -> None:
    (function,) = {CALLED[key] for key in CALLED if key.startswith("interlock.") and key.endswith(f".{name}")}
    names = list(inspect.signature(function).parameters)
    valid = [(interlock.ones(2, 2),) * len(names), ("ij", interlock.ones(2, 2)), ((2, 2),)]
    by_name: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (given[:count], dict(zip(names[count:], given[count:], strict=False)))
        for given in valid
        for count in range(len(given) + 1)
    ]
    refused = 0
    for positional, named in [*calls(name, function), *by_name]:
        message = message_of(function, positional, named)
        # A singular matrix is found when a kernel runs.
        if message is not None and "singular" not in message:
            refused += 1
            assert message_of(dispatch.explain, (name, *positional), named), (
                f"{positional}, {named}: {message}"
            )
    assert refused > 0


# Messages of PyO3, which name neither the function nor the argument.
OF_PYO3 = re.compile(
    r"argument '\w+': |is not an instance of|cannot be converted to|out of range integral type"
)


@pytest.mark.parametrize("name", sorted(vars(Tensor).keys() - {"__new__", "__doc__"}))
def test_messages_are_not_those_of_pyo3(name: str) -> None:
    """Pass wrong arguments to methods, special ones too, and assign wrong values to attributes."""
    drawn = random.Random(name)
    is_method = callable(vars(Tensor)[name])
    for value in values():
        message = message_of(setattr, (interlock.ones(2, 3), name, value), {})
        assert is_method or not OF_PYO3.search(message or ""), message
    if not is_method:
        return
    tensor = interlock.ones(2, 3)
    for given in [each for count in range(4) for each in combinations(drawn, pools(), count, COMBINATIONS)]:
        # Names that end with "_" can change the tensor.
        method = getattr(interlock.ones(2, 3) if name.endswith("_") else tensor, name)
        message = message_of(method, given, {})
        assert not OF_PYO3.search(message or ""), f"{given}: {message}"


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "matmul": operator.matmul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "add_": operator.iadd,
    "sub_": operator.isub,
    "mul_": operator.imul,
    "div_": operator.itruediv,
    "floor_divide_": operator.ifloordiv,
    "remainder_": operator.imod,
    "pow_": operator.ipow,
    "bitwise_and_": operator.iand,
    "bitwise_or_": operator.ior,
    "bitwise_xor_": operator.ixor,
    "bitwise_left_shift_": operator.ilshift,
    "bitwise_right_shift_": operator.irshift,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_messages_of_operators_name_the_function(name: str) -> None:
    dtype = interlock.int64 if name.startswith("bitwise") else interlock.float32
    with pytest.raises(ShapeError, match=f"^{name}: "):
        OPERATORS[name](interlock.ones(2, 3, dtype=dtype), interlock.ones(4, 5, dtype=dtype))


def test_messages_of_reflected_operators_name_the_function() -> None:
    with pytest.raises(DTypeError, match=r"^sub: "):
        True - interlock.ones(2, dtype=interlock.bool)
    with pytest.raises(DTypeError, match=r"^bitwise_and: "):
        1.5 & interlock.ones(2, dtype=interlock.int64)


def test_messages_of_a_layer_name_the_layer() -> None:
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = interlock.ones(1, 3, 4)
    for query, key, mask in (
        (interlock.ones(1, 3, 5), x, None),
        (x.double(), x, None),
        (x, interlock.ones(2, 3, 4), None),
        (x, x, interlock.ones(5, 7)),
        (x, x, interlock.ones(3, 3, dtype=interlock.int64)),
    ):
        with pytest.raises(Exception, match=r"^MultiheadAttention: "):
            layer(query, key, key, attn_mask=mask)
    with pytest.raises(ShapeError, match=r"^load_state_dict: "):
        layer.load_state_dict({**layer.state_dict(), "in_proj_bias": interlock.ones(2)})


def test_backward_functions_keep_their_names() -> None:
    x = interlock.ones(2, requires_grad=True)
    y = x.multiply(x)
    with interlock.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match=r"^MulBackward0: "):
        y.sum().backward()


def test_the_message_of_a_function_that_a_hook_calls_names_that_function() -> None:
    x = interlock.ones(2, requires_grad=True)
    x.register_hook(lambda gradient: gradient.add(interlock.ones(3)))
    with pytest.raises(ShapeError, match=r"^add: "):
        x.sum().backward()
