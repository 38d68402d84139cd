"""Scopes and calls that set the sizes of thread pools."""

import ctypes
import os
import sys
import threading
import types
import warnings
from pathlib import Path

import interlock
from interlock import settings, threads

sys.path.insert(0, str(Path(__file__).parent))
import pools as fakes


def sizes(*names):
    found = {pool.name: pool.size for pool in threads.pools()}
    return [found[name] for name in names]


def set_and_set_again():
    import numpy

    names = ("openblas.numpy", "interlock")
    refused = threads.set_limits(1)
    first = sizes(*names)
    environment = [os.environ[name] for name in ("ORT_INTRA_OP_NUM_THREADS", "RAYON_NUM_THREADS")]
    refused += threads.set_limits(2)
    return {"first": first, "environment": environment, "second": sizes(*names), "refused": refused}


def run_recipe_of_xdist(page):
    """Run the recipe of the page, and return the size of NumPy's pool and the budget."""
    text = Path(page).read_text()
    recipe = text.partition("# conftest.py\n")[2].partition("```")[0]
    exec(recipe, {})
    import numpy

    return [*sizes("openblas.numpy"), int(threads.budget())]


def limit_without_enabling():
    import numpy

    name = "openblas.numpy.num_threads"
    threads.set_limits(2, pools=["openblas"])
    listed = [settings.names()]
    with threads.limits(1):
        write = [write for write in settings.writes([name]) if write.changed][-1]
        listed.append(settings.names())
    return {"listed": listed, "write": [write.old, write.new, write.file], "file": __file__}


def refused_by_a_small_build(path):
    ctypes.CDLL(path).openblas_set_num_threads(2)
    names = ("openblas.libopenblas", "interlock")
    before = sizes(*names)
    with warnings.catch_warnings(record=True) as caught, threads.limits(3) as scope:
        inside = sizes(*names)
    try:
        with threads.limits(3, on_refusal="raise"):
            raised = None
    except ValueError as error:
        raised = str(error)
    return {
        "before": before,
        "inside": inside,
        "refused": scope.refused,
        "warnings": [str(each.message) for each in caught],
        "file": Path(caught[0].filename).name,
        "raised": raised,
        "after": sizes(*names),
    }


def override_refused(path):
    library = ctypes.CDLL(path)
    settings.enable("openblas")
    before = library.openblas_get_num_threads()
    try:
        with settings.override({"openblas.libopenblas.num_threads": 9}):
            message = None
    except ValueError as error:
        message = str(error)
    return {"message": message, "sizes": [before, library.openblas_get_num_threads()]}


def refusals(path, size):
    ctypes.CDLL(path).openblas_set_num_threads(size)
    with threads.limits(size, on_refusal="ignore") as scope:
        return scope.refused


def refused_by_a_controlling_thread():
    import numpy
    import threadpoolctl

    entered, done = threading.Event(), threading.Event()

    def control():
        with threadpoolctl.threadpool_limits(1):
            entered.set()
            done.wait()

    thread = threading.Thread(target=control, name="controller")
    thread.start()
    entered.wait()
    with threads.limits(2, pools=["openblas"], on_refusal="ignore") as scope:
        refused = scope.refused
    done.set()
    thread.join()
    return refused


def fork_during_a_write():
    """Return whether another thread was writing the size of a pool when a child was forked."""
    import numpy
    import threadpoolctl

    warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to ..."
    settings.enable("openblas")
    kind = threadpoolctl.OpenBLASController
    original, writing = kind.set_num_threads, []
    started, forking = threading.Event(), threading.Event()

    def write(library, size):
        writing.append(size)
        started.set()
        forking.wait(30)
        original(library, size)
        writing.clear()

    kind.set_num_threads = write
    thread = threading.Thread(target=threads.limits(1, pools=["openblas"]).__enter__)
    thread.start()
    started.wait(30)
    # The fork waits for the write: it begins half a second before the write continues.
    threading.Timer(0.5, forking.set).start()
    child = os.fork()
    if child == 0:
        os._exit(len(writing))
    thread.join()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def limit_fakes():
    fakes.import_fakes()
    numexpr, torch = sys.modules["numexpr"], sys.modules["torch"]

    def present():
        return {"numexpr": numexpr.size, "torch": torch.size}

    found = {}
    with threads.limits(2) as scope:
        found |= {"inside": present(), "silent": scope.refused}
    found["after"] = present()
    with threads.limits(9, pools=["numexpr"], on_refusal="ignore") as scope:
        found["numexpr"] = scope.refused
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with threads.limits(2, pools=["torch.interop", "rayon", "onnxruntime"]) as scope:
            inside = os.environ.get("ORT_INTRA_OP_NUM_THREADS")
    return found | {
        "fixed": scope.refused,
        "warned": [str(each.message) for each in caught],
        "variable": [inside, os.environ.get("ORT_INTRA_OP_NUM_THREADS")],
    }


