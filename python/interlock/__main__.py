"""`python -m interlock`: prints a report of the devices, libraries and flags of this process."""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":
    # A closed pipe or Ctrl-C ends this process as it ends other commands: at once, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    from interlock._cli.main import main

    sys.exit(main(sys.argv[1:]))
