"""Send signals to a process until it exits, with pauses from microseconds to milliseconds."""

import json
import os
import random
import signal
import sys
import time

(process, seed) = map(json.loads, sys.argv[1:])

drawn = random.Random(seed)
while os.getppid() == process:
    time.sleep(drawn.choice((0.00005, 0.0003, 0.001, 0.003)) * drawn.random() * 2)
    try:
        os.kill(process, drawn.choice((signal.SIGINT, signal.SIGINT, signal.SIGUSR1)))
    except ProcessLookupError:
        break
