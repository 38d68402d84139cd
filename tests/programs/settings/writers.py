"""Functions that write settings of PyTorch in each way, and what is recorded of them."""

import os
import sys
import threading

import torch
from interlock import settings
from interlock.errors import SettingPinnedError

BENCHMARK = "torch.backends.cudnn.benchmark"


def who(name, write):
    count = len(settings.explain(name).writes)
    write()
    return [
        [each.function, os.path.basename(each.file or "?"), each.old, each.new, each.at_import]
        for each in settings.explain(name).writes[count:]
    ]


def by_property():
    torch.backends.cudnn.benchmark = True


def by_flags():
    with torch.backends.cudnn.flags(enabled=True, benchmark=False):
        pass


def by_function_of_c():
    torch._C._set_cudnn_benchmark(False)


def by_thread():
    thread = threading.Thread(target=by_property)
    thread.start()
    thread.join()


def by_import():
    import flags_at_import_later


def unseen():
    torch._C._set_cudnn_benchmark.__wrapped__(False)


def set_threads():
    torch.set_num_threads(1)


def set_precision():
    torch.set_float32_matmul_precision("high")


def allow_tf32():
    torch.backends.cuda.matmul.allow_tf32 = False


def deterministic():
    torch.use_deterministic_algorithms(True)


def set_dtype():
    torch.set_default_dtype(torch.float64)


def by_attribute():
    torch.backends.opt_einsum.enabled = True


def find_who_writes_settings_of_torch():
    sys.path.insert(0, os.path.dirname(__file__))
    import flags_at_import

    settings.enable("torch")
    torch.backends.opt_einsum.enabled = False
    found = {
        "property": who(BENCHMARK, by_property),
        "flags": who(BENCHMARK, by_flags),
        "function": who(BENCHMARK, by_function_of_c),
        "thread": who(BENCHMARK, by_thread),
        "unseen": who(BENCHMARK, unseen),
        "import": who(BENCHMARK, by_import),
        "threads": who("torch.num_threads", set_threads),
        "attribute": who("torch.backends.opt_einsum.enabled", by_attribute),
        "precision": who("torch.float32_matmul_precision", set_precision),
        "node": who("torch.backends.cuda.matmul.fp32_precision", allow_tf32),
        "deterministic": who("torch.deterministic_algorithms", deterministic),
        "dtype": who("torch.default_dtype", set_dtype),
    }
    with settings.pin({BENCHMARK: False}):
        try:
            torch.backends.cudnn.benchmark = True
        except SettingPinnedError as error:
            found["pinned"] = str(error)
        found["kept"] = torch.backends.cudnn.benchmark
    return found
