import sys

import interlock

interlock.backends.cudnn.enabled = False
for name in [name for name in sys.modules if name.split(".")[0] == "interlock"]:
    if not name.startswith("interlock._core"):
        del sys.modules[name]
import interlock as again

print(again is interlock, again.backends.cudnn.enabled)
