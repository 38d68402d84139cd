import json
import multiprocessing

import interlock
from interlock import accelerator


def work(index):
    interlock.Stream(index).synchronize()
    return accelerator.device_count()


current = accelerator.current_accelerator()
asked = [accelerator.is_available(), accelerator.device_count(), str(current)]
with multiprocessing.get_context("fork").Pool(2) as pool:
    result = [asked, pool.map(work, range(2))]

print("\n" + json.dumps(result))
