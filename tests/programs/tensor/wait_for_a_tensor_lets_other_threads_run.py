import json
import sys

from streams_setup import *

(wait,) = map(json.loads, sys.argv[1:])

x = x[:1]


def go_on():
    time.sleep(0.05)
    open_it.set()


threading.Thread(target=go_on).start()
exec(wait)
result = x.tolist()

print("\n" + json.dumps(result))
