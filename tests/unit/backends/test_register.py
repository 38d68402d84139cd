"""Flags of other libraries. A registration lasts beyond the test, so each test uses its own names."""

from __future__ import annotations

import base64
import gc
import pickle
import weakref
from collections.abc import Callable

import pytest
from interlock import backends, capture, errors
from interlock.backends import Flag, Level, register

from tests.helpers.subprocess import run_program, run_python

REFUSED = errors.FlagRegistrationError


def test_registered_flag_can_be_read_assigned_and_unset(restored: None) -> None:
    verbose = register("register_test.verbose", False, doc="Whether it prints.")
    assert verbose.value is False
    verbose.value = True
    assert verbose.value is True
    assert backends.explain(verbose.name).level is Level.PROCESS
    del verbose.value
    assert verbose.value is False


def test_default_determines_the_accepted_type(restored: None) -> None:
    retries = register("register_test.retries", 3, doc="How often it tries again.", maximum=10)
    color = register("register_test.color", "auto", doc="Which colors.", choices=("auto", "never"))
    retries.value = 10
    color.value = "never"
    assert (retries.value, color.value) == (10, "never")
    with pytest.raises(errors.FlagValueError, match=r"^register_test\.retries must be .* 10, got 11"):
        retries.value = 11
    with pytest.raises(errors.FlagValueError, match="'auto' or 'never', got 'always'"):
        color.value = "always"
    with pytest.raises(errors.FlagTypeError, match="must be an int"):
        retries.value = True
    assert (retries.value, color.value) == (10, "never")


def test_scopes_freezes_and_captured_states_include_the_flag() -> None:
    verbose = register("register_test.scoped", False, doc="Whether it prints.")
    with verbose.override(True):
        state = capture()
        assert verbose.value
    with backends.override(**{verbose.name: True}):
        assert verbose.value
    assert state.run(lambda: verbose.value)
    with (
        backends.frozen(),
        pytest.raises(errors.FlagsFrozenError, match=r"^register_test\.scoped"),
    ):
        verbose.value = True
    assert not verbose.value


def test_snapshot_restores_the_flag_and_reset_unsets_it(restored: None) -> None:
    verbose = register("register_test.kept", False, doc="Whether it prints.")
    verbose.value = True
    taken = pickle.loads(pickle.dumps(backends.snapshot()))
    backends.reset()
    assert not verbose.value
    backends.restore(taken)
    assert verbose.value


def test_register_assigns_a_value_that_was_restored_before(restored: None) -> None:
    backends.restore([("register_test.early", True, "process"), ("register_test.never", 1, "default")])
    assert register("register_test.early", False, doc="Whether it prints.").value
    assert backends.explain("register_test.early").level is Level.PROCESS
    with pytest.raises(errors.UnknownFlagError, match=r"backends\.cudnn\.benchmrak.* mean backends\.cudnn"):
        backends.restore([("cudnn.benchmrak", True, "process")])


def test_register_warns_of_a_restored_value_that_is_not_accepted(restored: None) -> None:
    backends.restore([("register_test.wrong", 3, "process")])
    with pytest.warns(errors.FlagEnvironmentWarning, match=r"restored is ignored: register_test\.wrong"):
        assert not register("register_test.wrong", False, doc="Whether it prints.").value


def test_worker_that_imports_the_library_later_gets_the_value(restored: None) -> None:
    sent = register("register_test.sent", False, doc="Whether it prints.")
    sent.value = True
    taken = base64.b64encode(pickle.dumps(backends.snapshot())).decode()
    done = run_python(
        f"""
        import base64, pickle
        from interlock import backends

        pickle.loads(base64.b64decode("{taken}")).install()
        print(backends.register("register_test.sent", False, doc="Whether it prints.").value)
        """
    )
    assert (done.code, done.stdout) == (0, "True\n"), done.stderr


def test_register_again_returns_the_same_flag() -> None:
    first, again = (register("register_test.again", 1, doc="A number.") for _ in range(2))
    assert first == again
    assert hash(first) == hash(again)
    assert first != register("register_test.other", 1, doc="A number.")
    with pytest.raises(REFUSED, match=r"registered already, and differently: the default is 1, not 2$"):
        register("register_test.again", 2, doc="A number.")
    with pytest.raises(REFUSED, match=r"the type is int, not bool; the default is 1, not False$"):
        register("register_test.again", False, doc="A number.")


