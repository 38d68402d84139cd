"""Run instances of a program, each on its own cores: `python -m interlock.backends.xeon.run_cpu`."""

from __future__ import annotations

import sys

from interlock._launcher.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
