import os

import interlock
from interlock import accelerator, errors, testing
from interlock.accelerator import memory


def query_all():
    return [
        accelerator.empty_host_cache(),
        memory.empty_host_cache(),
        memory.reset_peak_host_memory_stats(),
        memory.reset_accumulated_host_memory_stats(),
    ]
