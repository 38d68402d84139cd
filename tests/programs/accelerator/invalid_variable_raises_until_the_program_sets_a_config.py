import json

from config_setup import *

result = [config_state(), config_state()]
try:
    memory.set_config("backend:none")
except errors.ArgumentError:
    result.append(config_state())
memory.set_config("max_split_size_mb:64")
result.append(config_state())

print("\n" + json.dumps(result))
