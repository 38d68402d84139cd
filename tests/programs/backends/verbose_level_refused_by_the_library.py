from interlock import errors
from verbose_setup import *

with m.verbose(1):
    try:
        m.verbose(2).__enter__()
    except errors.LibraryError as error:
        assert "2" in str(error)
    else:
        raise SystemExit("accepted")
