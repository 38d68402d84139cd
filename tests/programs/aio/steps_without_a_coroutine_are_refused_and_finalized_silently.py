import gc

from interlock import aio

for make in (aio._SyncedCoroutine, lambda: object.__new__(aio._SyncedCoroutine)):
    try:
        made = make()
    except TypeError as error:
        print(error)
    else:
        del made
    gc.collect()
