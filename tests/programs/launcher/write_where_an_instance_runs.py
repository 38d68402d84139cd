"""Write the cores and threads of this instance into a new file of the folder in its argument."""

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
