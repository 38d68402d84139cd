from kernels_setup import *

kernels.spin(stream.native_handle, 0.0, 8)
uses = {
    "first": stream.synchronize,
    "stream": stream.synchronize,
    "query": stream.query,
    "device": accelerator.synchronize,
    "memory": lambda: Buffer(64 << 20),
    "fill": lambda: cell.fill_(1),
    "new stream": lambda: Stream(dedicated=True),
    "event": stream.record_event,
    "information": accelerator.get_memory_info,
}
reported = {}
for name, use in uses.items():
    try:
        use()
        reported[name] = ["nothing", "", ""]
    except errors.AcceleratorError as error:
        reported[name] = [type(error).__name__, str(error), error.operation]
print(json.dumps(reported))
