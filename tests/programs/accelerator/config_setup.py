import dataclasses

from interlock import errors
from interlock.accelerator import memory


def config_state():
    try:
        config = memory.get_config()
    except errors.ArgumentError as error:
        return str(error)
    report = memory.config_report()
    assert {name: entry.value for name, entry in report.items()} == dataclasses.asdict(config)
    sources = {name: entry.source for name, entry in report.items() if not entry.is_default}
    return [str(config), config.caching, sources]
