import json

from config_setup import *

result = config_state()

print("\n" + json.dumps(result))
