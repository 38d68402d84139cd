import json
import sys

from faults_setup import *

(fault, work) = map(json.loads, sys.argv[1:])

stream, buffer, seen = interlock.Stream(), Buffer(8), []
getattr(faults, fault)("a cable came loose")
exec(work)
accelerator.launch(stream, seen.append, 2)
result = [raised(stream.synchronize), raised(stream.synchronize), seen]

print("\n" + json.dumps(result))
