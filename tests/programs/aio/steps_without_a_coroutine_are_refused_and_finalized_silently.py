import gc

from interlock import aio

for make in (aio._StatefulCoroutine, lambda: object.__new__(aio._StatefulCoroutine)):
    try:
        made = make()
    except TypeError as error:
        print(error)
    else:
        del made
    gc.collect()
