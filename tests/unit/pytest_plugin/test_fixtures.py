"""The fixtures `interlock_settings` and `interlock_devices`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.unit.pytest_plugin.run import program, run

pytest_plugins = "pytester"


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
    faults = ("fail_next_launch('launch')", "fail_next_copy('second')", "fail_next_fill('fill')")
    assert errors[:2] == [
        prefix + "; ".join(missing + each for each in faults),
        f"{prefix}a fault of an allocation that the test injected did not occur",
    ]
    assert errors[2].startswith(f"{prefix}the test did not wait for an error of host:0:")
    assert errors[2].endswith("late")
    assert done.outcomes == {"passed": 6, "errors": 3}


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