def interop_of_fakes():
    """Return what is refused and warned of PyTorch's threads between operations, which accept one write."""
    fakes.import_fakes()
    torch = sys.modules["torch"]
    found = {}

    def note(name, refused):
        found[name] = [list(refused), torch.interop, [str(each.message) for each in caught]]
        caught.clear()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with threads.limits(2, pools=["torch"]) as scope:
            note("library in a scope", scope.refused)
        with threads.limits(2, pools=["torch.interop"]) as scope:
            note("pool in a scope", scope.refused)
        with threads.limits(7, pools=["torch.interop"], on_refusal="raise") as scope:
            note("present size in a scope", scope.refused)
        note("first write", threads.set_limits(3, pools=["torch"], on_refusal="raise"))
        note("equal write", threads.set_limits(3, pools=["torch"], on_refusal="raise"))
        note("second write", threads.set_limits(4, pools=["torch"]))
        note("ignored write", threads.set_limits(4, pools=["torch"], on_refusal="ignore"))
        before = torch.size
        try:
            threads.set_limits(6, pools=["torch"], on_refusal="raise")
        except ValueError as error:
            found["raised"] = [str(error), torch.size - before, torch.interop]
    return found


def raise_refusals():
    fakes.import_fakes()
    numexpr, torch = sys.modules["numexpr"], sys.modules["torch"]
    found = []

    def attempt(name, shows, enter):
        try:
            enter()
        except (ValueError, Warning) as error:
            text = str(error) if shows else type(error).__name__
            found.append([name, text, {"numexpr": numexpr.size, "torch": torch.size}])

    def enter(*arguments, **options):
        with threads.limits(*arguments, **options):
            pass

    torch.has_interop = True
    fixed = {"pools": ["torch", "torch.interop"], "on_refusal": "raise"}
    attempt("limits", True, lambda: enter(2, **fixed))
    attempt("set_limits", True, lambda: threads.set_limits(2, **fixed))
    attempt("numexpr", False, lambda: enter(9, on_refusal="raise"))
    attempt(
        "set numexpr",
        False,
        lambda: threads.set_limits(9, pools=["interlock", "numexpr"], on_refusal="raise"),
    )
    warnings.simplefilter("error")
    attempt("warning", False, lambda: enter(9))
    return found


def old_onnxruntime():
    sys.modules["onnxruntime"] = types.ModuleType("onnxruntime")
    sys.modules["onnxruntime"].__version__ = "1.20.1"
    return threads.set_limits(1, on_refusal="ignore")


def limit_of_one_thread(*paths):
    for path in paths:
        ctypes.CDLL(path)
    names = ("openmp.libgomp", "mkl.libmkl_rt")

    def in_thread(function):
        found = []
        thread = threading.Thread(target=lambda: found.append(function()))
        thread.start()
        thread.join()
        return found[0]

    def other():
        with threads.limits(2, pools=["openmp", "mkl"]):
            return sizes(*names)

    with threads.limits(1):
        found = {"here": sizes(*names), "there": in_thread(lambda: sizes(*names))}
        found |= {"other scope": in_thread(other), "still": sizes(*names)}
    return found | {"after": sizes(*names)}


def put_openmp_back(path):
    library = ctypes.CDLL(path)

    class Torch(fakes.Torch):
        """PyTorch's number is that of OpenMP."""

        def get_num_threads(self):
            return library.omp_get_max_threads()

        def set_num_threads(self, value):
            library.omp_set_num_threads(value)

    sys.modules["torch"] = Torch("torch")
    sys.modules["torch"]._C = types.SimpleNamespace()
    before = interlock.get_num_threads()
    library.omp_set_num_threads(7)
    with threads.limits(1):
        inside = library.omp_get_max_threads()
    return {
        "inside": inside,
        "after": library.omp_get_max_threads(),
        "interlock": interlock.get_num_threads() == before,
    }


def overlap_threads(path, values, on_conflict):
    """Enter overlapping scopes on many threads, and return what was wrong inside and after them."""
    import random

    import numpy

    library = ctypes.CDLL(path)
    names = ("openblas.numpy", "interlock")
    before = sizes(*names)
    matrix = numpy.ones((64, 64), dtype=numpy.float32)
    wrong, entered, refused = [], [], []
    options = {"timeout": 50} if on_conflict == "wait" else {}

    def work(index):
        choose = random.Random(index)
        for _ in range(30):
            value = choose.choice(values)
            try:
                with threads.limits(value, on_conflict=on_conflict, **options):
                    matrix @ matrix
                    inside = [interlock.get_num_threads(), library.omp_get_max_threads()]
                    if inside != [value, value]:
                        wrong.append(inside)
                entered.append(value)
            except interlock.errors.SettingConflictError:
                refused.append(value)
            if library.omp_get_max_threads() != 4:
                wrong.append("after")

    started = [threading.Thread(target=work, args=(index,)) for index in range(12)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return {
        "wrong": wrong,
        "rounds": len(entered) + len(refused),
        "refused": len(refused),
        "restored": sizes(*names) == before,
    }
