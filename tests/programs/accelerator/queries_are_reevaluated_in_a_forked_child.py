import json

from driver_selection_setup import *


def in_child(work):
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as result:
        reported = json.loads(result.read())
    os.waitpid(process, 0)
    return reported


def other():
    before = query()
    os.environ["INTERLOCK_ACCELERATOR"] = "host:5"
    accelerator.set_device_index(4)
    return [before, query(), accelerator.current_device_index()]


before = [query(), in_child(other), query()]
accelerator.set_device_index(1)
result = [*before, in_child(query), query(), accelerator.current_device_index()]

print("\n" + json.dumps(result))
