"""Tests of asyncio tasks with a state of their own."""
