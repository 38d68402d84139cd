from verbose_setup import *

scope = m.verbose(1)
with scope:
    with scope:
        pass
scope.__exit__(None, None, None)
