import json

from config_setup import *

result = reported()

print("\n" + json.dumps(result))
