"""Compares the state around each test and around fixtures, and puts it back."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from interlock._pytest.environment import Environment
from interlock._pytest.library_settings import LibrarySettings
from interlock._pytest.open_scopes import OpenScopes
from interlock._pytest.own_state import OwnState
from interlock._pytest.source import Change, Source, equal


@dataclass
class Baseline:
    """The state before a test, for each source: a reading, and what wider fixtures have changed since."""

    readings: list[object]
    by_fixtures: list[dict[str, Any]]


@dataclass
class FixtureChanges:
    """What a fixture of a wider scope has changed, for each source: old and new values by name."""

    changed: list[dict[str, tuple[Any, Any]]] = field(default_factory=list)


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
        fails: Whether a test that leaves a change fails.

    """

    def __init__(self, ignored: Sequence[str], *, fails: bool) -> None:
        self._ignored = tuple(ignored)
        self._fails = fails
        self._own = OwnState()
        self._libraries = LibrarySettings()
        # Putting the state of interlock back may write settings of libraries, which are compared afterwards.
        self._sources: list[Source] = [self._own, Environment(), self._libraries]
        self._scopes = OpenScopes()
        self._item: pytest.Item | None = None
        self._baseline: Baseline | None = None
        # The changes of fixtures that other fixtures request while they are set up.
        self._nested: list[list[set[str]]] = []

    def stop(self) -> None:
        """Stop to observe the state."""
        for source in reversed(self._sources):
            source.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Remember the test for the setup of its fixtures."""
        self._item, self._baseline = item, None
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Begin to compare a test without fixtures of function scope."""
        self._begin_test()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail a test that left changes even if it is marked `xfail`, which covers its teardown, too."""
        report = yield
        error = None if call.excinfo is None else call.excinfo.value
        if call.when == "teardown" and _contains_left_changes(error):
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
        before = self._read()
        try:
            return (yield)
        finally:
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
        self._libraries.enable_again()
        self._scopes.begin()
        self._baseline = Baseline(self._read(), [{} for _ in self._sources])

    def _end_setup_of_fixture(self, before: list[object], changes: FixtureChanges) -> None:
        self._libraries.search()
        after = self._read()
        nested = self._nested.pop()
        for index, source in enumerate(self._sources):
            changed: dict[str, tuple[Any, Any]] = {}
            if before[index] != after[index]:
                old, new = source.values(before[index]), source.values(after[index])
                # A name is new if the fixture has imported the library of the setting.
                old |= {name: source.first(name, value) for name, value in new.items() if name not in old}
                changed = {
                    name: (value, new.get(name))
                    for name, value in old.items()
                    if not equal(value, new.get(name))
                }
            changes.changed.append(
                {name: pair for name, pair in changed.items() if name not in nested[index]}
            )
            if self._nested:
                self._nested[-1][index] |= changed.keys()
            if self._baseline is not None:
                self._baseline.by_fixtures[index] |= {name: pair[1] for name, pair in changed.items()}
        if self._baseline is not None:
            self._scopes.begin()

    def _end_fixture(self, fixturedef: pytest.FixtureDef[Any], changes: FixtureChanges) -> None:
        """Put back what a fixture of a wider scope has set and not put back."""
        found: list[str] = []
        for source, changed in zip(self._sources, changes.changed, strict=False):
            if not changed:
                continue
            present = source.values(source.read())
            left = {
                name: old
                for name, (old, new) in changed.items()
                # Code that has set a third value since is responsible for it.
                if equal(present.get(name), new)
            }
            found += self._put_back(source, left, present)
        changes.changed.clear()
        self._report(f"the fixture {fixturedef.argname} ({fixturedef.scope}) left changes", found)

    def _end_test(self) -> None:
        """Put back what a test has left changed; fail it if that is requested."""
        baseline, self._baseline = self._baseline, None
        if baseline is None:
            return
        found = self._scopes.end()
        self._own.unregister()
        self._libraries.search()
        for index, source in enumerate(self._sources):
            before, after = baseline.readings[index], source.read()
            if before == after:
                continue
            expected = source.values(before) | baseline.by_fixtures[index]
            present = source.values(after)
            expected |= {
                name: source.first(name, value) for name, value in present.items() if name not in expected
            }
            wanted = {name: value for name, value in expected.items() if not equal(value, present.get(name))}
            found += self._put_back(source, wanted, present)
        self._report("this test left changes", found)

    def _put_back(self, source: Source, wanted: dict[str, Any], present: dict[str, Any]) -> list[str]:
        """Restore values of a source, and describe the changes."""
        changes = [
            Change(name, value, present.get(name), source.writer(name, present.get(name)))
            for name, value in wanted.items()
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in self._ignored)
            and not source.is_left(name, present.get(name))
        ]
        if not changes:
            return []
        described = [str(change) for change in changes]
        try:
            source.restore({change.name: change.before for change in changes})
        except Exception as error:
            described.append(f"not all could be put back: {error}")
        return described

    def _report(self, what: str, found: Sequence[str]) -> None:
        if found and self._fails:
            text = "\n".join(f"  {each}" for each in found)
            raise LeftChangesError(f"interlock: {what}, which were put back:\n{text}", pytrace=False)


def _contains_left_changes(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_contains_left_changes(each) for each in error.exceptions)
    return isinstance(error, LeftChangesError)
