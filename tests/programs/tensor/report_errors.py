"""Print the class and the message of the error of each expression in the argument."""

import json
import sys

import interlock

reported = []
for source in json.loads(sys.argv[1]):
    try:
        eval(source, vars(interlock).copy())
    except Exception as error:
        reported.append([type(error).__name__, str(error)])
    else:
        reported.append(["no error", ""])
print("\n" + json.dumps(reported))
