"""The type of the fixture `recorded`."""

from collections.abc import Callable
from pathlib import Path

Recorded = Callable[[Path, dict[str, str]], None]
