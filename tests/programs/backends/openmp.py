"""OpenMP runtimes and their numbers of threads."""

import ctypes
import os
import signal
import sys
import threading


def number_of_threads_in_a_forked_child(path):
    import interlock

    runtime = ctypes.CDLL(path)
    interlock.set_num_threads(2)
    child = os.fork()
    if child == 0:
        # A child that hangs is killed.
        signal.alarm(20)
        interlock.set_num_threads(3)
        os._exit(runtime.omp_get_max_threads())
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), runtime.omp_get_max_threads()]


def number_of_threads_of_mkl(mkl, core):
    import interlock

    ctypes.CDLL(mkl)
    interlock.set_num_threads(2)
    print("initialized", flush=True)
    ctypes.CDLL(core)
    interlock.set_num_threads(3)


def number_of_threads_of_openmp(path):
    import interlock
    import threadpoolctl

    interlock.set_num_threads(1)
    runtime = ctypes.CDLL(path)

    def reported():
        pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "openmp"]
        return [runtime.omp_get_max_threads(), *(pool["num_threads"] for pool in pools)]

    def on_another_thread():
        interlock.set_num_threads(3)
        result.append(reported())

    result = [reported()]
    for number in (1, 2):
        interlock.set_num_threads(number)
        result.append(reported())
    thread = threading.Thread(target=on_another_thread)
    thread.start()
    thread.join()
    result.append(reported())
    return result


def runtimes_after_loading(is_hidden, paths):
    if is_hidden:
        sys.modules["threadpoolctl"] = None
    from interlock.backends import openmp

    before = openmp.runtimes()
    for path in paths:
        ctypes.CDLL(path)
    return [before, sorted(openmp.runtimes())]


def uninitialized_mkl_is_not_called(mkl, gnu):
    import threadpoolctl
    from interlock.backends import openmp

    for path in (mkl, gnu):
        ctypes.CDLL(path)
    print(openmp.runtimes() == [("libgomp", gnu, None, 7)], flush=True)
    threadpoolctl.threadpool_info()
