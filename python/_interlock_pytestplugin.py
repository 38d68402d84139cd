"""The pytest plugin of interlock: options and fixtures.

pytest imports this module in each of its runs, so it is not part of the package `interlock`, whose import
loads the extension module: that happens only if `--interlock`, the setting `interlock` or a fixture asks for
it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from interlock.testing import HostDevices, ScopedSettings

_MODES = ("off", "restore", "fail")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--interlock` and the settings of the configuration file."""
    parser.getgroup("interlock").addoption(
        "--interlock",
        choices=_MODES,
        default=None,
        help="what happens to settings of libraries, environment variables, thread counts and scopes that a "
        "test leaves changed: restore them, or also fail the test (default: `interlock` of the "
        "configuration, or off)",
    )
    parser.getgroup("interlock").addoption(
        "--interlock-races",
        action="store_true",
        default=None,
        help="fail tests in which work of streams uses the same bytes without an order, on host devices "
        "(default: `interlock_races` of the configuration)",
    )
    parser.addini("interlock_races", "the default of --interlock-races", type="bool", default=False)
    parser.addini("interlock", "the default of --interlock: off, restore or fail", default="off")
    parser.addini(
        "interlock_ignore",
        "patterns of names that are neither compared nor restored, such as environ.MY_*",
        type="linelist",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start to compare if that is requested."""
    config.addinivalue_line(
        "markers",
        "interlock_devices(*, devices=2, memory=64 << 20): the number of devices of the fixture "
        "interlock_devices, and the bytes of memory of each",
    )
    config.addinivalue_line(
        "markers",
        "interlock_races(reason): races of the test are intended, so that --interlock-races does not fail it",
    )
    # An option without a value is None, so that the configuration decides.
    if config.getoption("interlock_races") or config.getini("interlock_races"):
        from interlock._pytest.races import RaceCheck

        config.pluginmanager.register(RaceCheck(), "interlock-races")
    mode = config.getoption("interlock") or config.getini("interlock")
    if mode not in _MODES:
        raise pytest.UsageError(
            f"interlock: the value in the configuration must be off, restore or fail, got {mode!r}"
        )
    if mode == "off":
        return
    from interlock._pytest.guard import Guard

    guard = Guard(config.getini("interlock_ignore"), fails=mode == "fail")
    config.pluginmanager.register(guard, "interlock-guard")
    config.add_cleanup(guard.stop)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Add the faults of a failing test to its report."""
    devices = getattr(item, "funcargs", {}).get("interlock_devices")
    if devices is None or call.when != "call" or call.excinfo is None:
        return
    from interlock.testing import HostDevices, Scenario

    if isinstance(devices, HostDevices) and (injected := devices.injected()):
        item.add_report_section("call", "interlock.testing.Scenario", Scenario(injected).to_json())


@pytest.fixture
def interlock_settings(request: pytest.FixtureRequest) -> Iterator[ScopedSettings]:
    """Override, pin and compare settings of libraries; all are restored at the end of the test."""
    from interlock.testing import ScopedSettings

    with ScopedSettings() as settings:
        # An object of this class stores its context.
        unittest = sys.modules.get("unittest.async_case")
        settings._context_ends = unittest is not None and isinstance(
            request.instance, unittest.IsolatedAsyncioTestCase
        )
        yield settings


@pytest.fixture(scope="session")
def _interlock_host_devices(request: pytest.FixtureRequest) -> HostDevices:
    from interlock._pytest.host_devices import for_tests

    return for_tests(request.session.items)


@pytest.fixture
def interlock_devices(
    request: pytest.FixtureRequest, _interlock_host_devices: HostDevices
) -> Iterator[HostDevices]:
    """Use devices of the host driver, and inject faults; one that did not occur fails the test."""
    problems = _interlock_host_devices._begin(request.node)
    if problems:
        pytest.fail(f"interlock_devices: {problems}", pytrace=False)
    yield _interlock_host_devices
    problems, changes = _interlock_host_devices._end()
    guard = request.config.pluginmanager.get_plugin("interlock-guard")
    if guard is not None:
        guard.add_put_back(changes)
    if problems:
        pytest.fail(f"interlock_devices: {problems}", pytrace=False)
