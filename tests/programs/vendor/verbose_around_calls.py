"""Call a library inside a scope and after it, and optionally before it."""

from calls_setup import *

(name, level, is_called_before) = map(json.loads, sys.argv[1:])
module, calls = {"mkl": (mkl, mkl_calls), "mkldnn": (mkldnn, onednn_calls)}[name]

if is_called_before:
    calls("before")
with module.verbose(level):
    calls("inside")
calls("after")
