from interlock import accelerator, backends, device
from interlock.backends import cuda

caches = cuda.cufft_plan_cache


def error(action, *classes):
    try:
        action()
    except classes as caught:
        return [type(caught).__name__, str(caught)]
    raise AssertionError("nothing was raised")
