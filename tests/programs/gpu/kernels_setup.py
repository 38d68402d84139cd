"""Shared setup of programs with test kernels: a stream, memory for one number and a slow kernel."""

import json
import os
import signal
import sys
import threading
import time

import interlock
from interlock import Event, Stream, accelerator, errors
from interlock.accelerator.memory import Buffer, copy_, fill_

from tests.hardware.gpu.slow_kernel import Kernels, Library

accelerator.synchronize()
library = Library()
kernels = Kernels(library)
stream, cell = Stream(dedicated=True), Buffer(4).fill_(0)
accelerator.synchronize()


def slow(seconds, number=1):
    kernels.spin(stream.native_handle, seconds, cell.data_ptr(), number)
