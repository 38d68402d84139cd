"""`python -m interlock`: what this process has and what it is set to, as a report."""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":
    # Whoever stops reading or presses Ctrl-C ends it as other commands end: at once, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    from interlock._report.command import main

    sys.exit(main(sys.argv[1:]))
