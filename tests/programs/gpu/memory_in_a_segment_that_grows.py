from kernels_setup import *

kept = [Buffer(30 << 20).fill_(number) for number in range(1, 6)]
accelerator.synchronize()
backs = [bytearray(30 << 20) for _ in kept]
for buffer, back in zip(kept, backs):
    buffer.copy_to(back)
right = [back == bytes([number]) * len(back) for number, back in enumerate(backs, 1)]
segments = [each for each in accelerator.memory.snapshot()["segments"] if each["is_expandable"]]
large = [each for each in segments if each["segment_type"] == "large"]
result = [right, len(large), accelerator.device_properties().extra["virtual_memory"]]

print("\n" + json.dumps(result))
