"""Write where this instance runs into a file with a name of its own, in the folder that is its argument."""

import json
import os
import sys

about = {
    "cores": sorted(os.sched_getaffinity(0)),
    "threads": os.environ.get("OMP_NUM_THREADS"),
    "group": os.getpgid(0) == os.getpid(),
    "arguments": sys.argv[2:],
}
with open(os.path.join(sys.argv[1], f"{os.getpid()}.json"), "w") as file:
    json.dump(about, file)
