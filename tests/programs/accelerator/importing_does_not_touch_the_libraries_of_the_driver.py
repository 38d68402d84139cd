import json
from pathlib import Path

import interlock


def loaded():
    mapped = Path("/proc/self/maps").read_text()
    return [name in mapped for name in ("libcuda.so.1", "libnvidia-ml.so.1")]


result = [loaded()]
interlock.accelerator.is_available()
result.append(loaded()[0])

print("\n" + json.dumps(result))
