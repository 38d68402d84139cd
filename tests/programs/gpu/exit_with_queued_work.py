from kernels_setup import *

(leave,) = map(json.loads, sys.argv[1:])

kept = [Event(enable_timing=True), Buffer(64 << 20), accelerator.Graph()]
with stream, kept[2]:
    kernels.add(stream.native_handle, cell.data_ptr(), cell.data_ptr())
slow(0.2)
kept[0].record(stream)
with stream:
    kept[2].replay()
copy_(kept[1][:4], cell, non_blocking=True, stream=stream)
threading.Thread(target=stream.synchronize, daemon=True).start()
threading.Thread(target=accelerator.synchronize, daemon=True).start()
exec(leave)
