"""What interlock knows of other libraries. Each library has a module, which does not import the library."""

from __future__ import annotations

__all__: list[str] = []
