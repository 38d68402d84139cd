from trace_setup import *


def leaves_open():
    no_grad().__enter__()  # entered


leaves_open()
on_a_thread(leaves_open)
caught.__exit__()
