import json
import sys

from streams_setup import *

(wait,) = map(json.loads, sys.argv[1:])


def interrupt():
    time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=interrupt).start()
try:
    # An interrupted `exec` of text would make CPython end with SIGINT.
    exec(compile(wait, "wait", "exec"))
    result = "it did not wait"
except KeyboardInterrupt:
    open_it.set()
    result = x.tolist()

print("\n" + json.dumps(result))
