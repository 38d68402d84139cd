"""The types of registered flags, and their registration."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest
from interlock import backends, capture, errors
from interlock.backends import Flag, Level, register

from tests.helpers.subprocess import run_program, run_python

pytestmark = pytest.mark.usefixtures("restored")

untyped: Any = register

NUMBERS = itertools.count()
LARGEST = 2**60


@dataclass(frozen=True)
class Kind:
    """A type of registered flags."""

    default: Any
    good: tuple[Any, ...]
    wrong_types: tuple[Any, ...]
    wrong_values: tuple[Any, ...]
    texts: dict[str, Any]
    """Texts of its variable, each with the value."""
    wrong_texts: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def register(self) -> Flag[Any]:
        """A new flag of this type."""
        return register(f"register_types.flag{next(NUMBERS)}", self.default, doc="A flag.", **self.options)


SIGNED = {"minimum": -LARGEST}
RATIO = {"minimum": 0.0, "maximum": 1.0}
KINDS = {
    "bool": Kind(False, (True, False), (1, None, "x", 1.5), (), {"1": True, "FALSE": False}, ("none", "2")),
    "signed int": Kind(
        -1,
        (-LARGEST, -5, 0, LARGEST),
        (True, 1.5, "1", None),
        (LARGEST + 1, -LARGEST - 1, 2**70, -(2**70)),
        {"-7": -7, " 12 ": 12},
        ("1.5", "", "none", str(2**62)),
        options=SIGNED,
    ),
    "float": Kind(
        0.1,
        (0.0, -2.5, 1e-300, -1e300, 5e-324, sys.float_info.max, math.inf, -math.inf, math.pi),
        (True, "1.0", None, [1.0]),
        (math.nan, 2**2000),
        {"1": 1.0, "-2.5e-3": -0.0025, "inf": math.inf},
        ("nan", "one", "none", ""),
    ),
    "float with a range": Kind(
        0.5, (0.0, 1, 0.25), (True, "x"), (1.5, -0.1, 2), {"0.75": 0.75}, ("1.5",), options=RATIO
    ),
    "str": Kind(
        "auto",
        ("", "x", "none", "a b\n", "日本語", "a\0b", "x" * 65_536),
        (1, None, b"x", ["x"]),
        ("x" * 65_537,),
        {"": "", " padded ": " padded ", "None": "None"},
        (),
    ),
    "choice": Kind(
        "a",
        ("a", "b"),
        (1.5, None),
        ("c", 3),
        {"b": "b", "B": "b"},
        ("c",),
        options={"type": Literal["a", "b"]},
    ),
}
OPTIONAL = {
    f"optional {name}": Kind(
        default,
        (None, *kind.good),
        tuple(wrong for wrong in kind.wrong_types if wrong is not None),
        kind.wrong_values,
        kind.texts | ({} if name == "str" else {"none": None, "None": None}),
        tuple(text for text in kind.wrong_texts if text != "none"),
        options={"type": type(kind.default), **kind.options}
        if default is None
        else {**kind.options, "optional": True},
    )
    for name, kind in KINDS.items()
    for default in ((None,) if name != "float" else (None, 0.5))
}
EACH = pytest.mark.parametrize("kind", (KINDS | OPTIONAL).values(), ids=KINDS | OPTIONAL)


def is_same(one: object, other: object) -> bool:
    """Return whether two values are equal in type, value and, for floats, sign."""
    return type(one) is type(other) and repr(one) == repr(other)


def as_read(kind: Kind, given: object) -> object:
    """Return the value that a flag of this type reads as; a float flag converts an int."""
    is_float = "float" in (type(kind.default).__name__, getattr(kind.options.get("type"), "__name__", ""))
    return float(given) if is_float and isinstance(given, int) else given


@EACH
def test_registered_flag_can_be_set_to_each_of_its_values(kind: Kind) -> None:
    flag = kind.register()
    assert is_same(flag.value, kind.default)
    for given in kind.good:
        held = as_read(kind, given)
        flag.value = given
        assert is_same(flag.value, held)
        assert backends.explain(flag.name)[1:3] == (held, Level.PROCESS)
        del flag.value
        with flag.override(given):
            assert is_same(flag.value, held)
            state = capture()
        assert is_same(state.run(lambda: flag.value), held)
        with ThreadPoolExecutor(1) as pool:
            assert is_same(pool.submit(lambda: flag.value).result(), kind.default)
        with backends.override({flag: given}), backends.override(**{flag.name: given}):
            assert is_same(flag.value, held)
    assert is_same(flag.value, kind.default)


@EACH
def test_registered_flag_refuses_other_values_and_is_unchanged(kind: Kind) -> None:
    flag = kind.register()
    flag.value = kind.good[-1]
    before = backends.snapshot()
    for error, wrongs in (
        (errors.FlagTypeError, kind.wrong_types),
        (errors.FlagValueError, kind.wrong_values),
    ):
        for wrong in wrongs:
            for write in (lambda value: setattr(flag, "value", value), flag.override):
                with pytest.raises(error, match=rf"^{flag.name} must be ") as caught:
                    write(wrong)
                assert len(str(caught.value)) < 400
    assert backends.snapshot() == before


@EACH
@pytest.mark.parametrize("way", ["pickle", "json"])
def test_snapshot_restores_each_value(kind: Kind, way: str) -> None:
    flag = kind.register()
    for given in kind.good:
        flag.value = given
        held = flag.value
        taken: Any = backends.snapshot()
        taken = pickle.loads(pickle.dumps(taken)) if way == "pickle" else json.loads(json.dumps(taken))
        backends.reset()
        assert is_same(flag.value, kind.default)
        backends.restore(taken)
        assert is_same(flag.value, held)


@EACH
def test_register_assigns_each_value_that_was_restored_before(kind: Kind) -> None:
    name = f"register_types.early{next(NUMBERS)}"
    backends.restore([(name, kind.good[0], "process")])
    assert is_same(register(name, kind.default, doc="x", **kind.options).value, as_read(kind, kind.good[0]))


@EACH
def test_variable_sets_a_registered_flag(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, value in kind.texts.items():
        monkeypatch.setenv(f"REGISTER_TYPES_FLAG{peek()}", text)
        flag = kind.register()
        assert is_same(flag.value, value), text
        assert backends.explain(flag.name)[2:4] == (Level.ENVIRONMENT, flag.name.replace(".", "_").upper())
    for text in kind.wrong_texts:
        monkeypatch.setenv(f"REGISTER_TYPES_FLAG{peek()}", text)
        with pytest.warns(errors.FlagEnvironmentWarning, match=r"register_types\.flag\d+ must be"):
            flag = kind.register()
        assert is_same(flag.value, kind.default), text


def peek() -> int:
    """The number of the next flag."""
    global NUMBERS
    number = next(NUMBERS)
    NUMBERS = itertools.chain([number], NUMBERS)  # type: ignore[assignment]
    return number


def test_float_and_int_flags_accept_numbers_of_numpy() -> None:
    ratio = register("register_types.numpy", 0.5, doc="x")
    ratio.value = np.float64(0.25)
    assert is_same(ratio.value, 0.25)
    ratio.value = np.int64(2)
    assert is_same(ratio.value, 2.0)


def test_threads_that_write_texts_read_only_complete_ones() -> None:
    text = register("register_types.many", "", doc="x")
    texts = [f"text {number} " + "x" * number for number in range(200)]

    def write(first: int) -> bool:
        for each in texts[first::4]:
            text.value = each
            with text.override(each):
                if text.value != each:
                    return False
        return text.value in texts

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(write, range(4)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: untyped("a.b", None, doc="x"), errors.FlagTypeError, "give the type"),
        (lambda: untyped("a.b", None, doc="x", type=bytes), errors.FlagTypeError, "type must be"),
        (
            lambda: untyped("a.b", 1, doc="x", type=int | None),
            errors.FlagTypeError,
            "optional=True also accepts",
        ),
        (lambda: untyped("a.b", 1.5, doc="x", type=int), errors.FlagTypeError, "must be an int, got 1.5"),
        (lambda: untyped("a.b", math.nan, doc="x"), errors.FlagRegistrationError, "got nan"),
        (
            lambda: untyped("a.b", 2.0, doc="x", maximum=1),
            errors.FlagRegistrationError,
            "at most the maximum 1.0",
        ),
        (
            lambda: untyped("a.b", 0, doc="x", minimum=1),
            errors.FlagRegistrationError,
            "at least the minimum 1",
        ),
        (
            lambda: untyped("a.b", 0, doc="x", minimum=-(2**61)),
            errors.FlagRegistrationError,
            "minimum must be at least -",
        ),
        (
            lambda: untyped("a.b", 0, doc="x", minimum="1"),
            errors.FlagRegistrationError,
            "minimum must be an int",
        ),
        (lambda: untyped("a.b", "x", doc="x", minimum=1), errors.FlagTypeError, "require an int or float"),
        (
            lambda: untyped("a.b", "x" * 70_000, doc="x"),
            errors.FlagRegistrationError,
            "at most 65536 bytes long",
        ),
        (
            lambda: untyped("a.b", "a", doc="x", type=Literal["a"], choices=["a"]),
            errors.FlagTypeError,
            "must not be given",
        ),
        (
            lambda: untyped("a.b", 1, doc="x", type=Literal[1, 2]),
            errors.FlagTypeError,
            "got an item of type int",
        ),
        (lambda: untyped("a.b", 1, doc="x", optional=1), errors.FlagTypeError, "optional must be a bool"),
        (
            lambda: untyped("a.b", 1, doc="x", variable="A B"),
            errors.FlagRegistrationError,
            "letters, digits",
        ),
        (
            lambda: untyped("a.b", 1, doc="x", variable="INTERLOCK_B"),
            errors.FlagRegistrationError,
            "one that interlock reads",
        ),
        (lambda: untyped("a.b", 1, doc="x", variable=3), errors.FlagTypeError, "variable must be a str"),
        (lambda: untyped("a.b", 1, doc="x", affects=3), errors.FlagTypeError, "affects must be a str"),
    ],
)
def test_register_refuses_an_invalid_type_or_range(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
    with pytest.raises(errors.UnknownFlagError):
        backends.explain("a.b")


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ({"default": 1}, {"default": 2}, "the default is 1, not 2"),
        ({"default": 1}, {"default": 1.0}, "the type is int, not float"),
        ({"default": 1}, {"default": 1, "maximum": 3}, f"the range of values is 0 to {LARGEST}, not 0 to 3"),
        ({"default": 1}, {"default": 1, "optional": True}, "the type is int, not int or None"),
        ({"default": "a"}, {"default": "b"}, "the default is 'a', not 'b'"),
        ({"default": "a"}, {"default": "a", "choices": ["a"]}, "the type is str, not choice"),
        (
            {"default": True},
            {"default": True, "variable": "OTHER_X"},
            "the variable is REGISTER_TYPES_.*, not OTHER_X",
        ),
    ],
)
def test_register_names_the_difference_from_the_existing_flag(
    first: dict[str, Any], second: dict[str, Any], difference: str
) -> None:
    name = f"register_types.differs{next(NUMBERS)}"
    register(name, doc="One text.", **first)
    with pytest.raises(errors.FlagRegistrationError, match=difference):
        register(name, doc="One text.", **second)


def test_register_again_with_another_doc_gives_the_same_flag() -> None:
    first = register("register_types.doc", 1, doc="One text.", affects="retries")
    assert register("register_types.doc", 1, doc="Another text.") == first
    assert backends.explain(first.name).affects == "retries in register_types"


def test_explain_of_a_registered_flag_names_what_it_affects() -> None:
    flag = register("register_types.obeyed", False, doc="x")
    assert backends.explain(flag.name).affects == "register_types, which registered it"


def test_flag_reads_the_variable_that_it_was_registered_with() -> None:
    done = run_python(
        """
        from interlock import backends
        flag = backends.register("mylib.level", 1, doc="x", variable="MYLIB_LOG_LEVEL")
        print(flag.value, backends.explain(flag.name).set_by)
        """,
        env={"MYLIB_LOG_LEVEL": "7", "MYLIB_LEVEL": "9"},
    )
    assert (done.code, done.stdout) == (0, "7 MYLIB_LOG_LEVEL\n"), done.stderr


USES = {
    "check_variables": "backends.check_variables('mylib')",
    "explain": "backends.explain('mylib.verbose')",
    "explain of a Flag": "backends.explain(verbose)",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_misspelt_variable_of_a_library_warns_once_at_a_use(use: str) -> None:
    env = {"MYLIB_VERBOS": "1", "MYLIB_LEVEL_A": "2", "MYLIB_HOME": "/x", "OTHER_X": "1"}
    done = run_program("backends.flags.register_with_misspelt_variables", f"{use}; {use}", env=env)
    assert done.code == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("MYLIB_VERBOS is ignored: ")
    assert "did you mean MYLIB_VERBOSE" in line
    assert done.stderr == ""


def test_register_after_a_use_reads_its_variable_and_warns_of_nothing() -> None:
    done = run_program(
        "backends.flags.register_after_a_use_reads_its_variable_and_warns_of_nothing",
        env={"QY": "none", "Q_Z": "NONE", "Q_W": "2.5"},
    )
    assert (done.code, done.stdout, done.stderr) == (0, "None None 2.5 Q_W\n", "")


def test_check_variables_ignores_a_variable_of_another_library() -> None:
    done = run_python(
        """
        from interlock import backends
        backends.register("mylib.verbose", False, doc="x")
        backends.register("other.level", 1, doc="x", variable="MYLIB_VERBOS")
        backends.check_variables("mylib")
        """,
        env={"MYLIB_VERBOS": "1"},
    )
    assert (done.code, done.stdout, done.stderr) == (0, "", "")


def test_check_variables_refuses_an_invalid_name() -> None:
    with pytest.raises(errors.FlagTypeError, match=r"^check_variables: library must be a str, got int$"):
        backends.check_variables(3)  # type: ignore[arg-type]


def test_explain_accepts_a_flag_object_like_override() -> None:
    flag = register("register_types.explained", 1, doc="x")
    assert backends.explain(flag) == backends.explain(flag.name)
    with flag.override(2):
        assert backends.explain(flag).value == 2
    with pytest.raises(errors.FlagTypeError, match="must be a str"):
        backends.explain(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("default", "value"),
    [("''", "str(n)"), ("0.5", "1e200 + n * 1e190"), ("0.5", "5e-324 * (n + 1)")],
)
def test_flag_accepts_any_number_of_distinct_values(default: str, value: str) -> None:
    done = run_program("backends.flags.flag_accepts_any_number_of_distinct_values", default, value)
    assert done.code == 0, done.stderr


@pytest.mark.parametrize("number", [2**63, 2**70, -(2**70), 10**30, int(sys.float_info.max)])
def test_float_flag_accepts_an_int_beyond_64_bits(number: int) -> None:
    flag = register(f"register_types.huge{next(NUMBERS)}", 0.5, doc="x")
    with flag.override(number):
        assert flag.value == float(number)
    other = register(f"register_types.huge{next(NUMBERS)}", number, type=float, doc="x", minimum=number)
    assert other.value == float(number)


def test_float_flag_refuses_an_int_beyond_the_largest_float() -> None:
    flag = register("register_types.overflow", 0.5, doc="x")
    with pytest.raises(errors.FlagValueError, match=r"got an int of more than 128 bits$"):
        flag.override(10**400)
    with pytest.raises(errors.FlagRegistrationError, match=r"got an int of more than 128 bits$"):
        register("register_types.overflows", 10**400, type=float, doc="x")


def test_library_without_misspelt_variables_warns_of_nothing() -> None:
    done = run_program(
        "backends.flags.register_with_misspelt_variables",
        "verbose.value",
        env={"MYLIB_VERBOSE": "1", "MYLIB_PATH": os.sep},
    )
    assert (done.code, done.stdout.strip(), done.stderr) == (0, "", "")


def test_list_of_ints_and_floats_is_one_of_floats() -> None:
    for name, default in (("types.mixed", [1, 2.5]), ("types.mixed_again", (2.5, 1))):
        flag = backends.register(name, default, doc="x")
        assert flag.value == tuple(default)
        assert [type(item) for item in flag.value] == [float, float]
        assert backends.describe(flag).type == "tuple[float, ...]"
        backends.unregister(flag)
    with pytest.raises(errors.FlagRegistrationError, match="default must be"):
        backends.register("types.mixed", [1, "a", 2.5], doc="x")
    with pytest.raises(errors.FlagRegistrationError, match="default must be"):
        backends.register("types.mixed", [True, 2.5], doc="x")
