"""Whether the tests run under AddressSanitizer (`make test-sanitized`)."""

from __future__ import annotations

import os

IS_PRELOADED = "asan" in os.environ.get("LD_PRELOAD", "")
"""The sanitizer reserves terabytes of address space and ends the process if it cannot map more."""
