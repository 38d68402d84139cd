from fork_setup import *

accelerator.set_stream(interlock.Stream(1, dedicated=True))


def work():
    assert accelerator.current_device_index() == 1
    assert accelerator.current_stream().stream_id == 0
    accelerator.current_stream().synchronize()


print(in_child(work))
