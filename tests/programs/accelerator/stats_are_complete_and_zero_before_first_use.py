import json

from pinned_setup import *

stats = memory.host_memory_stats()
result = [list(stats), set(stats.values()) == {0}, query_all()]

print("\n" + json.dumps(result))
