"""A forked child has a copy of the state, which the extension changes without an effect on the parent."""

import os
import sys
import warnings

import interlock
from interlock import accelerator, backends
from loaded import extension

warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."
accelerator.use("host", devices=2)
assert extension.count(10) == 45
extension.set_level(3)
with interlock.no_grad(), backends.override(**{"cudnn.benchmark": True}):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert extension.state() == (True, False)
            assert extension.call_with(False, True, extension.state) == (False, True)
            assert extension.level() == 3
            extension.set_level(5)
            assert extension.level() == 5
            assert extension.state_on_thread()[1] == (True, False)
            # The host driver starts again in a child.
            assert extension.count(100) == 4950
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    assert os.waitpid(child, 0) == (child, 0)
assert (extension.level(), extension.state()) == (3, (False, True))
assert extension.count(10) == 45
print("ok")
