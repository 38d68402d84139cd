import json

import cuda_setup
from cuda_setup import *

NEW = {
    "Stream": lambda: interlock.Stream("cuda:1"),
    "Event": lambda: interlock.Event().record(),
    "Buffer": lambda: Buffer(4),
    "synchronize": accelerator.synchronize,
    "get_memory_info": accelerator.get_memory_info,
}
reading, writing = os.pipe()
process = os.fork()
if process == 0:
    reported = {name: raised(use) for name, use in (USES | NEW).items()}
    why = accelerator.unavailable_reason()
    for name in ("stream", "event", "buffer", "graph", "USES"):
        del globals()[name]
        delattr(cuda_setup, name)
    del NEW
    gc.collect()
    os.write(writing, repr((reported, why, accelerator.is_available())).encode())
    os._exit(0)
os.close(writing)
with open(reading) as pipe:
    reported, why, is_available = eval(pipe.read())
_, status = os.waitpid(process, 0)
result = [reported, why, is_available, status, [raised(use) for use in USES.values()]]

print("\n" + json.dumps(result))
