"""A module that registers settings, which tests change and import again."""

from interlock import settings

config = {"level": 1}


def get():
    return config["level"]


def set_level(value):
    config["level"] = value


registered = settings.register(
    settings.Setting("reloaded.level", get, set_level, doc="A level.", writers=("reloaded.set_level",)),
    settings.Setting("reloaded.fixed", get=lambda: 1),
)
