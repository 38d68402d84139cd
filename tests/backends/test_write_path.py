"""Reading and assigning each flag: values, wrong types, messages, deletion, the legacy views."""

from __future__ import annotations

import contextlib
import inspect

import pytest
from interlock import backends, errors, get_float32_matmul_precision, set_float32_matmul_precision

from tests.flag_table import BY_NAME, FLAGS, STORED, WRONG, Flag, ids, read_all

pytestmark = pytest.mark.usefixtures("restored")

ALL = pytest.mark.parametrize("flag", FLAGS, ids=ids)
HALVES = ("fp16", "bf16")


def explained_names(owner: object, prefix: str = "") -> set[str]:
    """The dotted names below `owner` that `explain` knows."""
    found: set[str] = set()
    for name in dir(owner):
        if name.startswith("_"):
            continue
        value = getattr(owner, name)
        with contextlib.suppress(Exception):
            found.add(backends.explain(prefix + name).name)
        is_object = not callable(value) and type(value).__module__ != "builtins"
        if (is_object or inspect.ismodule(value)) and prefix.count(".") < 2 and value is not owner:
            found |= explained_names(value, f"{prefix}{name}.")
    return found


def test_every_flag_of_the_package_is_in_the_table_and_the_other_way_round() -> None:
    split_k = {f"cuda.matmul.allow_{half}_reduced_precision_reduction_split_k" for half in HALVES}
    assert explained_names(backends) - split_k == {flag.name for flag in FLAGS}


@ALL
def test_a_flag_starts_from_its_default(flag: Flag) -> None:
    assert flag.get() == flag.default
    assert type(flag.get()) is type(flag.default)


@ALL
def test_what_is_assigned_reads_back(flag: Flag) -> None:
    for value in flag.legal:
        flag.set(value)
        assert flag.get() == value
        assert type(flag.get()) is type(value)


@pytest.mark.parametrize(("flag", "wrong"), WRONG, ids=ids)
def test_a_wrong_value_is_refused_and_changes_nothing(flag: Flag, wrong: object) -> None:
    flag.set(flag.other)
    before, values = backends.snapshot(), read_all()
    expected = errors.FlagValueError if wrong in flag.wrong_values else errors.FlagTypeError
    with pytest.raises(expected) as caught:
        flag.set(wrong)
    assert isinstance(caught.value, RuntimeError), "what PyTorch raises"
    assert isinstance(caught.value, (TypeError, ValueError)), "what Python would raise"
    assert (backends.snapshot(), read_all()) == (before, values)


@pytest.mark.parametrize(("flag", "wrong"), WRONG, ids=ids)
def test_the_message_names_the_flag_what_was_given_and_what_is_allowed(flag: Flag, wrong: object) -> None:
    with pytest.raises(RuntimeError) as caught:
        flag.set(wrong)
    message = str(caught.value)
    assert flag.name in message
    assert repr(wrong) in message or type(wrong).__name__ in message
    for word in flag.allowed:
        assert word in message


@pytest.mark.parametrize("number", [2**64, 10**30, -(10**30)])
def test_a_number_that_does_not_fit_is_refused_with_the_name_of_the_flag(number: int) -> None:
    with pytest.raises(errors.FlagValueError, match=r"cudnn\.benchmark_limit"):
        backends.cudnn.benchmark_limit = number
    assert backends.cudnn.benchmark_limit == 10


@ALL
def test_deleting_drops_the_assigned_value(flag: Flag) -> None:
    for value in flag.legal:
        flag.set(value)
        flag.delete()
        assert flag.get() == flag.default
        flag.delete()
        assert flag.get() == flag.default, "deleting twice is no error"


@pytest.mark.parametrize("flag", STORED, ids=ids)
def test_deleting_leaves_no_trace_in_the_snapshot(flag: Flag) -> None:
    before = backends.snapshot()
    flag.set(flag.other)
    assert backends.snapshot() != before
    flag.delete()
    assert backends.snapshot() == before


@pytest.mark.parametrize("flag", STORED, ids=ids)
def test_a_flag_moves_no_other_plain_flag(flag: Flag) -> None:
    plain = [other for other in FLAGS if "tf32" not in other.name and "fp32" not in other.name]
    before = {other.name: other.get() for other in plain if other is not flag}
    flag.set(flag.other)
    assert {other.name: other.get() for other in plain if other is not flag} == before


@ALL
def test_a_write_on_one_thread_is_seen_by_the_others(flag: Flag, workers) -> None:
    workers[0].do(lambda: flag.set(flag.other))
    assert flag.get() == flag.other
    assert workers[1].do(flag.get) == flag.other


def test_reset_brings_every_default_back() -> None:
    for flag in STORED:
        flag.set(flag.other)
    backends.reset()
    assert read_all() == {flag.name: flag.default for flag in FLAGS}


