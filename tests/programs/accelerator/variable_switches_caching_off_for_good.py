import json

from config_setup import *

result = [config_state()]
memory.set_config(memory.AllocatorConfig(max_split_size_mb=64))
result += [config_state(), memory.config_report()["max_split_size_mb"].applies]

print("\n" + json.dumps(result))
