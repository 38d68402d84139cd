from contexts_setup import *

with accelerator.device_index(1):
    stream, event = Stream(), Event(enable_timing=True)
    buffer = Buffer(1 << 20, stream=stream).fill_(1, stream=stream)
    event.record(stream)
    buffer.copy_to(bytearray(1 << 20), stream=stream)
    accelerator.synchronize()
    accelerator.get_memory_info()
    buffer.close()
    accelerator.empty_cache()
accelerator.device_properties(0), accelerator.synchronize(0), accelerator.memory_stats(0)
result = contexts()

print("\n" + json.dumps(result))
