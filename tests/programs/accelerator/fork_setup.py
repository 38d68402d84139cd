import os
import sys
import threading

import interlock
from interlock import accelerator, errors
from interlock.accelerator.memory import Buffer, copy_, fill_


def in_child(work):
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


stream = interlock.Stream(dedicated=True)
event, timed = interlock.Event(), interlock.Event(enable_timing=True)
event.record(stream)
timed.record(stream)
buffer, graph = Buffer(8), accelerator.Graph()
with stream, graph:
    fill_(buffer, 1)
stream.synchronize()
