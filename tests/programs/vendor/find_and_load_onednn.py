"""Find and load oneDNN after other code has loaded a file, or without a package."""

from vendor_setup import *

(loaded_before, is_hidden) = map(json.loads, sys.argv[1:])

if loaded_before is not None:
    ctypes.CDLL(loaded_before)
from interlock.backends import libraries

if is_hidden:
    only_here("/nowhere")
found, loaded = libraries.find("onednn"), libraries.load("onednn")
copies = [file for file in vendors() if "libdnnl" in file]
result = [[found.path, found.source], [loaded.path, loaded.source], loaded.version, copies]

print("\n" + json.dumps(result))
