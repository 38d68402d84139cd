import json
import os
import sys
import threading

import interlock
from interlock import backends

(code,) = map(json.loads, sys.argv[1:])


def stay() -> None:
    with interlock.no_grad(), backends.cudnn.flags():
        entered.set()
        threading.Event().wait()


entered = threading.Event()
threading.Thread(target=stay, daemon=True).start()
entered.wait()
interlock.inference_mode().__enter__()
backends.frozen().__enter__()
raise SystemExit(code)
