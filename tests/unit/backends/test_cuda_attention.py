"""Attention on cuda: the enable functions, the scopes that select kernels, and the `can_use` functions."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import backends, errors
from interlock.backends import cuda
from interlock.backends.cuda import SDPAParams, SDPBackend

from tests.helpers.ids import stable_repr

pytestmark = pytest.mark.usefixtures("restored")

# The function that writes, the one that reads, the flag, and its default.
SWITCHES: list[tuple[Callable[[bool], None], Callable[[], bool], str, bool]] = [
    (cuda.enable_flash_sdp, cuda.flash_sdp_enabled, "cuda.flash_sdp", True),
    (cuda.enable_mem_efficient_sdp, cuda.mem_efficient_sdp_enabled, "cuda.mem_efficient_sdp", True),
    (cuda.enable_math_sdp, cuda.math_sdp_enabled, "cuda.math_sdp", True),
    (cuda.enable_cudnn_sdp, cuda.cudnn_sdp_enabled, "cuda.cudnn_sdp", True),
    (
        cuda.allow_fp16_bf16_reduction_math_sdp,
        cuda.fp16_bf16_reduction_math_sdp_allowed,
        "cuda.fp16_bf16_reduction_math_sdp",
        False,
    ),
]
EACH_SWITCH = pytest.mark.parametrize(
    ("write", "read", "flag", "default"), SWITCHES, ids=[flag for *_, flag, _ in SWITCHES]
)
CAN_USE = [
    (cuda.can_use_flash_attention, "cuda.flash_sdp", interlock.float16),
    (cuda.can_use_efficient_attention, "cuda.mem_efficient_sdp", interlock.float32),
    (cuda.can_use_cudnn_attention, "cuda.cudnn_sdp", interlock.bfloat16),
]
EACH_CAN_USE = pytest.mark.parametrize(
    ("can_use", "flag", "dtype"), CAN_USE, ids=[flag for _, flag, _ in CAN_USE]
)
DEFAULT_PRIORITY = (
    "flash_attention",
    "efficient_attention",
    "math",
    "cudnn_attention",
    "overrideable",
)


def enabled() -> dict[str, bool]:
    return {flag: read() for _, read, flag, _ in SWITCHES[:4]}


def only(*flags: str) -> dict[str, bool]:
    return {flag: flag in flags for _, _, flag, _ in SWITCHES[:4]}


@EACH_SWITCH
def test_enable_function_writes_the_value_that_its_getter_reads(
    write: Callable[[bool], None], read: Callable[[], bool], flag: str, default: bool
) -> None:
    assert read() is default
    assert write(not default) is None  # type: ignore[func-returns-value]
    assert (read(), backends.explain(flag).value) == (not default, not default)
    write(default)
    assert read() is default


@EACH_SWITCH
def test_enable_function_writes_into_its_scope(
    write: Callable[[bool], None], read: Callable[[], bool], flag: str, default: bool
) -> None:
    with backends.override(**{flag: not default}):
        assert read() is not default
        write(default)
        assert (read(), backends.explain(flag).level) == (default, backends.Level.SCOPE)
        write(not default)
    assert (read(), backends.explain(flag).level) == (default, backends.Level.DEFAULT)


@EACH_SWITCH
@pytest.mark.parametrize("wrong", [1, 0, "x", None, 1.5, []])
def test_enable_function_refuses_other_types_and_names_its_flag(
    write: Callable[[Any], None], read: Callable[[], bool], flag: str, default: bool, wrong: object
) -> None:
    with pytest.raises(errors.FlagTypeError, match=rf"^backends\.{flag} must be a bool"):
        write(wrong)
    assert read() is default


@EACH_SWITCH
def test_frozen_flag_is_frozen_for_its_function(
    write: Callable[[bool], None], read: Callable[[], bool], flag: str, default: bool
) -> None:
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError, match=rf"backends\.{flag} "):
        write(not default)
    assert read() is default


def test_kernels_are_an_enum_with_pytorchs_numbers() -> None:
    assert {kernel.name: int(kernel) for kernel in SDPBackend} == {
        "ERROR": -1,
        "MATH": 0,
        "FLASH_ATTENTION": 1,
        "EFFICIENT_ATTENTION": 2,
        "CUDNN_ATTENTION": 3,
        "OVERRIDEABLE": 4,
    }
    assert (str(SDPBackend.MATH), repr(SDPBackend.MATH)) == ("SDPBackend.MATH", "<SDPBackend.MATH: 0>")
    # If numbers and kernels were confused, the kernel 0 would be false and equal to False.
    assert SDPBackend.MATH
    assert SDPBackend.MATH != 0
    assert ["a", "b"][SDPBackend.FLASH_ATTENTION] == "b"


@pytest.mark.parametrize("kernel", SDPBackend)
def test_backend_enum_can_be_pickled_and_copied(kernel: SDPBackend) -> None:
    assert copy.deepcopy(kernel) is kernel
    assert all(pickle.loads(pickle.dumps(kernel, protocol)) is kernel for protocol in range(6))


def test_sdpa_kernel_enables_exactly_the_given_kernels() -> None:
    backends.cuda.math_sdp = False
    before = enabled()
    with cuda.sdpa_kernel(SDPBackend.MATH):
        assert enabled() == only("cuda.math_sdp")
        with cuda.sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION]):
            assert enabled() == only("cuda.flash_sdp", "cuda.cudnn_sdp")
        with cuda.sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
            assert enabled() == only("cuda.mem_efficient_sdp")
        with cuda.sdpa_kernel([]), cuda.sdpa_kernel(SDPBackend.OVERRIDEABLE):
            assert enabled() == only()
        assert cuda.sdp_priority == DEFAULT_PRIORITY
    assert enabled() == before


def test_sdpa_kernel_can_set_the_priority_order() -> None:
    with cuda.sdpa_kernel([SDPBackend.OVERRIDEABLE, SDPBackend.MATH], set_priority=True):
        order = ("overrideable", "math", "flash_attention", "efficient_attention", "cudnn_attention")
        assert cuda.sdp_priority == order
        with cuda.sdpa_kernel(SDPBackend.CUDNN_ATTENTION, True):
            assert cuda.sdp_priority == ("cudnn_attention", *order[:-1])
        with cuda.sdpa_kernel([], True):
            assert cuda.sdp_priority == order
    assert cuda.sdp_priority == DEFAULT_PRIORITY


def test_sdpa_kernel_decorates_functions() -> None:
    @cuda.sdpa_kernel(SDPBackend.MATH)
    def inside() -> dict[str, bool]:
        return enabled()

    assert inside() == only("cuda.math_sdp")
    assert enabled() == only(*(flag for _, _, flag, _ in SWITCHES))


@pytest.mark.parametrize(
    "wrong",
    [(SDPBackend.MATH,), "MATH", 0, None, [0], ["math"], [SDPBackend.MATH, None]],
    ids=stable_repr,
)
def test_sdpa_kernel_refuses_other_objects(wrong: Any) -> None:
    with pytest.raises(errors.AttentionKernelError, match="must be an SDPBackend or a list") as caught:
        cuda.sdpa_kernel(wrong)
    # PyTorch raises the last of these.
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, AssertionError)


def test_sdpa_kernel_refuses_error_and_lists_the_kernels() -> None:
    with pytest.raises(errors.FlagValueError, match=r"SDPBackend\.MATH.*got SDPBackend\.ERROR"):
        cuda.sdpa_kernel([SDPBackend.MATH, SDPBackend.ERROR])


@pytest.mark.parametrize("wrong", [1, None, "yes"])
def test_set_priority_accepts_a_bool_only(wrong: Any) -> None:
    with pytest.raises(errors.FlagTypeError, match="sdpa_kernel: set_priority must be a bool"):
        cuda.sdpa_kernel(SDPBackend.MATH, wrong)


def test_deprecated_scope_warns_once_at_its_caller() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            with cuda.sdp_kernel(enable_math=False):
                assert enabled() == only("cuda.flash_sdp", "cuda.mem_efficient_sdp", "cuda.cudnn_sdp")

        @cuda.sdp_kernel(False, False, False, False)
        def inside() -> dict[str, bool]:
            return enabled()

        assert inside() == inside() == only()
    assert [(one.category, one.filename) for one in caught] == [(errors.FlagDeprecationWarning, __file__)] * 2
    assert len({one.lineno for one in caught}) == 2
    assert issubclass(errors.FlagDeprecationWarning, FutureWarning)


def test_deprecated_scope_does_not_warn_if_it_raises() -> None:
    with pytest.raises(errors.FlagTypeError, match=r"backends\.cuda\.cudnn_sdp must be a bool"):
        cuda.sdp_kernel(enable_cudnn=1)  # type: ignore[arg-type]


def params(**changes: Any) -> SDPAParams:
    tensor = interlock.ones(2, 2)
    given = {
        "query": tensor,
        "key": tensor,
        "value": tensor,
        "attn_mask": None,
        "dropout": 0.5,
        "is_causal": True,
        "enable_gqa": False,
    }
    return SDPAParams(**given | changes)


def test_arguments_of_an_attention_can_be_read_and_not_written() -> None:
    query, key, value, mask = (interlock.ones(2) for _ in range(4))
    made = SDPAParams(query, key, value, mask, 0, True, False)
    assert (made.query, made.key, made.value, made.attn_mask) == (query, key, value, mask)
    assert (made.dropout, type(made.dropout), made.is_causal, made.enable_gqa) == (0.0, float, True, False)
    assert params().attn_mask is None
    for name in ("query", "key", "value", "attn_mask", "dropout", "is_causal", "enable_gqa", "other"):
        with pytest.raises(AttributeError):
            setattr(made, name, None)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("query", 1),
        ("key", None),
        ("value", [1.0]),
        ("attn_mask", 1.0),
        ("dropout", "x"),
        ("dropout", True),
        ("is_causal", 1),
        ("enable_gqa", None),
    ],
)
def test_wrong_argument_of_an_attention_is_named(name: str, wrong: object) -> None:
    with pytest.raises(TypeError, match=rf"^SDPAParams: {name} must be a"):
        params(**{name: wrong})


@EACH_CAN_USE
def test_can_use_functions_return_false_on_the_cpu(can_use: Any, flag: str, dtype: interlock.dtype) -> None:
    tensor = interlock.ones(1, 1, 8, 8, dtype=dtype)
    given = params(query=tensor, key=tensor, value=tensor, dropout=0.0)
    assert can_use(given) is False
    assert can_use(params=given, debug=False) is False
    with pytest.warns(
        errors.AttentionKernelWarning, match="needs tensors on a device, got query on cpu"
    ) as reported:
        assert can_use(given, True) is False
    assert reported[0].filename == __file__
    with (
        backends.override(**{flag: False}),
        pytest.warns(errors.AttentionKernelWarning, match=rf"backends\.{flag} is False"),
    ):
        assert can_use(given, debug=True) is False


@pytest.mark.usefixtures("host_accessible_memory")
@EACH_CAN_USE
def test_can_use_functions_return_what_explain_says_on_devices(
    can_use: Any, flag: str, dtype: interlock.dtype, devices: tuple[str, ...]
) -> None:
    def given(dtype: interlock.dtype, **changes: Any) -> SDPAParams:
        tensor = interlock.ones(1, 2, 8, 8, dtype=dtype, device=devices[0])
        given = {"query": tensor, "key": tensor, "value": tensor, "dropout": 0.0}
        return params(**given | changes)

    assert can_use(given(dtype), True) is True
    with backends.override(**{flag: False}):
        assert can_use(given(dtype)) is False
    with pytest.warns(errors.AttentionKernelWarning, match=f"{can_use.__name__}: needs .*, got float64"):
        assert can_use(given(interlock.float64), True) is False
    with pytest.warns(errors.AttentionKernelWarning, match=r"dropout_p must be 0"):
        assert can_use(given(dtype, dropout=0.5), True) is False
    other = interlock.ones(1, 2, 8, 9, dtype=dtype, device=devices[0])
    with pytest.warns(errors.AttentionKernelWarning, match="last dimensions of query and key differ"):
        assert can_use(given(dtype, key=other), True) is False


@EACH_CAN_USE
def test_can_use_functions_accept_attention_arguments_only(
    can_use: Any, flag: str, dtype: interlock.dtype
) -> None:
    for wrong in (3, None, interlock.ones(1)):
        with pytest.raises(TypeError, match=f"{can_use.__name__}: params must be an SDPAParams"):
            can_use(wrong)
    with pytest.raises(TypeError, match=f"{can_use.__name__}: debug must be a bool"):
        can_use(params(), "yes")


def test_availability_functions_return_the_supported_features() -> None:
    assert cuda.is_built() is True
    assert cuda.is_flash_attention_available() is False
    assert cuda.is_ck_sdpa_available() is False
