import gc
import threading

import interlock
from interlock import accelerator, errors, testing
from interlock.accelerator.memory import Buffer, copy_, fill_

faults = testing.FaultInjector()
accelerator.use("host", devices=2, faults=faults)


def raised(call, *args):
    try:
        call(*args)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None
