from kernels_setup import *

(large,) = map(json.loads, sys.argv[1:])

Buffer(1 << 20).close()  # The first allocation creates permanent resources.
accelerator.empty_cache()


def taken():
    return before - library.memory_info()[0]


before = library.memory_info()[0]
buffers = [Buffer(large), Buffer(large)]
result = [(accelerator.memory_reserved(), taken())]
buffers.pop().close()
result.append((accelerator.memory_reserved(), taken()))
accelerator.empty_cache()
result.append((accelerator.memory_reserved(), taken()))
buffers.clear()
accelerator.empty_cache()
result.append((accelerator.memory_reserved(), taken()))
more = accelerator.device_properties().extra
result.append(more["virtual_memory"])

print("\n" + json.dumps(result))
