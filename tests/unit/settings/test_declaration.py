"""Settings are declared, named and enabled."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import threading
import types
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from interlock import backends, settings
from interlock.errors import SettingValueError, SettingWarning, UnknownSettingError
from interlock.settings import Setting, _import_hook, _libraries

from tests.helpers.subprocess import PROGRAMS, eval_python
from tests.unit.settings.library import Library, library

__all__ = ["library"]


def test_names_lists_the_settings_in_the_order_of_their_declaration(library: Library) -> None:
    names = [name for name in settings.names() if name.startswith("mylib.")]
    assert names == [f"mylib.{name}" for name in ("level", "fast", "mode", "tls", "context", "constant")]


def test_taken_name_is_refused(library: Library) -> None:
    with pytest.raises(SettingValueError, match=r'register: the name "mylib.level" is taken'):
        settings.register(Setting("mylib.level", get=int))
    assert "mylib.level" in settings.names()


class Array:
    """An object like an array, whose comparison is no bool."""

    def __eq__(self, other: object) -> Any:
        return Array()

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array is ambiguous")

    def __repr__(self) -> str:
        return "array([0, 1])"


def test_values_that_cannot_be_compared_are_refused(library: Library) -> None:
    message = r"register: mylib.weights must have values that == compares, .*, got array\(\[0, 1\]\)"
    with pytest.raises(SettingValueError, match=message):
        settings.register(Setting("mylib.weights", get=Array))
    assert "mylib.weights" not in settings.names()


def test_value_that_becomes_an_array_differs_and_hides_no_other(library: Library) -> None:
    before = settings.snapshot()
    library.values["level"] = Array()
    library.set_fast(True)
    assert [each.name for each in settings.diff(before)] == ["mylib.level", "mylib.fast", "mylib.mode"]
    assert settings.explain("mylib.level").value is library.values["level"]
    with settings.override({"mylib.level": 2}):
        assert library.values["level"] == 2
    assert isinstance(library.values["level"], Array)
    between = settings.snapshot()
    library.values["level"] = Array()
    assert [each.name for each in settings.diff(between)] == ["mylib.level"]
    settings.restore(before)
    assert settings.diff(before) == []


def test_functions_are_put_back_when_settings_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "mylib", library)
    before = library.set_level
    row = Setting("mylib.level", get=lambda: library.values["level"], writers=("mylib.set_level",))
    with settings.register(row):
        wrapper = library.set_level
        assert wrapper != before
    assert library.set_level == before
    assert "mylib.level" not in settings.names()
    # Code that stored the wrapper can still call it.
    count = len(settings.writes(["mylib.level"]))
    assert wrapper(1) == "level 1"
    assert len(settings.writes(["mylib.level"])) == count


@pytest.mark.parametrize("name", ["level", "", "mylib.", ".level", "a..b", 3])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(SettingValueError, match=r'Setting: name must be "<library>.<setting>"'):
        Setting(name, get=int)


def test_invalid_extents_and_other_objects_are_refused() -> None:
    with pytest.raises(SettingValueError, match="extent must be process, thread or context, got 'task'"):
        Setting("mylib.level", get=int, extent="task")
    with pytest.raises(TypeError, match="register: settings must be Setting objects, got str"):
        settings.register("mylib.level")  # type: ignore[arg-type]


RELOADED = PROGRAMS / "settings" / "reloaded.py"


@pytest.fixture
def reloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Return a function that writes a module which registers settings, and imports it again."""
    monkeypatch.syspath_prepend(str(tmp_path))
    # The source may change within the resolution of its time.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module: Any = None

    def load(*changes: tuple[str, str]) -> Any:
        nonlocal module
        text = RELOADED.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "reloaded.py").write_text(text)
        importlib.invalidate_caches()
        module = importlib.reload(module) if module else importlib.import_module("reloaded")
        return module

    yield load
    if module is not None:
        module.registered.__exit__()
    sys.modules.pop("reloaded", None)


