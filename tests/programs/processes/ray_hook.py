"""The setup hook of Ray's workers, in a process that may lack interlock."""

import os
import runpy
import sys


class HidesInterlock:
    def find_spec(self, name, path=None, target=None):
        if name == "interlock":
            raise ModuleNotFoundError(name)


def run(hook, libraries, hides_interlock):
    """Run the hook of a file, then import a library of a folder."""
    if hides_interlock:
        sys.meta_path.insert(0, HidesInterlock())
    runpy.run_path(hook)["install"]()
    names = ("NCCL_DEBUG", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    found = [[os.environ.get(name) for name in names], "interlock" in sys.modules]
    sys.path.insert(0, libraries)
    import torch

    return [*found, [sys.modules.get("interlock") is not None, torch.backends.cudnn.benchmark]]
