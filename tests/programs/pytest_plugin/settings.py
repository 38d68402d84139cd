import pytest
from interlock import errors, settings

config = {"level": 1, "depth": 1}


def row(name):
    return settings.Setting(
        f"mylib.{name}", get=lambda: config[name], set=lambda new: config.update({name: new})
    )


settings.register(row("level"), row("depth"))


def test_set(interlock_settings):
    before = interlock_settings.snapshot()
    interlock_settings.override({"mylib.level": 2})
    interlock_settings.override({"mylib.level": 3})
    interlock_settings.pin({"mylib.depth": 4})
    assert config == {"level": 3, "depth": 4}
    assert before["mylib.level"] == 1
    changed = {each.name: each.after for each in interlock_settings.changes()}
    assert changed == {"mylib.level": 3, "mylib.depth": 4}


def test_errors_name_the_setting(interlock_settings):
    with pytest.raises(errors.UnknownSettingError, match=r"mylib\.levle"):
        interlock_settings.override({"mylib.levle": 2})


def test_after(interlock_settings):
    assert config == {"level": 1, "depth": 1}
    assert interlock_settings.changes() == []
