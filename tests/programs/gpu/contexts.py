"""Which devices have a context."""

from interlock import Event, Stream, accelerator
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu.slow_kernel import Library


def contexts():
    library = Library()
    return [library.has_primary_context(index) for index in range(accelerator.device_count())]


def contexts_after_queries():
    accelerator.device_properties(), accelerator.device_name(), accelerator.current_stream()
    accelerator.current_device_index(), accelerator.memory_stats(), accelerator.synchronize()
    return contexts()


def contexts_after_use_of_the_second_device():
    with accelerator.device_index(1):
        stream, event = Stream(), Event(enable_timing=True)
        buffer = Buffer(1 << 20, stream=stream).fill_(1, stream=stream)
        event.record(stream)
        buffer.copy_to(bytearray(1 << 20), stream=stream)
        accelerator.synchronize()
        accelerator.get_memory_info()
        buffer.close()
        accelerator.empty_cache()
    accelerator.device_properties(0), accelerator.synchronize(0), accelerator.memory_stats(0)
    return contexts()
