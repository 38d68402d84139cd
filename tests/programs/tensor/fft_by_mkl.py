"""Fourier transforms by MKL, where `INTERLOCK_MKL_PATH` or the search finds it."""

import interlock
from interlock import dispatch, fft


def signal(*shape):
    count = 1
    for size in shape:
        count *= size
    numbers = [(7 * k * k + 3 * k) % 11 - 5.0 for k in range(count)]
    return interlock.tensor(numbers, dtype=interlock.float64).reshape(shape)


def results():
    """Return results of every kind of transform, and the kernels that computed them."""
    with dispatch.record() as calls:
        found = [
            fft.fft(signal(6, 2)),
            fft.ifft(signal(3, 5, 2), dim=0, norm="ortho"),
            fft.fft2(signal(3, 4, 2)),
            fft.rfft(signal(2, 7)),
            fft.irfft(signal(4, 2), 7),
            fft.rfft(signal(4).float()),
        ]
    kernels = [call.kernel for call in calls]
    return {"kernels": kernels, "results": [each.flatten().tolist() for each in found]}


def reasons():
    """Return the kernel of a transform, and why each other one did not compute it."""
    with dispatch.record() as calls:
        fft.fft(signal(6, 2))
    (call,) = calls
    return {"kernel": call.kernel, "text": str(call)}


def forked():
    """Return whether a forked child transforms as its parent, in which MKL has computed."""
    import os

    expected = fft.rfft(signal(64, 100))
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = interlock.equal(fft.rfft(signal(64, 100)), expected)
        finally:
            os._exit(0 if same else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
