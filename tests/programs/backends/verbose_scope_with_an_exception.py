from verbose_setup import *

try:
    with m.verbose(1):
        raise LookupError
except LookupError:
    pass
else:
    raise SystemExit("swallowed")
