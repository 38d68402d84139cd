"""A launcher that gives instances of a program cores and memory of their own: `run_cpu`.

`python -m interlock.backends.xeon.run_cpu` runs it. It has nothing to do with flags, and nothing imports it.
"""

__all__: list[str] = []
