import json

from config_setup import *

result = told()

print("\n" + json.dumps(result))