def test_module_that_is_reloaded_replaces_its_settings(reloaded: Callable[..., Any]) -> None:
    earlier = reloaded().registered
    second = reloaded(('{"level": 1}', '{"level": 2}'), ("A level.", "Another text."))
    assert settings.names().count("reloaded.level") == 1
    found = settings.explain("reloaded.level")
    assert (found.value, found.doc) == (2, "Another text.")
    with settings.override({"reloaded.level": 3}):
        assert second.config == {"level": 3}
    second.set_level(4)
    writes = [write for write in settings.writes() if write.setting == "reloaded.level"]
    assert [(write.old, write.new) for write in writes[-1:]] == [(2, 4)], "the new writer is wrapped"
    # The block of the earlier registration has nothing to forget.
    earlier.__exit__()
    assert "reloaded.level" in settings.names()


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (("get, set_level,", "lambda: 1, set_level,"), "get"),
        (('doc="A level."', "default=3"), "default"),
        (("get, set_level,", "get, None,"), "set"),
        (('doc="A level."', 'extent="thread"'), "extent"),
    ],
)
def test_declaration_that_differs_is_refused_and_changes_nothing(
    reloaded: Callable[..., Any], change: tuple[str, str], difference: str
) -> None:
    reloaded()
    refused = (
        rf'^register: the name "reloaded\.level" is taken: .*reloaded\.py:\d+, with another {difference}$'
    )
    with pytest.raises(SettingValueError, match=refused):
        reloaded(change)
    assert {"reloaded.level", "reloaded.fixed"} <= set(settings.names())
    assert settings.explain("reloaded.fixed").value == 1


def test_registration_that_fails_keeps_the_earlier_one(reloaded: Callable[..., Any]) -> None:
    reloaded()
    # The names of one call must differ.
    again = '"reloaded.level", get, set_level, writers=("reloaded.set_level",)'
    with pytest.raises(SettingValueError, match="taken"):
        reloaded(('"reloaded.fixed", get=lambda: 1', again))
    assert {"reloaded.level", "reloaded.fixed"} <= set(settings.names())


def test_settings_that_wait_for_a_library_are_replaced() -> None:
    declared = Setting("waiting.level", get=int)
    first = settings.register(declared, library="waiting")
    with settings.register(Setting("waiting.level", get=int), library="waiting"), first:
        pass
    with pytest.raises(SettingValueError, match="taken"), settings.register(declared, library="waiting"):
        settings.register(Setting("waiting.level", get=float), library="waiting")


def test_duplicate_names_register_nothing() -> None:
    with pytest.raises(SettingValueError, match="taken"):
        settings.register(Setting("other.a", get=int), Setting("other.a", get=int))
    assert "other.a" not in settings.names()


def test_unknown_names_are_refused_with_a_suggestion(library: Library) -> None:
    with pytest.raises(
        UnknownSettingError, match=r'unknown setting "mylib.levl"; did you mean "mylib.level"\?'
    ):
        settings.explain("mylib.levl")
    with pytest.raises(UnknownSettingError, match=r'did you mean "mylib.context"'):
        settings.explain("else.where.context")
    with pytest.raises(
        UnknownSettingError, match=r'no setting of "nolib" is known: settings.register declares settings$'
    ):
        settings.explain("nolib.x")
    with pytest.raises(TypeError, match="explain: name must be a str, got int"):
        settings.explain(3)  # type: ignore[arg-type]


def test_unknown_libraries_are_refused_with_a_suggestion() -> None:
    with pytest.raises(SettingValueError, match=r'enable: unknown library "torhc"; did you mean "torch"\?'):
        settings.enable("torhc")
    with pytest.raises(SettingValueError, match="known: environ, jax, numpy, torch"):
        settings.enable("zzz")


