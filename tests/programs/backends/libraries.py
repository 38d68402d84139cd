"""The search for libraries and what loads them."""

import ctypes
import os
import sys
import time
import warnings
from threading import Barrier, Thread

import interlock
from interlock import backends
from interlock.backends import cudnn, libraries
from interlock.errors import LibraryNotFoundError


def state_of(library):
    return [library.path, library.source, library.is_loaded, library.version]


def is_mapped(text):
    with open("/proc/self/maps") as maps:
        return text in maps.read()


def refused(call, *arguments):
    try:
        call(*arguments)
    except LibraryNotFoundError as error:
        return [type(error).__name__, str(error)]


def effect():
    said = backends.explain("cuda.linalg_library").affects.partition("on cuda")[2]
    return said.removeprefix(": no effect here")


def is_loaded(name):
    with open("/proc/self/maps") as maps:
        return name in maps.read()


def explain_finds_a_new_library_file(hidden, library):
    result = [effect()]
    os.rename(hidden, library)
    # The timeout of the test ends this loop.
    while effect() != ", cuSOLVER not loaded":
        time.sleep(0.02)
    os.remove(library)
    while effect() != result[0]:
        time.sleep(0.02)
    return result


def explain_follows_libraries_loaded_by_other_code(library):
    before = effect()
    loaded = ctypes.CDLL(library)
    return [before != effect(), effect()]


def explain_follows_library_variables_immediately(tmp_path, tmp_path_2, library, tmp_path_3):
    result = [effect()]
    for name, value in (
        ("LD_LIBRARY_PATH", tmp_path),
        ("LD_LIBRARY_PATH", tmp_path_2),
        ("INTERLOCK_CUSOLVER_PATH", library),
        ("INTERLOCK_CUSOLVER_PATH", tmp_path_2),
    ):
        os.environ[name] = value
        result += [effect(), effect()]
    os.environ["INTERLOCK_CUSOLVER_PATH"] = "there"
    os.chdir(tmp_path_3)
    result.append(effect())
    os.chdir("/")
    result.append(effect())
    return result


def explain_reports_whether_the_affected_library_is_available(tmp_path):
    def effect():
        return backends.explain("cuda.linalg_library").affects.partition("on cuda")[2]

    result = [effect()]
    sys.path.append(tmp_path)
    result.append(effect())
    backends.libraries.load("cusolver")
    result.append(effect())
    return result


def import_and_is_available_load_nothing():
    before = open("/proc/self/maps").read() if sys.platform == "linux" else ""
    for module in (backends.cudnn, backends.cusparselt, backends.mkl, backends.mkldnn):
        module.is_available()
    after = open("/proc/self/maps").read() if sys.platform == "linux" else ""
    names = ("libcudnn", "libcusparseLt", "libmkl", "libdnnl", "libcublas")
    return [name for name in names if name in before or name in after]


def load_another_path(one, link, two):
    first = state_of(libraries.load("cudnn", one))
    return [
        state_of(libraries.load("cudnn")) == first,
        state_of(libraries.load("cudnn", link)) == first,
        refused(libraries.load, "cudnn", two),
        state_of(libraries.find("cudnn")) == first,
    ]


def load_two_files_at_once(one, two):
    barrier, outcomes = Barrier(2), []

    def load(path):
        barrier.wait()
        outcomes.append(refused(libraries.load, "cudnn", path))

    threads = [Thread(target=load, args=(path,)) for path in (one, two)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(sorted(outcome is None for outcome in outcomes), libraries.find("cudnn").version, flush=True)
    os._exit(0)  # At a normal exit the loader would call every destructor.


def of_a_loaded_mkl(path):
    ctypes.CDLL(path)
    print(state_of(libraries.find("mkl"))[1:], flush=True)
    print(state_of(libraries.load("mkl"))[1:], flush=True)


def run(code):
    """Run code and print the value of its name `result`."""
    scope = dict(globals())
    exec(code, scope)

    return scope["result"]


def while_the_environment_changes(searches):
    running = True

    def change():
        while running:
            for number in range(200):
                os.environ[f"OF_A_TEST_{number}"] = "x" * number
            for number in range(200):
                del os.environ[f"OF_A_TEST_{number}"]

    thread = Thread(target=change)
    thread.start()
    sources = {libraries.find("cudnn").source for _ in range(searches)}
    running = False
    thread.join()
    return list(sources)


def query_is_acceptable():
    class FakeTensor:
        def __init__(self, device, dtype):
            self.device, self.dtype = interlock.device(device), dtype

    def query(device, dtype):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return [
                cudnn.is_acceptable(FakeTensor(device, dtype)),
                [each.category.__name__ for each in caught],
            ]

    result = [
        query("cuda:0", interlock.float32),
        query("cuda", interlock.int64),
        query("cpu", interlock.float32),
    ]
    with cudnn.flags(enabled=False):
        result.append(query("cuda", interlock.float32))
    return result


def query_the_cpu_capability():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = [backends.cpu.get_cpu_capability() for _ in range(3)]
    return [seen, [[each.category.__name__, str(each.message)] for each in caught]]


def version_is_equal_for_concurrent_threads():
    from concurrent.futures import ThreadPoolExecutor

    barrier = Barrier(8)

    def query(_):
        barrier.wait()
        return cudnn.version()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(query, range(8)))


def version_is_queried_from_the_library_which_stays_loaded(tmp_path):
    before = is_loaded(tmp_path)
    return [before, backends.cudnn.version(), backends.cudnn.version(), is_loaded(tmp_path)]
