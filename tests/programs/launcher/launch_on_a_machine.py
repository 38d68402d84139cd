"""Start the launcher as on the machine whose files are below a folder; `prefix` replaces that of Python."""

import json
import sys
from pathlib import Path

from interlock.backends.xeon import run_cpu

(root, prefix, arguments) = map(json.loads, sys.argv[1:])

if prefix is not None:
    sys.prefix = prefix
raise SystemExit(run_cpu.main(arguments, root=Path(root)))
