from verbose_setup import *

result = []
for _ in range(2):
    try:
        with m.verbose(m.VERBOSE_ON):
            result.append("entered")
    except AssertionError as error:
        result.append([type(error).__name__, isinstance(error, RuntimeError), str(error)])

print("\n" + json.dumps(result))
