import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from interlock.backends import cudnn

barrier = Barrier(8)


def query(_):
    barrier.wait()
    return cudnn.version()


with ThreadPoolExecutor(8) as pool:
    result = list(pool.map(query, range(8)))

print("\n" + json.dumps(result))
