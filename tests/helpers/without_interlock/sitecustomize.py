"""Hides interlock from an interpreter with this folder on PYTHONPATH, as if it were not installed."""

import sys


class _FindsNoInterlock:
    def find_spec(self, name, path=None, target=None):
        if name == "interlock":
            raise ModuleNotFoundError("No module named 'interlock'", name=name)


sys.meta_path.insert(0, _FindsNoInterlock())
