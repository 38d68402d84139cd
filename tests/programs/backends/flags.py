"""Writes, scopes and registrations of flags in a new process."""

import contextlib
import os
import sys
import threading
import time
import warnings
from unittest import mock

import interlock
import pytest
from interlock import backends, errors
from interlock.backends import cuda, cudnn


def environment_is_read_once():
    before = backends.cudnn.enabled
    os.environ["INTERLOCK_CUDNN_ENABLED"] = "1"
    os.environ["INTERLOCK_CUDNN_BENCHMARK"] = "1"
    result = [before, backends.cudnn.enabled, backends.cudnn.benchmark]
    backends.reset()
    result += [backends.cudnn.enabled, backends.cudnn.benchmark]
    return result


def environment_sets_the_flag_by_the_prefix_of_its_library():
    good = backends.register("mylib.good", 1, doc="x")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bad = backends.register("mylib.bad", 1, doc="x")
    print(good.value, *backends.explain("mylib.good")[2:4], bad.value)
    print([str(warning.message) for warning in caught], caught[0].filename == __file__)


def environment_value_reappears_when_an_assignment_is_unset():
    level = lambda: [backends.cudnn.enabled, str(backends.explain("cudnn.enabled").level)]
    result = [level()]
    backends.cudnn.enabled = True
    result.append(level())
    with backends.override(**{"cudnn.enabled": False}):
        result.append(level())
        del backends.cudnn.enabled
        result.append(backends.cudnn.enabled)
    result.append(level())
    del backends.cudnn.enabled
    result.append(level())
    backends.cudnn.enabled = True
    backends.reset()
    result.append(level())
    return result


def explain_who_set_a_flag_through_other_modules():
    result = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(backends.override({"cudnn.enabled": False}))  # stack
        result.append(backends.explain("cudnn.enabled").set_by)
    with mock.patch.object(backends.cudnn, "enabled", False):  # mock
        result.append(backends.explain("cudnn.enabled").set_by)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends.cudnn, "enabled", False)  # patch
        result.append(backends.explain("cudnn.enabled").set_by)
    return result


def print_who_set_a_flag(file):
    exec(compile("backends.cudnn.enabled = False", os.fsdecode(bytes(file)), "exec"), {"backends": backends})
    print(ascii(backends.explain("cudnn.enabled").set_by))


def explain_who_set_a_flag():
    result = [backends.explain("cudnn.enabled").set_by]
    backends.cudnn.enabled = False  # assigned
    result.append(backends.explain("cudnn.enabled").set_by)
    with backends.override(**{"cudnn.enabled": True}):  # scoped
        result.append(backends.explain("cudnn.enabled").set_by)
    result.append(backends.explain("cudnn.enabled").set_by)
    del backends.cudnn.enabled
    result.append(backends.explain("cudnn.enabled").set_by)
    return result


def flag_accepts_any_number_of_distinct_values(default, value):
    flag = backends.register("mylib.flag", eval(default), doc="x")
    values = [eval(value) for n in range(70_000)]
    flag.value = values[0]
    first = backends.snapshot()
    for assigned in values:
        flag.value = assigned
        assert flag.value == assigned
    with flag.override(values[1]):
        assert flag.value == values[1]
    assert backends.register("mylib.other", values[-1], doc="x").value == values[-1]
    backends.restore(first)
    assert flag.value == values[0]


def flags_leaves_precision_unset_with_environment_variables():
    import pickle

    cudnn.allow_tf32 = True
    scope = cudnn.flags(enabled=True, allow_tf32=True)
    with scope:
        assert cudnn.allow_tf32
    with pickle.loads(pickle.dumps(scope)):
        assert cudnn.allow_tf32
    del cudnn.allow_tf32
    assert not cudnn.allow_tf32


def freeze_one_way():
    backends.cudnn.benchmark = True
    assert backends.flags_frozen() is False
    frozen_at = f"{__file__}:{sys._getframe().f_lineno + 1}"
    assert backends.disable_global_flags() is None
    with backends.frozen():
        pass
    result = [backends.flags_frozen()]
    for write in (
        lambda: setattr(backends.cudnn, "benchmark", False),
        lambda: backends.cudnn.set_flags(_enabled=False),
        lambda: backends.reset(),
    ):
        try:
            write()
        except errors.FlagsFrozenError as error:
            result.append(frozen_at in str(error))
    with backends.cudnn.flags(enabled=False):
        result.append(backends.cudnn.enabled)
    result += [backends.cudnn.benchmark, backends.cudnn.enabled, backends.flags_frozen()]
    return result


