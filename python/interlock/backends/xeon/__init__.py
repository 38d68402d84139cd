"""The launcher `run_cpu`, which runs instances of a program on separate cores and memory nodes.

Run it with `python -m interlock.backends.xeon.run_cpu`. It has no flags, and no other module imports it.
"""

__all__: list[str] = []
