import json
import os

import interlock
from interlock import accelerator

children, stream = [], interlock.Stream()


def fork():
    process = os.fork()
    if process != 0:
        children.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


accelerator.launch(stream, fork)
stream.synchronize()
result = children

print("\n" + json.dumps(result))
