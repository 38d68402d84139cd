import json

import interlock
from interlock import errors

reported = []
for use in (
    lambda: interlock.ones(1, device="cuda"),
    lambda: interlock.ones(1).to("cuda:0"),
    lambda: interlock.ones(1).pin_memory(),
    lambda: interlock.device("cuda").__enter__().type and interlock.zeros(1),
):
    try:
        use()
    except errors.NoAcceleratorError as error:
        reported.append(str(error).partition(": ")[0])
result = reported

print("\n" + json.dumps(result))