def import_a_module_that_sets_flags():
    import pathlib

    pathlib.Path("careless.py").write_text(
        "import interlock\n\n"
        "interlock.backends.cudnn.deterministic = True\n"
        "interlock.backends.cudnn.set_flags(_benchmark=True)\n"
        "interlock.set_float32_matmul_precision('high')\n"
    )
    sys.path.insert(0, ".")
    import careless

    names = ("cudnn.deterministic", "cudnn.benchmark", "cuda.matmul.fp32_precision", "cuda.matmul.allow_tf32")
    return [backends.explain(name).set_by for name in names]


def precision_lookup_starts_from_the_environment_value_of_a_node():
    result = [
        backends.cudnn.conv.fp32_precision,
        backends.cudnn.rnn.fp32_precision,
        backends.mkldnn.matmul.fp32_precision,
        backends.cudnn.allow_tf32,
    ]
    backends.cudnn.fp32_precision = "tf32"
    result += [backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision]
    return result


def print_the_write_log():
    import pathlib

    sys.path.insert(0, ".")
    library = "import interlock\ninterlock.backends.cudnn.deterministic = True\n"
    pathlib.Path("careless.py").write_text(library)
    import careless

    backends.cuda.matmul.allow_tf32 = True
    del backends.cudnn.deterministic
    with backends.override({"cudnn.enabled": False}):
        backends.cudnn.enabled = True
    taken = backends.snapshot()
    backends.cudnn.benchmark = True
    backends.restore(taken)
    backends.reset()
    for write in backends.writes():
        print(write.name, "unset" if write.unset else write.value, pathlib.Path(write.set_by).name)


def pytorch_issues_round_trip(table, modules):
    def owner_of(name):
        owner = backends
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        return owner, name.split(".")[-1]

    for name, values in table.items():
        owner, attribute = owner_of(name)
        for value in values:
            before = getattr(owner, attribute)
            setattr(owner, attribute, value)
            delattr(owner, attribute)
            with backends.override({name: value}):
                getattr(owner, attribute)
            backends.explain(name)
            assert getattr(owner, attribute) == before
    for module in modules:
        module = getattr(backends, module) if module else backends
        with module.flags():
            pass
    interlock.set_float32_matmul_precision("high")
    interlock.use_deterministic_algorithms(True, warn_only=True)
    backends.restore(backends.snapshot())
    backends.reset()


def register_after_a_use_reads_its_variable_and_warns_of_nothing():
    x = backends.register("q.x", 1.0, doc="x", optional=True)
    assert x.value == 1.0
    y = backends.register("q.y", None, type=float, doc="x")
    z = backends.register("q.z", None, type=float, doc="x")
    w = backends.register("q.w", 1.0, doc="x")
    backends.check_variables("q")
    print(y.value, z.value, w.value, backends.explain(w).set_by)


def register_with_misspelt_variables(use):
    warnings.simplefilter("always")
    with warnings.catch_warnings(record=True) as caught:
        level_b = backends.register("mylib.level_b", 1, doc="x")
        level_a = backends.register("mylib.level_a", 1, doc="x")
        verbose = backends.register("mylib.verbose", False, doc="x")
        with verbose.override(True), backends.override({verbose: True}):
            verbose.value, backends.snapshot()
        backends.register("other.verbose", False, doc="x")
        assert not caught, "the library may not have registered all its flags yet"
        exec(use)
    print(*[warning.message for warning in caught], sep="\n")


