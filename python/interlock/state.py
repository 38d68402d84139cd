"""The state that a thread decides for itself: taken whole, and put in force on other threads."""

from __future__ import annotations

from interlock._core.state import StateScope, ThreadState, capture

__all__ = ["StateScope", "ThreadState", "capture"]
