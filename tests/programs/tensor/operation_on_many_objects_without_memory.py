import json
import os
import sys
import warnings

from out_of_memory_setup import *

(prepare, operation, mebibytes_of_room) = map(json.loads, sys.argv[1:])

warnings.simplefilter("ignore")
scope = dict(globals())
exec(prepare, scope)
compiled = compile(operation, "operation", "exec")
for mebibytes in mebibytes_of_room:
    child = os.fork()
    if child == 0:
        limit(mebibytes << 20)
        try:
            exec(compiled, scope)
        except (MemoryError, OutOfMemoryError):
            pass
        except RuntimeError as error:
            assert "dim" in str(error), error
        for made in ("y", "kept", "parts"):
            scope.pop(made, None)
        lift_limit()
        assert ones(3).sum().item() == 3
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status == 0, (mebibytes, os.waitstatus_to_exitcode(status))
