import json
import sys

from interlock import backends

(tmp_path,) = map(json.loads, sys.argv[1:])


def effect():
    return backends.explain("cuda.linalg_library").affects.partition("on cuda")[2]


result = [effect()]
sys.path.append(tmp_path)
result.append(effect())
backends.libraries.load("cusolver")
result.append(effect())

print("\n" + json.dumps(result))
