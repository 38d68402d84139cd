"""The report as text: contents, width and colours."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import pytest
from interlock import __features__
from interlock._cli import collect
from interlock._core import backends as _native

from tests.helpers import fake_libraries
from tests.helpers.subprocess import run_program, run_python
from tests.unit.cli.command import NEUTRAL, document, interlock, sections, text, variables

ESCAPE = "\x1b"
# Names and values of every length.
EVERYTHING = {
    "CUDA_HOME": "/somewhere" * 8,
    "INTERLOCK_ACCELERATOR": "host:2",
    "INTERLOCK_CUDA_MATMUL_ALLOW_BF16_REDUCED_PRECISION_REDUCTION": "0",
    "INTERLOCK_CUDNN_BENCHMARK": "1",
    "INTERLOCK_CUDNN_PATH": "/nowhere" * 10,
    "INTERLOCK_DETERMINISTIC_ALGORITHMS": "1",
}


def test_report_has_every_section() -> None:
    assert list(sections(text())) == [
        "Versions",
        "CPU",
        "Accelerators",
        "Vendor libraries",
        "OpenMP runtimes",
        "Flags that differ from their default",
        "Environment",
    ]


def test_report_has_the_features_of_the_build() -> None:
    reported = dict(sections(text())["Versions"])
    assert reported["features"] == (", ".join(__features__) or "none")
    assert document()["versions"]["features"] == list(__features__)


def test_report_without_a_device_has_the_reason() -> None:
    reported = dict(sections(text())["Accelerators"])
    assert reported["driver"] == "none"
    assert reported["devices"] == "0"
    assert "INTERLOCK_ACCELERATOR" in reported["reason"]
    assert dict(sections(text("accelerators"))["Accelerators"]) == reported


def test_devices_of_the_host_driver_are_shown_with_their_memory() -> None:
    printed = text("accelerators", INTERLOCK_ACCELERATOR="host:2")
    shown = sections(printed)
    assert list(shown) == ["Accelerators", "host:0", "host:1"]
    assert dict(shown["Accelerators"]) == {"driver": "host", "devices": "2"}
    for device in ("host:0", "host:1"):
        reported = dict(shown[device])
        assert reported["name"] == "host device"
        assert reported["memory"].endswith("GiB")
        assert reported["free memory"] == reported["memory"]


def test_report_shows_devices_in_one_row_each() -> None:
    rows = sections(text(INTERLOCK_ACCELERATOR="host:2"))["Accelerators"]
    assert [row[0] for row in rows] == ["driver", "devices", "device", "host:0", "host:1"]


def test_flag_from_the_environment_is_shown_with_its_variable() -> None:
    rows = sections(text(INTERLOCK_CUDNN_ENABLED="0"))["Flags that differ from their default"]
    assert rows == [
        ["flag", "value", "level", "set by"],
        ["cudnn.enabled", "False", "environment", "INTERLOCK_CUDNN_ENABLED"],
    ]


def test_flag_that_is_set_to_its_default_does_not_differ() -> None:
    assert text(INTERLOCK_CUDNN_ENABLED="1").count("cudnn.enabled") == 0


def test_override_of_a_flag_is_printed_below_it() -> None:
    rows = sections(text(INTERLOCK_DETERMINISTIC_ALGORITHMS="1"))["Flags that differ from their default"]
    (row,) = [row for row in rows if row[0] == "cudnn.deterministic"]
    assert row[1:] == ["False", "default", "effective value True, overridden by deterministic_algorithms"]


def test_flags_show_the_line_of_their_write_under_interlock_debug() -> None:
    code = """
        from interlock import backends
        from interlock._cli.main import main
        backends.cudnn.enabled = False
        main(["flags", "cudnn.enabled"])
    """
    done = run_python(code, env=variables({"INTERLOCK_DEBUG": "1"}))
    assert done.code == 0, done.stderr
    ((name, value, level, set_by),) = sections(done.stdout)["Flags"][1:]
    assert (name, value, level) == ("cudnn.enabled", "False", "process")
    assert set_by.endswith("child_script.py:4")


def test_flags_are_chosen_by_name_and_by_module() -> None:
    chosen = [row[0] for row in sections(text("flags", "fp32_precision", "cudnn"))["Flags"][1:]]
    every = [row[0] for row in sections(text("flags"))["Flags"][1:]]
    assert chosen == [name for name in every if name.startswith("cudnn.") or name == "fp32_precision"]
    assert sorted(every) == sorted(row["name"] for row in _native.table())
    assert text("flags", "backends.cudnn.enabled") == text("flags", "interlock.backends.cudnn.enabled")


def test_flags_are_grouped_by_module_in_table_order() -> None:
    table = [row["name"] for row in _native.table()]
    # Another test of this process may have registered flags that the table lacks.
    every = [flag.name for flag in collect.flags() if flag.name in table]
    modules = [module for module, _ in groupby(every, key=lambda name: name.rpartition(".")[0])]
    assert len(modules) == len({*modules})
    # Flags without a module come first, then each module with its submodules.
    assert modules[:4] == ["", "cudnn", "cudnn.conv", "cudnn.rnn"]
    assert modules.index("cuda.matmul") == modules.index("cuda") + 1
    for module in modules:
        of_module = [name for name in table if name.rpartition(".")[0] == module]
        assert [name for name in every if name.rpartition(".")[0] == module] == of_module


def test_explain_prints_every_field_of_a_flag() -> None:
    printed = text("explain", "cudnn.depthwise_kernel", INTERLOCK_CUDNN_DEPTHWISE_KERNEL="native")
    ((title, (documentation, *rows)),) = sections(printed).items()
    assert title == "backends.cudnn.depthwise_kernel"
    assert documentation == ["The kernel of depthwise convolutions."]
    reported = {row[0]: row[1] for row in rows}
    assert reported["value"] == "'native'"
    assert reported["level"] == "environment"
    assert reported["set by"] == "INTERLOCK_CUDNN_DEPTHWISE_KERNEL"
    assert reported["default"] == "'auto'"
    assert "'auto', 'cudnn'" in reported["accepts"]
    assert reported["variables"] == "INTERLOCK_CUDNN_DEPTHWISE_KERNEL"


def test_explain_prints_the_node_from_which_a_precision_is_inherited() -> None:
    variable = "INTERLOCK_CUDNN_FP32_PRECISION"
    printed = text("explain", "cudnn.conv.fp32_precision", **{variable: "ieee"})
    ((_, (_, *rows)),) = sections(printed).items()
    reported = {row[0]: row[1] for row in rows}
    assert reported["value"] == "'ieee'"
    assert reported["set by"] == variable
    assert reported["inherited from"] == "cudnn.fp32_precision"
    assert reported["variables"] == f"INTERLOCK_CUDNN_CONV_FP32_PRECISION, {variable}"
    assert "inherited from" not in text("explain", "cudnn.conv.fp32_precision")


def test_variable_that_is_ignored_is_shown_with_the_reason() -> None:
    done = interlock(INTERLOCK_CUDNN_ENABELD="1", PYTORCH_ALLOC_CONF="no_such_key:1")
    assert done.code == 0
    rows = {row[0]: row[1:] for row in sections(done.stdout)["Environment"]}
    value, problem = rows["INTERLOCK_CUDNN_ENABELD"]
    assert value == "1"
    assert problem.startswith("ignored: ")
    assert "INTERLOCK_CUDNN_ENABLED" in problem
    value, problem = rows["PYTORCH_ALLOC_CONF"]
    assert value == "no_such_key:1"
    assert problem.startswith('every allocation on a device fails: unknown key "no_such_key"; the keys are ')


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("INTERLOCK_ACCELERATOR", "host:x", "no device is available: INTERLOCK_ACCELERATOR is"),
        ("INTERLOCK_ACCELERATOR", "none", None),
        ("INTERLOCK_DETECT_RACES", "9", "ignored: it must be 0, 1 or poison, got '9'"),
        ("ATEN_CPU_CAPABILITY", "foo", "ATEN_CPU_CAPABILITY is ignored: it must be default"),
        ("ATEN_CPU_CAPABILITY", "default", None),
        ("OMP_NUM_THREADS", "abc", "ignored: it must be a positive number, got 'abc'"),
        ("OMP_NUM_THREADS", " 4,2", None),
        ("MKL_NUM_THREADS", "-3", "ignored: it must be a positive number, got '-3'"),
        ("MKL_VERBOSE", "9", "ignored: it must be 0, 1 or 2, got '9'"),
        ("OMP_NUM_THREADS", str(2**64), "ignored: it must be a positive number, got"),
        ("LOCAL_WORLD_SIZE", "2", None),
        ("LOCAL_WORLD_SIZE", "0", "ignored: a positive int is expected, got '0'"),
        ("HELION_BACKEND", "any", None),
        ("TORCH_CUDA_CHECK_STRAY_CONTEXT", "warn", None),
    ],
)
def test_variables_that_are_no_flags_are_shown_with_their_problem(
    name: str, value: str, problem: str | None
) -> None:
    reported = json.loads(interlock("--json", **{name: value}).stdout)["environment"]
    (row,) = [row for row in reported if row["name"] == name]
    assert row["value"] == value
    assert row["problem"] is None if problem is None else row["problem"].startswith(problem)


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ("{bad", "ignored: it must be JSON, got '{bad'"),
        ('{"version": 99}', "ignored in part: its format has version 99, newer than 1"),
        (
            '{"version": 1, "flags": {"cudnn.enabled": 7}}',
            "ignored in part: the flag cudnn.enabled could not be",
        ),
        ('{"version": 1, "flags": {"cudnn.enabled": false}}', None),
    ],
)
def test_state_of_the_environment_that_is_ignored_is_shown(state: str, problem: str | None) -> None:
    reported = json.loads(interlock("--json", INTERLOCK_STATE=state).stdout)["environment"]
    (shown,) = [row["problem"] for row in reported if row["name"] == "INTERLOCK_STATE"]
    assert shown is None if problem is None else shown.startswith(problem)


def test_control_characters_of_the_environment_are_escaped() -> None:
    printed = text(CUDA_HOME="/a\x1b[31m\nb")
    assert ESCAPE not in printed
    assert "/a\\x1b[31m\\nb" in printed


@pytest.mark.parametrize("arguments", [(), ("flags",), ("accelerators",), ("explain", "cuda.sdp_priority")])
@pytest.mark.parametrize("columns", [50, 60, 80, 120])
def test_lines_fit_the_width_unless_they_are_one_field(arguments: tuple[str, ...], columns: int) -> None:
    for line in text(*arguments, COLUMNS=str(columns), **EVERYTHING).splitlines():
        assert len(line) <= columns or " " not in line.strip()


def test_paths_are_never_wrapped(tmp_path: Path) -> None:
    with_spaces, long = tmp_path / "a folder with spaces" / ("long" * 20), tmp_path / ("long" * 20)
    printed = text(COLUMNS="60", CUDA_HOME=str(with_spaces), INTERLOCK_CUDNN_PATH=str(long))
    assert f"\n    {with_spaces}\n" in printed
    assert f"\n    {long}\n" in printed
    # The fields of cudnn.
    assert f'\n    "{long}"\n' in printed


def test_without_a_terminal_a_row_is_one_line(tmp_path: Path) -> None:
    folder = str(tmp_path / ("long" * 40))
    lines = text(CUDA_HOME=folder, INTERLOCK_CUDNN_PATH=folder).splitlines()
    assert any(line.split() == ["CUDA_HOME", folder] for line in lines)
    # The text below a row is one line, too.
    (row,) = (number for number, line in enumerate(lines) if line.split() == ["cudnn", "failed"])
    assert folder in lines[row + 1]
    assert lines[row + 2].split()[0] == "cufft"


def test_columns_are_aligned() -> None:
    lines = text("flags", "cudnn").splitlines()[1:]
    place = lines[0].index("level")
    assert {line[place - 1 :].lstrip() for line in lines[1:]} == {"default"}
    assert all(line[place - 1] == " " != line[place] for line in lines)


def test_variable_as_long_as_the_width_adds_no_empty_line() -> None:
    name = "INTERLOCK_CUDA_MATMUL_ALLOW_BF16_REDUCED_PRECISION_REDUCTION"
    printed = text(COLUMNS=str(len(name)), **{name: "0"})
    names, *lines = printed[printed.index("Environment\n") :].splitlines()[1:]
    assert names.split() == ["variable", "value"]
    place = lines.index(f"  {name}")
    assert lines[place + 1] == " " * names.index("value") + "0"


def test_piped_output_has_no_colours() -> None:
    assert ESCAPE not in text()


@pytest.mark.parametrize("forced", [{"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "TERM": "dumb"}])
def test_colours_can_be_forced_by_the_environment(forced: dict[str, str]) -> None:
    assert ESCAPE in text(**forced)


def test_no_color_overrides_and_the_option_overrides_both() -> None:
    assert ESCAPE not in text(FORCE_COLOR="1", NO_COLOR="1")
    assert ESCAPE in text("--color", "always", NO_COLOR="1")
    assert ESCAPE not in text("--color", "never", FORCE_COLOR="1")


def test_colours_add_nothing_but_escape_codes() -> None:
    coloured = text("--color", "always")
    for style in ("1", "2", "31", "36"):
        coloured = coloured.replace(f"{ESCAPE}[{style}m", "")
    assert coloured.replace(f"{ESCAPE}[0m", "") == text()


def test_unencodable_path_does_not_fail_on_a_terminal(tmp_path: Path) -> None:
    printed = text(CUDA_HOME="/für/\udcff", PYTHONIOENCODING="ascii")
    assert "/f\\xfcr/\\udcff" in printed


@fake_libraries.NEEDS_COMPILER
def test_report_loads_no_vendor_library(tmp_path: Path) -> None:
    fake_libraries.build(tmp_path, "libcudnn.so.9", fake_libraries.CUDNN % 92_800)
    env = fake_libraries.environment(tmp_path) | NEUTRAL
    done = run_program("cli.report_without_and_with_loading", env=env)
    assert done.code == 0, done.stderr


def test_text_and_json_contain_the_same_information() -> None:
    given = {"INTERLOCK_ACCELERATOR": "host:2", "INTERLOCK_CUDNN_BENCHMARK": "1"}
    shown, reported = sections(text(**given)), document(**given)
    assert dict(shown["Versions"])["Python"] == reported["versions"]["python"]
    assert dict(shown["CPU"])["capability"] == reported["cpu"]["capability"]
    assert [row[0] for row in shown["Accelerators"][3:]] == [
        device["device"] for device in reported["accelerators"]["devices"]
    ]
    assert [row[0] for row in shown["Vendor libraries"][1:]] == [row["name"] for row in reported["libraries"]]
    for row, library in zip(shown["Vendor libraries"][1:], reported["libraries"], strict=True):
        assert (row[1] == "not found") == (library["path"] is None)
    assert [row[0] for row in shown["Flags that differ from their default"][1:]] == [
        flag["name"] for flag in reported["flags"]
    ]
    assert [row[:2] for row in shown["Environment"][1:]] == [
        [variable["name"], variable["value"] or "(empty)"] for variable in reported["environment"]
    ]
