from fork_setup import *

release = threading.Event()
accelerator.launch(stream, release.wait)


def work():
    assert accelerator.current_device_index() == 0
    own, seen, back = interlock.Stream(1), [], bytearray(4)
    mine = Buffer(4, 1)
    copy_(mine, b"mine", stream=own)
    accelerator.launch(own, seen.append, 1)
    with own:
        copy_(back, mine)
    own.synchronize()
    assert (back, seen) == (b"mine", [1]), (back, seen)
    recorded = accelerator.Graph()
    with own, recorded:
        fill_(mine, 7)
    with own:
        recorded.replay()
        copy_(back, mine)
    assert back == bytes([7]) * 4


print(in_child(work), in_child(lambda: in_child(work) and 1 / 0))
release.set()
stream.synchronize()
print(stream.query())
