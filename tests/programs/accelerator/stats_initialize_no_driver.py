import json

from pinned_setup import *

memory.host_memory_stats()
query_all()
accelerator.use("host", devices=5)
result = [accelerator.device_count()]

print("\n" + json.dumps(result))
