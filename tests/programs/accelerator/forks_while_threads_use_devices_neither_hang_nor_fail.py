from fork_setup import *

ended = threading.Event()


def use():
    mine = interlock.Stream(dedicated=True)
    while not ended.is_set():
        accelerator.launch(mine, len, "abc")
        fill_(buffer, 2)
        mine.record_event().synchronize()
        Buffer(64)


threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads:
    thread.start()


def work():
    other = interlock.Stream()
    accelerator.launch(other, len, "abc")
    copy_(Buffer(3), b"abc")
    other.synchronize()


print([in_child(work) for _ in range(20)])
ended.set()
for thread in threads:
    thread.join()