def test_the_older_views_never_raise_whatever_is_held() -> None:
    for conv in ("none", "ieee", "tf32"):
        for rnn in ("none", "ieee", "tf32"):
            for generic in ("none", "ieee", "tf32", "bf16"):
                backends.cudnn.conv.fp32_precision = conv
                backends.cudnn.rnn.fp32_precision = rnn
                backends.fp32_precision = generic
                assert hasattr(backends.cudnn, "allow_tf32")
                reads = (backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision)
                assert backends.cudnn.allow_tf32 is (reads == ("tf32", "tf32"))
                assert get_float32_matmul_precision() in ("highest", "high", "medium")


def test_an_older_view_holds_a_value_on_the_nodes_it_covers() -> None:
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
def test_the_matmul_precision_holds_a_value_on_both_matmul_nodes(
    precision: str, nodes: tuple[str, str]
) -> None:
    set_float32_matmul_precision(precision)
    assert get_float32_matmul_precision() == precision
    assert (backends.cuda.matmul.fp32_precision, backends.mkldnn.matmul.fp32_precision) == nodes


@pytest.mark.parametrize(
    ("wrong", "kind"), [("bogus", ValueError), ("", ValueError), (3, TypeError), (None, TypeError)]
)
def test_a_wrong_matmul_precision_is_refused(wrong: object, kind: type[Exception]) -> None:
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
def test_a_reduction_takes_a_bool_or_one_or_two_bools(
    half: str, given: object, reads: tuple[bool, bool]
) -> None:
    name = f"allow_{half}_reduced_precision_reduction"
    setattr(backends.cuda.matmul, name, given)
    assert getattr(backends.cuda.matmul, name) is reads[0]
    assert getattr(backends.cuda.matmul, f"{name}_split_k") is reads[1]


@pytest.mark.parametrize("half", HALVES)
def test_split_k_is_read_only(half: str) -> None:
    name = f"allow_{half}_reduced_precision_reduction_split_k"
    with pytest.raises(AttributeError, match=name):
        setattr(backends.cuda.matmul, name, False)
    assert getattr(backends.cuda.matmul, name) is True


def test_set_flags_returns_what_was_before_in_the_order_of_its_arguments() -> None:
    assert backends.cudnn.set_flags(_enabled=False, _depthwise_kernel="native") == (
        *(True, False, 10, False, True, "none", "auto"),
    )
    assert backends.cudnn.set_flags() == (False, False, 10, False, True, "none", "native")
    assert backends.mkldnn.set_flags(False) == (True, False, BY_NAME["mkldnn.allow_tf32"].default, "none")
    assert backends.set_flags("ieee") == ("none",)
    assert backends.set_flags() == ("ieee",)


def test_set_flags_leaves_what_is_not_given() -> None:
    backends.cudnn.fp32_precision = "ieee"
    backends.cudnn.benchmark_limit = 4
    backends.cudnn.set_flags(_enabled=False)
    assert (backends.cudnn.fp32_precision, backends.cudnn.benchmark_limit) == ("ieee", 4)
    assert (backends.cudnn.enabled, backends.cudnn.benchmark) == (False, False)
    backends.mkldnn.fp32_precision = "bf16"
    backends.mkldnn.set_flags(_deterministic=True)
    assert (backends.mkldnn.fp32_precision, backends.mkldnn.deterministic) == ("bf16", True)


CUDNN_SET = {
    "_enabled": (False, "x"),
    "_benchmark": (True, 1),
    "_benchmark_limit": (5, "x"),
    "_deterministic": (True, 2),
    "_allow_tf32": (False, "x"),
    "_fp32_precision": ("ieee", "bf16"),
    "_depthwise_kernel": ("native", "x"),
}
MKLDNN_SET = {
    "_enabled": (False, 0),
    "_deterministic": (True, "x"),
    "_allow_tf32": (True, 1),
    "_fp32_precision": ("bf16", 3),
}


@pytest.mark.parametrize("module", ["cudnn", "mkldnn"])
def test_one_wrong_argument_of_set_flags_leaves_everything_as_it_was(module: str) -> None:
    arguments = {"cudnn": CUDNN_SET, "mkldnn": MKLDNN_SET}[module]
    set_flags = getattr(backends, module).set_flags
    before, values = backends.snapshot(), read_all()
    for wrong in arguments:
        given = {name: bad if name == wrong else good for name, (good, bad) in arguments.items()}
        with pytest.raises(RuntimeError, match=f"{module}.{wrong.removeprefix('_')}"):
            set_flags(**given)
        assert (backends.snapshot(), read_all()) == (before, values)
    set_flags(**{name: good for name, (good, _) in arguments.items()})
    assert backends.snapshot() != before


def test_an_unknown_argument_is_a_type_error() -> None:
    for module in (backends, backends.cudnn, backends.mkldnn):
        with pytest.raises(TypeError):
            module.set_flags(_bogus=True)
        with pytest.raises(TypeError):
            module.flags(bogus=True)


def test_the_error_classes_derive_from_what_pytorch_raises_and_from_what_fits() -> None:
    assert {TypeError, RuntimeError} <= set(errors.FlagTypeError.__mro__)
    assert {ValueError, RuntimeError} <= set(errors.FlagValueError.__mro__)
    assert issubclass(errors.FlagsFrozenError, RuntimeError)
    assert not issubclass(errors.FlagsFrozenError, (TypeError, ValueError))
