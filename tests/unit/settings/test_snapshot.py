"""Snapshots of all settings are compared and put back, all or none."""

from __future__ import annotations

import json
import pickle
from typing import Any

import interlock
import pytest
from interlock import settings
from interlock.errors import SettingConflictError, SettingValueError, SettingWarning, UnknownSettingError

from tests.unit.settings.library import Library, library

__all__ = ["library"]

pytestmark = pytest.mark.usefixtures("restored")


@pytest.mark.parametrize("through", [None, pickle, json])
def test_snapshot_survives_pickle_and_json_and_is_restored(library: Library, through: Any) -> None:
    taken = settings.snapshot()
    before = taken if through is None else through.loads(through.dumps(taken))
    library.set_level(4)
    library.set_tls(2)
    library.set_mode("quick")
    interlock.backends.cudnn.benchmark = True
    changed = {each.name: (each.before, each.after) for each in settings.diff(before)}
    assert changed == {
        "mylib.level": (1, 4),
        "mylib.fast": (False, True),
        "mylib.mode": ("slow", "quick"),
        "mylib.tls": (0, 2),
        "interlock.backends.cudnn.benchmark": (False, True),
    }
    settings.restore(before)
    assert settings.diff(before) == []
    write = settings.explain("mylib.level").writes[-1]
    assert (write.old, write.new, write.file) == (4, 1, __file__)


def test_diff_of_two_snapshots_lists_missing_settings(library: Library) -> None:
    one, other = settings.Snapshot({"a.b": 1, "a.c": 2}), settings.Snapshot({"a.c": True, "a.d": 3})
    assert [tuple(each) for each in settings.diff(one, other)] == [
        ("a.b", 1, None),
        ("a.c", 2, True),
        ("a.d", None, 3),
    ]
    assert str(settings.diff(one, other)[0]) == "a.b: 1 -> None"
    with pytest.raises(TypeError, match="diff: after must be a mapping, got list"):
        settings.diff(one, [])  # type: ignore[arg-type]


def test_restore_of_some_settings_leaves_the_others(library: Library) -> None:
    library.set_level(4)
    library.set_fast(True)
    settings.restore({"mylib.level": 1})
    assert library.values == {"level": 1, "fast": True, "mode": "quick"}
    library.set_fast(False)


def test_restore_is_all_or_nothing(library: Library) -> None:
    interlock.backends.cudnn.benchmark = True
    before = settings.snapshot()
    interlock.backends.cudnn.benchmark = False
    with pytest.raises(ValueError, match="mylib refuses"):
        settings.restore(
            {"mylib.level": 4, "interlock.backends": before["interlock.backends"], "mylib.fast": "refused"}
        )
    assert library.values == {"level": 1, "fast": False, "mode": "slow"}
    assert interlock.backends.cudnn.benchmark is False
    with pytest.raises(UnknownSettingError, match="restore: unknown setting"):
        settings.restore({"mylib.level": 4, "mylib.other": 1})
    with pytest.raises(SettingValueError, match=r"restore: mylib.level must be an int, got 'x'"):
        settings.restore({"mylib.fast": True, "mylib.level": "x"})
    with pytest.raises(TypeError, match="restore: snapshot must be a mapping, got list"):
        settings.restore([])  # type: ignore[arg-type]
    assert library.values == {"level": 1, "fast": False, "mode": "slow"}


def test_restore_names_read_only_settings_that_it_leaves(library: Library) -> None:
    with pytest.warns(SettingWarning, match=r"left as they are: mylib.constant \(7 instead of 3\)") as caught:
        settings.restore({"mylib.constant": 3})
    assert caught[0].filename == __file__
    assert settings.explain("mylib.constant").value == 7


def test_restore_accepts_values_that_the_library_had(library: Library) -> None:
    library.values["level"] = "many"
    before = settings.snapshot()
    library.set_level(1)
    with pytest.raises(SettingValueError, match=r"restore: mylib.level must be an int, got 'many'"):
        settings.restore(json.loads(json.dumps(before)))
    settings.restore(before)
    assert library.values["level"] == "many"
    library.set_level(1)


def test_restore_in_a_scope_writes_what_the_scope_holds(library: Library) -> None:
    before = settings.snapshot()
    with pytest.warns(SettingWarning, match="was set to 4"), settings.override({"mylib.level": 2}):
        settings.restore({"mylib.level": 4})
    settings.restore(before)


def test_restore_refuses_a_pinned_setting_and_changes_nothing(library: Library) -> None:
    with (
        settings.pin({"mylib.level": 2}),
        pytest.raises(SettingConflictError, match=r"restore: mylib.level is pinned"),
    ):
        settings.restore({"mylib.fast": True, "mylib.level": 4})
    assert library.values["fast"] is False
