"""Writes are recorded with their line, and changes that no write explains are found."""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interlock import errors, settings
from interlock.settings import Write, _origin

from tests.unit.settings.library import Library, library

__all__ = ["library"]


def line() -> int:
    """Return the line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def last(name: str) -> Write:
    return settings.explain(name).writes[-1]


def test_write_has_file_line_function_thread_time_and_values(library: Library) -> None:
    before = time.time()
    returned, number = library.set_level(2), line()
    write = last("mylib.level")
    library.set_level(1)
    assert returned == "level 2"
    assert (write.old, write.new, write.changed) == (1, 2, True)
    assert (write.file, write.line) == (__file__, number)
    assert write.function == "test_write_has_file_line_function_thread_time_and_values"
    assert (write.module, write.distribution) == (__name__, None)
    assert write.thread == threading.current_thread().name
    assert before <= write.time <= time.time()
    assert (write.at_import, write.group, write.times, write.since) == (False, None, 1, None)


def test_write_of_an_installed_package_names_the_distribution() -> None:
    assert Write("a.b", 1, 2, "f.py", 1, "f", "pytest.sub", "t", 0.0).distribution == "pytest"
    assert Write("a.b", 1, 2, None, None, None, None, "t", 0.0).distribution is None


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages that this process has not looked at."""
    folder = tmp_path / "installed"
    monkeypatch.syspath_prepend(folder)
    for cached in (_origin._distributions, _origin.distribution):
        cached.cache_clear()
    yield folder
    for cached in (_origin._distributions, _origin.distribution):
        cached.cache_clear()


def install(folder: Path, name: str, *files: str, **more: str) -> None:
    """Write a distribution: empty modules, and the files of its metadata."""
    for each in files:
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).touch()
    metadata = folder / f"{name}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "RECORD").write_text("".join(f"{each},,\n" for each in files))
    for each, text in more.items():
        (metadata / each.replace("__", ".")).write_text(text)


