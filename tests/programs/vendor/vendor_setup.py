"""Shared setup of programs that use vendor libraries."""

import ctypes
import json
import os
import re
import sys


def vendors():
    "The files in this process that belong to a vendor's library."
    folders = re.escape(os.path.realpath(sys.prefix)) + r"/lib/(?:lib|python[^/]+/site-packages/nvidia/)"
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
