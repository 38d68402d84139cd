import pathlib
import sys

sys.path.insert(0, ".")
library = "import interlock\ninterlock.backends.cudnn.deterministic = True\n"
pathlib.Path("careless.py").write_text(library)

import careless
from interlock import backends

backends.cuda.matmul.allow_tf32 = True
del backends.cudnn.deterministic
with backends.override({"cudnn.enabled": False}):
    backends.cudnn.enabled = True
taken = backends.snapshot()
backends.cudnn.benchmark = True
backends.restore(taken)
backends.reset()
for write in backends.writes():
    print(write.name, "unset" if write.unset else write.value, pathlib.Path(write.set_by).name)
