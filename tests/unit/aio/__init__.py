"""Tests of asyncio tasks with their own state."""
