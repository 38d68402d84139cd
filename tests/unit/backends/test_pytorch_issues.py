"""Issues of PyTorch about flags, and interlock's behaviour; docs/pytorch_issues.md lists them.

Tests of every flag are in `test_flag_scopes.py`, `test_every_flag.py` and `test_flag_env_snapshot_patch.py`,
tests of several flags written at once in `test_scopes.py` and `test_assignment.py`.
"""

from __future__ import annotations

import inspect
import itertools
import random
import string
import warnings

import interlock
import pytest
from interlock import backends, errors

from tests.helpers.subprocess import eval_program, run_program
from tests.helpers.thread_worker import Worker
from tests.unit.backends.flag_setters import FUNCTIONS, MODULES, module_named, own_flags, refused_by
from tests.unit.backends.flag_specs import BY_NAME, CHANGEABLE, FLAGS, Flag, ids, read_all

pytestmark = pytest.mark.usefixtures("restored")

Pair = tuple[Worker, Worker]
EACH_MODULE = pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "generic")


# PyTorch: scopes save and restore the process's value, so overlapping threads restore a wrong one.


@pytest.mark.parametrize("flag", CHANGEABLE, ids=ids)
def test_overlapping_scopes_on_two_threads_restore_every_flag(flag: Flag, workers: Pair) -> None:
    first, second = workers
    before = read_all()
    scopes = [backends.override(**{flag.name: flag.other}) for _ in workers]
    first.do(scopes[0].__enter__)
    assert (first.do(flag.get), second.do(flag.get)) == (flag.other, flag.default)
    second.do(scopes[1].__enter__)
    first.do(lambda: scopes[0].__exit__(None, None, None))
    assert (first.do(flag.get), second.do(flag.get)) == (flag.default, flag.other)
    second.do(lambda: scopes[1].__exit__(None, None, None))
    assert first.do(read_all) == second.do(read_all) == read_all() == before


# PyTorch: after a write through a newer name, reading an older one raises.


def test_older_aliases_never_raise_on_read() -> None:
    held = itertools.product(*(("none", "ieee", "tf32"),) * 2, ("none", "ieee", "tf32", "bf16"))
    for conv, rnn, generic in held:
        backends.cudnn.conv.fp32_precision = conv
        backends.cudnn.rnn.fp32_precision = rnn
        backends.fp32_precision = generic
        assert hasattr(backends.cudnn, "allow_tf32")
        reads = (backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision)
        assert backends.cudnn.allow_tf32 is (reads == ("tf32", "tf32"))
        assert interlock.get_float32_matmul_precision() in ("highest", "high", "medium")


# PyTorch: a scope without precision arguments pins the precision, so later writes above have no effect.


@EACH_MODULE
def test_flags_without_arguments_keeps_the_precision_tree(module: str) -> None:
    """`flags()` sets every flag of its module, as in PyTorch, and no precision node."""
    nodes = [flag.name for flag in FLAGS if flag.attribute == "fp32_precision"]

    def tree() -> list[object]:
        return [backends.explain(name)[1:] for name in nodes]

    before, process = tree(), backends.snapshot()
    with module_named(module).flags():
        pass
    assert (tree(), backends.snapshot()) == (before, process)
    backends.fp32_precision = "ieee"
    assert {BY_NAME[name].get() for name in nodes} == {"ieee"}
    assert {backends.explain(name).level for name in nodes} == {"process"}
    with backends.cudnn.flags(enabled=True):
        assert backends.cudnn.conv.fp32_precision == "ieee", "above a node that is unset"


# PyTorch: unrelated code freezes flags permanently, and the error does not name the line.


def test_freeze_ends_and_its_error_names_the_flag_and_the_line() -> None:
    line = inspect.getsourcelines(test_freeze_ends_and_its_error_names_the_flag_and_the_line)[1] + 2
    with backends.frozen(), pytest.raises(errors.FlagsFrozenError) as caught:
        backends.cudnn.enabled = False
    assert "backends.cudnn.enabled" in str(caught.value)
    assert f"test_pytorch_issues.py:{line}" in str(caught.value)
    backends.cudnn.enabled = False
    assert backends.cudnn.enabled is False


# PyTorch: `flags()` lifts the freeze during enter and exit, so writes of other threads succeed.


@pytest.mark.parametrize("freeze", ["backends.disable_global_flags()", "backends.frozen().__enter__()"])
def test_freeze_holds_during_scopes_on_two_other_threads(freeze: str) -> None:
    assert eval_program("backends.flags.write_during_scopes_on_two_threads", freeze, seconds=30) == [
        0,
        True,
        True,
        True,
        [True, False, False],
    ]


# PyTorch: omitted arguments of `flags()` reset flags to fixed values; one of them disables the library.


@EACH_MODULE
def test_override_keeps_omitted_flags_and_flags_sets_defaults(module: str) -> None:
    """`flags()` is as in PyTorch, without a warning; `override` keeps the other flags unchanged."""
    flags = own_flags(module)
    for flag in flags:
        flag.set(flag.other)
    before = read_all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with module_named(module).flags():
            inside = read_all()
    parameters = inspect.signature(module_named(module).flags).parameters
    for flag in flags:
        default = parameters[flag.attribute].default
        if default is not None and "32" not in flag.name:
            assert inside[flag.name] == default
    with backends.override(**{flags[0].name: flags[0].base}):
        inside = read_all()
        assert inside.pop(flags[0].name) == flags[0].base
        assert all(value == before[name] for name, value in inside.items() if "32" not in name or module)
    assert read_all() == before


# PyTorch: an unsupported engine aborts the process.


def test_unsupported_engine_is_refused_with_the_supported_ones() -> None:
    draw = random.Random(21)
    letters = string.printable + "\0\u00e9\u4e00\U0001f600"
    fuzzed = ["".join(draw.choices(letters, k=draw.randrange(12))) for _ in range(500)]
    for engine in ("qnnpack", "fbgemm", "x86", "None", "none\0", " none", *fuzzed):
        allowed = r"^backends\.quantized\.engine must be 'native', 'onednn' or 'none', got "
        with pytest.raises(errors.FlagValueError, match=allowed):
            backends.quantized.engine = engine  # type: ignore[assignment]
    assert backends.quantized.engine == "native"
    assert backends.quantized.supported_engines == ["native", "onednn", "none"]


# PyTorch: documented uses warn, and so does the library itself.


def test_neither_the_import_nor_a_round_trip_of_every_flag_warns() -> None:
    table = {flag.name: [value for value, _ in flag.accepted] for flag in FLAGS}
    done = run_program("backends.flags.pytorch_issues_round_trip", table, MODULES, options=["-W", "error"])
    assert done == (0, "", "")


# PyTorch: the message about one flag names another.


@pytest.mark.parametrize("called", FUNCTIONS)
def test_function_names_the_flag_that_it_writes_in_errors(called: str) -> None:
    function, names = FUNCTIONS[called]
    for position, name in enumerate(names):
        arguments = [BY_NAME[each].other for each in names]
        arguments[position] = refused_by(called, BY_NAME[name])[0]
        with pytest.raises(RuntimeError, match=rf"^backends\.{name} must be "):
            function(*arguments)
