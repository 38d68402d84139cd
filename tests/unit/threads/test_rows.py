"""The sizes of thread pools as settings: `settings.enable("openblas")`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interlock
import numpy
import pytest
import threadpoolctl
from interlock import settings, threads
from interlock.errors import (
    SettingConflictError,
    SettingPinnedError,
    SettingValueError,
    UnknownSettingError,
    UnsupportedError,
)

from tests.helpers.fake_libraries import NEEDS_COMPILER
from tests.helpers.subprocess import eval_program
from tests.unit.threads import libraries

assert numpy.__version__, "the import loads OpenBLAS"

OPENBLAS = "openblas.numpy.num_threads"
INTERLOCK = "interlock.num_threads"


def run(name: str, *arguments: object, **env: str) -> Any:
    return eval_program(f"threads.rows.{name}", *arguments, env=env)


@pytest.fixture
def enabled() -> Iterator[None]:
    """The settings of OpenBLAS and interlock, with the size 2, which is put back."""
    before = {pool.name: pool.size for pool in threads.pools()}
    with settings.enable("openblas", "interlock"):
        threads.set_limits(2, pools=["openblas", "interlock"])
        yield
        assert settings.explain(OPENBLAS).value == 2
    for name in ("openblas.numpy", "interlock"):
        threads.set_limits(before[name] or 1, pools=[name])


def changes(name: str) -> list[tuple[Any, Any, str]]:
    return [
        (write.old, write.new, Path(write.file or "?").name)
        for write in settings.writes([name])
        if write.changed
    ]


def test_setting_of_openblas_is_read_and_explained(enabled: None) -> None:
    found = settings.explain(OPENBLAS)
    assert (found.value, found.extent) == (2, "process")
    assert found.doc.startswith("The number of threads of OpenBLAS (")
    assert "One pool, which all threads share" in str(found)
    assert OPENBLAS in settings.names()


def test_write_by_threadpoolctl_is_recorded_with_the_line_of_its_caller(enabled: None) -> None:
    with settings.watch() as watched, threadpoolctl.threadpool_limits(1):
        assert settings.explain(OPENBLAS).value == 1
    writes = [(write.old, write.new, write.function) for write in watched.writes if write.setting == OPENBLAS]
    here = "test_write_by_threadpoolctl_is_recorded_with_the_line_of_its_caller"
    assert writes == [(2, 1, here), (1, 2, here)]
    assert changes(OPENBLAS)[-2:] == [(2, 1, "test_rows.py"), (1, 2, "test_rows.py")]


def test_write_through_a_cached_controller_is_recorded(enabled: None) -> None:
    controller = threadpoolctl.ThreadpoolController().select(internal_api="openblas")
    with controller.limit(limits=1):
        assert settings.explain(OPENBLAS).writes[-1].new == 1


def test_write_without_threadpoolctl_is_reported_as_unseen(enabled: None) -> None:
    (library,) = threadpoolctl.ThreadpoolController().select(internal_api="openblas").lib_controllers
    library.dynlib.scipy_openblas_set_num_threads64_(1)
    assert changes(OPENBLAS)[-1] == (2, 1, "?")
    library.dynlib.scipy_openblas_set_num_threads64_(2)
    assert changes(OPENBLAS)[-1] == (1, 2, "?")


def test_write_of_interlock_is_recorded(enabled: None) -> None:
    interlock.set_num_threads(1)
    assert changes(INTERLOCK)[-1] == (2, 1, "test_rows.py")
    interlock.set_num_threads(2)


def test_override_and_pin_hold_a_size(enabled: None) -> None:
    with settings.override({OPENBLAS: 1, INTERLOCK: 1}):
        assert {pool.size for pool in threads.pools() if pool.name in ("openblas.numpy", "interlock")} == {1}
    with settings.pin({OPENBLAS: 1}):
        with pytest.raises(SettingPinnedError, match="is pinned to 1 by the pin at"):
            threadpoolctl.threadpool_limits(2)
        with pytest.raises(
            SettingConflictError, match=r"limits: openblas\.numpy\.num_threads is pinned to 1"
        ):
            threads.limits(2).__enter__()
        assert settings.explain(OPENBLAS).value == 1


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None])
def test_size_must_be_a_positive_int(enabled: None, value: Any) -> None:
    with pytest.raises(SettingValueError, match=f"override: {OPENBLAS} must be a positive int, got "):
        settings.override({OPENBLAS: value}).__enter__()


def test_snapshot_has_sizes_and_restores_them(enabled: None) -> None:
    before = settings.snapshot()
    with threads.limits(1):
        assert f"{OPENBLAS}: 2 -> 1" in map(str, settings.diff(before))
    threadpoolctl.threadpool_limits(1, user_api="blas")
    settings.restore(before)
    assert settings.diff(before) == []


def test_unknown_name_suggests_the_pool(enabled: None) -> None:
    with pytest.raises(UnknownSettingError, match=f'did you mean "{OPENBLAS}"'):
        settings.explain("openblas.num_threads")


def test_functions_are_put_back_when_it_is_disabled() -> None:
    assert run("functions_while_enabled") == {"enabled": False, "disabled": True, "known": False}


@NEEDS_COMPILER
def test_controller_is_used_until_a_library_is_loaded(tmp_path: Path) -> None:
    path = libraries.build(tmp_path, "libgomp.so.1", libraries.OPENMP)
    assert run("controllers_made", path) == {"uses": 1, "import": 1, "load": 2}


@NEEDS_COMPILER
def test_library_that_is_loaded_later_gets_a_setting(tmp_path: Path) -> None:
    path = libraries.build(tmp_path, "libgomp.so.1", libraries.OPENMP)
    found = run("load_later", path)
    assert found["before"] == []
    assert found["after"] == ["openmp.libgomp.num_threads"]
    assert found["extent"] == "thread"
    # By threadpoolctl, before any look at the settings.
    assert found["first"] == [4, 2]


@NEEDS_COMPILER
def test_write_of_interlock_is_a_write_of_openmp_on_this_thread(tmp_path: Path) -> None:
    path = libraries.build(tmp_path, "libgomp.so.1", libraries.OPENMP)
    assert run("write_of_interlock", path) == [["openmp.libgomp.num_threads", 4, 3, "rows.py"]]


def test_enable_without_names_waits_for_threadpoolctl() -> None:
    assert run("wait_for_threadpoolctl") == {
        "imported": False,
        "before": [],
        "after": [OPENBLAS],
        "variable": None,
    }


def test_enable_of_a_native_library_needs_threadpoolctl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    before = settings.names()
    with pytest.raises(UnsupportedError, match=r"^enable: the package threadpoolctl, which finds BLAS"):
        settings.enable("numexpr", "openblas")
    assert settings.names() == before


def test_watch_of_a_program_names_the_code_that_set_a_pool(tmp_path: Path) -> None:
    script = tmp_path / "sized.py"
    script.write_text("import numpy\nimport threadpoolctl\n\nthreadpoolctl.threadpool_limits(3)\n")
    found = run("watch", str(script))
    assert [OPENBLAS, 3, str(script), 4] in found
