"""Input for the command line, and reports in a process without libraries."""

from interlock import accelerator
from interlock.accelerator import memory

SIZES = (100, 5000, 3 << 20, 700, 30 << 20, 64 << 10)


def weights() -> list[memory.Buffer]:
    """Allocate what stays until the end."""
    return [memory.Buffer(size) for size in SIZES]


def activations(step: int) -> list[memory.Buffer]:
    """Allocate what one step needs."""
    return [memory.Buffer(size * (1 + (step + index) % 3)) for index, size in enumerate(SIZES)]


def record_a_memory_history(path):
    """Record the memory history of a small training loop, and print the statistics of the device."""
    accelerator.use("host", memory=1 << 30)
    with memory.history(max_entries=None):
        kept = weights()
        for step in range(7):
            made = activations(step)
            del made[step % len(made)]
        memory.dump_snapshot(path)
    return memory.memory_stats()


def report_without_and_with_loading():
    from interlock._cli.main import main

    main([])
    assert "libcudnn" not in open("/proc/self/maps").read()
    main(["--load"])
    assert "libcudnn" in open("/proc/self/maps").read()
