"""Detects AddressSanitizer (`make test-sanitized`)."""

from __future__ import annotations

import os

PRELOADED = os.environ.get("LD_PRELOAD", "")
IS_PRELOADED = "asan" in PRELOADED
"""The sanitizer reserves terabytes of address space and ends the process if it cannot map more."""


def preloaded(variables: dict[str, str]) -> dict[str, str]:
    """Return an environment for a child that preloads only the sanitizer."""
    return variables | {"LD_PRELOAD": PRELOADED if IS_PRELOADED else ""}
