"""The libraries of vendors."""

import ctypes
import os
import re
import sys
import threading


def vendors():
    "The files in this process that belong to a vendor's library."
    folder = re.escape(os.path.realpath(sys.prefix))
    folders = folder + r"/lib/(?:lib|python[^/]+/site-packages/(?:nvidia|scipy_openblas64)/)"
    elsewhere = r".*/lib(?:cuda|cudart|cublas|cudnn|dnnl|gomp|iomp5|mkl_rt|nccl|nvidia-ml|omp)[.]so"
    ours = re.compile(folders + "|" + elsewhere)
    with open("/proc/self/maps") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
    return sorted(file for file in files if ours.match(file))


def only_here(folder):
    "From now on Python's packages are looked for in this folder, and its installation is nowhere."
    sys.path[:] = [str(folder)]
    sys.prefix = "/nowhere"


def refused(call, *arguments):
    "Return the type and message of the exception that a call raises."
    try:
        call(*arguments)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def find_and_load_onednn(loaded_before, is_hidden):
    """Find and load oneDNN after other code has loaded a file, or without a package."""
    if loaded_before is not None:
        ctypes.CDLL(loaded_before)
    from interlock.backends import libraries

    if is_hidden:
        only_here("/nowhere")
    found, loaded = libraries.find("onednn"), libraries.load("onednn")
    copies = [file for file in vendors() if "libdnnl" in file]
    return [[found.path, found.source], [loaded.path, loaded.source], loaded.version, copies]


def find_every_library():
    from interlock import backends
    from interlock.backends import libraries

    modules = [backends.cudnn, backends.cusparselt, backends.mkl, backends.mkldnn, backends.openmp]
    available = [module.is_available() for module in modules]
    found = [libraries.find(name).name for name in libraries.NAMES]
    runtimes = backends.openmp.runtimes()
    return [available, found == list(libraries.NAMES), runtimes, vendors()]


def import_everything():
    import interlock

    result = [vendors()]
    from interlock import accelerator, autograd, backends
    from interlock.backends import cudnn, cusparselt, libraries, mkl, mkldnn, openmp

    return [*result, vendors()]


def load_a_path_beside_a_loaded_library(loaded_before, path):
    ctypes.CDLL(loaded_before)
    from interlock.backends import libraries

    loaded = libraries.load("onednn", path)
    assert loaded == libraries.load("onednn", path) == libraries.find("onednn")
    return [loaded.path, loaded.source, loaded.is_loaded, loaded.version]


def load_from_an_installation_of_cuda():
    from interlock.backends import libraries

    packaged = libraries.find("cusparse")
    only_here("/nowhere")
    loaded = libraries.load("cusparse")
    return [packaged.source, loaded.source, loaded.path, loaded.version]


def load_from_other_packages(packages):
    from interlock.backends import libraries

    newest = libraries.find("nvrtc")
    only_here(packages)
    loaded = libraries.load("nvrtc")
    return [newest.path, loaded.source, loaded.path, loaded.version]


def load_from_the_system():
    from interlock.backends import libraries

    packaged = libraries.find("openmp").source
    only_here("/nowhere")
    found, loaded = libraries.find("openmp"), libraries.load("openmp")
    return [packaged, found.source, loaded.source, loaded.is_loaded, os.path.basename(loaded.path)]


def load_onednn_from_a_path_that_is_refused(path):
    from interlock.backends import libraries

    error, message = refused(libraries.load, "onednn", path)
    result = [error, message, [file for file in vendors() if "libdnnl" in file]]
    # The failure is not cached.
    assert libraries.load("onednn").source == "packages"
    return result


def load_onednn_that_is_refused():
    from interlock import backends
    from interlock.backends import libraries

    return [
        [refused(libraries.load, "onednn"), refused(backends.mkldnn.verbose(1).__enter__)],
        [file for file in vendors() if "libdnnl" in file],
    ]


def number_of_threads():
    import interlock
    import threadpoolctl
    from interlock.backends import libraries

    for name in ("mkl", "onednn"):
        libraries.load(name)

    result = []
    for number in (1, 3):
        interlock.set_num_threads(number)
        result.append({pool["prefix"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()})
    return result


def openmp_limits_of_threads(is_hidden):
    if is_hidden:
        sys.modules["threadpoolctl"] = None

    from interlock.backends import libraries, openmp

    gomp = ctypes.CDLL(libraries.load("onednn").path)

    def limit():
        (runtime,) = openmp.runtimes()
        return runtime.threads

    def other():
        gomp.omp_set_num_threads(5)
        result.append(limit())

    result = []
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    result.append(limit())
    return result


def openmp_runtimes(is_hidden, names):
    if is_hidden:
        sys.modules["threadpoolctl"] = None
    from interlock.backends import libraries, openmp

    for name in names:
        libraries.load(name)

    def files():
        return [file for file in vendors() if "omp" in file]

    before = files()
    runtimes = sorted(openmp.runtimes())
    assert files() == before
    assert all(isinstance(runtime, openmp.Runtime) for runtime in runtimes)
    return [[runtime.name, os.path.realpath(runtime.path), runtime.threads] for runtime in runtimes]


def run(code):
    """Run code and print the value of its name `result`."""
    scope = dict(globals())
    exec(code, scope)

    return scope["result"]
