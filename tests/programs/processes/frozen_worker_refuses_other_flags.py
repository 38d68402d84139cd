import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from interlock import backends

if __name__ == "__main__":
    stale = backends.snapshot()
    backends.cudnn.deterministic = True
    backends.disable_global_flags()
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork, initializer=stale.install) as pool:
        try:
            pool.submit(backends.flags_frozen).result()
        except BrokenProcessPool:
            print("broken")
