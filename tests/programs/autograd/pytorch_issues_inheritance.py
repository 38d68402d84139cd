import contextvars
import json
import threading

import interlock
from interlock import backends


def look():
    return [interlock.is_grad_enabled(), interlock.is_inference_mode_enabled(), backends.cudnn.enabled]


def on_a_thread(function):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(function()))
    thread.start()
    thread.join()
    return seen[0]


def write():
    interlock.set_grad_enabled(True)
    backends.cudnn.enabled = True
    return look()


backends.cudnn.benchmark = True
result = []
with interlock.no_grad(), interlock.inference_mode(), backends.cudnn.flags(enabled=False):
    copied = contextvars.copy_context()
    result += [look(), on_a_thread(look), on_a_thread(lambda: copied.run(look)), copied.run(look)]
    result += [copied.run(write), look()]
result += [look(), copied.run(look), on_a_thread(lambda: copied.run(look)), backends.cudnn.benchmark]

print("\n" + json.dumps(result))
