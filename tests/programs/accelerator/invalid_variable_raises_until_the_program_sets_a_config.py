import json

from config_setup import *

result = [reported(), reported()]
try:
    memory.set_config("backend:none")
except errors.ArgumentError:
    result.append(reported())
memory.set_config("max_split_size_mb:64")
result.append(reported())

print("\n" + json.dumps(result))
