"""Flags from the environment: read once, overridden by assignments; an invalid value warns."""

from __future__ import annotations

import re

import pytest
from interlock._core import backends as _native

from tests.helpers.subprocess import eval_program, eval_python, run_python

NAMESPACES = sorted({row["name"].partition(".")[0] for row in _native.table() if "." in row["name"]})


@pytest.mark.parametrize(("text", "value"), [("0", False), ("1", True), ("false", False), ("true", True)])
def test_bool_variables_accept_the_documented_spellings(text: str, value: bool) -> None:
    env = {"INTERLOCK_CUDNN_ENABLED": text, "INTERLOCK_MKLDNN_DETERMINISTIC": text}
    code = """
        from interlock import backends
        result = [backends.cudnn.enabled, backends.mkldnn.deterministic]
        result.append(backends.explain("cudnn.enabled").level)
    """
    assert eval_python(code, env=env) == [value, value, "environment"]


def test_invalid_variable_does_not_affect_valid_ones() -> None:
    code = """
        from interlock import backends
        print(backends.cudnn.enabled, backends.cudnn.benchmark_limit)
    """
    env = {"INTERLOCK_CUDNN_ENABLED": "0", "INTERLOCK_CUDNN_BENCHMARK_LIMIT": "many"}
    done = run_python(code, env=env)
    assert done.code == 0, done.stderr
    assert done.stdout == "False 10\n"
    assert done.stderr.count("INTERLOCK_CUDNN_BENCHMARK_LIMIT") >= 1


def test_environment_value_reappears_when_an_assignment_is_unset() -> None:
    assert eval_program(
        "backends.flags.environment_value_reappears_when_an_assignment_is_unset",
        env={"INTERLOCK_CUDNN_ENABLED": "0"},
    ) == [
        [False, "environment"],
        [True, "process"],
        [False, "scope"],
        False,
        [True, "process"],
        [False, "environment"],
        [False, "environment"],
    ]


def test_environment_is_read_once() -> None:
    assert eval_program("backends.flags.environment_is_read_once", env={"INTERLOCK_CUDNN_ENABLED": "0"}) == [
        False,
        False,
        False,
        False,
        False,
    ]


def test_precision_lookup_starts_from_the_environment_value_of_a_node() -> None:
    env = {"INTERLOCK_FP32_PRECISION": "ieee", "INTERLOCK_CUDNN_RNN_FP32_PRECISION": "tf32"}
    assert eval_program(
        "backends.flags.precision_lookup_starts_from_the_environment_value_of_a_node", env=env
    ) == ["ieee", "tf32", "ieee", False, "tf32", "tf32"]


def test_environment_level_is_in_the_snapshot_but_not_restored() -> None:
    program = "backends.flags.restore_a_snapshot_below_an_assigned_value"
    assert eval_program(program, env={"INTERLOCK_CUDNN_ENABLED": "0"}) == [False, "environment"]


def test_environment_may_set_a_precision_node_to_none() -> None:
    code = """
        from interlock import backends
        result = [backends.cudnn.conv.fp32_precision, backends.explain("cudnn.conv.fp32_precision").level]
    """
    env = {"INTERLOCK_CUDNN_CONV_FP32_PRECISION": "none"}
    assert eval_python(code, env=env) == ["none", "environment"]


@pytest.mark.parametrize(
    ("variable", "near", "allowed"),
    [
        ("INTERLOCK_CUDNN_ENABELD", "INTERLOCK_CUDNN_ENABLED", ("0, 1, false or true",)),
        ("INTERLOCK_CUDNN_CONV_FP32_PRECISON", "INTERLOCK_CUDNN_CONV_FP32_PRECISION", ("'ieee'", "'tf32'")),
        ("INTERLOCK_OPT_EINSUM_STRATEGIE", "INTERLOCK_OPT_EINSUM_STRATEGY", ("'greedy'", "'optimal'")),
        ("INTERLOCK_DEBUGG", "INTERLOCK_DEBUG", ("0, 1, false or true",)),
    ],
)
def test_unknown_variable_warns_with_a_suggestion_and_its_values(
    variable: str, near: str, allowed: tuple[str, ...]
) -> None:
    ((category, message),) = eval_program("backends.imports.warnings_of_the_import", env={variable: "1"})
    assert category == "FlagEnvironmentWarning"
    assert re.search(rf"\b{variable}\b", message)
    assert re.search(rf"\b{near}\b", message)
    assert all(word in message for word in allowed)


def test_unknown_variable_without_a_suggestion_warns_too() -> None:
    ((category, message),) = eval_program(
        "backends.imports.warnings_of_the_import", env={"INTERLOCK_ZZZYZX": "1"}
    )
    assert category == "FlagEnvironmentWarning"
    assert "INTERLOCK_ZZZYZX" in message


@pytest.mark.parametrize(
    "variable", ["CUDNN_ENABLED", "XINTERLOCK_CUDNN_ENABLED", "INTERLOCK", "interlock_x"]
)
def test_variables_with_another_prefix_are_ignored(variable: str) -> None:
    assert eval_program("backends.imports.warnings_of_the_import", env={variable: "1"}) == []


@pytest.mark.parametrize("name", NAMESPACES)
def test_flags_can_be_read_by_code_that_interrupts_the_import(name: str) -> None:
    assert all(eval_program("backends.imports.reads_that_interrupt_the_import", name))


def test_all_flags_can_be_read_while_backends_is_imported() -> None:
    assert eval_program("backends.imports.reads_that_interrupt_the_import_of_all") > 100


def test_import_that_a_handler_ends_is_repeated() -> None:
    assert eval_program("backends.imports.import_that_a_handler_ends") == ["default", "GenericModule"]


@pytest.mark.parametrize("module", ["interlock.backends", "interlock.backends._introspection"])
def test_function_that_interrupts_its_import_raises_with_the_reason(module: str) -> None:
    assert eval_program("backends.imports.use_that_interrupts_the_import", module) == [
        "interlock.backends.explain is used by code that interrupts its import, such as a signal handler; "
        "use the name once before"
    ]
