from interlock.backends import libraries
from vendor_setup import *

packaged = libraries.find("cusparse")
only_here("/nowhere")
loaded = libraries.load("cusparse")
result = [packaged.source, loaded.source, loaded.path, loaded.version]

print("\n" + json.dumps(result))
