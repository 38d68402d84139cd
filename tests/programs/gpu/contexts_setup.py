"""Shared setup of programs that print which devices have a context."""

import json

from interlock import Event, Stream, accelerator
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu.slow_kernel import Library


def contexts():
    library = Library()
    return [library.has_primary_context(index) for index in range(accelerator.device_count())]
