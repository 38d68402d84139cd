import os

from interlock import accelerator


def query():
    found, checked = (accelerator.current_accelerator(check_available=check) for check in (False, True))
    return [accelerator.is_available(), accelerator.device_count(), str(found), str(checked)]
