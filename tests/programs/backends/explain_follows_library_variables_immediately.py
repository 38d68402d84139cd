import json
import sys

from libraries_affected_setup import *

(tmp_path, tmp_path_2, library, tmp_path_3) = map(json.loads, sys.argv[1:])

result = [effect()]
for name, value in (
    ("LD_LIBRARY_PATH", tmp_path),
    ("LD_LIBRARY_PATH", tmp_path_2),
    ("INTERLOCK_CUSOLVER_PATH", library),
    ("INTERLOCK_CUSOLVER_PATH", tmp_path_2),
):
    os.environ[name] = value
    result += [effect(), effect()]
os.environ["INTERLOCK_CUSOLVER_PATH"] = "there"
os.chdir(tmp_path_3)
result.append(effect())
os.chdir("/")
result.append(effect())

print("\n" + json.dumps(result))
