import json

from config_setup import *

result = [reported()]
memory.set_config(memory.AllocatorConfig(max_split_size_mb=64))
result += [reported(), memory.config_report()["max_split_size_mb"].applies]

print("\n" + json.dumps(result))
