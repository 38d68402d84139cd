import json
import sys
import threading
import time

from interlock import backends, errors

(freeze,) = map(json.loads, sys.argv[1:])

exec(freeze)
done = threading.Event()
scopes = [0, 0]
refused = through = 0


def loop(number):
    while not done.is_set():
        with backends.cudnn.flags(enabled=False), backends.override({"cudnn.benchmark": True}):
            scopes[number] += 1


def write():
    global refused, through
    while not done.is_set():
        for value in (True, False):
            try:
                backends.cudnn.deterministic = value
                through += 1
            except errors.FlagsFrozenError:
                refused += 1


threads = [threading.Thread(target=loop, args=(number,)) for number in range(2)]
threads.append(threading.Thread(target=write))
for thread in threads:
    thread.start()
time.sleep(2)
done.set()
for thread in threads:
    thread.join()
flags = [backends.cudnn.enabled, backends.cudnn.benchmark, backends.cudnn.deterministic]
result = [through, refused > 100, min(scopes) > 100, backends.flags_frozen(), flags]

print("\n" + json.dumps(result))
