import json

from config_ask import *

result = told()

print("\n" + json.dumps(result))
