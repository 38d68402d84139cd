from contexts_setup import *

accelerator.device_properties(), accelerator.device_name(), accelerator.current_stream()
accelerator.current_device_index(), accelerator.memory_stats(), accelerator.synchronize()
result = contexts()

print("\n" + json.dumps(result))