def test_flag_is_pickled_as_its_name() -> None:
    verbose = register("register_test.pickled", False, doc="Whether it prints.")
    copied = pickle.loads(pickle.dumps(verbose))
    assert isinstance(copied, Flag)
    assert copied == verbose
    assert repr(copied) == repr(verbose) == "Flag('register_test.pickled')"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: register("cudnn.mine", False, doc="x"), REFUSED, "is reserved for interlock"),
        (lambda: register("interlock_cudnn.enabled", False, doc="x"), REFUSED, "is reserved for interlock"),
        (lambda: register("verbose", False, doc="x"), REFUSED, "<package>.<flag>"),
        (lambda: register("a.B", False, doc="x"), REFUSED, "in lower case"),
        (
            lambda: register("a.b", 3, doc="x", maximum=2),
            errors.FlagRegistrationError,
            "default must be at most the maximum 2",
        ),
        (
            lambda: register("a.b", "x", doc="x", choices=["y"]),
            errors.FlagRegistrationError,
            "default must be one of the choices",
        ),
        (lambda: register("a.b", b"x", doc="x"), errors.FlagTypeError, "got bytes"),  # type: ignore[call-overload]
        (lambda: register("a.b", -1, doc="x"), REFUSED, "default must be at least the minimum 0, got -1"),
        (
            lambda: register("a.b", 2**70, doc="x"),
            REFUSED,
            r"must be an int from -2\*\*60 to 2\*\*60, got 1180591620717411303424",
        ),
        (
            lambda: register("a.b", 1, doc="x", maximum=-1),
            REFUSED,
            "default must be at most the maximum -1, got 1",
        ),
        (lambda: register("a.b", 1, doc="x", maximum=2**61), REFUSED, "maximum must be at most"),
        (lambda: register("a.b", "x", doc="x", choices=["x", "x"]), REFUSED, "choices must be distinct"),
        (lambda: register("a.b", "x", doc="x", choices="xy"), errors.FlagTypeError, "sequence of str"),
        (lambda: register("a.b", True, doc="x", maximum=1), errors.FlagTypeError, "require an int or float"),
        (lambda: register(3, True, doc="x"), errors.FlagTypeError, "name must be a str"),  # type: ignore[call-overload]
    ],
)
def test_register_refuses_invalid_flags(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
    with pytest.raises(errors.UnknownFlagError):
        backends.explain("a.b")


def test_environment_sets_the_flag_by_the_prefix_of_its_library() -> None:
    done = run_program(
        "backends.flags.environment_sets_the_flag_by_the_prefix_of_its_library",
        env={"MYLIB_GOOD": "7", "MYLIB_BAD": "many"},
    )
    assert done.code == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "7 environment MYLIB_GOOD 1"
    assert "MYLIB_BAD is ignored: mylib.bad must be an int" in second
    assert "'many'" in second


def test_choice_with_capitals_is_found_in_the_environment() -> None:
    done = run_python(
        """
        from interlock import backends
        print(backends.register("mylib.level", "DEBUG", doc="x", choices=["DEBUG", "INFO", "info"]).value)
        """,
        env={"MYLIB_LEVEL": "INFO"},
    )
    assert (done.code, done.stdout, done.stderr) == (0, "INFO\n", "")


def test_flag_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"register_test\.again\.value"):
        bool(register("register_test.again", 1, doc="A number."))


def test_flag_accepts_the_name_by_position_or_keyword() -> None:
    verbose = register("register_test.named", False, doc="Whether it prints.")
    assert Flag(verbose.name) == Flag(name=verbose.name) == verbose
    with pytest.raises(errors.UnknownFlagError, match=r"register_test\.unnamed"):
        Flag("register_test.unnamed")
    with pytest.raises(errors.FlagTypeError, match="a str"):
        Flag(3)  # type: ignore[arg-type]
    wrong: list[Callable[[], object]] = [
        lambda: Flag(),  # type: ignore[call-arg]
        lambda: Flag(verbose.name, verbose.name),  # type: ignore[call-arg]
        lambda: Flag(text=verbose.name),  # type: ignore[call-arg]
        lambda: verbose.override(),  # type: ignore[call-arg]
        lambda: verbose.override(True, True),  # type: ignore[call-arg]
        lambda: verbose.override(values=True),  # type: ignore[call-arg]
    ]
    for call in wrong:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(AttributeError):
        verbose.name = "register_test.other"  # type: ignore[misc]
    with verbose.override(value=True):
        assert verbose.value


def test_flag_of_an_own_flag_reads_and_writes_it(restored: None) -> None:
    enabled = Flag[bool]("cudnn.enabled")
    assert enabled.value is backends.cudnn.enabled is True
    enabled.value = False
    assert backends.cudnn.enabled is False
    with enabled.override(True):
        assert backends.cudnn.enabled is True
    del enabled.value
    assert backends.cudnn.enabled is True


def test_flag_subclasses_may_have_attributes_and_are_collected() -> None:
    class Noted(Flag[bool]):
        note: object = None

    register("register_test.noted", False, doc="Whether it prints.")
    noted = Noted("register_test.noted")
    noted.note = noted
    gone = weakref.ref(noted)
    assert noted.value is False
    del noted
    gc.collect()
    assert gone() is None


def test_flag_refuses_a_scope_with_a_wrong_value() -> None:
    retries = register("register_test.scope_of_wrong", 3, doc="How often it tries again.", maximum=10)
    with pytest.raises(errors.FlagValueError, match="11"):
        retries.override(11)
    with pytest.raises(errors.FlagTypeError):
        retries.override(True)
    assert retries.value == 3