def reimported_module_replaces_the_previous_one():
    import importlib
    import pickle
    from unittest import mock

    assert importlib.reload(backends.mha) is backends.mha
    assert importlib.reload(backends) is backends
    first = backends.nnpack
    del sys.modules["interlock.backends.nnpack"]
    second = importlib.import_module("interlock.backends.nnpack")
    assert backends.nnpack is second is not first
    assert pickle.loads(pickle.dumps(backends.explain("cudnn.enabled"))).value is True
    with mock.patch("interlock.backends.cuda.enable_flash_sdp") as patched:
        backends.cuda.enable_flash_sdp(False)
        patched.assert_called_once_with(False)
    backends.cuda.enable_flash_sdp(False)
    print(backends.cuda.flash_sdp_enabled())


def restore_a_snapshot_below_an_assigned_value():
    taken = backends.snapshot()
    backends.cudnn.enabled = True
    backends.restore(taken)
    return list(backends.explain("cudnn.enabled")[1:3])


def use_every_name_of_backends_cuda():
    tensor = interlock.ones(2, 2)
    params = cuda.SDPAParams(tensor, tensor, tensor, None, 0.0, False, False)
    used = {"SDPAParams", "SDPBackend", "cuBLASModule", "matmul", "cufft_plan_cache"}
    used |= {"cuFFTPlanCache", "cuFFTPlanCacheManager", "cuFFTPlanCacheAttrContextProp"}

    def call(name, *arguments):
        used.add(name)
        return getattr(cuda, name)(*arguments)

    before = backends.snapshot()
    for name in ("flash", "mem_efficient", "math", "cudnn"):
        call(f"enable_{name}_sdp", not call(f"{name}_sdp_enabled"))
    call("allow_fp16_bf16_reduction_math_sdp", not call("fp16_bf16_reduction_math_sdp_allowed"))
    for name, library in (("linalg", "magma"), ("blas", "cublaslt"), ("rocm_fa", "ck")):
        assert call(f"preferred_{name}_library", library) is call(f"preferred_{name}_library")
        call(f"preferred_{name}_library", "default")
    for name in ("cublas", "cublaslt", "blas"):
        call(f"{name}_workspace_size", 2 * call(f"{name}_workspace_size"))
    for name in ("flash", "efficient", "cudnn"):
        call(f"can_use_{name}_attention", params)
    for name in ("is_built", "is_flash_attention_available", "is_ck_sdpa_available"):
        call(name)
    with call("sdpa_kernel", list(cuda.SDPBackend)[1:], True):
        pass
    assert cuda.cuBLASModule().fp32_precision == cuda.matmul.fp32_precision
    backends.restore(before)
    assert backends.snapshot() == before
    return sorted(name for name in cuda.__all__ if name not in used and not name.startswith("_"))


def write_a_flag_many_times():
    for number in range(1_100):
        backends.cudnn.benchmark_limit = number
    kept = [write.value for write in backends.writes()]
    assert kept == list(range(100, 1_100)), kept


def write_during_scopes_on_two_threads(freeze):
    exec(freeze)
    done = threading.Event()
    scopes = [0, 0]
    refused = through = 0

    def loop(number):
        while not done.is_set():
            with backends.cudnn.flags(enabled=False), backends.override({"cudnn.benchmark": True}):
                scopes[number] += 1

    def write():
        nonlocal refused, through
        while not done.is_set():
            for value in (True, False):
                try:
                    backends.cudnn.deterministic = value
                    through += 1
                except errors.FlagsFrozenError:
                    refused += 1

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(2)]
    threads.append(threading.Thread(target=write))
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and min(*scopes, refused + through) < 5_000:
        time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    flags = [backends.cudnn.enabled, backends.cudnn.benchmark, backends.cudnn.deterministic]
    return [through, refused > 100, min(scopes) > 100, backends.flags_frozen(), flags]


def equal_registrations_use_one_storage():
    import resource

    def is_even(value):
        return value % 2 == 0

    def register_often(count):
        for number in range(count):
            # Choices would be stored for each type, values of the environment for each registration.
            os.environ["MYLIB_LARGE"] = "b" if number % 2 else "c"
            large = backends.register("mylib.large", "a", choices=["a", "b", "c"], doc=doc)
            even = backends.register("mylib.even", 2, doc=doc, optional=True, validator=is_even)
            for flag in (large, even):
                backends.unregister(flag)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    doc = "x" * 2**20
    before = register_often(10)
    assert register_often(300) < 2 * before
