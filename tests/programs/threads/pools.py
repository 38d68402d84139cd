"""Thread pools of processes with other libraries."""

import ctypes
import sys
import types

from interlock import settings, threads


def load(*paths):
    for path in paths:
        ctypes.CDLL(path)


def listed():
    return [pool._asdict() for pool in threads.pools()]


def pools_with_numpy():
    import numpy

    return listed()


def pools_of(*paths):
    load(*paths)
    return listed()


def extents_and_experiments(*paths):
    import numpy
    import threadpoolctl

    load(*paths)
    experiments = {
        each["filepath"]: each["thread_limit_scope"]
        for each in threadpoolctl.threadpool_info(debugging_info=True)
    }
    names = {"thread": "current_thread", "process": "process"}
    return {
        pool.file: [names[pool.extent], experiments[pool.file]]
        for pool in threads.pools()
        if pool.file is not None
    }


def names_before_and_after_loading(path):
    before = [pool.name for pool in threads.pools()]
    load(path)
    return [before, [pool.name for pool in threads.pools()]]


def set_sizes():
    import numpy
    import threadpoolctl

    def set_by():
        return next(pool.set_by for pool in threads.pools() if pool.name == "openblas.numpy")

    def here():
        frame = sys._getframe(1)
        return f"{frame.f_code.co_filename}:{frame.f_lineno}"

    found = {"before": set_by()}
    settings.enable("openblas")
    line = (threadpoolctl.threadpool_limits(1), here())[1]
    found |= {"function": set_by(), "line of threadpoolctl": line}
    (library,) = threadpoolctl.ThreadpoolController().lib_controllers
    library.dynlib.scipy_openblas_set_num_threads64_(3)
    found["unseen"] = set_by()
    line = (threads.set_limits(2), here())[1]
    return found | {"limits": set_by(), "line of limits": line}


class Numexpr(types.ModuleType):
    __version__ = "2.99"
    MAX_THREADS = 8
    size = 3

    def get_num_threads(self):
        return self.size

    def set_num_threads(self, value):
        if value > self.MAX_THREADS:
            print("Error", file=sys.stderr)
        else:
            self.size, before = value, self.size
            return before


class Torch(types.ModuleType):
    size = 5
    interop = 7
    has_interop = False

    def get_num_threads(self):
        return self.size

    def set_num_threads(self, value):
        self.size = value

    def get_num_interop_threads(self):
        return self.interop

    def set_num_interop_threads(self, value):
        if self.has_interop:
            raise RuntimeError("cannot set number of interop threads after parallel work has started")
        self.interop, self.has_interop = value, True


def import_fakes():
    for name, kind in (("numexpr", Numexpr), ("torch", Torch)):
        sys.modules[name] = kind(name)
        setattr(sys.modules[name], "_C", types.SimpleNamespace())
    sys.modules["onnxruntime"] = types.ModuleType("onnxruntime")
    sys.modules["onnxruntime"].__version__ = "1.32.0"
    sys.modules["tokenizers"] = types.ModuleType("tokenizers")


def pools_of_fakes():
    import os

    import_fakes()
    os.environ["ORT_INTRA_OP_NUM_THREADS"] = "2"
    return listed()
