"""Reading and assigning each flag: values, wrong types, messages, deletion and deprecated aliases."""

from __future__ import annotations

import pytest
from interlock import backends, errors, get_float32_matmul_precision, set_float32_matmul_precision

from tests.unit.backends.flag_setters import FUNCTIONS, MODULES, module_named, own_flags, refused_by
from tests.unit.backends.flag_specs import BY_NAME, read_all

pytestmark = pytest.mark.usefixtures("restored")

HALVES = ("fp16", "bf16")


def test_older_alias_writes_the_nodes_it_covers() -> None:
    backends.fp32_precision = "tf32"
    backends.cudnn.allow_tf32 = False
    assert backends.cudnn.allow_tf32 is False
    assert (backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision) == ("ieee", "ieee")
    assert backends.cuda.matmul.allow_tf32 is True
    backends.cuda.matmul.allow_tf32 = False
    assert backends.cuda.matmul.fp32_precision == "ieee"


@pytest.mark.parametrize(
    ("precision", "nodes"),
    [("highest", ("ieee", "ieee")), ("high", ("tf32", "tf32")), ("medium", ("tf32", "bf16"))],
)
def test_set_float32_matmul_precision_writes_both_matmul_nodes(
    precision: str, nodes: tuple[str, str]
) -> None:
    set_float32_matmul_precision(precision)
    assert get_float32_matmul_precision() == precision
    assert (backends.cuda.matmul.fp32_precision, backends.mkldnn.matmul.fp32_precision) == nodes


@pytest.mark.parametrize(
    ("wrong", "kind"), [("bogus", ValueError), ("", ValueError), (3, TypeError), (None, TypeError)]
)
def test_set_float32_matmul_precision_refuses_a_wrong_value(wrong: object, kind: type[Exception]) -> None:
    set_float32_matmul_precision("high")
    with pytest.raises(kind) as caught:
        set_float32_matmul_precision(wrong)
    assert isinstance(caught.value, RuntimeError)
    assert "highest" in str(caught.value) or kind is TypeError
    assert get_float32_matmul_precision() == "high"


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize(
    ("given", "reads"),
    [
        (True, (True, True)),
        (False, (False, True)),
        ((False,), (False, True)),
        ((False, False), (False, False)),
        ([False, True], (False, True)),
        ((True, True), (True, True)),
    ],
)
def test_reduction_accepts_a_bool_or_one_or_two_bools(
    half: str, given: object, reads: tuple[bool, bool]
) -> None:
    name = f"allow_{half}_reduced_precision_reduction"
    setattr(backends.cuda.matmul, name, given)
    assert getattr(backends.cuda.matmul, name) is reads[0]
    assert getattr(backends.cuda.matmul, f"{name}_split_k") is reads[1]


def test_set_flags_returns_previous_values_in_argument_order() -> None:
    assert backends.cudnn.set_flags(_enabled=False, _depthwise_kernel="native") == (
        *(True, False, 10, False, True, "none", "auto"),
    )
    assert backends.cudnn.set_flags() == (False, False, 10, False, True, "none", "native")
    assert backends.mkldnn.set_flags(False) == (True, False, BY_NAME["mkldnn.allow_tf32"].default, "none")
    assert backends.set_flags("ieee") == ("none",)
    assert backends.set_flags() == ("ieee",)


def test_set_flags_ignores_omitted_arguments() -> None:
    backends.cudnn.fp32_precision = "ieee"
    backends.cudnn.benchmark_limit = 4
    backends.cudnn.set_flags(_enabled=False)
    assert (backends.cudnn.fp32_precision, backends.cudnn.benchmark_limit) == ("ieee", 4)
    assert (backends.cudnn.enabled, backends.cudnn.benchmark) == (False, False)
    backends.mkldnn.fp32_precision = "bf16"
    backends.mkldnn.set_flags(_deterministic=True)
    assert (backends.mkldnn.fp32_precision, backends.mkldnn.deterministic) == ("bf16", True)


@pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "generic")
def test_set_flags_changes_nothing_if_one_argument_is_wrong(module: str) -> None:
    flags, set_flags = own_flags(module), module_named(module).set_flags
    good = {f"_{flag.attribute}": flag.other for flag in flags}
    before, values, epoch = backends.snapshot(), read_all(), backends.epoch()
    for flag in flags:
        for wrong in flag.wrong:
            if wrong is None:
                continue  # not given
            with pytest.raises(RuntimeError, match=rf"backends\.{flag.name} "):
                set_flags(**{**good, f"_{flag.attribute}": wrong})
            assert (backends.snapshot(), read_all(), backends.epoch()) == (before, values, epoch)
    set_flags(**good)
    assert [flag.get() for flag in flags] == [flag.other for flag in flags]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_writes_all_of_its_flags_or_none(name: str) -> None:
    function, names = FUNCTIONS[name]
    flags, before = [BY_NAME[each] for each in names], read_all()
    for number, flag in enumerate(flags):
        for wrong in refused_by(name, flag):
            values = [other.other for other in flags]
            values[number] = wrong
            with pytest.raises(RuntimeError, match=rf"backends\.{flag.name} "):
                function(*values)
            assert read_all() == before
    function(*(flag.other for flag in flags))
    assert [flag.get() for flag in flags] == [flag.other for flag in flags]


def test_unknown_argument_is_a_type_error() -> None:
    for module in map(module_named, MODULES):
        with pytest.raises(TypeError):
            module.set_flags(_bogus=True)
        with pytest.raises(TypeError):
            module.flags(bogus=True)


def test_error_classes_derive_from_those_of_pytorch_and_builtin_ones() -> None:
    assert {TypeError, RuntimeError} <= set(errors.FlagTypeError.__mro__)
    assert {ValueError, RuntimeError} <= set(errors.FlagValueError.__mro__)
    assert issubclass(errors.FlagsFrozenError, RuntimeError)
    assert not issubclass(errors.FlagsFrozenError, (TypeError, ValueError))
