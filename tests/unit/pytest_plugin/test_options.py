"""The plugin is inert until it is asked for."""

from __future__ import annotations

import sys

import pytest

from tests.unit.pytest_plugin.run import at, program, run

pytest_plugins = "pytester"


@pytest.fixture
def leak(pytester: pytest.Pytester) -> None:
    """Write a test that leaves a variable, one that expects `EXPECTED` of it, and one of the import."""
    program(pytester, "one_variable")


@pytest.fixture
def left(leak: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable stays."""
    monkeypatch.setenv("EXPECTED", "1")


@pytest.fixture
def imported(leak: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """interlock is imported."""
    monkeypatch.setenv("IMPORTED", "1")


def test_without_the_option_nothing_is_imported_or_changed(pytester: pytest.Pytester, left: None) -> None:
    assert run(pytester, mode="").outcomes == {"passed": 3}


def test_off_overrides_the_configuration(pytester: pytest.Pytester, left: None) -> None:
    pytester.makeini("[pytest]\ninterlock = fail\n")
    assert run(pytester, mode="off").outcomes == {"passed": 3}


def test_plugin_can_be_blocked(pytester: pytest.Pytester, left: None) -> None:
    assert run(pytester, "-p", "no:interlock", mode="").outcomes == {"passed": 3}


def test_plugin_can_be_loaded_by_name_without_autoload(
    pytester: pytest.Pytester, imported: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert run(pytester, "-p", "interlock", mode="restore").outcomes == {"passed": 3}


def test_restore_puts_back_and_fails_nothing(pytester: pytest.Pytester, imported: None) -> None:
    assert run(pytester, mode="restore").outcomes == {"passed": 3}


@pytest.mark.parametrize(
    "configuration",
    [
        ("pytest.ini", "[pytest]\ninterlock = fail\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\ninterlock = "fail"\n'),
    ],
    ids=["ini", "toml"],
)
def test_configuration_selects_the_mode(
    pytester: pytest.Pytester, imported: None, configuration: tuple[str, str]
) -> None:
    name, text = configuration
    (pytester.path / name).write_text(text)
    assert run(pytester, mode="").outcomes == {"passed": 3, "errors": 1}


def test_unknown_mode_of_the_option_names_what_is_allowed(pytester: pytest.Pytester) -> None:
    output = run(pytester, mode="check").output
    assert "--interlock" in output
    assert "'check'" in output
    assert all(mode in output for mode in ("off", "restore", "fail"))


def test_unknown_mode_of_the_configuration_names_what_is_allowed(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ninterlock = check\n")
    expected = "interlock: the value in the configuration must be off, restore or fail, got 'check'"
    assert expected in run(pytester, mode="").output


def test_ignored_names_are_neither_reported_nor_put_back(
    pytester: pytest.Pytester, left: None, imported: None
) -> None:
    pytester.makeini("[pytest]\ninterlock_ignore =\n    environ.LE*\n")
    assert run(pytester).outcomes == {"passed": 3}


def test_run_inside_of_a_run_leaves_the_outer_one_alone(pytester: pytest.Pytester) -> None:
    path = program(pytester, "run_inside")
    outer, after = at(path, "test_inner_run", "OUTER"), at(path, "test_after", "AFTER")
    done = run(pytester)
    assert done.outcomes == {"passed": 2, "errors": 2}
    assert done.left["test_inner_run"] == [f"environ.OUTER: None -> '1', written at {outer}"]
    assert done.left["test_after"] == [f"environ.AFTER: None -> '1', written at {after}"]


def test_pytest_does_not_warn_where_interlock_is_imported_before(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    pytester.makepyfile("def test_one(): pass")
    watch = ("-m", "interlock", "watch", "-m", "pytest", "-q", "-p", "no:asyncio")
    done = pytester.run(sys.executable, *watch)
    assert done.ret == 0, done.stderr.str()
    assert "PytestAssertRewriteWarning" not in done.stdout.str() + done.stderr.str()
