import json

from interlock import Stream, accelerator
from interlock.accelerator.memory import Buffer, config_report, memory_stats

accelerator.use("host", memory=256 << 20)
side = Stream()
kept = [Buffer(size) for size in (100, 5000, 3 << 20, 12 << 20, 300)]
kept[2].fill_(1, stream=side)
del kept[::2]
side.synchronize()
kept += [Buffer(size, stream=side) for size in (700, 2 << 20)] + [Buffer(3 << 20)]
accelerator.empty_cache()
report = config_report()
acts = {key: (report[key].value, report[key].applies) for key in ("backend", "expandable_segments")}
result = [memory_stats(), acts]

print("\n" + json.dumps(result))
