"""Compares the state around each test and around fixtures, and restores it."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from interlock._pytest.environment import Environment
from interlock._pytest.library_settings import LibrarySettings
from interlock._pytest.memory_limits import MemoryLimits
from interlock._pytest.open_scopes import OpenScopes
from interlock._pytest.own_state import OwnState
from interlock._pytest.process_options import ProcessOptions
from interlock._pytest.registrations import Registered, Registrations
from interlock._pytest.source import Change, Source
from interlock.errors import SettingWarning
from interlock.settings._writes import same, shown

_NOT_PUT_BACK = "could not be put back"


@dataclass
class Baseline:
    """The state before a test, for each source: a reading, and the changes by wider fixtures since."""

    readings: list[Any]
    by_fixtures: list[dict[str, Any]]
    held: set[str]
    """The settings that scopes of other threads hold."""


class FixtureChange(NamedTuple):
    """A value that a fixture has changed."""

    before: Any
    after: Any
    writer: str | None
    """The line that wrote: a test may write the name later, and the plugin puts that back."""


@dataclass
class FixtureChanges:
    """The changes by a fixture of a wider scope, for each source, by name."""

    changed: list[dict[str, FixtureChange]] = field(default_factory=list)
    registered: list[Registered] = field(default_factory=list)


class LeftChangesError(pytest.fail.Exception):  # type: ignore[name-defined,misc]
    """Fails a test, without a traceback."""

    # pytest's summaries then show the name of the class without its module.
    __module__ = "builtins"


class Guard:
    """The part of the plugin that runs if it is requested.

    A test is compared from the setup of its first fixture of function scope, or from its call, to the end of
    its last fixture of function scope. So what fixtures of wider scopes set up is there before, and is still
    there afterwards. If a test requests such a fixture while it runs, the change counts as the fixture's. A
    fixture of a wider scope is compared by itself, from its setup to its end; one of the session is not,
    because no test follows.

    Args:
        ignored: Patterns of names that are not compared.
        fails: Whether a test that leaves a change fails. Without it, changes that stay are warnings.

    """

    def __init__(self, ignored: Sequence[str], *, fails: bool) -> None:
        self._ignored = tuple(ignored)
        self._fails = fails
        self._own = OwnState()
        self._libraries = LibrarySettings()
        # Putting the state of interlock back may write settings of libraries, which are compared afterwards.
        # A configuration of the allocator may set limits of memory.
        options = ProcessOptions()
        self._sources: list[Source] = [self._own, Environment(), options, MemoryLimits(), self._libraries]
        self._scopes = OpenScopes()
        self._registrations = Registrations()
        self._item: pytest.Item | None = None
        self._baseline: Baseline | None = None
        # The changes of fixtures that other fixtures request while they are set up.
        self._nested: list[list[set[str]]] = []
        # What fixtures of a test have put back.
        self._put_back_by_fixtures: list[Change] = []
        # What a test and the fixtures that end after it have left.
        self._reports: list[str] = []
        self._has_left_changes = False

    def stop(self) -> None:
        """Stop observing the state."""
        self._registrations.stop()
        for source in reversed(self._sources):
            source.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Remember the test for the setup of its fixtures."""
        self._item, self._baseline, self._has_left_changes = item, None, False
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Begin to compare a test without fixtures of function scope."""
        self._begin_test()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        """Report all that a test and the fixtures that end after it have left as one error.

        pytest shows several errors of a teardown with the lines of its own code.
        """
        try:
            result = yield
        except BaseException as error:
            if self._reports:
                error.add_note(self._take_reports())
            raise
        if self._reports:
            raise LeftChangesError(self._take_reports(), pytrace=False)
        return result

    def add_put_back(self, changes: Sequence[Change]) -> None:
        """Report changes that a fixture of the test has put back itself, at the end of the test."""
        self._put_back_by_fixtures += changes

    def _take_reports(self) -> str:
        text = "\n".join(self._reports)
        self._reports.clear()
        self._has_left_changes = True
        return text

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show what fixtures left that end after a run was stopped: no test is left to fail."""
        if self._reports:
            terminalreporter.section("interlock")
            terminalreporter.line(self._take_reports())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail a test that left changes even if it is marked `xfail`, which covers its teardown, too."""
        report = yield
        if call.when == "teardown" and self._has_left_changes:
            report.outcome = "failed"
            vars(report).pop("wasxfail", None)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Begin to compare a test at its first fixture of function scope, and compare wider fixtures."""
        if fixturedef.scope == "function":
            self._begin_test()
            return (yield)
        changes = FixtureChanges()
        if fixturedef.scope != "session":
            # The finalizers of the fixture itself are added later, and run before.
            fixturedef.addfinalizer(functools.partial(self._end_fixture, fixturedef, changes))
        self._nested.append([set() for _ in self._sources])
        flags, settings = self._own.number_registered(), self._libraries.registered()
        registrations = self._registrations.number()
        before = self._read()
        try:
            return (yield)
        finally:
            self._own.keep_registered(flags)
            self._libraries.keep_registered(settings)
            changes.registered = self._registrations.take(registrations)
            self._end_setup_of_fixture(before, changes)

    def _read(self) -> list[object]:
        return [source.read() for source in self._sources]

    def _begin_test(self) -> None:
        """Take the state before a test, once."""
        if self._item is None or self._baseline is not None:
            return
        # The finalizers of the fixtures of the test are added later, and run before.
        self._item.addfinalizer(self._end_test)
        self._own.begin()
        self._registrations.take()
        self._libraries.enable_again()
        self._libraries.begin()
        self._scopes.begin()
        self._baseline = Baseline(self._read(), [{} for _ in self._sources], self._scopes.held_elsewhere())

    def _end_setup_of_fixture(self, before: list[object], changes: FixtureChanges) -> None:
        self._libraries.search()
        after = self._read()
        nested = self._nested.pop()
        for index, source in enumerate(self._sources):
            changed: dict[str, tuple[Any, Any]] = {}
            if before[index] != after[index]:
                changed = _changed(source, source.values(before[index]), after[index])
            changes.changed.append(
                {
                    name: FixtureChange(*pair, source.writer(name, pair[1]))
                    for name, pair in changed.items()
                    if name not in nested[index] and not source.is_left(name, pair[1])
                }
            )
            if self._nested:
                self._nested[-1][index] |= changed.keys()
            if self._baseline is not None:
                self._baseline.by_fixtures[index] |= {name: pair[1] for name, pair in changed.items()}
        if self._baseline is not None:
            self._scopes.begin()

    def _end_fixture(self, fixturedef: pytest.FixtureDef[Any], changes: FixtureChanges) -> None:
        """Restore the values that a fixture of a wider scope has set and not restored."""
        found: list[str] = []
        for source, changed in zip(self._sources, changes.changed, strict=False):
            if not changed:
                continue
            present = source.values(source.read())
            held = self._scopes.held_elsewhere()
            left = [
                Change(name, change.before, change.after, change.writer)
                for name, change in changed.items()
                # Code that has set a third value since is responsible for it.
                if same(present.get(name), change.after) and name not in held
            ]
            found += self._put_back(source, left)
        changes.changed.clear()
        found += self._registrations.remove(changes.registered, self._is_ignored)
        self._report(f"the fixture {fixturedef.argname} ({fixturedef.scope}) left changes", found)

    def _end_test(self) -> None:
        """Put back what a test has left changed; fail it if that is requested."""
        baseline, self._baseline = self._baseline, None
        if baseline is None:
            return
        found = [str(each) for each in self._put_back_by_fixtures if not self._is_ignored(each.name)]
        self._put_back_by_fixtures.clear()
        found += self._scopes.end()
        found += self._registrations.remove(self._registrations.take(), self._is_ignored)
        found += [f"{each} was disabled by settings.disable()" for each in self._libraries.enable_again()]
        self._own.unregister(self._is_ignored, baseline.readings[0])
        self._libraries.unregister(self._is_ignored)
        # A scope of a thread that runs is ended there, which is no change of the test in which that happens.
        held = baseline.held | self._scopes.held_elsewhere()
        self._libraries.search()
        for index, source in enumerate(self._sources):
            before, after = baseline.readings[index], source.read()
            if before == after:
                continue
            expected = source.values(before) | baseline.by_fixtures[index]
            changes = [
                Change(name, *pair, source.writer(name, pair[1]))
                for name, pair in _changed(source, expected, after).items()
                if name not in held and not source.is_left(name, pair[1])
            ]
            found += self._put_back(source, changes)
        self._report("this test left changes", found)

    def _is_ignored(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self._ignored)

    def _put_back(self, source: Source, found: Sequence[Change]) -> list[str]:
        """Restore values of a source, look again, and describe the changes."""
        changes = [change for change in found if not self._is_ignored(change.name)]
        if not changes:
            return []
        refused = source.restore({change.name: change.before for change in changes})
        present = source.values(source.read())
        described = []
        for change in changes:
            value = present.get(change.name)
            if same(value, change.before):
                described.append(str(change))
            else:
                reason = refused.get(change.name, f"it is {shown(value)} now")
                described.append(f"{change}; {_NOT_PUT_BACK}: {reason}")
        return described

    def _report(self, what: str, found: Sequence[str]) -> None:
        """Report changes; if they fail no test, warn of those that are still there for the next one."""
        stays = [each for each in found if _NOT_PUT_BACK in each]
        if self._fails and found:
            exception = " except where a line says otherwise" if stays else ""
            self._reports.append(f"interlock: {what}, which were put back{exception}:\n{_lines(found)}")
        elif stays and self._item is not None:
            self._item.warn(SettingWarning(f"interlock: {what}:\n{_lines(stays)}"))


def _lines(changes: Sequence[str]) -> str:
    return "\n".join(f"  {each}" for each in changes)


def _changed(source: Source, expected: dict[str, Any], reading: Any) -> dict[str, tuple[Any, Any]]:
    """Return the expected and the present values that differ, by name."""
    present = source.values(reading)
    # A name is new if the library of the setting was imported since.
    new = {name: source.first(name, value) for name, value in present.items() if name not in expected}
    return {
        name: (value, present.get(name))
        for name, value in (expected | new).items()
        if not same(value, present.get(name))
    }
