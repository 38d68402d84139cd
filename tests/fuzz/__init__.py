"""Fuzzers: random actions in child processes, with a watchdog and a seed that reproduces each finding."""
