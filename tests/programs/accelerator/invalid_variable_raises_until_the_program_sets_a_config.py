import json

from config_setup import *

result = [told(), told()]
try:
    memory.set_config("backend:none")
except errors.ArgumentError:
    result.append(told())
memory.set_config("max_split_size_mb:64")
result.append(told())

print("\n" + json.dumps(result))
