"""Kernels that are registered from Python: which calls they run, with which tensors, and how they end."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import interlock
import pytest
from interlock import Tensor, accelerator, backends, dispatch, errors
from interlock.accelerator import Graph
from interlock.backends import python_native
from interlock.dispatch import KernelCall, register_kernel
from interlock.nn import functional

from tests.helpers.subprocess import run_program

pytestmark = pytest.mark.usefixtures("restored")

ATTENTION = "scaled_dot_product_attention"


@pytest.fixture(autouse=True)
def no_kernel_remains() -> Iterator[None]:
    yield
    assert python_native.get_dsl_operations("python") == []


def times_ten(a: Tensor, b: Tensor) -> Tensor:
    """Return ten times the product, which no other kernel computes."""
    return (a @ b) * 10


def considered(call: dispatch.Call) -> dict[str, str]:
    return {one.kernel: str(one.reason or one.outcome) for one in call.considered}


def test_registered_kernel_runs_calls_until_it_is_removed() -> None:
    x = interlock.ones(2, 2)
    kernel = register_kernel("matmul", "ten", times_ten)
    assert (kernel.operation, kernel.name, kernel.dsl, kernel.is_registered) == (
        "matmul",
        "ten",
        "python",
        True,
    )
    assert repr(kernel) == "<interlock.dispatch.RegisteredKernel: ten of matmul, python>"
    assert (x @ x).tolist() == [[20.0] * 2] * 2
    assert functional.linear(x, x).tolist() == [[20.0] * 2] * 2, "products of other operations, too"
    assert python_native.get_dsl_operations("python") == ["matmul"]
    kernel.remove()
    kernel.remove()
    assert (x @ x).tolist() == [[2.0] * 2] * 2
    assert repr(kernel) == "<interlock.dispatch.RegisteredKernel: ten of matmul, python, removed>"
    with pytest.raises(RuntimeError, match="the kernel ten of matmul was removed; register it again"), kernel:
        pass
    assert "ten" not in considered(dispatch.explain("matmul", x, x))


def test_registered_kernel_is_removed_at_the_end_of_a_block() -> None:
    x = interlock.ones(1, 1)
    with contextlib.suppress(ZeroDivisionError), register_kernel("matmul", "ten", times_ten) as kernel:
        assert (x @ x).item() == 10.0
        raise ZeroDivisionError
    assert not kernel.is_registered
    with register_kernel("matmul", "ten", times_ten) as other:
        kernel.remove()
        assert other.is_registered, "an older registration of the name"


def test_records_and_explanations_show_the_kernel() -> None:
    x = interlock.ones(2, 3)
    with register_kernel("matmul", "ten", times_ten), dispatch.record() as calls:
        explained = dispatch.explain("matmul", x, x.t())
        x @ x.t()
    assert explained.kernel == "ten"
    assert [(call.kernel, call.inputs) for call in calls] == [("native", "float32"), ("ten", "float32")]
    assert considered(calls[0])["ten"] == "runs already on this thread"
    assert considered(calls[1]) == {
        "ten": "chosen",
        "cublas": "needs a device, got cpu",
        "cublaslt": "needs a device, got cpu",
        "mkldnn": "backends.mkldnn.numerics is 'hardware', not 'model'",
        "onednn": "needs at least 524288 multiplications, got 12",
        "mkl": "needs at least 524288 multiplications, got 12",
        "native": "behind",
    }


def test_condition_receives_the_call_and_gives_reasons() -> None:
    seen: list[KernelCall] = []

    def condition(call: KernelCall) -> bool | str | None:
        seen.append(call)
        rows = call.shapes[0][0]
        return {1: True, 2: None, 3: False}.get(rows, f"needs at most 3 rows, got {rows}")

    with register_kernel("matmul", "ten", times_ten, condition=condition):
        assert [(interlock.ones(n, 1) @ interlock.ones(1, 1))[0, 0].item() for n in (1, 2, 3, 4)] == [
            10,
            10,
            1,
            1,
        ]
        three, four = (dispatch.explain("matmul", interlock.ones(n, 1), interlock.ones(1, 1)) for n in (3, 4))
    assert considered(three)["ten"] == "its condition returned False"
    assert considered(four)["ten"] == "needs at most 3 rows, got 4"
    first = seen[0]
    assert (first.operation, first.device, first.dtype) == (
        "matmul",
        interlock.device("cpu"),
        interlock.float32,
    )
    assert (first.shapes, first.options) == (((1, 1), (1, 1)), {})
    assert repr(first) == "<interlock.dispatch.KernelCall: matmul cpu interlock.float32 ((1, 1), (1, 1)) {}>"


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (lambda call: 1 / 0, "its condition raised ZeroDivisionError: division by zero"),
        (lambda call: 3, "its condition raised TypeError: the result must be a bool, a str or None, got int"),
        (lambda call: " ", "its condition returned an empty text"),
        (lambda: True, "its condition raised TypeError: "),
    ],
)
def test_condition_that_fails_refuses_the_kernel(condition: Callable[..., Any], reason: str) -> None:
    x = interlock.ones(1, 1)
    with register_kernel("matmul", "ten", times_ten, condition=condition):
        assert considered(dispatch.explain("matmul", x, x))["ten"].startswith(reason)
        assert (x @ x).item() == 1.0


@pytest.mark.parametrize("error", [KeyboardInterrupt("mine"), SystemExit(3)])
def test_condition_that_is_interrupted_ends_the_call(error: BaseException) -> None:
    x = interlock.ones(1, 1)

    def interrupted(call: KernelCall) -> bool:
        raise error

    with register_kernel("matmul", "ten", times_ten, condition=interrupted):
        for call in (lambda: x @ x, lambda: dispatch.explain("matmul", x, x)):
            with pytest.raises(type(error)) as caught:
                call()
            assert caught.value is error
            assert caught.traceback[-1].name == "interrupted"
    assert (x @ x).item() == 1.0


def test_interrupted_condition_raises_nothing_in_a_callback_of_gc() -> None:
    x, phases, thresholds = interlock.ones(1, 1), list[str](), gc.get_threshold()

    def interrupted(call: KernelCall) -> bool:
        raise KeyboardInterrupt

    def callback(phase: str, info: dict[str, int]) -> None:
        phases.append(phase)

    gc.callbacks.append(callback)
    gc.set_threshold(1)
    try:
        with register_kernel("matmul", "ten", times_ten, condition=interrupted):
            for _ in range(20):
                # An exception in the callback would be a warning, which is an error of this test.
                with pytest.raises(KeyboardInterrupt):
                    _ = x @ x
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(callback)
    assert phases
    assert gc.isenabled()


def test_function_that_is_traced_after_an_interrupted_condition_returns() -> None:
    done = run_program("dispatch.trace_after_an_interrupt")
    assert (done.code, done.stdout.split()) == (0, ["interrupted", "6"]), done.stderr


def test_explain_raises_the_interrupt_of_the_first_condition() -> None:
    x, errors = interlock.ones(1, 1), [SystemExit(3), KeyboardInterrupt("later")]
    left = iter(errors)

    def interrupted(call: KernelCall) -> bool:
        raise next(left)

    with (
        register_kernel("matmul", "first", times_ten, condition=interrupted),
        register_kernel("matmul", "second", times_ten, condition=interrupted),
        register_kernel("matmul", "third", times_ten, condition=lambda call: True),
    ):
        with pytest.raises(SystemExit) as caught:
            dispatch.explain("matmul", x, x)
        assert caught.value is errors[0]


def test_interrupt_of_a_condition_behind_the_chosen_kernel_is_raised() -> None:
    x, interrupts = interlock.ones(1, 1), [KeyboardInterrupt]

    def interrupted(call: KernelCall) -> bool:
        if interrupts:
            raise interrupts.pop()
        return True

    with (
        register_kernel("matmul", "first", times_ten),
        register_kernel("matmul", "second", times_ten, condition=interrupted),
    ):
        with pytest.raises(KeyboardInterrupt), dispatch.record():
            interlock.matmul(x, x)
        assert not interrupts
        # Without the interrupt of the earlier call.
        assert interlock.matmul(x, x).item() == 100.0


def test_kernel_that_returns_not_implemented_is_refused() -> None:
    x = interlock.ones(1, 1)
    with register_kernel("matmul", "no", lambda a, b: NotImplemented), dispatch.record() as calls:
        assert (x @ x).item() == 1.0
    assert (calls[0].kernel, considered(calls[0])["no"]) == ("native", "returned NotImplemented")


def test_exception_of_a_kernel_is_that_of_the_operation() -> None:
    x, error = interlock.ones(1, 1), ZeroDivisionError("mine")

    def fail(a: Tensor, b: Tensor) -> Tensor:
        raise error

    with register_kernel("matmul", "fails", fail):
        with pytest.raises(ZeroDivisionError) as caught:
            x @ x
        assert caught.value is error
        assert caught.traceback[-1].name == "fail"
    assert (x @ x).item() == 1.0


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (
            interlock.ones(2),
            r"bad failed: it must return float32 of shape \(1, 1\) on cpu, got float32 of shape \(2,\)",
        ),
        (interlock.ones(1, 1, dtype=interlock.float64), "got float64 of shape"),
        (3, "matmul: the result of the kernel bad must be a Tensor or NotImplemented, got int"),
        (None, "matmul: the result of the kernel bad must be a Tensor or NotImplemented, got None"),
    ],
)
def test_wrong_result_is_an_error(result: Any, message: str) -> None:
    x = interlock.ones(1, 1)
    with (
        register_kernel("matmul", "bad", lambda a, b: result),
        pytest.raises((RuntimeError, TypeError), match=message),
    ):
        x @ x


def test_kernel_runs_without_gradients_and_the_operation_records_them() -> None:
    seen: list[object] = []

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        seen.append((interlock.is_grad_enabled(), a.requires_grad, a.shape, b.shape))
        interlock.set_grad_enabled(True)
        return times_ten(a, b)

    x = interlock.ones(2, requires_grad=True)
    with register_kernel("matmul", "ten", kernel):
        y = x @ interlock.ones(2)
        assert interlock.is_grad_enabled()
        y.backward()
        with interlock.no_grad():
            assert not (x @ x).requires_grad
    assert (y.item(), y.dim()) == (20.0, 0)
    assert seen[0] == (False, False, (1, 2), (2, 1))
    assert x.grad is not None
    assert x.grad.tolist() == [10.0, 10.0], "products of the gradient run on the kernel, too"


def test_result_that_shares_memory_with_an_operand_is_copied() -> None:
    x = interlock.ones(2, 2, requires_grad=True)
    with register_kernel("matmul", "first", lambda a, b: a):
        y = x @ interlock.ones(2, 2)
    y.mul_(3)
    assert x.tolist() == [[1.0] * 2] * 2
    y.sum().backward()
    assert x.grad is not None


def test_flags_of_the_language_operation_and_device_refuse_the_kernel() -> None:
    x = interlock.ones(1, 1)

    def refusal() -> tuple[float, str, str | None]:
        one = {one.kernel: one for one in dispatch.explain("matmul", x, x).considered}["ten"]
        return (x @ x).item(), str(one.reason), one.reason.flag if one.reason else None

    enabled, operations = "python_native.python.enabled", "python_native.disabled_operations"
    keys = "python_native.disabled_dispatch_keys"
    with register_kernel("matmul", "ten", times_ten):
        assert (x @ x).item() == 10.0
        for flag in (enabled, operations, keys):
            assert backends.explain(flag).affects.endswith("obeyed by matmul")
        with python_native.python.disabled():
            assert refusal() == (1.0, f"backends.{enabled} is False", enabled)
        with python_native.operations_disabled("matmul"):
            assert refusal() == (1.0, f"backends.{operations} has 'matmul'", operations)
        with backends.override({keys: "CUDA, CPU"}):
            assert refusal() == (1.0, f"backends.{keys} has 'CPU'", keys)
        with python_native.triton.disabled(), python_native.operations_disabled("conv2d"):
            assert (x @ x).item() == 10.0
        with python_native.operations_disabled("matmul"):
            results: list[float] = []
            thread = threading.Thread(target=lambda: results.append((x @ x).item()))
            thread.start()
            thread.join()
        assert results == [10.0], "a new thread has no scopes"
        python_native.disable_dispatch_keys("CPU")
        assert (x @ x).item() == 1.0
        python_native.enable_dispatch_keys("CPU")
        assert (x @ x).item() == 10.0
    for flag in (enabled, operations, keys):
        assert "no kernel that obeys it is registered" in backends.explain(flag).affects


def test_required_flags_are_gates() -> None:
    x = interlock.ones(1, 1)
    requires = {"cudnn.benchmark": True, "cuda.blas_library": "ck"}
    with register_kernel("matmul", "ten", times_ten, requires=requires):
        reason = {one.kernel: one.reason for one in dispatch.explain("matmul", x, x).considered}["ten"]
        assert reason is not None
        assert (str(reason), reason.flag) == ("backends.cudnn.benchmark is False", "cudnn.benchmark")
        with backends.override({"cudnn.benchmark": True, "cuda.blas_library": "ck"}):
            assert (x @ x).item() == 10.0


def test_kernels_of_attention_receive_keywords() -> None:
    seen: list[dict[str, Any]] = []

    def kernel(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        seen.append(options)
        return query * 0 + 7

    query = interlock.ones(1, 4, 3, 8, requires_grad=True)
    key = interlock.ones(1, 2, 3, 8)
    mask = interlock.ones(3, 3, dtype=interlock.bool)
    with register_kernel(ATTENTION, "seven", kernel, condition=lambda call: call.options["enable_gqa"]):
        out = functional.scaled_dot_product_attention(
            query, key, key, attn_mask=mask, enable_gqa=True, scale=0.5
        )
        plain = functional.scaled_dot_product_attention(key, key, key)
    assert out[0, 0, 0, 0].item() == 7.0
    assert plain[0, 0, 0, 0].item() == 1.0
    assert {name: seen[0][name] for name in ("is_causal", "scale", "enable_gqa")} == {
        "is_causal": False,
        "scale": 0.5,
        "enable_gqa": True,
    }
    assert seen[0]["attn_mask"].shape == (3, 3)
    out.sum().backward()
    assert query.grad is not None


def test_kernels_of_convolutions_run_outputs_and_not_gradients() -> None:
    seen: list[Any] = []

    def kernel(image: Tensor, weight: Tensor, bias: Tensor | None, **options: Any) -> Tensor:
        seen.append((bias is None, options))
        return interlock.conv2d(image, weight, bias, **options) * 10

    image = interlock.ones(1, 2, 4, 4, requires_grad=True)
    weight = interlock.ones(2, 1, 3, 3)
    with register_kernel("conv2d", "ten", kernel), dispatch.record() as calls:
        out = interlock.conv2d(image, weight, stride=2, padding=1, groups=2)
        out.sum().backward()
        interlock.conv2d(image.detach(), interlock.ones(1, 2, 2, 2), padding="same")
    assert out[0, 0, 1, 1].item() == 90.0
    assert seen == [(True, {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 2})]
    assert considered(calls[2])["ten"] == "needs the output, got a gradient"
    assert considered(calls[-1])["ten"].startswith("needs as many zeros after the last row")


def test_kernel_of_devices_is_captured_by_graphs(devices: tuple[str, ...]) -> None:
    x = interlock.ones(1, 1, device=devices[0])
    with (
        register_kernel("matmul", "ten", times_ten, condition=lambda call: call.device.type != "cpu"),
        interlock.Stream(devices[0]),
    ):
        with Graph() as graph:
            y = x @ x
        x.fill_(2.0)
        graph.replay()
    accelerator.synchronize()
    assert y.item() == 40.0
    python_native.disable_dispatch_keys("HOST")
    with register_kernel("matmul", "ten", times_ten):
        assert (x @ x).item() == 4.0


def test_kernel_in_the_place_of_another_is_ordered_by_flags(devices: tuple[str, ...]) -> None:
    query = interlock.ones(1, 1, 2, 8, dtype=interlock.float16, device=devices[0])

    def order() -> list[str]:
        return [one.kernel for one in dispatch.explain(ATTENTION, query, query, query).considered]

    with (
        register_kernel(ATTENTION, "fast", lambda *_, **__: NotImplemented, replaces="flash"),
        register_kernel(ATTENTION, "last", lambda *_, **__: NotImplemented),
    ):
        assert order() == ["fast", "flash", "efficient", "math", "cudnn", "last"]
        names = ("math", "overrideable", "flash_attention", "efficient_attention", "cudnn_attention")
        with backends.override({"cuda.sdp_priority": names}):
            assert order() == ["math", "last", "fast", "flash", "efficient", "cudnn"]


def test_threads_run_a_kernel_at_once() -> None:
    barrier = threading.Barrier(3, timeout=30)

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        barrier.wait()
        return times_ten(a, b)

    results: list[float] = []
    x = interlock.ones(1, 1)
    with register_kernel("matmul", "ten", kernel):
        threads = [threading.Thread(target=lambda: results.append((x @ x).item())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [10.0] * 3


def test_kernel_may_remove_itself_and_register_others() -> None:
    x = interlock.ones(1, 1)

    def once(a: Tensor, b: Tensor) -> Tensor:
        kernel.remove()
        with register_kernel("matmul", "inner", lambda a, b: a * 100):
            return a @ b

    kernel = register_kernel("matmul", "once", once)
    assert (x @ x).item() == 100.0
    assert (x @ x).item() == 1.0


def test_removed_kernel_releases_its_function() -> None:
    class Owner:
        def run(self, a: Tensor, b: Tensor) -> Tensor:
            return a * b

    owner = Owner()
    alive = weakref.ref(owner)
    kernel = register_kernel("matmul", "owned", owner.run)
    del owner
    gc.collect()
    assert alive() is not None
    kernel.remove()
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("matmull", "x", print), {}, errors.ArgumentError, 'operation must be one of "matmul", "scaled_dot'),
        ((3, "x", print), {}, TypeError, "register_kernel: operation must be a str, got int"),
        (("matmul", "", print), {}, errors.ArgumentError, "name must be a text without whitespace"),
        (("matmul", "a b", print), {}, errors.ArgumentError, 'control characters, got "a b"'),
        (("matmul", 3, print), {}, TypeError, "register_kernel: name must be a str, got int"),
        (
            ("matmul", "native", print),
            {},
            errors.ArgumentError,
            "name must be one that no kernel of matmul has",
        ),
        (("matmul", "x", 3), {}, TypeError, "register_kernel: function must be callable, got int"),
        (("matmul", "x", print), {"condition": 3}, TypeError, "condition must be callable, got int"),
        (("matmul", "x", print), {"dsl": "cuda"}, errors.ArgumentError, 'dsl must be one of "cutedsl"'),
        (("matmul", "x", print), {"dsl": 3}, TypeError, "register_kernel: dsl must be a str, got int"),
        (
            ("matmul", "x", print),
            {"replaces": "flash"},
            errors.ArgumentError,
            'replaces must be one of "cublas", "cublaslt", "mkldnn", "onednn", "mkl", "native", got "flash"',
        ),
        (
            ("matmul", "x", print),
            {"replaces": 3},
            TypeError,
            "register_kernel: replaces must be a str, got int",
        ),
        (
            ("matmul", "x", print),
            {"requires": 3},
            TypeError,
            "register_kernel: requires must be a dict, got int",
        ),
        (
            ("matmul", "x", print),
            {"requires": {"cudnn.enabeld": True}},
            errors.UnknownFlagError,
            "cudnn.enabled",
        ),
        (
            ("matmul", "x", print),
            {"requires": {"cuda.blas_library": "mine"}},
            errors.FlagValueError,
            "backends.cuda.blas_library must be",
        ),
        (
            ("matmul", "x", print),
            {"requires": {3: True}},
            TypeError,
            "the name of a flag in requires must be",
        ),
        (
            ("matmul", "x", print),
            {"requires": {"cudnn.enabled": 3}},
            TypeError,
            "must be a bool or a str, got int",
        ),
        (
            ("matmul", "x", print),
            {"requires": {"cudnn.benchmark_limit": "3"}},
            errors.ArgumentError,
            "requires must name flags with bools or names, got cudnn.benchmark_limit",
        ),
    ],
)
def test_wrong_arguments_register_nothing(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        register_kernel(*arguments, **options)
    assert message in str(caught.value)


def test_name_that_is_registered_is_refused() -> None:
    with register_kernel("matmul", "ten", times_ten):
        with pytest.raises(errors.ArgumentError, match="one that no kernel of matmul has"):
            register_kernel("matmul", "ten", times_ten, requires={"cudnn.enabled": True})
        with register_kernel("conv2d", "ten", lambda *_, **__: NotImplemented):
            assert python_native.get_dsl_operations("python") == ["conv2d", "matmul"]


def test_kernel_of_a_reloaded_module_replaces_the_earlier_one() -> None:
    x = interlock.ones(2, 2)

    def kernel(factor: int) -> Callable[[Tensor, Tensor], Tensor]:
        # Those of all calls have one name.
        def function(a: Tensor, b: Tensor) -> Tensor:
            return a * factor

        return function

    first = register_kernel("matmul", "reloaded", kernel(2))
    with register_kernel("matmul", "reloaded", kernel(3)) as second:
        assert (first.is_registered, second.is_registered) == (False, True)
        first.remove()
        assert (x @ x).tolist() == [[3.0, 3.0]] * 2
        with pytest.raises(errors.ArgumentError, match="one that no kernel of matmul has"):
            register_kernel("matmul", "reloaded", times_ten)
    assert (x @ x).tolist() == [[2.0, 2.0]] * 2


def test_language_that_cannot_be_imported_is_refused() -> None:
    missing = [name for name in python_native.all_dsls if name not in python_native.available_dsls]
    assert "helion" in missing
    for dsl in missing:
        with pytest.raises(errors.ArgumentError, match=f"a language that can be imported, got '{dsl}'"):
            register_kernel("matmul", "x", times_ten, dsl=dsl)  # type: ignore[arg-type]


def test_kernel_at_the_end_of_the_interpreter_and_in_a_forked_child() -> None:
    done = run_program("dispatch.registered_kernel_at_exit_and_in_a_fork")
    assert (done.code, done.stdout.split()) == (0, ["child", "10.0", "parent", "10.0"]), done.stderr
