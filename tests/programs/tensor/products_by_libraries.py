"""Products and convolutions by oneDNN and MKL, where their variables or the search find them."""

import os
import threading

import interlock
from interlock import backends, dispatch
from interlock.backends import mkldnn
from interlock.nn.quantized import functional

FLOATS = {name: getattr(interlock, name) for name in ("float32", "float64", "bfloat16")}


def numbers(*shape, dtype="float32"):
    """Return a tensor of small integers, whose products and sums every kernel computes exactly."""
    count = 1
    for size in shape:
        count *= size
    return (interlock.arange(count) * 7 % 5 - 2).reshape(shape).to(FLOATS[dtype])


def operands(dtype):
    """Return pairs of matrices in every order in memory, batches, and a broadcast one."""
    a, b = numbers(90, 120, dtype=dtype), numbers(120, 80, dtype=dtype)
    columns = [matrix.t().contiguous().t() for matrix in (a, b)]
    spread = numbers(90, 240, dtype=dtype)[:, ::2]
    batch = numbers(3, 90, 120, dtype=dtype)
    return [
        (a, b),
        (columns[0], b),
        (a, columns[1]),
        (spread, b),
        (batch, b.expand(3, 120, 80)),
        (numbers(1, 120, dtype=dtype).expand(90, 120), b),
        (numbers(600, 900, dtype=dtype), numbers(900, 1, dtype=dtype)),
    ]


def digest(tensor):
    """Return the sum of the elements with weights that tell apart their positions."""
    flat = tensor.double().flatten()
    return (flat * (interlock.arange(flat.numel()) % 17 + 1)).sum().item()


def products(dtype):
    """Return digests of products, and the kernels that computed them."""
    with dispatch.record() as calls:
        found = [digest(a @ b) for a, b in operands(dtype)]
    return {"kernels": sorted({call.kernel for call in calls}), "results": found}