def late_module(folder: Path, text: str = "value = 1\n") -> str:
    (folder / "late_library.py").write_text(text)
    return "late_library"


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(tmp_path)
    name = late_module(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def row_of(name: str) -> Setting:
    return Setting(f"{name}.value", get=lambda: sys.modules[name].value)


def test_settings_are_known_when_their_library_is_imported(late: str) -> None:
    with settings.register(row_of(late), library=late):
        assert late not in sys.modules
        assert f"{late}.value" not in settings.names()
        module = importlib.import_module(late)
        assert f"{late}.value" in settings.names()
        assert "exec_module" not in vars(module.__loader__)
    assert late not in _import_hook._waiting
    del sys.modules[late]


def test_import_hook_is_removed_with_the_last_library_that_it_waits_for() -> None:
    code = """\
    import sys; from interlock.settings import _import_hook, enable
    with enable("torch"):
        during = _import_hook._finder in sys.meta_path
    result = [during, _import_hook._finder in sys.meta_path]
    """
    assert eval_python(code) == [True, False]


def test_settings_are_known_if_the_import_hook_was_bypassed(late: str) -> None:
    with settings.register(row_of(late), library=late):
        sys.meta_path.remove(_import_hook._finder)
        importlib.import_module(late)
        assert settings.explain(f"{late}.value").value == 1
    del sys.modules[late]


def test_disabled_before_the_import_nothing_becomes_known(late: str) -> None:
    with settings.register(row_of(late), library=late):
        pass
    importlib.import_module(late)
    assert f"{late}.value" not in settings.names()
    del sys.modules[late]


def test_other_modules_of_a_zip_file_are_imported_before_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("late_library.py", "value = 1\n")
        packed.writestr("other_module.py", "")
    monkeypatch.syspath_prepend(tmp_path / "packed.zip")
    with settings.register(row_of("late_library"), library="late_library"):
        assert importlib.util.find_spec("late_library") is not None
        importlib.import_module("other_module")
        assert "late_library.value" not in settings.names()
        importlib.import_module("late_library")
        assert settings.explain("late_library.value").value == 1
    del sys.modules["late_library"], sys.modules["other_module"]


def test_failing_import_leaves_the_library_waited_for(tmp_path: Path, late: str) -> None:
    late_module(tmp_path, "raise ImportError('broken')\n")
    with settings.register(row_of(late), library=late):
        with pytest.raises(ImportError, match="broken"):
            importlib.import_module(late)
        late_module(tmp_path, "value = 22\n")
        importlib.invalidate_caches()
        importlib.import_module(late)
        assert settings.explain(f"{late}.value").value == 22
    del sys.modules[late]


def test_import_succeeds_if_the_settings_of_the_library_are_unusable(late: str) -> None:
    with settings.register(row_of(late), row_of(late), library=late):
        with pytest.warns(SettingWarning, match=f"the settings of {late} are not known: SettingValueError"):
            module = importlib.import_module(late)
        assert module.value == 1
    del sys.modules[late]


def test_library_enabled_twice_is_disabled_by_the_second_disable() -> None:
    settings.enable("environ")
    with settings.enable("environ"):
        assert "environ.OMP_NUM_THREADS" in settings.names()
    assert "environ.OMP_NUM_THREADS" in settings.names()
    settings.disable("environ")
    assert "environ.OMP_NUM_THREADS" not in settings.names()
    settings.disable("environ")
    assert "environ" not in _libraries._enabled


def test_block_of_a_library_that_ends_twice_disables_once() -> None:
    with settings.enable("environ"):
        block = settings.enable("environ")
        for _ in range(2):
            with block:
                pass
        assert "environ.OMP_NUM_THREADS" in settings.names()


def test_enabling_that_fails_enables_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Setting("mylib.level", get=int)
    table = types.SimpleNamespace(IMPORTED=None, PACKAGES=(), GROUPS=(), install=lambda _: [row])
    monkeypatch.setitem(_libraries.KNOWN, "mylib", "table_of_mylib")
    monkeypatch.setitem(sys.modules, "table_of_mylib", table)
    with settings.register(row):
        with pytest.raises(SettingValueError, match=r'enable: the name "mylib.level" is taken'):
            settings.enable("environ", "mylib")
        assert not {"environ", "mylib"} & _libraries._enabled.keys()
    with settings.enable("mylib"):
        assert "mylib.level" in settings.names()


def test_unreadable_settings_are_reported_and_never_raise(library: Library) -> None:
    def fail() -> None:
        raise RuntimeError("two interfaces were mixed\nmore")

    with settings.register(Setting("mylib.broken", get=fail)):
        found = settings.explain("mylib.broken")
        assert str(found.value) == "unreadable: RuntimeError: two interfaces were mixed"
        assert "mylib.broken" not in settings.snapshot()
        assert found.as_dict()["value"] == str(found.value)


def test_enabling_on_many_threads_enables_once() -> None:
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        settings.enable("environ")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(8):
        assert "environ.OMP_NUM_THREADS" in settings.names()
        settings.disable("environ")
    assert "environ.OMP_NUM_THREADS" not in settings.names()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"get": 3}, "get must be callable, got 3"),
        ({"get": None}, "get must be callable, got None"),
        ({"set": 3}, "set must be callable or None, got 3"),
        ({"convert": "int"}, "convert must be callable or None, got 'int'"),
        ({"restore": 1}, "restore must be callable or None, got 1"),
        ({"too_late": "late"}, "too_late must be callable or None, got 'late'"),
        ({"writers": "mylib.set"}, "writers must be a tuple of str, got 'mylib.set'"),
        ({"guards": (1,)}, "guards must be a tuple of str, got (1,)"),
    ],
)
def test_declaration_refuses_wrong_types(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        Setting("mylib.level", **({"get": int} | arguments))
    assert str(caught.value) == f"Setting: {message}"


def test_register_refuses_a_library_that_is_no_name() -> None:
    before = settings.names()
    with pytest.raises(TypeError, match="register: library must be a str or None, got 3"):
        settings.register(Setting("mylib.level", get=int), library=3)  # type: ignore[arg-type]
    assert settings.names() == before


def test_register_warns_of_a_writer_that_does_not_exist() -> None:
    row = Setting("mylib.level", get=int, writers=("os.nope", "os.getcwd"))
    message = r'register: the writer "os\.nope" does not exist: what it writes is not recorded'
    with pytest.warns(SettingWarning, match=message) as caught, settings.register(row):
        pass
    assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize("use", [settings.explain, lambda name: settings.restore({name: 1})])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("interlock.backends.cudnn.benchmark", '"cudnn.benchmark" is a flag: use backends.explain,'),
        ("cudnn.benchmark", '"cudnn.benchmark" is a flag: use backends.explain,'),
        ("declaration.flag", '"declaration.flag" is a flag: use backends.explain,'),
        ("interlock.backends.cudnn.benchmrak", "did you mean backends.cudnn.benchmark?"),
        ("jaxx.threads", 'known: call settings.enable("jax") and import jax'),
        ("environ.OMP_NUM_THREADS", 'no setting of "environ" is known: call settings.enable("environ")'),
    ],
)
def test_unknown_setting_says_what_knows_the_name(
    use: Callable[[str], object], name: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    monkeypatch.setattr(_libraries, "_enabled", {})
    flag = backends.register("declaration.flag", 1, doc="x")
    with pytest.raises(UnknownSettingError, match=re.escape(hint)):
        use(name)
    backends.unregister(flag)


def test_unknown_setting_of_an_enabled_library_says_what_is_left_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    message = r'no setting of "jax" is known: import jax$'
    with settings.enable("jax"), pytest.raises(UnknownSettingError, match=message):
        settings.explain("jax.threads")
