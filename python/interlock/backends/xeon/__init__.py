"""The launcher `run_cpu`, which gives instances of a program cores and memory of their own.

`python -m interlock.backends.xeon.run_cpu` runs it. It has no flags, and no other module imports it.
"""

__all__: list[str] = []
