"""Queries of devices, also in forked children."""

import ctypes
import os
import warnings

from interlock import accelerator

os.environ.pop("CUDA_VISIBLE_DEVICES", None)
driver = ctypes.CDLL("libcuda.so.1")


def in_child(work):
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.write(writing, repr(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        reported = answer.read()
    os.waitpid(process, 0)
    return reported


def query():
    return [
        accelerator.is_available(),
        accelerator.device_count(),
        accelerator.unavailable_reason(),
        str(accelerator.current_accelerator()),
        str(accelerator.current_accelerator(check_available=True)),
    ]


def count(variable):
    if variable is None:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = variable
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        number = accelerator.device_count()
    return [number, [f"{warning.category.__name__}: {warning.message}" for warning in caught]]
