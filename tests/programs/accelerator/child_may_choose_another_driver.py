from fork_setup import *


def work():
    accelerator.use("host", devices=5)
    assert accelerator.device_count() == 5
    assert interlock.Stream(4).device_index == 4


print(in_child(work), accelerator.device_count())
