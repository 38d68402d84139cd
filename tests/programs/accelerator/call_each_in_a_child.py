import json
import os
import sys
import warnings
from collections import OrderedDict

import interlock
from interlock import accelerator, errors
from interlock.accelerator import DeviceProperties, Graph
from interlock.accelerator.memory import Buffer

warnings.simplefilter("ignore", FutureWarning)


def shown(result):
    if isinstance(result, interlock.Stream):
        kind = "the default" if result.stream_id == 0 else "a"
        return f"{kind} stream of {result.device}"
    if isinstance(result, interlock.Event):
        return f"an event of {result.device}"
    if isinstance(result, Buffer):
        return f"{result.nbytes} bytes on {result.device}"
    if isinstance(result, (DeviceProperties, Graph)):
        return type(result).__name__
    if isinstance(result, OrderedDict):
        return f"{len(result)} numbers"
    if isinstance(result, dict):
        return "a dict"
    if isinstance(result, tuple) and result[1] > 1000:
        return "(free, total)"
    if isinstance(result, str):
        return "a sentence" if result.count(" ") > 2 else "a name"
    return str(result)


def outcome(call):
    try:
        return shown(eval(call))
    except Exception as error:
        return type(error).__name__


def fixed():
    try:
        accelerator.use("host", devices=2)
    except errors.DriverInUseError:
        return True
    return False


answer = []
for call in json.loads(sys.stdin.read() or os.environ["CALLS"]):
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        if os.environ["STATE"] == "ready":
            interlock.Stream(1).synchronize()
            accelerator.set_device_index(1)
        reported = [outcome(call), fixed()]
        os.write(writing, json.dumps(reported).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        answer.append(json.loads(pipe.read()))
    os.waitpid(process, 0)

print("\n" + json.dumps(answer))
