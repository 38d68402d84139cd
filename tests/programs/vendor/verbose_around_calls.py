"""Call a library inside of a scope and after it, and before if that is asked for."""

from calls_setup import *

(name, level, is_called_before) = map(json.loads, sys.argv[1:])
module, calls = {"mkl": (mkl, mkl_calls), "mkldnn": (mkldnn, onednn_calls)}[name]

if is_called_before:
    calls("before")
with module.verbose(level):
    calls("inside")
calls("after")