def convolution(batch, channels, filters, kernel, groups=1, bias=False, dtype="float32", **options):
    """Return digests of a convolution and its gradients, and the kernels."""
    x = numbers(batch, channels, 14, 13, dtype=dtype).requires_grad_()
    weight = numbers(filters, channels // groups, *kernel, dtype=dtype).requires_grad_()
    with dispatch.record() as calls:
        out = interlock.conv2d(
            x, weight, numbers(filters, dtype=dtype) if bias else None, groups=groups, **options
        )
        out.backward(numbers(*out.shape, dtype=dtype))
    kernels = [call.kernel for call in calls if call.operation == "conv2d"]
    return kernels, [digest(tensor) for tensor in (out.detach(), x.grad, weight.grad)]


def convolutions():
    """Return digests of convolutions of several geometries, and the kernels that computed them."""
    made = [
        convolution(9, 8, 12, (3, 3), bias=True, padding=1),
        convolution(2, 16, 70, (3, 3), padding=(1, 2)),
        convolution(3, 64, 64, (5, 3), groups=64, padding="same", bias=True),
        convolution(17, 16, 24, (2, 3), groups=4, stride=(2, 1), dilation=(1, 2)),
        convolution(3, 64, 96, (1, 1), stride=2, dtype="bfloat16"),
    ]
    kernels = sorted({kernel for kernels, _ in made for kernel in kernels})
    return {"kernels": kernels, "results": [found for _, found in made]}


def quantized():
    """Return whether quantized layers by oneDNN are those of interlock, and an explanation."""
    equal, lines = [], []
    for rows, inputs, outputs, zero_point, weight_zero_point in [
        (1, 1, 1, 0, 0),
        (70, 300, 50, 255, -128),
        (3, 90, 200, 9, 7),
    ]:
        x = interlock.arange(rows * inputs) * 37 % 256 - zero_point
        weight = interlock.arange(outputs * inputs) * 91 % 256 - 128 - weight_zero_point
        x = interlock.quantize_per_tensor(x.float().reshape(rows, inputs), 1.0, zero_point, interlock.quint8)
        weight = weight.float().reshape(outputs, inputs)
        weight = interlock.quantize_per_tensor(weight, 1.0, weight_zero_point, interlock.qint8)
        own = functional.linear(x, weight, None, 1000.0, 100)
        with backends.override({"quantized.engine": "onednn"}):
            lines.append(str(dispatch.explain("quantized_linear", x, weight)))
            if " -> onednn" in lines[-1]:
                equal.append(
                    interlock.equal(
                        functional.linear(x, weight, None, 1000.0, 100).int_repr(), own.int_repr()
                    )
                )
    return equal, lines[-1]


def with_threads(count):
    """Return the bits of a product and of a convolution on this many threads."""
    interlock.set_num_threads(count)
    a, b = (
        interlock.arange(300.0 * 410).reshape(300, 410).sin(),
        interlock.arange(410.0 * 290).reshape(410, 290).cos(),
    )
    x, weight = a[:, :240].reshape(9, 8, 25, 40), b.flatten()[: 16 * 8 * 9].reshape(16, 8, 3, 3)
    return digest((a @ b).view(interlock.int32)), digest(interlock.conv2d(x, weight).view(interlock.int32))


def equal_for_every_number_of_threads():
    return [with_threads(count) for count in (1, 2, 3)]


def record():
    """Return the record of a product, and the kernel while oneDNN is disabled."""
    a = numbers(100, 100)
    with dispatch.record() as calls:
        a @ a
        with backends.override({"mkldnn.enabled": False}):
            a @ a
    return [str(calls[0]), calls[1].kernel, str(dispatch.explain("matmul", a, a).kernel)]


def verbose():
    """Multiply under several flags in a scope of the verbose level, and print where."""
    a = numbers(100, 100)
    flags = [{"mkldnn.matmul.fp32_precision": precision} for precision in ("ieee", "bf16", "tf32")]
    flags += [{"mkldnn.deterministic": True}, {"deterministic_algorithms": True}]
    with mkldnn.verbose(mkldnn.VERBOSE_ON):
        for changed in flags:
            print(*changed.values(), flush=True)
            with backends.override(changed):
                a @ a
    print("after", flush=True)
    a @ a


def forked():
    """Return the status of a forked child that multiplies as its parent, which has started OpenMP threads."""
    import ctypes

    from interlock.backends import libraries

    a = numbers(300, 300)
    expected = a @ a
    openmp = ctypes.CDLL(libraries.find("onednn").path)
    openmp.omp_set_num_threads(3)
    if hasattr(openmp, "dnnl_sgemm"):
        start_openmp_threads(openmp)
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = interlock.equal(a @ a, expected) and openmp.omp_get_max_threads() == 3
        finally:
            os._exit(0 if same else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def start_openmp_threads(onednn):
    """Multiply on several threads of oneDNN's OpenMP runtime."""
    import ctypes

    size, one = ctypes.c_int64(600), ctypes.c_float(1)
    left, right, out = [(ctypes.c_float * 360_000)() for _ in range(3)]
    how = [ctypes.c_char(b"N"), ctypes.c_char(b"N")]
    status = onednn.dnnl_sgemm(
        *how, size, size, size, one, left, size, right, size, ctypes.c_float(0), out, size
    )
    assert status == 0


def first_use_while_the_environment_changes():
    """Return the kernels of first products on threads, while another one sets variables."""
    done, kernels = threading.Event(), []
    a = numbers(300, 300)

    def change():
        while not done.is_set():
            for number in range(200):
                os.environ[f"INTERLOCK_UNUSED_{number}"] = "x" * number

    def multiply():
        with dispatch.record() as calls:
            a @ a
        kernels.append(calls[0].kernel)

    changing, multiplying = (
        threading.Thread(target=change),
        [threading.Thread(target=multiply) for _ in range(4)],
    )
    for thread in [changing, *multiplying]:
        thread.start()
    for thread in multiplying:
        thread.join()
    done.set()
    changing.join()
    return kernels


def live_objects():
    """Return how many more objects of the fake exist after products and convolutions."""
    import ctypes

    from interlock.backends import libraries

    convolutions()
    fake = ctypes.CDLL(libraries.find("onednn").path)
    before = fake.fake_live_objects()
    products("float32")
    products("bfloat16")
    convolutions()
    return fake.fake_live_objects() - before


def forks_while_another_thread_prepares():
    """Return the statuses of children that multiply, forked while another thread prepares products."""
    done = threading.Event()
    a = numbers(100, 100)
    a @ a

    def prepare():
        columns = 100
        while not done.is_set():
            columns = columns % 200 + 100
            a @ numbers(100, columns)

    thread = threading.Thread(target=prepare)
    thread.start()
    statuses = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            a @ numbers(100, 90)
            os._exit(0)
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    done.set()
    thread.join()
    return statuses
