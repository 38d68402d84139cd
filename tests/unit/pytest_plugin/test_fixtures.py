"""The fixtures `interlock_settings` and `interlock_devices`."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from tests.unit.pytest_plugin.run import program, run

pytest_plugins = "pytester"
LEFT = [("copy", "second"), ("launch", "launch"), ("fill", "fill")]
"""The faults of the program `devices` that do not occur."""


def test_settings_of_a_test_are_put_back_at_its_end(pytester: pytest.Pytester) -> None:
    program(pytester, "settings")
    # The fixtures need no option.
    for mode in ("", "fail"):
        assert run(pytester, mode=mode).outcomes == {"passed": 3}


@pytest.mark.skipif(find_spec("numpy") is None, reason="needs NumPy")
def test_settings_of_an_asynchronous_test_end_without_a_warning(pytester: pytest.Pytester) -> None:
    program(pytester, "asynchronous_settings")
    assert run(pytester, "-W", "error::interlock.errors.SettingWarning").outcomes == {"passed": 2}


@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("numpy", "threadpoolctl")),
    reason="needs NumPy and threadpoolctl",
)
def test_numbers_of_threads_are_known_without_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import numpy

        def test_pool(interlock_settings):
            interlock_settings.override({"openblas.numpy.num_threads": 1})
        """
    )
    assert run(pytester, mode="").outcomes == {"passed": 1}


def test_faults_are_reported_by_the_test_that_injected_them(pytester: pytest.Pytester) -> None:
    program(pytester, "devices")
    done = run(pytester, mode="")
    errors = [line for line in done.output.splitlines() if line.startswith("interlock_devices:")]
    prefix, missing = "interlock_devices: ", "a fault that the test injected did not occur: "
    faults = [f"operation={kind!r}, error={error!r}" for kind, error in LEFT]
    allocations = ("operation='allocation', number=5", "operation='pinned allocation'")
    assert "error='second'), which has matched 1 and affected 0; " in errors[0]
    assert [re.sub(r", which has matched . and affected 0", "", error) for error in errors[:2]] == [
        prefix + "; ".join(f"{missing}inject({each})" for each in arguments)
        for arguments in (faults, allocations)
    ]
    assert errors[2].startswith(f"{prefix}the test did not wait for an error of host:0:")
    assert errors[2].endswith("late")
    assert done.outcomes == {"passed": 6, "errors": 3}


@pytest.mark.parametrize("mode", ["fail", "restore", ""])
def test_limit_under_the_fixture_is_reported_as_other_changes(pytester: pytest.Pytester, mode: str) -> None:
    program(pytester, "limits_of_a_fixture")
    done = run(pytester, mode=mode)
    name = "interlock.accelerator.memory.get_limit"
    left = {
        "test_leak": [f"{name}(0): None -> 1048576, by an unknown line"],
        "test_leak_with_a_marker": [f"{name}(1): 1048576 -> 1024, by an unknown line"],
    }
    assert done.left == (left if mode == "fail" else {}), done.output
    assert done.outcomes == ({"passed": 3, "errors": 2} if mode == "fail" else {"passed": 3})


def test_ignored_limit_is_put_back_by_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ninterlock_ignore = interlock.accelerator.memory.*")
    pytester.makepyfile(
        """
        from interlock.accelerator import memory

        def test_leak(interlock_devices): memory.set_limit(1 << 20)
        def test_after(interlock_devices): assert memory.get_limit() is None
        """
    )
    assert run(pytester).outcomes == {"passed": 2}


def test_marker_selects_the_devices(pytester: pytest.Pytester) -> None:
    program(pytester, "marked_devices")
    assert run(pytester, "--strict-markers").outcomes == {"passed": 4}
    # A process has what its tests need.
    assert run(pytester, "-k", "only_one").outcomes == {"passed": 1, "deselected": 3}


@pytest.mark.parametrize(
    ("marker", "problem"),
    [
        ("(3)", "they are keyword-only"),
        ("(count=3)", "it has no argument 'count'"),
        ("(devices='3')", "devices must be an int, got str"),
        ("(memory=True)", "memory must be an int, got bool"),
        ("(devices=0)", "devices must be at least 1, got 0"),
    ],
)
def test_marker_with_a_wrong_argument_fails_its_test(
    pytester: pytest.Pytester, marker: str, problem: str
) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.interlock_devices{marker}
        def test_wrong(interlock_devices): pass

        def test_right(interlock_devices): assert interlock_devices.names == ("host:0", "host:1")
        """
    )
    done = run(pytester)
    assert f"interlock_devices: the marker accepts devices and memory: {problem}" in done.output
    assert done.outcomes == {"passed": 1, "errors": 1}


def test_devices_that_the_process_lacks_fail_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.interlock_devices(devices=1)
        def test_one(interlock_devices): pass

        def test_two(request): request.getfixturevalue("interlock_devices")
        """
    )
    done = run(pytester, mode="")
    assert (
        "interlock_devices: the test needs 2 devices of 64 MiB, and this process has 1 device of 64 MiB, "
        "which cannot change: run the test in a process of its own"
    ) in done.output
    assert done.outcomes == {"passed": 1, "failed": 1}


def test_report_of_a_failing_test_has_its_faults(pytester: pytest.Pytester) -> None:
    program(pytester, "faults")
    done = run(pytester, mode="")
    assert done.outcomes == {"passed": 1, "failed": 1}
    assert done.output.count("interlock.testing.Scenario") == 1
    assert '  {"operation": "copy", "error": "bus error", "number": 2}' in done.output


def test_example_of_the_page_passes(pytester: pytest.Pytester) -> None:
    program(pytester, "page")
    assert run(pytester).outcomes == {"passed": 2}


def test_lost_device_is_blamed_on_the_test_that_lost_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_lose(interlock_devices): interlock_devices.lose_device("host:1", "the cable came loose")
        def test_after(interlock_devices): pass
        """
    )
    done = run(pytester, mode="")
    assert done.outcomes == {"passed": 1, "errors": 1}
    assert "::test_lose has lost the device host:1 for the rest of this process" in done.output
