import json
import os
import subprocess
import threading

import interlock


def threads():
    if os.path.isdir("/proc/self/task"):
        return sorted(os.listdir("/proc/self/task"))
    listed = subprocess.run(["ps", "-M", str(os.getpid())], capture_output=True, text=True, check=True)
    return len(listed.stdout.splitlines())


def differentiate():
    weight = interlock.ones(64, 64, requires_grad=True)
    total = sum(((weight @ weight).relu() * number).sum() for number in range(20))
    before = threads()
    total.backward()
    result.append(threads() == before)


result = []
with interlock.set_multithreading_enabled(False):
    differentiate()
differentiate()
other = threading.Thread(target=differentiate)
other.start()
other.join()
result.append(threading.active_count())

print("\n" + json.dumps(result))
