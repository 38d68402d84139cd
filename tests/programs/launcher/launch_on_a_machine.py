"""Start the launcher with the kernel files of a machine from a folder; `prefix` replaces `sys.prefix`."""

import json
import sys
from pathlib import Path

from interlock.backends.xeon import run_cpu

(root, prefix, arguments) = map(json.loads, sys.argv[1:])

if prefix is not None:
    sys.prefix = prefix
raise SystemExit(run_cpu.main(arguments, root=Path(root)))