def test_package_of_a_write_contains_its_file(installed: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    install(installed, "one", "shared/one.py")
    install(installed, "two", "shared/two.py", "scripts/build.py")
    source = json.dumps({"url": project.as_uri(), "dir_info": {"editable": True}})
    install(
        installed, "edited", "__editable__.edited-1.pth", direct_url__json=source, top_level__txt="edited\n"
    )
    for each in ("scripts/build.py", "edited/part.py"):
        (project / each).parent.mkdir(parents=True)
        (project / each).touch()

    def package(module: str, file: Path) -> str | None:
        return Write("a.b", 1, 2, str(file), 1, "f", module, "t", 0.0).distribution

    assert package("shared.one", installed / "shared" / "one.py") == "one"
    assert package("shared.two", installed / "shared" / "two.py") == "two"
    assert package("scripts.build", installed / "scripts" / "build.py") == "two"
    # A module of the program with the name of an installed one.
    assert package("scripts.build", project / "scripts" / "build.py") is None
    assert package("edited.part", project / "edited" / "part.py") == "edited"


def test_write_without_a_change_is_recorded(library: Library) -> None:
    library.set_level(1)
    assert (last("mylib.level").old, last("mylib.level").changed) == (1, False)


def test_write_that_the_library_refuses_is_not_recorded(library: Library) -> None:
    count = len(settings.explain("mylib.fast").writes)
    with pytest.raises(ValueError, match="mylib refuses"):
        library.set_fast("refused")  # type: ignore[arg-type]
    assert len(settings.explain("mylib.fast").writes) == count


def test_write_is_recorded_for_the_aliases_that_it_changes(library: Library) -> None:
    count = len(settings.explain("mylib.mode").writes)
    library.set_fast(True)
    assert (last("mylib.mode").old, last("mylib.mode").new) == ("slow", "quick")
    assert last("mylib.mode").line == last("mylib.fast").line
    library.set_fast(True)
    assert len(settings.explain("mylib.mode").writes) == count + 1
    library.set_fast(False)


def test_change_without_a_write_is_found_between_two_looks(library: Library) -> None:
    settings.explain("mylib.level")
    between = time.time()
    library.values["level"] = 5
    write = last("mylib.level")
    assert (write.old, write.new, write.file, write.line, write.function) == (1, 5, None, None, None)
    assert write.since is not None
    assert write.since <= between <= write.time
    assert "1 -> 5 by code that cannot be seen" in str(write)
    library.values["level"] = 1
    assert settings.writes(["mylib.level"])[-1].new == 1


def test_change_without_a_write_is_found_before_the_next_write(library: Library) -> None:
    library.values["level"] = 5
    library.set_level(1)
    unseen, write = settings.explain("mylib.level").writes[-2:]
    assert (unseen.file, unseen.old, unseen.new) == (None, 1, 5)
    assert (write.file, write.old, write.new) == (__file__, 5, 1)


def test_settings_of_threads_and_contexts_have_no_unseen_changes(library: Library) -> None:
    count = len(settings.explain("mylib.tls").writes)
    library.set_tls(3)
    assert settings.explain("mylib.tls").value == 3
    assert len(settings.explain("mylib.tls").writes) == count
    library.set_tls(0)


def test_reading_costs_nothing_and_writes_read_only_their_family(library: Library) -> None:
    before = library.reads
    library.values["level"]
    assert library.reads == before
    library.set_level(1)
    assert library.reads == before + 2


def test_watch_reports_writes_until_it_is_stopped(library: Library) -> None:
    seen: list[Write] = []
    watched = settings.watch(seen.append)
    library.set_level(2)
    watched.stop()
    watched.stop()
    library.set_level(1)
    assert [write.new for write in seen] == [2]
    assert watched.writes == seen


def test_exception_of_on_write_reaches_the_code_that_wrote(library: Library) -> None:
    def fail(write: Write) -> None:
        raise LookupError(write.setting)

    with settings.watch(fail), pytest.raises(LookupError, match=r"mylib\.level"):
        library.set_level(2)
    assert library.values["level"] == 2
    library.set_level(1)
    with pytest.raises(TypeError, match="watch: on_write must be callable or None, got int"):
        settings.watch(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", [settings.override, settings.pin])
def test_exception_of_on_write_ends_the_scope_that_wrote(scope: Any, library: Library) -> None:
    def fail(write: Write) -> None:
        raise LookupError(write.setting)

    watched, error = settings.watch(fail), pytest.raises(LookupError, match=r"mylib\.level")
    with watched, error, scope({"mylib.level": 2}):
        pass
    assert (library.values["level"], settings.explain("mylib.level").held_by) == (1, ())


def test_on_write_may_use_settings_on_another_thread(library: Library) -> None:
    found: list[object] = []

    def explain(write: Write) -> None:
        thread = threading.Thread(target=lambda: found.append(settings.explain(write.setting).value))
        thread.start()
        thread.join(20)

    with settings.watch(explain):
        library.set_level(2)
    assert found == [2]
    library.set_level(1)


def test_log_of_one_setting_is_bounded_and_spares_the_others(library: Library) -> None:
    library.set_fast(False)
    for value in range(1100):
        library.set_level(value)
    assert len(settings.explain("mylib.level").writes) == 1000
    assert last("mylib.fast").new is False
    assert "990 earlier writes" in str(settings.explain("mylib.level"))
    library.set_level(1)


def test_explanation_is_text_for_people_and_json_for_machines(library: Library) -> None:
    library.set_level(2)
    found = settings.explain("mylib.level")
    with settings.override({"mylib.level": 3}):
        held = settings.explain("mylib.level").held_by
    library.set_level(1)
    lines = str(found).splitlines()
    assert lines[:2] == ["mylib.level = 2 (process, default 1)", "  A level."]
    assert f"  1 -> 2 at {__file__}:" in str(found)
    assert lines[-2:] == ["  a change affects: mylib.compile", "  Read at the start."]
    assert len(held) == 1
    assert held[0].startswith("held with the value 3 by the override at ")
    decoded = json.loads(json.dumps(found.as_dict()))
    assert decoded["writes"][-1]["file"] == __file__


def test_explanation_says_why_a_write_comes_too_late() -> None:
    reason = ""
    row = settings.Setting("late.value", get=lambda: 1, too_late=lambda: reason)
    with settings.register(row):
        assert settings.explain("late.value").too_late == ""
        assert "too late" not in str(settings.explain("late.value"))
        reason = "late was started"
        assert "\n  too late for a write: late was started" in str(settings.explain("late.value"))
        assert settings.explain("late.value").as_dict()["too_late"] == reason


def test_writer_that_calls_another_one_is_recorded_once(library: Library) -> None:
    with settings.watch() as watched:
        library.set_both()
    assert [(each.setting, each.new) for each in watched.writes] == [
        ("mylib.level", 5),
        ("mylib.fast", True),
        ("mylib.mode", "quick"),
    ]
    library.set_level(1), library.set_fast(False)


def test_warnings_of_writers_have_the_place_of_their_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()

    def set_level(value: int) -> None:
        warnings.warn("in Python", stacklevel=2)

    vars(library).update(set_level=set_level, warn=warnings.warn)
    monkeypatch.setitem(sys.modules, "mylib", library)
    writers = ("mylib.set_level", "mylib.warn")
    row = settings.Setting("mylib.level", get=lambda: library.values["level"], writers=writers)
    with settings.register(row, library="mylib"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        library.set_level(2), vars(library)["warn"]("in C")
        number = line() - 1
    assert [str(each.message) for each in caught] == ["in Python", "in C"]
    assert [(each.filename, each.lineno) for each in caught] == [(__file__, number)] * 2


def test_warnings_of_an_import_have_the_place_of_the_importer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outdated.py").write_text("import warnings\nwarnings.warn('old', stacklevel=2)\nlevel = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    row = settings.Setting("outdated.level", get=lambda: sys.modules["outdated"].level)
    with settings.register(row, library="outdated"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        __import__("outdated")
        number = line() - 1
        assert settings.explain("outdated.level").value == 1
    monkeypatch.delitem(sys.modules, "outdated")
    assert [(each.filename, each.lineno) for each in caught] == [(__file__, number)]


def test_environment_variables_are_settings_while_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "environ.OMP_NUM_THREADS"
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    method = type(os.environ).__setitem__
    with settings.enable("environ"):
        os.environ["OMP_NUM_THREADS"], number = "3", line()
        write = settings.explain(name).writes[-1]
        assert (write.old, write.new, write.file, write.line) == (None, "3", __file__, number)
        os.environ.pop("OMP_NUM_THREADS")
        assert settings.explain(name).writes[-1].new is None
        with settings.override({name: "2"}):
            assert os.environ["OMP_NUM_THREADS"] == "2"
        assert "OMP_NUM_THREADS" not in os.environ
        os.environb[b"OMP_NUM_THREADS"], number = b"4", line()
        write = settings.explain(name).writes[-1]
        assert (write.new, write.file, write.line) == ("4", __file__, number)
        with settings.pin({name: "2"}):
            with pytest.raises(errors.SettingPinnedError, match=r"pinned to '2'"):
                os.environb[b"OMP_NUM_THREADS"] = b"3"
            assert os.environb[b"OMP_NUM_THREADS"] == b"2"
        wrong: Any = 3
        with pytest.raises(TypeError):
            os.environ[wrong] = "x"
        del os.environb[b"OMP_NUM_THREADS"]
        assert settings.explain(name).writes[-1].new is None
    assert type(os.environ).__setitem__ is method
