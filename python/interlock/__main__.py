"""Runs `python -m interlock`, which prints a report of devices, libraries and flags."""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":
    # A closed pipe or Ctrl-C ends this process by its signal, without a traceback, like other commands.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    from interlock._cli.main import main

    sys.exit(main(sys.argv[1:]))
