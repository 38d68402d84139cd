from interlock.backends import libraries
from vendor_setup import *

packaged = libraries.find("openmp").source
only_here("/nowhere")
found, loaded = libraries.find("openmp"), libraries.load("openmp")
result = [packaged, found.source, loaded.source, loaded.is_loaded, os.path.basename(loaded.path)]

print("\n" + json.dumps(result))
