import builtins
import json
import sys

import interlock
from interlock import backends

(words,) = map(json.loads, sys.argv[1:])


class Last:
    def __del__(self, interlock=interlock, backends=backends):
        try:
            exec(words)
        except Exception:
            pass


builtins.last = Last()
